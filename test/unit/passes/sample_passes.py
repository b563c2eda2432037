"""Small passes for tests. None of them is registered by importing this file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from cutecc.errors import PassError, SourceLocation, UsageError
from cutecc.passes.base import ModulePass
from cutecc.passes.nesting import OperationPass

ADD = b"""
func.func @twice(%arg0: i32) -> (i32, i32) {
  %0 = arith.addi %arg0, %arg0 : i32
  %1 = arith.addi %arg0, %arg0 : i32
  return %0, %1 : i32, i32
}
"""


@dataclass(frozen=True)
class Everything(ModulePass):
    """One option of each kind."""

    name: ClassVar[str] = "test-everything"

    count: int = 4
    """How many."""
    ratio: float = 0.5
    enabled: bool = False
    label: str = ""
    mode: Literal["fast", "safe"] = "safe"
    sizes: tuple[int, ...] = ()
    words: tuple[str, ...] = ("a",)
    limit: int | None = None
    with_dash: str = "x"

    def run(self, module):
        pass


@dataclass(frozen=True)
class Rename(ModulePass):
    """Give every function a name with a suffix."""

    name: ClassVar[str] = "test-rename"

    suffix: str = "_renamed"
    """What to append."""

    def run(self, module):
        from cutecc.ir.mlir import ir
        from cutecc.ir.modules import body_of

        for operation in body_of(module.operation):
            if operation.name == "func.func":
                name = operation.attributes["sym_name"].value
                operation.attributes["sym_name"] = ir.StringAttr.get(name + self.suffix)


@dataclass(frozen=True)
class Nested(ModulePass):
    """Runs on GPU modules."""

    name: ClassVar[str] = "test-nested"
    anchors: ClassVar[tuple[str, ...]] = ("gpu.module",)

    def run(self, module):
        pass


@dataclass(frozen=True)
class OnFunctions(OperationPass):
    """Runs on functions."""

    name: ClassVar[str] = "test-on-functions"
    runs_on: ClassVar[tuple[str, ...]] = ("func.func", "gpu.func", "llvm.func")

    label: str = ""

    def run(self, operation):
        pass


@dataclass(frozen=True)
class Broken(ModulePass):
    """Fails in the way that its option says."""

    name: ClassVar[str] = "test-broken"

    how: Literal["pass-error", "usage-error", "exception", "invalid-module"] = "pass-error"

    def run(self, module):
        where = SourceLocation("kernel.py", 7, 3, "x = y")
        if self.how == "pass-error":
            raise PassError("cannot rewrite this", where, pass_name=self.name)
        if self.how == "usage-error":
            raise UsageError("no such thing", where, notes=["a note"], hints=["a hint"])
        if self.how == "exception":
            raise ZeroDivisionError("division by zero")
        drop_terminators(module)


def drop_terminators(module) -> None:
    """Make `module` invalid: functions without a return."""
    from cutecc.ir.modules import body_of

    for operation in body_of(module.operation):
        if operation.name == "func.func":
            block = operation.regions[0].blocks[0]
            block.operations[len(block.operations) - 1].operation.erase()
