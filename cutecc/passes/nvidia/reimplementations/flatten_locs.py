"""The wheel's `flatten-locs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider


@register
@dataclass(frozen=True)
class FlattenLocs(ModulePass):
    """Leave the module alone.

    Observed: without an output path the wheel's pass keeps every location, also fused ones and those of inlined calls.
    """

    name: ClassVar[str] = "flatten-locs"
    provider: ClassVar[Provider] = "reimplementation"

    output_json_path: str = ""
    """Where the wheel would write the call stacks; this pass writes no file and refuses a path."""

    def run(self, module: ir.Module) -> None:
        if self.output_json_path:
            raise PassError("flatten-locs cannot write a file here; leave output-json-path empty")
