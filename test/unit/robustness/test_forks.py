"""Forks while other threads are in the middle of something: the child does the same, and the parent goes on."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import pytest
from attacks import attacks
from conftest import ROOT

from cutecc.errors import Error
from cutecc.support import forks
from cutecc.support.pool import WorkerPool

HOST = Path(__file__).with_name("forking_host.py")


@pytest.mark.slow
def test_a_child_gets_what_its_parent_gets(tmp_path: Path) -> None:
    count = attacks(1)
    doings = ("trace", "module", "open", "worker", "compile", "assemble", "emulate", "processes")
    done = subprocess.run(
        [sys.executable, str(HOST), str(count), *doings],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60 * count * len(doings),
    )
    expected = [f"{what}: {{0: {count}}} 0" for what in doings]
    assert (done.returncode, done.stdout.splitlines()) == (0, expected), done.stderr


def forked(run) -> str:
    """What `run` gives in a child."""
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(sender, str(run()).encode())
        finally:
            os._exit(0)
    os.close(sender)
    with open(receiver) as answers:
        answer = answers.read()
    os.waitpid(child, 0)
    return answer


class Busy:
    """Another thread that is inside of a lock."""

    def __init__(self, lock) -> None:
        self._lock = lock
        self._inside, self._over = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._hold)

    def _hold(self) -> None:
        with self._lock:
            self._inside.set()
            self._over.wait()

    def __enter__(self) -> None:
        self._thread.start()
        self._inside.wait()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.mark.parametrize("make", [forks.lock, forks.rlock])
def test_what_another_thread_holds_is_free_in_the_child(make) -> None:
    lock = make()
    with Busy(lock):
        assert forked(lambda: lock.acquire(timeout=10)) == "True"
        assert not lock.acquire(blocking=False)


def test_what_the_thread_that_forks_holds_it_gives_back_in_the_child() -> None:
    lock = forks.rlock()

    def leave() -> str:
        lock.release()
        return "left"

    with lock:
        assert forked(leave) == "left"


def test_what_a_fork_has_waited_for_too_long_is_an_error_in_the_child(monkeypatch) -> None:
    monkeypatch.setattr(forks, "_PATIENCE_SECONDS", 0.01)
    monkeypatch.setattr(forks, "_settled", [])
    lock = forks.SettledLock("testing")

    def take() -> str:
        try:
            with lock:
                return "taken"
        except Error as error:
            return error.message

    with Busy(lock):
        assert forked(take) == "this process was forked while another thread of its parent was testing"
    assert forked(take) == take() == "taken"


def test_the_end_of_a_child_takes_no_folder_of_the_parents() -> None:
    with forks.TemporaryFolder() as path:
        assert forked(lambda: [each for each in _goes_at_exit() if each == path]) == "[]"
        assert [each for each in _goes_at_exit() if each == path] == [path]


def _goes_at_exit() -> list[str]:
    """The folders that the end of this interpreter would remove."""
    found = [each.peek() for each in weakref.finalize._registry]  # pyright: ignore
    return [each[0].name for each in found if each and isinstance(each[0], forks.TemporaryFolder)]


def test_a_pool_does_not_wait_for_threads_that_the_child_lacks() -> None:
    def submit() -> str:
        try:
            pool.submit(os.getpid)
        except RuntimeError as error:
            return str(error)
        return "submitted"

    pool = WorkerPool(1)
    try:
        assert forked(submit) == "the pool is of the process that this one was forked from"
    finally:
        pool.shutdown()


@pytest.mark.slow
def test_a_fork_waits_for_the_imports_of_others(tmp_path: Path) -> None:
    (tmp_path / "slowly_imported.py").write_text("import time\ntime.sleep(1)\nvalue = 7\n")
    script = """if True:
        import os, sys, threading, time, cutecc.support.forks
        cutecc.__path__.append(sys.argv[1])
        thread = threading.Thread(target=__import__, args=("cutecc.slowly_imported",))
        thread.start()
        time.sleep(0.3)
        child = os.fork()
        if child == 0:
            from cutecc.slowly_imported import value
            os._exit(value)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    command = [sys.executable, "-c", script, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert done.stdout == "7\n", done.stderr
