"""What holds while a pass runs, and what is remembered until a compilation ends."""

from __future__ import annotations

from contextvars import copy_context
from threading import Thread

import pytest

from cutecc.ir.pass_context import PassState, isolated, memo


def test_a_state_holds_inside_and_the_one_before_holds_again() -> None:
    state, other = PassState[int](), PassState[int]()
    assert state.get() is None
    with state.having(1), other.having(5):
        with pytest.raises(KeyError), state.having(2) as value:
            assert (value, state.get(), other.get()) == (2, 2, 5)
            raise KeyError
        assert state.get() == 1
    assert state.get() is other.get() is None


def test_nothing_holds_in_a_compilation_inside_of_a_pass() -> None:
    state = PassState[int]()
    with state.having(1):
        memo()["outer"] = True
        with isolated():
            assert state.get() is None
            inside = memo()
            assert inside == {}
            inside["inner"] = True
            with state.having(2):
                # States come and go as passes do; what is remembered stays.
                assert memo() is inside
        assert inside == {}
        assert (state.get(), memo()["outer"]) == (1, True)


def test_other_threads_and_tasks_have_their_own() -> None:
    state = PassState[int]()
    found: list[int | None] = []
    with state.having(1):
        inherited = copy_context()
        thread = Thread(target=lambda: found.append(state.get()))
        thread.start()
        thread.join()
    found.append(inherited.run(state.get))
    assert found == [None, 1]
