"""Keeps what the DSL has traced from being read again at the end of a trace.

The DSL wraps the bytecode of the module in an artifact. That one reads it, in a context that does not know all of the
DSL's own dialects. Where a kernel has marks for the profiler, of the dialect `iket`, as quack's kernels have, it prints
an error of an unknown dialect, and goes on. The bytecode is all that is wanted of the artifact.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class _Artifact:
    """Has what the DSL puts into its own."""

    bytecode: bytes
    metadata: list[Any] = field(default_factory=list[Any])

    def get_bitcode(self) -> bytes:
        return self.bytecode

    @classmethod
    def from_bitcode(cls, bytecode: bytes) -> _Artifact:
        return cls(bytecode)


@contextlib.contextmanager
def unread_artifacts() -> Generator[None]:
    """Lets the DSL make artifacts that keep the bytecode as it is, and puts everything back."""
    library: Any = importlib.import_module("cutlass._mlir._mlir_libs._cutlass_ir")
    before = library.PreCompiledMlirArtifact
    library.PreCompiledMlirArtifact = _Artifact
    try:
        yield
    finally:
        library.PreCompiledMlirArtifact = before
