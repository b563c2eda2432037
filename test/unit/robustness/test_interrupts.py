"""Signals while native code may be calling Python: none aborts the process, and none is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, SimpleNamespace

import pytest
from attacks import attacks
from conftest import EXAMPLES, ROOT

from cutecc.ir import interrupts

HOST = Path(__file__).with_name("interrupted_host.py")
ENDLESS = """
import cutlass
import cutlass.cute as cute
from stuck import wait_in_the_dsl

progress = []


@cute.jit
def python(a: cute.Tensor):
    progress[0]()
    while cutlass.const_expr(True):
        pass


@cute.jit
def operations(a: cute.Tensor):
    number = cutlass.Int32(1)
    progress[0]()
    while cutlass.const_expr(True):
        number = number + a.shape[0]


@cute.jit
def library(a: cute.Tensor):
    import threading
    progress[0]()
    threading.Event().wait()


@cute.jit
def dsl(a: cute.Tensor):
    wait_in_the_dsl()
"""
STUCK = """
# Python of the DSL's that comes to no end.
code = compile(
    "def wait_in_the_dsl():\\n print('ready', flush=True)\\n while True:\\n  pass", "<stuck>", "exec"
)
namespace = {"__name__": "cutlass.stuck"}
exec(code, namespace)
wait_in_the_dsl = namespace["wait_in_the_dsl"]
"""

Host = subprocess.Popen[str]


@contextmanager
def host(what: str, folder: Path) -> Iterator[Host]:
    (folder / "elementwise_add.py").write_bytes((EXAMPLES / "elementwise_add.py").read_bytes())
    (folder / "endless.py").write_text(ENDLESS)
    (folder / "stuck.py").write_text(STUCK)
    process = subprocess.Popen(
        [sys.executable, str(HOST), what, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_ready(process: Host) -> None:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line == "ready\n", (line, process.poll(), process.stderr.read() if process.stderr and not line else "")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["trace", "compile", "observed", "open"])
def test_no_interrupt_aborts_and_what_comes_after_is_right(tmp_path: Path, what: str) -> None:
    """The host itself compares what it traces and compiles with what came before the first of them."""
    chance = random.Random(what)
    with host(what, tmp_path) as process:
        for _ in range(attacks(4)):
            wait_until_ready(process)
            time.sleep(chance.random() * 0.08)
            process.send_signal(signal.SIGINT)
        # Its last `ready` comes after the last interrupt.
        wait_until_ready(process)
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors


@pytest.mark.slow
def test_an_interrupt_while_the_dsl_is_imported(tmp_path: Path) -> None:
    chance = random.Random(1)
    for _ in range(attacks(1)):
        with host("import", tmp_path) as process:
            wait_until_ready(process)
            time.sleep(chance.random() * 1.5)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=120)
            assert (process.returncode, out) == (0, "interrupted\n"), errors


@pytest.mark.slow
@pytest.mark.parametrize("what", ["python", "operations", "library"])
def test_an_interrupt_ends_a_trace_without_end(tmp_path: Path, what: str) -> None:
    """One is enough, in a loop of Python's, in one that traces more and more, and in one that waits."""
    with host(what, tmp_path) as process:
        wait_until_ready(process)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "interrupted\n"), errors


@pytest.mark.slow
def test_the_third_interrupt_ends_a_process_that_is_stuck_in_the_dsl(tmp_path: Path) -> None:
    with host("dsl", tmp_path) as process:
        wait_until_ready(process)
        sent = 0
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            sent += 1
            time.sleep(0.5)
        assert process.returncode == -signal.SIGINT
        assert sent >= 3


Came = list[int]


@pytest.fixture
def came() -> Iterator[Came]:
    """What a handler of the program's was called with; it then raises."""
    numbers: Came = []

    def handle(number: int, frame: FrameType | None) -> None:
        numbers.append(number)
        raise InterruptedError(number)

    before = {number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGUSR1)}
    yield numbers
    for number, handler in before.items():
        signal.signal(number, handler)


def test_any_handler_waits_for_the_end(came: Came) -> None:
    """Each runs once, and is there again."""
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(InterruptedError) as error, interrupts.held():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        assert came == []
    assert came == [signal.SIGTERM]
    assert error.value.args == (signal.SIGTERM,)
    assert signal.getsignal(signal.SIGTERM) is handler
    with pytest.raises(InterruptedError):
        signal.raise_signal(signal.SIGTERM)


def test_a_handler_that_waits_behind_one_that_raises_is_not_lost(came: Came) -> None:
    with pytest.raises(InterruptedError), interrupts.held():
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGUSR1)
        interrupts.deliver()
    assert came == [signal.SIGTERM, signal.SIGUSR1]


def test_all_that_wait_at_the_end_run_though_each_raises() -> None:
    numbers = [signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR2]
    ran: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        ran.append(number)
        raise InterruptedError(number)

    before = [signal.signal(number, handle) for number in numbers]
    try:
        with pytest.raises(InterruptedError) as error, interrupts.held():
            for number in numbers:
                signal.raise_signal(number)
            raise KeyError("what was under way")
        assert [signal.getsignal(number) for number in numbers] == [handle] * 3
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
    assert ran == numbers
    chain: list[BaseException | None] = [error.value]
    while chain[-1]:
        chain.append(chain[-1].__context__)
    assert [each.args[0] for each in chain if each] == [*numbers, "what was under way"]


def test_a_signal_while_handlers_are_put_back_leaves_none_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes at the end runs at once, and may raise there."""
    numbers = [signal.SIGUSR1, signal.SIGTERM, signal.SIGUSR2]

    def handle(number: int, frame: FrameType | None) -> None:
        raise InterruptedError(number)

    before = [signal.signal(number, handle) for number in numbers]
    getsignal = signal.getsignal
    try:
        with pytest.raises(InterruptedError), interrupts.held():
            once = [signal.SIGUSR1]
            monkeypatch.setattr(
                signal, "getsignal", lambda number: (once and signal.raise_signal(once.pop())) or getsignal(number)
            )
        monkeypatch.undo()
        assert [signal.getsignal(number) for number in numbers] == [handle] * 3
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_what_the_process_ignores_stays_ignored() -> None:
    before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        with interrupts.held():
            assert signal.getsignal(signal.SIGUSR2) is signal.SIG_IGN
            signal.raise_signal(signal.SIGUSR2)
    finally:
        signal.signal(signal.SIGUSR2, before)


def test_where_only_python_is_around_handlers_run_at_once(came: Came) -> None:
    with pytest.raises(InterruptedError), interrupts.held():
        with interrupts.let_through():
            signal.raise_signal(signal.SIGTERM)
        pytest.fail("it went on")
    assert came == [signal.SIGTERM]


def test_what_waits_when_handlers_may_run_runs_then(came: Came) -> None:
    with pytest.raises(InterruptedError), interrupts.held():
        signal.raise_signal(signal.SIGTERM)
        with interrupts.let_through():
            pytest.fail("it went on")


def test_native_code_around_is_around_what_is_inside_too(came: Came) -> None:
    """A pass may have a kernel traced, where its own lines are no place for what a handler raises."""
    with pytest.raises(InterruptedError), interrupts.held():
        with interrupts.held(), interrupts.let_through():
            signal.raise_signal(signal.SIGTERM)
            assert came == []
        assert came == []
    assert came == [signal.SIGTERM]


def test_other_threads_hold_nothing() -> None:
    def inside() -> None:
        with interrupts.held(), interrupts.let_through():
            interrupts.deliver()
            seen.append(signal.getsignal(signal.SIGINT))

    seen: list[object] = []
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [signal.getsignal(signal.SIGINT)]


def test_the_programs_own_trace_function_stays(came: Came) -> None:
    """As a debugger and a coverage tool have it; Python drops one that raises."""
    here = sys._getframe()  # pyright: ignore[reportPrivateUsage]

    def user_frames(frame: FrameType | None) -> tuple[bool, list[FrameType]]:
        return frame is here, [here]

    def native(call: Callable[[], None]) -> None:
        call()

    def traces(frame: FrameType, event: str, argument: object) -> None:
        return None

    before = sys.gettrace()
    sys.settrace(traces)
    state = SimpleNamespace(line=0)
    try:
        with pytest.raises(InterruptedError), interrupts.held(user_frames):
            native(lambda: signal.raise_signal(signal.SIGTERM))
            state.line = 1
            state.line = 2
        assert sys.gettrace() is traces
    finally:
        sys.settrace(before)
    assert state.line == 0, "it ends at the next line of the user's"
