"""Where confined calls are asked for."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecc.errors import EmulatorError, Error, LimitError
from cutecc.support import forks
from cutecc.support.harmless import harmless
from cutecc.support.isolation import ProcessDied, Worker, end_of

if TYPE_CHECKING:
    from cutecc.emulator.call import Call, Outcome
    from cutecc.emulator.host import Progress
    from cutecc.emulator.limits import Limits
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.untrusted.messages import Message
    from cutecc.emulator.untrusted.worker import Death

_WORKER = "cutecc.emulator.untrusted.worker"
_MOST_SAID = 256 << 20
"""Bytes that a call may say."""


class Confinement:
    """The worker process whose copies run calls; it starts at once, and serves one thread after another."""

    def __init__(self) -> None:
        self._lock = forks.lock()
        self._worker: Worker | None = None
        self._caller: int | None = None
        """The thread that waits for a call."""

    def start(self) -> None:
        """Have the worker begin to import, if there is none: a call that comes later finds it ready."""
        with self._lock:
            self._start()

    def run(
        self,
        call: Call,
        allocations: Sequence[Allocation],
        show: Callable[[str], None] | None = None,
        progress: Progress | None = None,
    ) -> Outcome:
        """As `run_call`, but the call has nothing of this process but the memory of its arrays.

        Raises `EmulatorError` on other systems than Linux, and in what `show` or `progress` call.
        """
        if sys.platform != "linux":
            raise EmulatorError("untrusted kernels run on Linux alone, where there is something to confine them")
        if self._caller == threading.get_ident():
            raise EmulatorError("an untrusted kernel is called while another one runs, by what that one calls")
        import numpy as np

        from cutecc.emulator.call import Outcome
        from cutecc.emulator.memory.sharing import share

        hearing = _Hearing(show, progress)
        with self._lock, share(allocations, np.empty(0, np.uint8)) as memory:
            if memory is None:
                raise EmulatorError(
                    "there is no room in shared memory, nor in the temporary folder, for the call's arrays",
                    hints=["give smaller sizes"],
                )
            self._caller = threading.get_ident()
            worker = self._start()
            call = replace(call, options=replace(call.options, processes=1))
            try:
                death: Death = worker.call(f"{_WORKER}:serve", call, memory, on_event=hearing.hear)
            except BaseException as failure:
                # Also of an interrupt: the call must not go on.
                worker.close()
                self._worker = None
                if isinstance(failure, ProcessDied):
                    raise EmulatorError(f"the process of untrusted kernels: {failure.message}") from None
                raise
            finally:
                self._caller = None
        return hearing.outcome or Outcome(failure=_failure(death, call.limits))

    def forget(self) -> None:
        """In a forked child: the worker is the parent's."""
        self._worker = self._caller = None

    def _start(self) -> Worker:
        if self._worker is None:
            # One thread: a copy of a process has the one that made it.
            self._worker = Worker(
                environment={"OPENBLAS_NUM_THREADS": "1"}, prepare=f"{_WORKER}:prepare", detached=True
            )
        return self._worker


confinement = Confinement()
"""Of this process."""

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=confinement.forget)


class _Hearing:
    """Puts together what a call says."""

    def __init__(self, show: Callable[[str], None] | None, progress: Progress | None) -> None:
        self.outcome: Outcome | None = None
        self._show, self._progress = show, progress
        self._pieces: list[bytes] = []
        """Of a line whose end has not come."""
        self._left = _MOST_SAID
        self._printed: list[str] = []
        self._confined_by: list[str] | None = None

    def hear(self, data: bytes) -> None:
        """Take what comes through the pipe. Raises `LimitError`, and `EmulatorError` for what is no message."""
        from cutecc.emulator.untrusted.messages import decode

        self._left -= len(data)
        if self._left < 0:
            raise LimitError(f"the kernel's run says more than {_MOST_SAID >> 20} MiB")
        first, *lines = data.split(b"\n")
        self._pieces.append(first)
        for line in lines:
            self._take(decode(b"".join(self._pieces)))
            self._pieces = [line]

    def _take(self, message: Message) -> None:
        from cutecc.emulator.untrusted.messages import Confined, Printed, Ran

        if isinstance(message, Confined):
            # The first is said before the kernel is looked at.
            self._confined_by = message.by if self._confined_by is None else self._confined_by
        elif isinstance(message, Printed):
            text = harmless(message.text)
            self._printed.append(text)
            if self._show is not None:
                self._show(text)
        elif isinstance(message, Ran):
            if self._progress is not None:
                self._progress(message.kernel, message.done, message.total)
        else:
            self.outcome = message.outcome("".join(self._printed), self._confined_by or [])


def _failure(death: Death, limits: Limits) -> Error:
    """Why a process ended that has not said how its call ended."""
    from cutecc.emulator.untrusted.worker import OUT_OF_MEMORY

    if death.is_late or death.status == -signal.SIGXCPU:
        return limits.exceeded("seconds", "the kernel runs")
    if death.status == OUT_OF_MEMORY:
        return limits.exceeded("memory", "the kernel's run takes")
    return EmulatorError(end_of(death.status, "the process in which the untrusted kernel ran"))
