"""A pass on functions, and one on GPU modules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.ir.mlir import ir
from cutecc.passes import OperationPass, erase, remark, walk


@cutecc.register
@dataclass(frozen=True)
class NameFunctions(OperationPass):
    """Say which function this is."""

    name: ClassVar[str] = "test-name-functions"
    runs_on: ClassVar[tuple[str, ...]] = ("cuda.kernel", "func.func", "gpu.func")

    def run(self, operation: ir.Operation) -> None:
        remark(operation, f"{operation.name} {operation.attributes['sym_name'].value}")


@cutecc.register
@dataclass(frozen=True)
class EraseDeclarations(OperationPass):
    """Erase the functions without a body."""

    name: ClassVar[str] = "test-erase-declarations"
    runs_on: ClassVar[tuple[str, ...]] = ("gpu.module",)

    outside: bool = False
    """Also those of the host, which is wrong."""

    def run(self, operation: ir.Operation) -> None:
        for function in walk((self.outside and operation.parent) or operation, "func.func"):
            if not len(function.regions[0].blocks):
                erase(function)
