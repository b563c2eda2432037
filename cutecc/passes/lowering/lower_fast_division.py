"""Division by a divisor that is prepared beforehand becomes a multiplication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import FastDivisor, view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.values.arithmetic import constant
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.registry import register

_BITS = 32
"""Of dividend and divisor."""
_OPERATIONS = tuple(
    f"cute.fast_divmod.{name}"
    for name in ("create_divisor", "make_divisor", "get_divisor", "get_aux", "divide", "compute")
)


@register
@dataclass(frozen=True)
class LowerFastDivision(ModulePass):
    """Write fast division: what a divisor needs is computed once, on the host, and a quotient is a high product.

    For a divisor d of n bits, n = ceil(log2 d), the multiplier is m = 2^32 (2^n - d) / d + 1, and the quotient of x is
    (t + (x - t >> min(n, 1))) >> max(n - 1, 0) with t the upper half of m x (Granlund and Montgomery, Division by
    Invariant Integers using Multiplication, PLDI 1994, figure 4.1).
    """

    name: ClassVar[str] = "lower-fast-division"
    lowers: ClassVar[tuple[str, ...]] = _OPERATIONS

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for operation in walk(module, *self.lowers):
            _check_width(operation)
            with ir.InsertionPoint(operation), operation.location:
                match operation.name:
                    case "cute.fast_divmod.create_divisor":
                        found = [_prepare(leaves.of(operation.operands[0])[0])]
                    case "cute.fast_divmod.make_divisor":
                        found = [[leaf for operand in operation.operands for leaf in leaves.of(operand)]]
                    case "cute.fast_divmod.get_divisor":
                        found = [leaves.of(operation.operands[0])[:1]]
                    case "cute.fast_divmod.get_aux":
                        found = [[leaf] for leaf in leaves.of(operation.operands[0])[1:]]
                    case "cute.fast_divmod.divide" | "cute.fast_divmod.compute":
                        dividend, divisor = operation.operands
                        both = _divide(leaves.of(dividend)[0], leaves.of(divisor))
                        found = [[each] for each in both[: len(operation.results)]]
                    case name:
                        raise AssertionError(f"no such operation: {name}")
            leaves.replace(operation, found)


def _check_width(operation: ir.Operation) -> None:
    for value in (*operation.operands, *operation.results):
        divisor = view(value.type) if str(value.type).startswith("!cute.fast_divmod_divisor") else None
        if isinstance(divisor, FastDivisor) and divisor.width != _BITS:
            message = f"fast division of {divisor.width}-bit numbers is not lowered, of {_BITS} bits alone"
            raise error(operation, message)


def _op(name: str, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(name, [operands[0].type], list(operands)).result


def _cast(name: str, value: ir.Value, width: int) -> ir.Value:
    return ir.Operation.create(name, [ir.IntegerType.get_signless(width)], [value]).result


def _prepare(divisor: ir.Value) -> list[ir.Value]:
    """The divisor, its multiplier and its two shifts."""
    # 32 - ctlz(d - 1) is ceil(log2 d), also for 1, whose d - 1 has 32 leading zeros.
    below = _op("arith.subi", divisor, constant(1, _BITS))
    zeros: ir.Value = ir.Operation.create("math.ctlz", [below.type], [below]).result
    bits = _op("arith.subi", constant(_BITS, _BITS), zeros)
    wide, power = _cast("arith.extui", divisor, 64), _cast("arith.extui", bits, 64)
    gap = _op("arith.subi", _op("arith.shli", constant(1, 64), power), wide)
    scaled = _op("arith.divui", _op("arith.shli", gap, constant(_BITS, 64)), wide)
    multiplier = _cast("arith.trunci", _op("arith.addi", scaled, constant(1, 64)), _BITS)
    first = _op("arith.minui", bits, constant(1, _BITS))
    second = _op("arith.subi", bits, first)
    return [divisor, multiplier, _cast("arith.trunci", first, 8), _cast("arith.trunci", second, 8)]


def _divide(dividend: ir.Value, divisor: list[ir.Value]) -> list[ir.Value]:
    """Quotient and remainder."""
    by, multiplier, *shifts = divisor
    first, second = (_cast("arith.extui", shift, _BITS) for shift in shifts)
    product = _op("arith.muli", _cast("arith.extui", dividend, 64), _cast("arith.extui", multiplier, 64))
    high = _cast("arith.trunci", _op("arith.shrui", product, constant(_BITS, 64)), _BITS)
    rest = _op("arith.shrui", _op("arith.subi", dividend, high), first)
    quotient = _op("arith.shrui", _op("arith.addi", high, rest), second)
    return [quotient, _op("arith.subi", dividend, _op("arith.muli", quotient, by))]
