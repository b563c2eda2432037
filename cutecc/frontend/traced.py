"""What tracing takes and gives, as plain data that crosses between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecc.arguments.specs import Spec
from cutecc.errors import SourceLocation
from cutecc.record.compilation import Remark, Signature, Workload
from cutecc.record.stages import UserLines


@dataclass(frozen=True)
class TraceRequest:
    """A kernel in a file, and what to trace it with."""

    path: str
    function: str | None = None
    """The `@cute.jit` function of that name; without it and `entry`, the only one in the file."""
    entry: str | None = None
    """An expression in the file's namespace that gives what to compile: `Gemm(tile=(128, 128))`."""
    args: dict[str, Spec] = field(default_factory=dict[str, Spec])
    """Argument specs by parameter."""
    target: str = "sm_90a"
    sources: dict[str, SourceLocation] = field(default_factory=dict[str, SourceLocation])
    """Where each spec, and under the key `entry` the entry, was written, for messages."""
    outputs: dict[str, SourceLocation | None] = field(default_factory=dict[str, SourceLocation | None])
    """The parameters that the header calls outputs, and where it does."""
    header_entry: str | None = None
    """The entry that the header's specs are for, when something else is to be traced."""
    options: str = ""
    """Further compile options of the DSL, those that change the trace, such as `--enable-assertions`."""
    locations: bool = True
    """Keep the user's lines in the module."""
    watch: bool = False
    """Note what the trace reads."""


@dataclass(frozen=True)
class Inputs:
    """What a trace read, besides Python's and installed packages' files and cutecc itself. Paths are absolute."""

    files: tuple[str, ...]
    """Modules, and whatever else was opened."""
    absent: tuple[str, ...]
    """Files that were looked for and are not there."""
    folders: tuple[str, ...]
    """Where modules of the user's were looked for."""
    names: tuple[str, ...]
    """The names of modules that were looked for; a file of such a name in one of the folders would change the trace."""
    variables: tuple[str, ...] = ()
    """The environment variables that the user's files read, set or not."""


@dataclass(frozen=True)
class TracedModule:
    """A kernel as the DSL traced it: the cute MLIR before any pass."""

    bytecode: bytes
    """MLIR bytecode."""
    signature: Signature
    name: str
    """The short name of the function or class, safe in file names."""
    source_file: str | None
    source_line: int | None
    """The line of the function's `def`."""
    warnings: tuple[Remark, ...] = ()
    """What the DSL warned of while tracing."""
    inputs: Inputs | None = None
    """What was read, when it was watched and can be told."""
    lines: UserLines = field(default_factory=UserLines)
    """What the trace knows of the user's program; empty when it was made without locations."""
    workload: Workload | None = None
    """How to run it, of a kernel without a file to say so."""
