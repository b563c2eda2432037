"""Wants a name that the wheel has."""

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes import ModulePass, register


@register
@dataclass(frozen=True)
class Taken(ModulePass):
    """Does nothing."""

    name: ClassVar[str] = "cse"

    def run(self, module: ir.Module) -> None:
        pass
