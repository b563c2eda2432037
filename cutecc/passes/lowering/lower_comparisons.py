"""Comparisons of coordinates become comparisons of their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.ir.mlir import ir
from cutecc.ir.types import view
from cutecc.layout import Basis, Layout, Ratio
from cutecc.layout.tuples import is_tuple
from cutecc.passes.diagnostics import error
from cutecc.passes.leaf_conversion import LeafConversion, converts_leaves
from cutecc.passes.lowering.values.integers import Arithmetic, Predicate, compare, computed, constant
from cutecc.passes.lowering.values.leaves import Leaves, Number, carried_by, numbers
from cutecc.passes.lowering.values.materialize import algebraic
from cutecc.passes.registry import register

_PREDICATES = {"cute.elem_less": Predicate.LESS, "cute.equal": Predicate.EQUAL}


@register
@dataclass(frozen=True)
class LowerComparisons(LeafConversion):
    """Write `elem_less` and `equal` of coordinates: they hold when they hold for each pair of numbers.

    Values that nest in different ways are not equal. `elem_less` of a coordinate and a shape is what a predicate is
    made of: the coordinate is inside.
    """

    name: ClassVar[str] = "lower-comparisons"

    @converts_leaves(*_PREDICATES)
    def compare(self, operation: ir.Operation, leaves: Leaves) -> ir.Value:
        variables: dict[str, ir.Value] = {}
        sides: list[Any] = []
        for side, operand in enumerate(operation.operands):
            carried = carried_by(operand.type)
            names = carried.names if carried else ("0",)
            variables |= {f"{side}.{name}": leaf for name, leaf in zip(names, leaves.of(operand), strict=True)}
            sides.append(algebraic(view(operand.type), side))
        if operation.name == "cute.equal" and _frame(sides[0]) != _frame(sides[1]):
            return constant(0, 1)
        left, right = map(numbers, sides)
        if len(left) != len(right):
            raise error(operation, f"{operation.name} compares {len(left)} numbers with {len(right)}")
        arithmetic = Arithmetic(variables)
        holds: ir.Value | None = None
        for a, b in zip(left, right, strict=True):
            width = max(_width(a), _width(b))
            one = compare(_PREDICATES[operation.name], arithmetic.value(a, width), arithmetic.value(b, width))
            holds = one if holds is None else computed("arith.andi", holds, one)
        # Of no numbers, all compare.
        return constant(1, 1) if holds is None else holds


def _frame(value: Any) -> Any:
    """All of a value but its integers: how it nests, where it has `_`, the modes of strides, and parts of a step."""
    if is_tuple(value):
        return tuple(map(_frame, value))
    match value:
        case Layout(shape, stride):
            return _frame((shape, stride))
        case Basis(value, path):
            return f"{value if isinstance(value, Ratio) else ''}@{path}"
        case _:
            return "_" if value is None else ""


def _width(number: Number) -> int:
    return 32 if isinstance(number, int) else max(32, number.width)
