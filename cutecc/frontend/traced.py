"""What tracing takes and gives, as plain data that crosses between processes."""

from __future__ import annotations

from dataclasses import dataclass, field

from cutecc.arguments.specs import Spec
from cutecc.errors import SourceLocation
from cutecc.record.compilation import Remark, Signature


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
    options: str = ""
    """Further compile options of the DSL, those that change the trace, such as `--enable-assertions`."""
    locations: bool = True
    """Keep the user's lines in the module."""


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
