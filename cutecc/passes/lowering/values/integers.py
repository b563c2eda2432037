"""Numbers of the layout algebra as operations of `arith`.

Widths are those of the algebra: an expression has the bits of its widest part, and parts are extended to it with their
sign. Sums, differences and products do not overflow, for offsets stay inside of tensors and sizes are what memory
holds: they say `nsw`, as the wheel's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

from cutecc.ir.constants import constant_of_type
from cutecc.ir.mlir import arith, ir, llvm, math, ub
from cutecc.layout.integers import Integer, Symbolic

_SIGNED = {
    "+": "arith.addi",
    "-": "arith.subi",
    "*": "arith.muli",
    "/": "arith.divsi",
    "%": "arith.remsi",
    "ceil_div": "arith.ceildivsi",
    "min": "arith.minsi",
    "^": "arith.xori",
    "&": "arith.andi",
    ">>": "arith.shrui",
    "<<": "arith.shli",
}
_WITHOUT_OVERFLOW = ("+", "-", "*")


class Predicate(IntEnum):
    """What integers are compared by, as `arith.cmpi` numbers it."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    GREATER = 4
    AT_LEAST = 5
    BELOW = 6
    """Less, of numbers without a sign."""
    ABOVE = 8
    """Greater, of such."""


class Arithmetic:
    """Writes numbers at the current insertion point, each part of one once."""

    def __init__(self, variables: Mapping[str, ir.Value]) -> None:
        self._variables = variables
        self._written: dict[tuple[Integer, int], ir.Value] = {}

    def having(self, name: str, value: ir.Value) -> Arithmetic:
        """The same with one variable more, for the body of a loop: it shares nothing that is written."""
        return Arithmetic({**self._variables, name: value})

    def value(self, number: Integer, width: int) -> ir.Value:
        """`number` as an integer of `width` bits."""
        key = (number, width)
        if key not in self._written:
            self._written[key] = self._write(number, width)
        return self._written[key]

    def _write(self, number: Integer, width: int) -> ir.Value:
        if isinstance(number, int):
            return constant(number, width)
        if number.operation is None:
            return resize(self._variables[number.name], width)
        if number.width != width:
            return resize(self.value(number, number.width), width)
        operands = [self.value(operand, width) for operand in number.operands]
        return self._compute(number, operands)

    def _compute(self, number: Symbolic, operands: list[ir.Value]) -> ir.Value:
        operation = number.operation
        type = operands[0].type
        assert operation is not None
        if operation in _SIGNED:
            attributes = without_overflow() if operation in _WITHOUT_OVERFLOW else None
            return computed(_SIGNED[operation], *operands, attributes=attributes)
        if operation == "shape_div":
            # Sizes are at least 1: a quotient of 0 counts as 1.
            return arith.maxsi(arith.divsi(*operands), constant(1, number.width))
        if operation == "abs":
            return math.absi(*operands)
        assert operation == "sign"
        zero = constant(0, number.width)
        above, below = (compare(each, operands[0], zero) for each in (Predicate.GREATER, Predicate.LESS))
        return arith.subi(arith.extui(type, above), arith.extui(type, below))


def constant(number: int, width: int) -> ir.Value:
    """An integer of `width` bits."""
    return constant_of_type(number, ir.IntegerType.get_signless(width))


def zero(type: ir.Type) -> ir.Value:
    """The value of a type of LLVM's that has no bit set."""
    if isinstance(type, ir.IntegerType):
        return constant_of_type(0, type)
    return llvm.mlir_zero(type)


def poison(type: ir.Type) -> ir.Value:
    """No value in particular."""
    return ub.poison(type)


def word(number: int) -> ir.Value:
    """An `i64` that has the bits of `number`, which has no sign."""
    return constant(number - (1 << 64) if number >> 63 else number, 64)


def resize(value: ir.Value, width: int) -> ir.Value:
    """`value` with its sign extended, or cut off, to `width` bits."""
    bits = ir.IntegerType(value.type).width
    if bits == width:
        return value
    name = "arith.extsi" if bits < width else "arith.trunci"
    return converted(name, value, ir.IntegerType.get_signless(width))


def without_overflow() -> dict[str, Any]:
    """The attributes of a sum, difference or product that does not overflow, its sign included."""
    return {"overflowFlags": ir.Attribute.parse("#arith.overflow<nsw>")}


def computed(name: str, *operands: ir.Value, attributes: dict[str, Any] | None = None) -> ir.Value:
    """The operation `name`, whose operands and result are of one type."""
    return ir.Operation.create(name, [operands[0].type], list(operands), attributes=attributes).result


def converted(name: str, value: ir.Value, element: ir.Type) -> ir.Value:
    """The conversion `name` of a number to the type `element`, or of each number of a vector."""
    return ir.Operation.create(name, [_like(value, element)], [value]).result


def compare(predicate: Predicate, left: ir.Value, right: ir.Value) -> ir.Value:
    """`arith.cmpi` of two integers, or of two vectors of them."""
    return arith.cmpi(predicate, left, right)


def _like(value: ir.Value, element: ir.Type) -> ir.Type:
    """The type `element`, or for a vector that of as many elements."""
    if not isinstance(value.type, ir.VectorType):
        return element
    return ir.VectorType.get(ir.VectorType(value.type).shape, element)
