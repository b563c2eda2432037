"""Loops and branches around an operation, and what is inside of them."""

from __future__ import annotations

from collections.abc import Iterator

from cutecc.ir.mlir import ir

LOOPS = ("scf.for", "scf.while", "scf.forall", "scf.parallel")
_ENDS = ("gpu.module", "builtin.module", "cuda.kernel", "func.func", "gpu.func", "llvm.func")


def enclosing(operation: ir.Operation) -> Iterator[ir.Operation]:
    """The operations around `operation` inside of its function, innermost first."""
    around = operation.parent
    while around is not None and around.operation.name not in _ENDS:
        yield around.operation
        around = around.operation.parent


def side_of(operation: ir.Operation, around: ir.Operation) -> int:
    """The number of the region of `around` that `operation` stands in, as one of its own operations."""
    return next(number for number, each in enumerate(around.regions) if operation.block in list(each.blocks))


def deciding(around: ir.Operation) -> list[ir.Value]:
    """What decides which side of a branch is taken, or how many rounds a loop has; nothing of other operations."""
    if around.name == "scf.if":
        return [around.operands[0]]
    if around.name == "scf.for":
        return list(around.operands)[:3]
    if around.name == "scf.while":
        return [end_of(around.regions[0]).operands[0]]
    return []


def end_of(region: ir.Region) -> ir.Operation:
    """The `scf.yield` or `scf.condition` that a region ends with."""
    operations = region.blocks[0].operations
    return operations[len(operations) - 1].operation


def is_loop(operation: ir.Operation) -> bool:
    """Whether the body of `operation` may run more than once."""
    return operation.name in LOOPS


def is_inside(value: ir.Value, operation: ir.Operation) -> bool:
    """Whether `value` is made, by an operation or as a block's argument, in a region of `operation`."""
    owner = value.owner
    around = owner.owner if isinstance(owner, ir.Block) else owner.operation.parent
    while around is not None:
        if around.operation == operation:
            return True
        around = around.operation.parent
    return False
