"""What has to go on failing while a module is reduced. Asked in worker processes, which an abort may end."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Protocol

from cutecc.compilation import planning
from cutecc.driver import lower
from cutecc.errors import Error, LaunchError
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.record import ArtifactKind
from cutecc.target import Target
from cutecc.workbench.checks import Check, CommandCheck, Finding
from cutecc.workbench.compiling import failure_of
from cutecc.workbench.failing import Failure, plain_message
from cutecc.workbench.subjects import Subject

ENDED_LATE = "SIGALRM"
"""What the end of a process is said to be by that compiled for too long."""


class Oracle(Protocol):
    """Something that fails for the module to be reduced, and has to fail for each smaller one."""

    @property
    def needs_code(self) -> bool:
        """Whether a module has to become code: none with a placeholder does."""
        ...

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        """`fails` for a module that shows what is looked for. When compiling and running it have taken `seconds`, the
        process ends: a pass may well go on for ever with numbers that nobody meant it for."""
        ...

    def aborted(self, log: str) -> Finding:
        """What it means that the process ended which was asking; `log` is what it printed."""
        ...

    def settled(self, first: Finding) -> Oracle:
        """The same, for modules that fail as the `first` one does."""
        ...


@dataclass(frozen=True)
class FailsAlike:
    """Compiling fails as it did with the first module."""

    subject: Subject
    expected: Failure
    message: str | None = None
    """A regular expression that counts instead of the message that was."""

    @property
    def needs_code(self) -> bool:
        """Passes fail before there is code."""
        return False

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        with at_most(seconds):
            found = failure_of(replace(self.subject, module=module))
        if found is None:
            return Finding("passes", "it compiles")
        return Finding("fails" if self.expected.is_like(found, self.message) else "passes", str(found))

    def __repr__(self) -> str:
        # By which a later run knows that it is for the same: an object's address in the message is another then.
        expected = replace(self.expected, message=plain_message(self.expected.message))
        return f"FailsAlike({self.subject!r}, {expected!r}, {self.message!r})"

    def aborted(self, log: str) -> Finding:
        """What an abort of the worker means."""
        found = Failure.of_abort(log)
        return Finding("fails" if self.expected.is_like(found) else "passes", str(found))

    def settled(self, first: Finding) -> Oracle:
        """What it looks for is known already."""
        return self


@dataclass(frozen=True)
class CheckFails:
    """A check fails, on the module itself, or on what it compiles to."""

    check: Check
    subject: Subject | None = None
    """How it is compiled before; `None` for the module itself."""
    artifact: ArtifactKind | None = None
    """What of it is looked at; `None` for the module after the passes."""
    suffix: str = ".mlir"
    """What the name of the file that the check gets ends in."""

    @property
    def needs_code(self) -> bool:
        """When it looks at the code."""
        return self.artifact is not None

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        if self.subject is None:
            return self.check(module, self.suffix)
        subject = replace(self.subject, module=module)
        try:
            with at_most(seconds):
                found = lower(subject.request()).artifact(self.artifact) if self.artifact else _module_after(subject)
        except Error as error:
            return Finding("unknown", error.message)
        return self.check(found, self.suffix) if found else Finding("unknown", f"there is no {self.artifact}")

    def aborted(self, log: str) -> Finding:
        """What an abort of the worker means."""
        return Finding("unknown", "it aborts")

    def settled(self, first: Finding) -> Oracle:
        """With a command, only its first status counts."""
        if isinstance(self.check, CommandCheck) and first.status is not None:
            return replace(self, check=replace(self.check, status=first.status))
        return self


@dataclass(frozen=True)
class Differs:
    """Two ways to compile the module give other PTX, or on a device other results."""

    subject: Subject
    against: Subject
    device: str | None = None
    """`cpu`, the emulator, or a GPU's name, to compare results on; `None` compares the PTX."""
    sizes: tuple[tuple[str, int], ...] = ()
    seed: int = 0

    @property
    def needs_code(self) -> bool:
        """It compares code, or runs it."""
        return True

    def __call__(self, module: bytes, seconds: float | None) -> Finding:
        try:
            with at_most(seconds):
                record = lower(replace(self.subject, module=module).request())
                norm = lower(replace(self.against, module=module).through_generator_of(record).request())
                if self.device is not None:
                    from cutecc.workbench.results import SameResults, device_called

                    return SameResults.at(norm, device_called(self.device), dict(self.sizes), self.seed)(record)
        except LaunchError as fault:
            if self.device != "cpu":
                # After a fault on a GPU, nothing else runs there in this process.
                print(fault.message, file=sys.stderr, flush=True)
                os._exit(1)
            return Finding("unknown", fault.message)
        except Error as error:
            return Finding("unknown", error.message)
        same = record.artifact("ptx") == norm.artifact("ptx")
        return Finding("passes" if same else "fails", "the PTX is the same" if same else "the PTX differs")

    def aborted(self, log: str) -> Finding:
        """What an abort of the worker means: that of the compiler, or a fault on a GPU, which is the last line."""
        return Finding("unknown", log.strip().rpartition("\n")[2] or "it aborts")

    def settled(self, first: Finding) -> Oracle:
        """There is one way to differ."""
        return self


@contextlib.contextmanager
def at_most(seconds: float | None) -> Generator[None]:
    """End this process when what is inside takes longer: what runs is native code, which nothing else would end."""
    if seconds is None or not hasattr(signal, "setitimer"):
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def last_selector(subject: Subject, name: str) -> str | None:
    """What the last pass called `name` is called in the pipeline of a subject; `None` where that may depend on the
    module."""
    with fresh_context():
        module = parse(subject.module, subject.source)
        if planning.uses_lir(module):
            return None
        pipeline = planning.checked_pipeline(subject.options, Target.parse(subject.target), module)
        return next((each for each in reversed(pipeline.selectors()) if each.partition("#")[0] == name), None)


def _module_after(subject: Subject) -> bytes:
    """What the passes of a subject leave of its module, as text."""
    with fresh_context():
        module = parse(subject.module, subject.source)
        pipeline = planning.checked_pipeline(subject.options, Target.parse(subject.target), module)
        manager.run(pipeline, module)
        return to_text(module).encode()
