"""Numbers of the layout algebra as operations of `arith`.

Widths are those of the algebra: an expression has the bits of its widest part, and parts are extended to it with their
sign. Sums, differences and products do not overflow, for offsets stay inside of tensors and sizes are what memory
holds: they say `nsw`, as the wheel's do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cutecc.ir.mlir import ir
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
_EQUAL, _LESS, _GREATER = 0, 2, 4
"""Predicates, as `arith.cmpi` numbers them; the last two of signed numbers."""


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
            attributes = (
                {"overflowFlags": ir.Attribute.parse("#arith.overflow<nsw>")}
                if operation in _WITHOUT_OVERFLOW
                else None
            )
            return ir.Operation.create(_SIGNED[operation], [type], operands, attributes=attributes).result
        if operation == "shape_div":
            # Sizes are at least 1: a quotient of 0 counts as 1.
            quotient = ir.Operation.create("arith.divsi", [type], operands).result
            return ir.Operation.create("arith.maxsi", [type], [quotient, constant(1, number.width)]).result
        if operation == "abs":
            return ir.Operation.create("math.absi", [type], operands).result
        assert operation == "sign"
        zero = constant(0, number.width)
        above, below = compare(_GREATER, operands[0], zero), compare(_LESS, operands[0], zero)
        signs = [ir.Operation.create("arith.extui", [type], [each]).result for each in (above, below)]
        return ir.Operation.create("arith.subi", [type], signs).result


def constant(number: int, width: int) -> ir.Value:
    """An integer of `width` bits."""
    type = ir.IntegerType.get_signless(width)
    attributes: dict[str, Any] = {"value": ir.IntegerAttr.get(type, number)}
    return ir.Operation.create("arith.constant", [type], attributes=attributes).result


def resize(value: ir.Value, width: int) -> ir.Value:
    """`value` with its sign extended, or cut off, to `width` bits."""
    bits = ir.IntegerType(value.type).width
    if bits == width:
        return value
    name = "arith.extsi" if bits < width else "arith.trunci"
    return ir.Operation.create(name, [ir.IntegerType.get_signless(width)], [value]).result


def compare(predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    """`arith.cmpi` of two integers, by the number of its predicate."""
    bit = ir.IntegerType.get_signless(1)
    attributes: dict[str, Any] = {"predicate": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)}
    return ir.Operation.create("arith.cmpi", [bit], [left, right], attributes=attributes).result
