"""What a compilation tells while it runs: one object for each thing that happens, in the order in which it does.

    class Progress(Observer):
        def event(self, event: Event) -> None:
            match event:
                case PassStarted(index, name):
                    ...

All are plain data, and alike for a compilation in this process and one in a worker.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.record import Compilation, Remark, Step


@dataclass(frozen=True)
class Parsed:
    """The module is read."""


@dataclass(frozen=True)
class Planned:
    """The pipeline is chosen; `compilation` is the record so far."""

    compilation: Compilation
    first: int
    """The position of the first pass to run."""
    total: int
    """How many passes the whole pipeline has, up to where the run stops."""


@dataclass(frozen=True)
class Keyed:
    """The cache knows the request, or will."""

    key: str
    module: str
    """The hash of the traced module as it is, with its locations."""
    sources: tuple[str, ...]
    """The files of the user's passes, which the key stands for too."""


@dataclass(frozen=True)
class PassStarted:
    """A pass is about to run."""

    index: int
    name: str


@dataclass(frozen=True)
class Said:
    """The pass that runs has said something, or an analysis that looked at what a pass has left."""

    index: int
    """The position of the pass."""
    name: str
    """Of the pass, or of the analysis."""
    remark: Remark


@dataclass(frozen=True)
class PassFinished:
    """A pass has run, or failed. What it changed is known later: it is in the record."""

    step: Step


@dataclass(frozen=True)
class ArtifactsStarted:
    """The passes are done; assembling, disassembling and printing go on."""


@dataclass(frozen=True)
class Finished:
    """The compilation has succeeded, or was stopped as asked: what a call of the library tells last."""

    compilation: Compilation


@dataclass(frozen=True)
class Failed:
    """A call of the library ends with this exception; told last."""

    error: BaseException


Event = Parsed | Planned | Keyed | PassStarted | Said | PassFinished | ArtifactsStarted | Finished | Failed
