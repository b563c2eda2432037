"""What a rewriting is asked to do and what it tells while it runs, as plain data that crosses between processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from cutecc.errors import Error
from cutecc.ir.diagnostics import Diagnostic
from cutecc.passes.generation.choice import Backend

Form = Literal["mlir", "bytecode", "llvm", "ptx", "sass"]


@dataclass(frozen=True)
class PrintChoice:
    """After and before which passes to print the module."""

    after: Sequence[str] = ()
    """Pass selectors, or `all`."""
    before: Sequence[str] = ()
    only_changed: bool = False
    """After a pass, only when it changed what is printed; with no `after`, that of all passes."""

    def __bool__(self) -> bool:
        return bool(self.after or self.before or self.only_changed)


@dataclass(frozen=True)
class RewriteRequest:
    """One file to rewrite, of one module or several."""

    data: bytes
    """MLIR text or bytecode."""
    source: str
    """What messages and locations call it."""
    target: str
    pipeline: str = ""
    """A named pipeline, pipeline text or a file that holds it; empty for no passes."""
    form: Form = "mlir"
    backend: Backend | None = None
    """What generates the code, in the place of the pipeline's own pass for that."""
    locations: bool = False
    """Print source locations."""
    generic: bool = False
    """Print operations in their generic form."""
    verify_each: bool = False
    split: bool = False
    """The file is text of several modules, between lines of `// -----`; one that fails does not stop the rest."""
    verify_diagnostics: bool = False
    """Compare what is said with what the text expects; only the differences are said, and count as failure."""
    unregistered: bool = False
    """Accept operations of dialects that nobody knows."""
    prints: PrintChoice = field(default_factory=PrintChoice)
    timing: bool = False
    """Say at the end how long reading, each pass and writing took."""


@dataclass(frozen=True)
class ChunkStarted:
    """Work on a module of the file, counted from 0, begins."""

    index: int


@dataclass(frozen=True)
class Parsed:
    """The module is read."""


@dataclass(frozen=True)
class PassStarted:
    """A pass is about to run."""

    name: str


@dataclass(frozen=True)
class PassesFinished:
    """The passes are done; printing or generating code goes on."""


@dataclass(frozen=True)
class Said:
    """MLIR or a pass has said something, or something expected was not said."""

    diagnostic: Diagnostic


@dataclass(frozen=True)
class Printed:
    """The module between two passes, or how long they took, under a heading."""

    text: str


@dataclass(frozen=True)
class ChunkFinished:
    """A module is rewritten; `output` is empty when it failed."""

    output: bytes
    failed: bool = False
    error: Error | None = None
    """Why one of several modules failed, unless its diagnostics said so."""


Event = ChunkStarted | Parsed | PassStarted | PassesFinished | Said | Printed | ChunkFinished
Told = Said | Printed | ChunkFinished
"""The events that are for the user."""
