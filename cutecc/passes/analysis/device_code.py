"""Which parts of a module run on the device."""

from __future__ import annotations

from collections.abc import Iterable

from cutecc.ir.editing import address_of
from cutecc.ir.mlir import ir
from cutecc.ir.modules import body_of


def walk_device(module: ir.Module, *names: str) -> list[ir.Operation]:
    """The operations called one of `names` in the device modules of `module`, in the order they are printed.

    For those who change nothing: MLIR's own walk, which makes no view of what it comes by, in a fifth of `walk`'s time.
    """
    wanted = frozenset(names)
    found: list[ir.Operation] = []

    def take(operation: ir.Operation) -> ir.WalkResult:
        if operation.name in wanted:
            found.append(operation)
        return ir.WalkResult.ADVANCE

    for operation in body_of(module.operation):
        if operation.operation.name == "gpu.module":
            operation.operation.walk(take, ir.WalkOrder.PRE_ORDER)
    return found


def by_kernel(operations: Iterable[ir.Operation]) -> list[list[ir.Operation]]:
    """The operations of each function on the device."""
    found: dict[int, list[ir.Operation]] = {}
    for operation in operations:
        found.setdefault(address_of(function_of(operation)), []).append(operation)
    return list(found.values())


def function_of(operation: ir.Operation) -> ir.Operation:
    """The function on the device that `operation` is in."""
    around = operation
    while around.parent is not None and around.parent.operation.name != "gpu.module":
        around = around.parent.operation
    return around
