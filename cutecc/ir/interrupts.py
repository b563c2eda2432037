"""Keeps the program's signal handlers waiting while native code may be calling Python.

Python runs a handler between any two of its instructions, and what the handler raises, as Ctrl-C does, comes out there.
The bindings call Python from C++ that no exception may pass: the process would abort. So inside of `held` a handler
waits for the next place where only Python is around it. It is not lost, and it is late by no more than that.

Only the main thread runs handlers; in all others nothing here does anything. What the process ignores, or ends by,
stays so.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator
from types import FrameType
from typing import Any, NoReturn

_PATIENCE_SECONDS = 2.0
"""How long a first Ctrl-C waits, before a third is taken for that of somebody who wants out."""
_ENOUGH = 3

UserFrames = Callable[[FrameType | None], tuple[bool, list[FrameType]]]
"""Given where a signal came: whether it may be handled there, and the frames where it may be when they go on."""


@contextlib.contextmanager
def held(user_frames: UserFrames | None = None) -> Generator[None]:
    """Inside, handlers of signals wait for `deliver`, for `let_through`, and for the end.

    With `user_frames`, they also wait for the next line of one of these frames. The third Ctrl-C ends the process when
    the first has been waiting for two seconds: what runs then may have no end.
    """
    global _innermost
    if not _in_main_thread():
        yield
        return
    outer, hold = _innermost, _Hold(user_frames)
    try:
        _innermost = hold
        hold.begin()
        yield
    finally:
        _innermost = outer
        hold.end()


@contextlib.contextmanager
def let_through() -> Generator[None]:
    """Inside of `held`: no native code is around this, and handlers run at once."""
    hold = _innermost if _in_main_thread() else None
    if hold is None or hold.is_open:
        yield
        return
    try:
        hold.is_open = True
        hold.deliver(sys._getframe())  # pyright: ignore[reportPrivateUsage]
        yield
    finally:
        hold.is_open = False


def deliver() -> None:
    """Inside of `held`: no native code is around this, and the handlers that wait run now."""
    if _innermost is not None and _in_main_thread():
        _innermost.deliver(sys._getframe())  # pyright: ignore[reportPrivateUsage]


def _in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


class _Hold:
    """Stands in for the handlers of all signals that have one."""

    def __init__(self, user_frames: UserFrames | None) -> None:
        self.is_open = False
        self._user_frames = user_frames
        self._handlers: dict[int, Any] = {}
        self._waiting: dict[int, float] = {}
        """When each signal that waits came first, by a clock in seconds."""
        self._interrupts = 0
        """How many of these were Ctrl-C."""
        self._traced: list[tuple[FrameType, Any]] | None = None
        """While Python tells of lines: the frames that it tells of, and whom else it told of them."""
        self._tracer: list[Any] = []
        """The program's own trace function, once another has taken its place."""

    def begin(self) -> None:
        for number in signal.valid_signals():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._came)

    def end(self) -> None:
        """Put the handlers back, and run those that wait, all of them; what they raise comes out behind the first."""
        # From now on what is not put back yet hands on what comes.
        self.is_open = True
        left, raised = [*self._handlers], list[BaseException]()
        while left or self._waiting:
            try:
                self._stop_tracing()
                while left:
                    if signal.getsignal(left[-1]) == self._came:
                        signal.signal(left[-1], self._handlers[left[-1]])
                    left.pop()
                self.deliver(sys._getframe())  # pyright: ignore[reportPrivateUsage]
            except BaseException as failure:
                raised.append(failure)
        if raised:
            _raise_first(raised)

    def deliver(self, frame: FrameType | None) -> None:
        """Run the handlers that wait, each once; when one raises, the others go on waiting."""
        while self._waiting:
            number = next(iter(self._waiting))
            del self._waiting[number]
            self._handlers[number](number, frame)

    def _came(self, number: int, frame: FrameType | None) -> None:
        safe, frames = self._user_frames(frame) if self._user_frames else (False, [])
        if self.is_open or safe:
            self._handlers[number](number, frame)
            return
        now = time.monotonic()
        since = self._waiting.setdefault(number, now)
        if number == signal.SIGINT:
            self._interrupts = 1 if since == now else self._interrupts + 1
            if self._interrupts >= _ENOUGH and now - since > _PATIENCE_SECONDS:
                signal.signal(number, signal.SIG_DFL)
                os.kill(os.getpid(), number)
        if self._user_frames and self._traced is None:
            self._trace(frames)

    def _trace(self, frames: list[FrameType]) -> None:
        """Have Python tell when one of `frames` comes to its next line, or another of the user's begins.

        It makes everything slow, but only from a signal to that line.
        """
        self._tracer = [sys.gettrace()]
        self._traced = [(frame, frame.f_trace) for frame in frames]
        for frame in frames:
            frame.f_trace = self._next
        sys.settrace(self._next)

    def _next(self, frame: FrameType, event: str, argument: Any) -> None:
        assert self._user_frames is not None
        if self._user_frames(frame)[0]:
            self._stop_tracing()
            self.deliver(frame)

    def _stop_tracing(self) -> None:
        for frame, tracer in self._traced or ():
            frame.f_trace = tracer
        self._traced = None
        # Also when that was done before: Python drops a trace function that raises, and ours does.
        for tracer in self._tracer:
            sys.settrace(tracer)


def _raise_first(raised: list[BaseException]) -> NoReturn:
    """Raise the first, with each other one as the `__context__` of that before it."""
    try:
        if raised[1:]:
            _raise_first(raised[1:])
    finally:
        raise raised[0]


_innermost: _Hold | None = None
"""Of the main thread."""
