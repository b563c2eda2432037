"""Comparisons of coordinates become comparisons of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import view
from cutecc.ir.walking import walk
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.limits import limited
from cutecc.passes.lowering.values.arithmetic import Arithmetic, Predicate, compare, computed, constant
from cutecc.passes.lowering.values.leaves import Leaves, Number, carried_by, numbers
from cutecc.passes.lowering.values.unfold import algebraic
from cutecc.passes.registry import register

_PREDICATES = {"cute.elem_less": Predicate.LESS, "cute.equal": Predicate.EQUAL}


@register
@dataclass(frozen=True)
class LowerComparisons(ModulePass):
    """Write `elem_less` and `equal` of coordinates: they hold when they hold for each pair of numbers.

    `elem_less` of a coordinate and a shape is what a predicate is made of: the coordinate is inside.
    """

    name: ClassVar[str] = "lower-comparisons"
    lowers: ClassVar[tuple[str, ...]] = tuple(_PREDICATES)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        for operation in limited(walk(module, *self.lowers)):
            with ir.InsertionPoint(operation), operation.location:
                result = _compare(operation, leaves)
            leaves.replace(operation, [[result]])


def _compare(operation: ir.Operation, leaves: Leaves) -> ir.Value:
    variables: dict[str, ir.Value] = {}
    sides: list[list[Number]] = []
    for side, operand in enumerate(operation.operands):
        carried = carried_by(operand.type)
        names = carried.names if carried else ("0",)
        variables |= {f"{side}.{name}": leaf for name, leaf in zip(names, leaves.of(operand), strict=True)}
        sides.append(numbers(algebraic(view(operand.type), side)))
    left, right = sides
    if len(left) != len(right):
        raise error(operation, f"{operation.name} compares {len(left)} numbers with {len(right)}")
    arithmetic = Arithmetic(variables)
    holds = constant(1, 1) if not left else None  # of no numbers, all compare
    for a, b in zip(left, right, strict=True):
        width = max(_width(a), _width(b))
        one = compare(_PREDICATES[operation.name], arithmetic.value(a, width), arithmetic.value(b, width))
        holds = one if holds is None else computed("arith.andi", holds, one)
    assert holds is not None
    return holds


def _width(number: Number) -> int:
    return 32 if isinstance(number, int) else max(32, number.width)
