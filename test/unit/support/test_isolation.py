"""Calling functions in a fresh process: results, errors, aborts, interrupts."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from cutecc.errors import Error, PassError, SourceLocation, UsageError
from cutecc.support import isolation
from cutecc.support.isolation import Call, ProcessDied, Worker, call

pytestmark = pytest.mark.usefixtures("cold_workers")

HERE = os.path.dirname(__file__)


@pytest.fixture(autouse=True)
def _children_find_this_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(HERE)
    yield
    assert not isolation._running, "a child was forgotten"


# What runs in the child.


def add(a, b):
    return a + b


def say_who_and_sleep(file):
    Path(file).write_text(str(os.getpid()))
    time.sleep(100)


def blob(size):
    return b"x" * size


def count_to(number, *, emit):
    for value in range(number):
        emit(value)
    return "done"


def fail_with_ours():
    raise PassError("broken", SourceLocation("k.py", 1, 2, "x"), ["n"], ["h"], pass_name="p", reproducer="r")


def fail_with_pythons():
    return {}["missing"]


def abort(text):
    os.write(2, text.encode())
    os.abort()


def leave(status):
    os._exit(status)


def emit_then_abort(*, emit):
    emit("first")
    emit("second")
    os.abort()


def emit_big_then_die(size, *, emit):
    emit(b"x" * size)
    os.kill(os.getpid(), signal.SIGKILL)


def unpicklable():
    return lambda: None


def sleep(seconds, *, emit):
    emit(os.getpid())
    time.sleep(seconds)


def report_environment():
    return os.environ.get("CUTE_DSL_ARCH"), os.getcwd(), sys.path[0], signal.getsignal(signal.SIGINT) == signal.SIG_IGN


inherited = "nothing"


def report_inherited():
    return inherited, os.environ.get("CUTE_DSL_ARCH"), tempfile.gettempdir() == os.environ["TMPDIR"], sys.stdin.read()


def print_noise():
    print("noise on standard output")
    os.write(1, b"more noise\n")
    return sys.stdin.read()


def test_a_result_comes_back() -> None:
    assert call("test_isolation:add", 1, 2) == 3
    assert call("test_isolation:add", "a", "b") == "ab"


@pytest.mark.slow
@pytest.mark.parametrize("size", [0, 1, 70_000, 30_000_000])
def test_messages_of_any_size_both_ways(size: int) -> None:
    assert call("test_isolation:blob", size) == b"x" * size
    assert call("test_isolation:add", b"x" * size, b"y") == b"x" * size + b"y"


def test_events_arrive_in_order_before_the_result() -> None:
    events: list[int] = []
    assert call("test_isolation:count_to", 1000, on_event=events.append) == "done"
    assert events == list(range(1000))


def test_an_error_of_ours_comes_back_whole() -> None:
    with pytest.raises(PassError) as caught:
        call("test_isolation:fail_with_ours")
    error = caught.value
    assert (error.message, error.notes, error.hints) == ("broken", ["n"], ["h"])
    assert (error.pass_name, error.reproducer, str(error.location)) == ("p", "r", "k.py:1:2")
    assert any("fail_with_ours" in note for note in error.__notes__), "where it was raised, for --debug"


def test_any_other_exception_is_an_internal_error_with_its_traceback() -> None:
    with pytest.raises(Error, match="internal error: KeyError: 'missing'") as caught:
        call("test_isolation:fail_with_pythons")
    assert not isinstance(caught.value, UsageError)
    assert any("fail_with_pythons" in note for note in caught.value.__notes__)
    assert "--debug" in caught.value.hints[0]


def test_a_function_that_is_not_there_is_an_error() -> None:
    with pytest.raises(Error, match="internal error: ModuleNotFoundError"):
        call("no_such_module:f")
    with pytest.raises(Error, match="internal error: AttributeError"):
        call("test_isolation:no_such_function")


def test_a_result_that_does_not_cross_is_an_error() -> None:
    with pytest.raises(Error, match="internal error"):
        call("test_isolation:unpicklable")


def test_an_abort_is_an_error_with_what_was_printed() -> None:
    with pytest.raises(ProcessDied) as caught:
        call("test_isolation:abort", "terminate called\n")
    assert caught.value.message == "the compiler process was ended by SIGABRT"
    assert "terminate called" in caught.value.notes[0]


@pytest.mark.parametrize("status", [0, 1, 77])
def test_leaving_without_an_answer_is_an_error(status: int) -> None:
    with pytest.raises(ProcessDied, match=f"ended with status {status} and no answer"):
        call("test_isolation:leave", status)


def test_events_before_an_abort_are_not_lost() -> None:
    events: list[str] = []
    with pytest.raises(ProcessDied, match="SIGABRT"):
        call("test_isolation:emit_then_abort", on_event=events.append)
    assert events == ["first", "second"]


def test_dying_after_a_big_event() -> None:
    events: list[bytes] = []
    with pytest.raises(ProcessDied, match="SIGKILL"):
        call("test_isolation:emit_big_then_die", 5_000_000, on_event=events.append)
    assert len(events[0]) == 5_000_000


def test_a_child_that_is_killed_from_outside() -> None:
    with pytest.raises(ProcessDied, match="SIGKILL"):
        call("test_isolation:sleep", 100, on_event=lambda pid: os.kill(pid, signal.SIGKILL))


def test_environment_folder_and_module_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUTE_DSL_ARCH", "sm_80")
    arch, folder, first, ignores_interrupts = call(
        "test_isolation:report_environment", environment={"CUTE_DSL_ARCH": "sm_90a"}
    )
    assert (arch, folder, first, ignores_interrupts) == ("sm_90a", os.getcwd(), sys.path[0], True)
    assert os.environ["CUTE_DSL_ARCH"] == "sm_80"


@pytest.mark.parametrize("fork", [True, False])
def test_what_the_child_prints_comes_when_it_has_ended(capfd: pytest.CaptureFixture[str], fork: bool) -> None:
    assert call("test_isolation:print_noise", replay=True, fork=fork) == ""
    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(err.splitlines()) == ["more noise", "noise on standard output"]


DYING = """
import sys
from cutecc.support.isolation import call
call("test_isolation:say_who_and_sleep", sys.argv[1], fork=sys.argv[2] == "fork")
"""


@pytest.mark.parametrize("kind", ["fork", "fresh"])
@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGKILL])
def test_the_child_dies_with_its_parent(tmp_path: Path, kind: str, by: signal.Signals) -> None:
    file = tmp_path / "child"
    parent = subprocess.Popen([sys.executable, "-c", DYING, str(file), kind], env={**os.environ, "PYTHONPATH": HERE})
    while not (file.exists() and file.read_text()):
        assert parent.poll() is None
        time.sleep(0.01)
    child = int(file.read_text())
    parent.send_signal(by)
    assert parent.wait(60) == -by
    deadline = time.monotonic() + 60
    while is_running(child):
        assert time.monotonic() < deadline, "the child goes on"
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_file_in_the_working_folder_shadows_nothing(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pickle.py").write_text("raise SystemExit('shadowed')")
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')")
    monkeypatch.chdir(tmp_path)
    assert call("test_isolation:add", 1, 2) == 3


@pytest.mark.parametrize("quiet", [True, False])
def test_standard_output_stays_clean(capfd: pytest.CaptureFixture[str], quiet: bool) -> None:
    assert call("test_isolation:print_noise", quiet=quiet) == ""
    out, err = capfd.readouterr()
    assert out == ""
    assert ("noise on standard output" in err) == (not quiet)


def test_an_exception_in_the_listener_ends_the_child() -> None:
    pids: list[int] = []

    def listener(pid: int) -> None:
        pids.append(pid)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        call("test_isolation:sleep", 100, on_event=listener)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


@pytest.mark.slow
def test_interrupt_ends_the_children_of_all_threads() -> None:
    started = threading.Semaphore(0)
    outcomes: list[BaseException] = []

    def work() -> None:
        try:
            call("test_isolation:sleep", 100, on_event=lambda pid: started.release())
        except BaseException as error:
            outcomes.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for _ in threads:
        assert started.acquire(timeout=60)
    isolation.interrupt()
    for thread in threads:
        thread.join(60)
    assert [type(error) for error in outcomes] == [KeyboardInterrupt] * 2


def test_an_interrupt_leaves_a_worker_that_waits_for_its_next_call() -> None:
    with contextlib.closing(Worker()) as worker:
        assert worker.call("test_isolation:add", 1, 2) == 3
        isolation.interrupt()
        assert worker.call("test_isolation:add", 3, 4) == 7


def test_a_call_can_be_killed_before_its_result_is_asked_for() -> None:
    running = Call("test_isolation:sleep", 100, events=True)
    running.kill()
    with pytest.raises(ProcessDied, match="SIGKILL"):
        running.result()


@pytest.mark.slow
def test_no_descriptors_are_left_open() -> None:
    call("test_isolation:add", 1, 2)
    before = sorted(os.listdir("/proc/self/fd"))
    for _ in range(3):
        call("test_isolation:add", 1, 2)
        with pytest.raises(ProcessDied):
            call("test_isolation:leave", 3)
    assert len(os.listdir("/proc/self/fd")) == len(before)


# Forking. Whether it is safe depends on the process, so these run in one of their own.

FORKING = """
import sys, threading
from cutecc.support.isolation import ProcessDied, call
import test_isolation
test_isolation.inherited = "a change"
if sys.argv[1] == "thread":
    threading.Thread(target=threading.Event().wait, daemon=True).start()
if sys.argv[1] == "bindings":
    from cutecc.ir import bindings
    bindings.load()
print("before", end="")
print(call("test_isolation:report_inherited", fork=True, environment={"CUTE_DSL_ARCH": "sm_80"}))
print(call("test_isolation:blob", 3_000_000, fork=True) == b"x" * 3_000_000)
print(call("test_isolation:count_to", 3, fork=True, on_event=print))
for function, *arguments in (("abort", "last words"), ("leave", 7), ("fail_with_ours",)):
    try:
        call(f"test_isolation:{function}", *arguments, fork=True)
    except Exception as error:
        print(type(error).__name__, error.message, error.notes)
call("test_isolation:print_noise", fork=True, quiet=False)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("situation", "inherits"), [("alone", True), ("thread", False), ("bindings", False)])
def test_a_fork_where_it_is_safe_behaves_as_a_fresh_process(situation: str, inherits: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKING, situation],
        env={**os.environ, "PYTHONPATH": HERE},
        input="the parent's input",
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.splitlines() == [
        f"before('{'a change' if inherits else 'nothing'}', 'sm_80', True, '')",
        "True",
        *"012",
        "done",
        "ProcessDied the compiler process was ended by SIGABRT ['last words']",
        "ProcessDied the compiler process ended with status 7 and no answer []",
        "PassError broken ['n']",
    ], done.stderr
    assert sorted(done.stderr.split("\n")) == ["", "more noise", "noise on standard output"]


def test_an_interrupt_while_a_child_starts_waits() -> None:
    processes = [isolation.start_python("time:time", stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        process.send_signal(signal.SIGINT)
    assert [(process.communicate()[1], process.returncode) for process in processes] == [(b"", 0)] * 3
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
