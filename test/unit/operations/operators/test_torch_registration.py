"""Operators of torch that the first call registers; needs no torch."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from cutecc.errors import UsageError
from cutecc.operations.convolution import functional as convolution
from cutecc.operations.grouped import functional as grouped
from cutecc.operations.torch_registration import Registration


def test_threads_that_call_first_register_one_operator() -> None:
    made: list[object] = []
    both_came, called = threading.Barrier(2), threading.Event()

    def register() -> object:
        made.append(object())
        called.wait(0.2)  # time for the other thread to come in, which it must not
        return made[-1]

    registration = Registration(register)

    def first_call(_: int) -> object:
        both_came.wait()
        return registration()

    with ThreadPoolExecutor(2) as threads:
        found = list(threads.map(first_call, range(2)))
    assert found == [made[0]] * 2 and len(made) == 1


def test_what_failed_is_tried_again() -> None:
    results = iter([UsageError("no torch"), "operator"])

    def register() -> object:
        match next(results):
            case UsageError() as error:
                raise error
            case found:
                return found

    registration = Registration(register)
    with pytest.raises(UsageError):
        registration()
    assert registration() == registration() == "operator"


def test_functions_register_so() -> None:
    assert isinstance(vars(convolution)["_operator"], Registration)
    assert isinstance(vars(grouped)["_operator"], Registration)
