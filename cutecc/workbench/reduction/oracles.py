"""What has to go on failing while a module is reduced. Asked in worker processes, which an abort may end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from cutecc import planning
from cutecc.driver import lower
from cutecc.errors import Error
from cutecc.ir.modules import fresh_context, parse, to_text
from cutecc.passes import manager
from cutecc.record import ArtifactKind
from cutecc.target import Target
from cutecc.workbench.checks import Check, CommandCheck, Finding
from cutecc.workbench.failing import Failure, failure_of
from cutecc.workbench.subjects import Subject


class Oracle(Protocol):
    """Something that fails for the module to be reduced, and has to fail for each smaller one."""

    def __call__(self, module: bytes) -> Finding:
        """`fails` for a module that shows what is looked for."""
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

    def __call__(self, module: bytes) -> Finding:
        found = failure_of(replace(self.subject, module=module))
        if found is None:
            return Finding("passes", "it compiles")
        return Finding("fails" if self.expected.is_like(found, self.message) else "passes", str(found))

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

    def __call__(self, module: bytes) -> Finding:
        if self.subject is None:
            return self.check(module, self.suffix)
        subject = replace(self.subject, module=module)
        try:
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

    def __call__(self, module: bytes) -> Finding:
        try:
            norm, record = (lower(replace(each, module=module).request()) for each in (self.against, self.subject))
            if self.device is not None:
                from cutecc.workbench.results import SameResults, device_called

                return SameResults.at(norm, device_called(self.device), dict(self.sizes), self.seed)(record)
        except Error as error:
            return Finding("unknown", error.message)
        same = record.artifact("ptx") == norm.artifact("ptx")
        return Finding("passes" if same else "fails", "the PTX is the same" if same else "the PTX differs")

    def aborted(self, log: str) -> Finding:
        """What an abort of the worker means."""
        return Finding("unknown", "it aborts")

    def settled(self, first: Finding) -> Oracle:
        """There is one way to differ."""
        return self


def _module_after(subject: Subject) -> bytes:
    """What the passes of a subject leave of its module, as text."""
    with fresh_context():
        module = parse(subject.module, subject.source)
        pipeline = planning.checked_pipeline(subject.options, Target.parse(subject.target), module)
        manager.run(pipeline, module)
        return to_text(module).encode()
