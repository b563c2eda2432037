"""What bisecting and reducing work on: a module for one target, and how it is compiled."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from cutecc.compilation.request import CompileOptions, CompileRequest
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.generation.choice import PASSES
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation, Signature, Workload
from cutecc.record.stages import UserLines


@dataclass(frozen=True)
class Subject:
    """A module, text or bytecode, and what is known of it."""

    module: bytes
    target: str
    name: str
    """The kernel's short name."""
    source: str = "-"
    """The input as the user named it, for messages."""
    signature: Signature | None = None
    """`None` where nobody says how to call it."""
    workload: Workload | None = None
    lines: UserLines | None = None
    options: CompileOptions = field(default_factory=CompileOptions)
    """How it is compiled."""

    def request(self, options: CompileOptions | None = None, output: Path | None = None) -> CompileRequest:
        """To compile it with `options`, by default its own."""
        return CompileRequest(
            self.module,
            self.target,
            self.name,
            source=self.source,
            signature=self.signature,
            workload=self.workload,
            options=replace(options or self.options, reproduce=False),
            output=output,
            lines=self.lines,
        )

    def dumping(self) -> CompileOptions:
        """Its options, such that the record has the module after every pass that changes it."""
        return replace(self.options, observe=True, dumps=DumpChoice(after=("all",)))

    def through_generator_of(self, record: Compilation) -> Subject:
        """The same, its code by what generates that of `record`: two generators never write the same PTX."""
        names = {pass_.name for pass_ in Pipeline.parse(record.pipeline)}
        backend = next((backend for backend, name in PASSES.items() if name in names), None)
        return replace(self, options=replace(self.options, backend=backend))

    def without_code(self) -> Subject:
        """The same, of whose code nothing is kept."""
        return replace(self, options=replace(self.options, artifacts=()))
