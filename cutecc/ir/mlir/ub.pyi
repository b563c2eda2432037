"""The `ub` dialect: builders, and views of its operations. Written by tools/update_stubs.py."""

from typing import Any

from cutecc.ir.mlir.ir import Attribute, InsertionPoint, Location, OpView, Type, Value

# fmt: off
# pyright: reportIncompatibleVariableOverride=false, reportIncompatibleMethodOverride=false
# ruff: noqa: E501

class PoisonOp(OpView):
    @property
    def result(self) -> Value: ...
    @property
    def value(self) -> Attribute: ...
class UnreachableOp(OpView): ...

def poison(result: Type, *, value: Any = ..., loc: Location | None = ..., ip: InsertionPoint | None = ...) -> Value: ...
def unreachable(*, loc: Location | None = ..., ip: InsertionPoint | None = ...) -> Any: ...
