"""What a running compilation tells those who watch it from outside its process."""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.record import Compilation, Step


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
class PassFinished:
    """A pass has run, or failed."""

    step: Step


@dataclass(frozen=True)
class ArtifactsStarted:
    """The passes are done; assembling, disassembling and printing go on."""


Event = Parsed | Planned | Keyed | PassStarted | PassFinished | ArtifactsStarted
