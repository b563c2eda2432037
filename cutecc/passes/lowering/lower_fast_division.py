"""Division by a divisor that is prepared beforehand becomes a multiplication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import FastDivisor, view
from cutecc.passes.diagnostics import error
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.values.integers import computed, constant, converted, resize
from cutecc.passes.lowering.values.leaves import Leaves
from cutecc.passes.registry import register

_BITS = 32
"""Of dividend and divisor."""


@register
@dataclass(frozen=True)
class LowerFastDivision(LeafConversion):
    """Write fast division: what a divisor needs is computed once, on the host, and a quotient is a high product.

    For a divisor d of n bits, n = ceil(log2 d), the multiplier is m = 2^32 (2^n - d) / d + 1, and the quotient of x is
    (t + (x - t >> min(n, 1))) >> max(n - 1, 0) with t the upper half of m x (Granlund and Montgomery, Division by
    Invariant Integers using Multiplication, PLDI 1994, figure 4.1).
    """

    name: ClassVar[str] = "lower-fast-division"

    @converts_leaves("cute.fast_divmod.create_divisor")
    def create_divisor(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        _check_width(operation)
        return [_prepare(leaves.of(operation.operands[0])[0])]

    @converts_leaves("cute.fast_divmod.make_divisor")
    def make_divisor(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        _check_width(operation)
        return [[leaf for operand in operation.operands for leaf in leaves.of(operand)]]

    @converts_leaves("cute.fast_divmod.get_divisor")
    def get_divisor(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        _check_width(operation)
        return leaves.of(operation.operands[0])[:1]

    @converts_leaves("cute.fast_divmod.get_aux")
    def get_aux(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        _check_width(operation)
        return leaves.of(operation.operands[0])[1:]

    @converts_leaves("cute.fast_divmod.divide", "cute.fast_divmod.compute")
    def divide(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        _check_width(operation)
        dividend, divisor = operation.operands
        both = _divide(leaves.of(dividend)[0], leaves.of(divisor))
        return both[: len(operation.results)]


def _check_width(operation: ir.Operation) -> None:
    for value in (*operation.operands, *operation.results):
        divisor = view(value.type) if str(value.type).startswith("!cute.fast_divmod_divisor") else None
        if isinstance(divisor, FastDivisor) and divisor.width != _BITS:
            message = f"fast division of {divisor.width}-bit numbers is not lowered, of {_BITS} bits alone"
            raise error(operation, message)


def _widen(value: ir.Value, width: int) -> ir.Value:
    return converted("arith.extui", value, ir.IntegerType.get_signless(width))


def _prepare(divisor: ir.Value) -> list[ir.Value]:
    """The divisor, its multiplier and its two shifts."""
    # 32 - ctlz(d - 1) is ceil(log2 d), also for 1, whose d - 1 has 32 leading zeros.
    below = computed("arith.subi", divisor, constant(1, _BITS))
    zeros = computed("math.ctlz", below)
    bits = computed("arith.subi", constant(_BITS, _BITS), zeros)
    wide, power = _widen(divisor, 64), _widen(bits, 64)
    gap = computed("arith.subi", computed("arith.shli", constant(1, 64), power), wide)
    scaled = computed("arith.divui", computed("arith.shli", gap, constant(_BITS, 64)), wide)
    multiplier = resize(computed("arith.addi", scaled, constant(1, 64)), _BITS)
    first = computed("arith.minui", bits, constant(1, _BITS))
    second = computed("arith.subi", bits, first)
    return [divisor, multiplier, resize(first, 8), resize(second, 8)]


def _divide(dividend: ir.Value, divisor: list[ir.Value]) -> list[ir.Value]:
    """Quotient and remainder."""
    by, multiplier, *shifts = divisor
    first, second = (_widen(shift, _BITS) for shift in shifts)
    product = computed("arith.muli", _widen(dividend, 64), _widen(multiplier, 64))
    high = resize(computed("arith.shrui", product, constant(_BITS, 64)), _BITS)
    rest = computed("arith.shrui", computed("arith.subi", dividend, high), first)
    quotient = computed("arith.shrui", computed("arith.addi", high, rest), second)
    return [quotient, computed("arith.subi", dividend, computed("arith.muli", quotient, by))]
