"""The processes of confined calls: a worker, and a copy of it for each call."""

from __future__ import annotations

import importlib
import os
import pkgutil
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import cutecc.emulator
from cutecc.emulator.call import Call, Outcome, run_call
from cutecc.emulator.machine.decode import load_families
from cutecc.emulator.memory.sharing import SharedMemory
from cutecc.emulator.numbers.compiled import loop_of
from cutecc.emulator.untrusted.messages import Confined, Ended, Message, Printed, Ran, encode
from cutecc.runtime.program.evaluation import Evaluator
from cutecc.sandbox.confinement import confine
from cutecc.support.isolation import die_with

_GRACE_SECONDS = 2.0
"""After the limit of time, which the call itself looks at between instructions."""
_LOOK_SECONDS = 0.5
"""After which it is looked whether anybody still waits for the call."""
_END_SECONDS = 0.001
"""After which it is looked whether a process has ended that has said all."""
_PIECE = 1 << 16
"""Bytes that are read from the pipe at once."""
OUT_OF_MEMORY = 3
"""The status of a process that could not say how its call ended."""
_NUMPY = ("numpy.ma", "numpy.ctypeslib")
"""What NumPy imports when its functions are first called."""
_TABLES = "cutecc.emulator.counters.table"
"""What shows counters, which no call does."""


@dataclass(frozen=True)
class Death:
    """How the process of a call ended."""

    status: int
    """Of a process that a signal ended, minus the signal's number."""
    is_late: bool
    """Whether it was ended because of its time."""


def prepare() -> None:
    """Import the emulator, and have llvmlite ready: a call cannot do so, once it is confined."""
    for module in pkgutil.walk_packages(cutecc.emulator.__path__, "cutecc.emulator."):
        if module.name != _TABLES:
            importlib.import_module(module.name)
    for name in _NUMPY:
        importlib.import_module(name)
    load_families()
    loop_of("rn")


def serve(call: Call, memory: SharedMemory, emit: Callable[[bytes], None]) -> Death:
    """Run a call in a copy of this process; pieces of what it says go to `emit` as they come."""
    receiver, sender = os.pipe()
    this, parent = os.getpid(), os.getppid()
    child = os.fork()
    if child == 0:
        try:
            die_with(this)
            _run(call, memory, sender)
            os._exit(0)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        finally:
            os._exit(1)
    os.close(sender)
    deadline = time.monotonic() + call.limits.seconds + _GRACE_SECONDS
    says, status, is_late = True, None, False
    try:
        while status is None:
            is_late = time.monotonic() > deadline
            if is_late or os.getppid() != parent:
                break
            if not says:
                # It is ending, or has closed the pipe and goes on.
                time.sleep(_END_SECONDS)
                status = _ended(child)
            elif select.select([receiver], [], [], _LOOK_SECONDS)[0]:
                data = os.read(receiver, _PIECE)
                says = bool(data)
                if says:
                    emit(data)
    finally:
        os.close(receiver)
        if status is None:
            os.kill(child, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return Death(status, is_late)


def _ended(child: int) -> int | None:
    """The status of a process that has ended."""
    process, status = os.waitpid(child, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if process else None


# The copy.


def _run(call: Call, memory: SharedMemory, sender: int) -> None:
    """Map the memory, give up all else, and run."""
    allocations, _ = memory.open()

    def say(message: Message) -> None:
        data = memoryview(encode(message))
        while data:
            data = data[os.write(sender, data) :]

    try:
        # Said before anything of the kernel is looked at: what comes later it may have said itself.
        say(Confined(confine(memory=call.limits.memory, seconds=call.limits.seconds, keep=sender)))
        outcome = run_call(
            call,
            Evaluator(call.program),
            allocations,
            lambda text: say(Printed(text)),
            lambda kernel, done, total: say(Ran(kernel, done, total)),
        )
        if isinstance(outcome.failure, MemoryError):
            outcome.failure = call.limits.exceeded("memory", "the kernel's run takes")
    except Exception as failure:
        outcome = Outcome(failure=failure)
    say(Ended.of(outcome))
