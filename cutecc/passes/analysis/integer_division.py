"""Find integer divisions by values that only the running kernel knows, inside loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.analysis.base import AnalysisPass
from cutecc.passes.analysis.device_code import walk_device
from cutecc.passes.analysis.loops import enclosing, is_inside, is_loop
from cutecc.passes.diagnostics import remark
from cutecc.passes.registry import register

DIVISIONS = {
    f"arith.{name}": what
    for what, names in {
        "division": ("divsi", "divui", "floordivsi", "ceildivsi", "ceildivui"),
        "remainder": ("remsi", "remui"),
    }.items()
    for name in names
}
_WIDENING = ("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")


@register
@dataclass(frozen=True)
class CheckIntegerDivision(AnalysisPass):
    """Remark on integer division and remainder by dynamic values in loops, which no hardware instruction does.

    Divisions by constants become multiplications and are left out, as are `FastDivmod`'s. So are those that are the
    same in every round and run in each, which the code generator moves out of their loop.
    """

    name: ClassVar[str] = "check-integer-division"
    looks_after: ClassVar[str | None] = "loop-invariant-code-motion#1"

    def run(self, module: ir.Module) -> None:
        # A division and a remainder of the same operands are one computation.
        found: dict[tuple[int, int, int], list[tuple[ir.Operation, str, int]]] = {}
        for operation in walk_device(module, *DIVISIONS):
            divisor = operation.operands[1]
            if _is_constant(divisor) or not (depth := loop_depth(operation)):
                continue
            key = (hash(operation.operands[0]), hash(divisor), hash(operation.block))
            found.setdefault(key, []).append((operation, DIVISIONS[operation.name], depth))
        for same in found.values():
            operation, _, depth = same[0]
            what = " and ".join(dict.fromkeys(kind for _, kind, _ in same))
            bits = _bits(operation.operands[1])
            loops = "a loop" if depth == 1 else f"{depth} nested loops"
            origin, advice = _origin(operation)
            remark(
                operation,
                f"{bits}-bit integer {what} by {origin} inside {loops}: {advice}",
                {"bits": bits, "loop depth": depth},
            )


def loop_depth(operation: ir.Operation) -> int:
    """How many loops run `operation` again and again: those around it less the inner ones that it can leave."""
    loops = [each for each in enclosing(operation) if is_loop(each)]
    while loops and _leaves(operation, loops[0]):
        loops.pop(0)
    return len(loops)


def _leaves(operation: ir.Operation, loop: ir.Operation) -> bool:
    """Whether each round of `loop` runs `operation` with the same operands, so that once before it is enough."""
    for around in enclosing(operation):
        if around == loop:
            break
        # A division that not every round runs may be guarded against a divisor of zero.
        if not is_loop(around):
            return False
    return all(_is_invariant(operand, loop) for operand in operation.operands)


def _is_invariant(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether `value` is made outside of `loop`, or inside by a division that leaves it too."""
    if not is_inside(value, loop):
        return True
    maker = None if isinstance(value.owner, ir.Block) else value.owner.operation
    return maker is not None and maker.name in (*DIVISIONS, *_WIDENING) and _leaves(maker, loop)


def _is_constant(value: ir.Value) -> bool:
    owner = value.owner
    while not isinstance(owner, ir.Block) and owner.name in _WIDENING:
        owner = owner.operands[0].owner
    return not isinstance(owner, ir.Block) and owner.operation.name in ("arith.constant", "llvm.mlir.constant")


def _bits(value: ir.Value) -> int:
    # An index is 64 bits wide in device code.
    return ir.IntegerType(value.type).width if isinstance(value.type, ir.IntegerType) else 64


def _origin(operation: ir.Operation) -> tuple[str, str]:
    """What the divisor is, and what to do about it."""
    divisor = operation.operands[1]
    loop = next(each for each in enclosing(operation) if is_loop(each))
    if is_inside(divisor, loop):
        return "a value that changes in the loop", "compute it without dividing, or divide less often"
    return (
        "a value that is the same in every round",
        "pass cute.FastDivmodDivisor of it to the kernel, or keep quotient and remainder up to date by adding",
    )
