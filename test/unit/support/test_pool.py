"""Worker processes that outlive their calls: results, errors, aborts, shutting down."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError

import pytest

from cutecc.errors import UsageError
from cutecc.support import isolation
from cutecc.support import pool as pools
from cutecc.support.isolation import ProcessDied, Worker
from cutecc.support.pool import WorkerPool

HERE = os.path.dirname(__file__)


@pytest.fixture(autouse=True)
def _children_find_this_file(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(HERE)
    # The code generator's process, which earlier tests may have started, is kept.
    before = set(isolation._running)
    yield
    assert isolation._running <= before, "a child was forgotten"


# What runs in the workers.


def who(number):
    return number, os.getpid()


def complain(text):
    raise UsageError(text)


def die(number):
    print("last words", flush=True)
    os.kill(os.getpid(), number)


def sleep(seconds):
    time.sleep(seconds)


def test_a_worker_serves_many_calls() -> None:
    with WorkerPool(2) as pool:
        results = [future.result() for future in [pool.submit(who, number) for number in range(20)]]
    assert [number for number, _ in results] == list(range(20))
    assert 1 <= len({pid for _, pid in results}) <= 2
    assert os.getpid() not in {pid for _, pid in results}


def test_an_error_is_the_calls_own() -> None:
    with WorkerPool(1) as pool:
        bad, good = pool.submit(complain, "no"), pool.submit(who, 1)
        with pytest.raises(UsageError, match="no"):
            bad.result()
        assert good.result()[0] == 1


def test_a_worker_that_dies_is_replaced() -> None:
    with WorkerPool(1) as pool:
        before = pool.submit(who, 1)
        dead = pool.submit(die, signal.SIGABRT)
        after = pool.submit(who, 2)
        with pytest.raises(ProcessDied, match="SIGABRT") as caught:
            dead.result()
        assert caught.value.notes == ["last words"]
        assert after.result()[0] == 2
        assert before.result()[1] != after.result()[1]


def test_an_interrupt_of_other_work_is_not_of_the_next_call() -> None:
    with WorkerPool(1) as pool:
        before = pool.submit(who, 1).result()
        isolation.interrupt()
        assert pool.submit(who, 2).result()[1] == before[1]


def test_what_cannot_cross_is_an_error_of_its_call() -> None:
    with WorkerPool(1) as pool:
        bad = pool.submit(who, lambda: None)
        with pytest.raises(Exception, match="pickle"):
            bad.result()
        assert pool.submit(who, 3).result()[0] == 3


def test_killing_ends_running_calls_and_cancels_waiting_ones() -> None:
    kept = set(isolation._running)
    pool = WorkerPool(1)
    running, waiting = pool.submit(sleep, 100), pool.submit(who, 1)
    while not running.running() or isolation._running <= kept:
        time.sleep(0.01)
    start = time.monotonic()
    pool.kill()
    with pytest.raises((ProcessDied, KeyboardInterrupt)):
        running.result()
    with pytest.raises(CancelledError):
        waiting.result()
    assert time.monotonic() - start < 50
    with pytest.raises(RuntimeError):
        pool.submit(who, 1)


def test_killing_ends_a_worker_that_is_just_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    starting, killed = threading.Event(), threading.Event()

    class Late(Worker):
        def __init__(self) -> None:
            starting.set()
            killed.wait(50)
            super().__init__()

    monkeypatch.setattr(pools, "Worker", Late)
    pool = WorkerPool(1)
    running = pool.submit(sleep, 100)
    assert starting.wait(50)
    pool.kill()
    killed.set()
    with pytest.raises(ProcessDied):
        running.result(timeout=50)
