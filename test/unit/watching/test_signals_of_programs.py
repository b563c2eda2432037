"""Signals between a watch and its program, and a watch that ends as its program did; no program is started."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator
from types import SimpleNamespace
from typing import Any

import pytest

from cutecc.watching import running

resource = pytest.importorskip("resource")


@pytest.fixture(autouse=True)
def _own_handlers() -> Generator[None]:
    """The handlers of tests end with them."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR1, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Program:
    """Stands for a process: it gets signals, and ends when it is waited for."""

    def __init__(self, while_waiting: Callable[[], None] | None = None, *, has_ended: bool = False) -> None:
        self.got: list[int] = []
        self._while_waiting = while_waiting
        self._has_ended = has_ended

    def send_signal(self, number: int) -> None:
        self.got.append(number)

    def poll(self) -> int | None:
        return 0 if self._has_ended else None

    def wait(self, timeout: float | None = None) -> int:
        if self._while_waiting:
            self._while_waiting()
        return 5


def run(program: Program, monkeypatch: pytest.MonkeyPatch, while_starting: Callable[[], None] | None = None) -> int:
    def start(command: list[str], env: dict[str, str]) -> Any:
        if while_starting:
            while_starting()
        return program

    monkeypatch.setattr(running.subprocess, "Popen", start)
    return running.run(["program"], {})


def test_signals_that_come_before_the_program_runs_reach_it_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def early() -> None:
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGTERM)

    program = Program()
    assert run(program, monkeypatch, early) == 5
    assert program.got == [signal.SIGUSR1, signal.SIGTERM]


def test_signals_reach_a_program_that_runs_and_none_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    def late() -> None:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)

    running_program, ended = Program(late), Program(late, has_ended=True)
    handlers = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    assert [run(each, monkeypatch) for each in (running_program, ended)] == [5, 5]
    # Ctrl-C has reached it already.
    assert running_program.got == [signal.SIGTERM]
    assert ended.got == []
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == handlers


@pytest.fixture
def ending(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What this process would do to end: the limits that it sets, and the signals that it sends."""
    seen = SimpleNamespace(limits=[], signals=[])
    monkeypatch.setattr(resource, "getrlimit", lambda kind: {resource.RLIMIT_CORE: (40, 70)}[kind])
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: seen.limits.append((kind, limits)))

    def kill(pid: int, number: int) -> None:
        seen.signals.append((pid, number, number != signal.SIGKILL and signal.getsignal(number)))

    monkeypatch.setattr(os, "kill", kill)
    return seen


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_program_that_a_signal_ended_ends_this_one_by_it_and_without_a_core_file(
    number: signal.Signals, ending: SimpleNamespace
) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    # What a shell says of a signal that did not end it after all.
    assert running.end_as(-number) == 128 + number
    assert ending.limits == [(resource.RLIMIT_CORE, (0, 70))]
    assert ending.signals == [(os.getpid(), number, number != signal.SIGKILL and signal.SIG_DFL)]


@pytest.mark.parametrize("status", [0, 3, 137])
def test_a_program_that_ended_itself_gives_its_status(status: int, ending: SimpleNamespace) -> None:
    assert running.end_as(status) == status
    assert ending.limits == ending.signals == []
