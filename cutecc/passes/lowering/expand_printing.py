"""Printing a tensor becomes printing its elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from cutecc.errors import Error
from cutecc.ir.mlir import arith, cute, ir
from cutecc.ir.types import AddressSpace, CoordTensor, CoordValue, MemRef, to_type, view
from cutecc.layout import add_coordinates, product, symbol
from cutecc.layout.layout import idx2crd
from cutecc.layout.tuples import modes
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.lower_printing import format_of, format_pieces
from cutecc.passes.lowering.values.integers import Arithmetic, Predicate, compare, computed, constant, converted
from cutecc.passes.lowering.values.leaves import Leaves, carried_by, dynamic, pack
from cutecc.passes.lowering.values.loops import ROLLED, UNROLLED, only_if, unrolled_loop
from cutecc.passes.lowering.values.vector_accesses import value_type
from cutecc.passes.registry import register

_ENDS = 3
"""How many elements are printed at the beginning and at the end of a longer row, and how many rows of a matrix."""
_MARGIN = "       "
"""Under `tensor(`."""
_MOST_VALUES = 32
"""What one `printf` of a kernel takes (CUDA Programming Guide, formatted output)."""
_FLOAT_AT_LEAST, _FLOAT_LESS_OR_NAN = 3, 11
"""As `arith.cmpf` numbers them."""


@register
@dataclass(frozen=True)
class ExpandPrinting(LeafConversion):
    """Write `cute.print_view`, and a `cute.print` of a tensor, as loads of elements and a `cute.print` of each.

    A tensor is printed as torch prints one, its first mode down and its second across, and all others as one that
    counts these matrices; of a mode of more than six, the first three and the last three. With `verbose`, each element
    has a line with its coordinate. A tensor inside of a message is its first elements, as many as `printf` takes.
    """

    name: ClassVar[str] = "expand-printing"
    lowers: ClassVar[tuple[str, ...]] = ("cute.print_view",)

    @converts_leaves("cute.print_view")
    def print_view(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        value, *at = operation.operands
        printed = _Printed.of(value, leaves, is_signed=operation.attributes["is_signed"].value)
        if at:
            raise Error("the open lowering does not know how one element alone is printed")
        if operation.attributes["verbose"].value:
            _print_lines(printed)
        else:
            _print_matrices(printed)
        return []

    @converts_leaves("cute.print")
    def print(self, operation: ir.Operation, leaves: Leaves) -> Converted | None:
        """Have a message print the elements of its tensors, where how many these are is known."""
        if not any(isinstance(view(operand.type), MemRef) for operand in operation.operands):
            return None
        _print(operation, leaves)
        return []


@dataclass(frozen=True)
class _Printed:
    """A tensor while it is printed."""

    value: ir.Value
    layout: Any
    offset: Any
    """Of a tensor of coordinates the first one; `None` for a tensor in memory."""
    element: ir.Type | None
    """The type of an element in memory."""
    is_signed: bool
    unrolled: bool
    """Whether its loops are: registers have no addresses to compute."""
    arithmetic: Arithmetic

    @classmethod
    def of(cls, value: ir.Value, leaves: Leaves, *, is_signed: bool) -> _Printed:
        type_view, carried = view(value.type), carried_by(value.type)
        if carried is None or not isinstance(type_view, CoordTensor | MemRef):
            raise Error(f"the open lowering does not know how {value.type} is printed")
        # A pointer is a leaf that has no name.
        named = [(name, leaf) for name, leaf in zip(carried.names, leaves.of(value), strict=True) if name]
        arithmetic = Arithmetic(dict(named))
        match type_view:
            case CoordTensor(offset, layout):
                return cls(value, layout, offset, None, is_signed, False, arithmetic)
            case MemRef(element, space, layout):
                unrolled = space is AddressSpace.RMEM
                return cls(value, layout, None, value_type(element), is_signed, unrolled, arithmetic)

    def at(self, name: str, index: ir.Value) -> _Printed:
        """The same inside of a loop, whose counter is the variable `name`."""
        return replace(self, arithmetic=self.arithmetic.having(name, index))

    def tuple_value(self, coordinate: Any) -> ir.Value:
        """A coordinate, or another tuple of numbers, as a value."""
        written = [self.arithmetic.value(number, number.width) for number in dynamic(coordinate)]
        return pack(to_type(CoordValue(coordinate)), written)

    def load(self, coordinate: Any) -> ir.Value:
        """The element at a coordinate."""
        if self.element is None:
            return self.tuple_value(add_coordinates(self.offset, self.layout(coordinate)))
        return cute.memref_load(self.value, self.tuple_value(coordinate), results=[self.element])


def _print_lines(printed: _Printed) -> None:
    """A line for each element: its coordinate and what it is."""
    _say("tensor({}, data= (\n", [printed.value])
    shape = printed.layout.shape

    def line(inside: _Printed, index: ir.Value) -> None:
        coordinate = idx2crd(symbol("index"), shape) if modes(shape) else 0
        _say_element(inside, coordinate, "\t{}=", "\n", [inside.tuple_value(coordinate)])

    _loop(printed, "index", product(shape), line)
    _say(")\n")


def _print_matrices(printed: _Printed) -> None:
    """Rows in brackets; of a tensor of three modes and more, matrices in brackets."""
    _say("tensor({}, data=\n", [printed.value])
    _say(_MARGIN)
    shape = modes(printed.layout.shape)
    if len(shape) < 2:
        _print_rows(printed, _MARGIN)
    elif len(shape) == 2:
        _say("[")
        _print_rows(printed, _MARGIN + " ")
        _say("]")
    else:
        _say("[")
        count = product(shape[2:])

        def matrix(inside: _Printed, index: ir.Value) -> None:
            with only_if(compare(Predicate.NOT_EQUAL, index, constant(0, 32))):
                _say(_MARGIN + " ")
            _say("[")
            _print_rows(inside, _MARGIN + "  ")
            _say("]")
            last = inside.arithmetic.value(count - 1, 32)
            with only_if(compare(Predicate.NOT_EQUAL, index, last)):
                _say(",\n\n")

        _loop(printed, "matrix", count, matrix)
        _say("]")
    _say(")\n")


def _print_rows(printed: _Printed, margin: str) -> None:
    """The rows of a matrix, or of a tensor of one mode, whose rows have one element."""
    shape = modes(printed.layout.shape)
    rows = product(shape[:1])

    def row(inside: _Printed, index: ir.Value) -> None:
        with only_if(compare(Predicate.NOT_EQUAL, index, constant(0, 32))):
            _say(margin)
        _say("[")
        if len(shape) < 2:
            element(inside, index)
        else:
            _loop(inside, "column", product(shape[1]), element, dots="..., ")
        _say("]")
        with only_if(compare(Predicate.LESS, index, inside.arithmetic.value(rows - 1, 32))):
            _say(",\n")

    def element(inside: _Printed, index: ir.Value) -> None:
        counters = (symbol("row"), symbol("column"))
        others = modes(idx2crd(symbol("matrix"), shape[2:])) if len(shape) > 2 else ()
        coordinate: Any = (*counters[: len(shape)], *others) if len(shape) > 1 else counters[0]
        _say_element(inside, coordinate, "", ", ", [])

    _loop(printed, "row", rows, row, dots=f"{margin}...\n")


def _loop(
    printed: _Printed, name: str, count: Any, body: Callable[[_Printed, ir.Value], None], *, dots: str | None = None
) -> None:
    """`body` for each number below `count`; with `dots`, these for what is between the ends."""
    end = printed.arithmetic.value(count, 32)
    annotation = UNROLLED if printed.unrolled else ROLLED
    with unrolled_loop(count if isinstance(count, int) else end, annotation) as counter:
        index = constant(0, 32) if counter is None else counter
        inside = printed.at(name, index)
        if dots is None or (isinstance(count, int) and count <= 2 * _ENDS):
            body(inside, index)
            return
        first, last = constant(_ENDS, 32), inside.arithmetic.value(count - _ENDS, 32)
        begins, ends = compare(Predicate.LESS, index, first), compare(Predicate.AT_LEAST, index, last)
        with only_if(computed("arith.ori", begins, ends)):
            body(inside, index)
        with only_if(
            computed("arith.andi", compare(Predicate.EQUAL, index, first), compare(Predicate.LESS, index, last))
        ):
            _say(dots)


def _say(format: str, values: list[ir.Value] | None = None, *, is_signed: bool = True) -> None:
    """`cute.print`."""
    _create_print(format, values or [], [is_signed] * len(values or []))


def _create_print(format: str, values: list[ir.Value], signed: list[bool]) -> None:
    # 4.6.0 knows no operand that is not signed, and no such argument.
    if all(signed):
        cute.print_(values, fmt=format)
    else:
        cute.print_(values, fmt=format, operand_signed=ir.DenseBoolArrayAttr.get(signed))


def _say_element(printed: _Printed, coordinate: Any, before: str, after: str, values: list[ir.Value]) -> None:
    """Print an element between two texts, one that has no sign behind a space."""
    value = printed.load(coordinate)
    has_sign = isinstance(value.type, ir.FloatType) or (
        isinstance(value.type, ir.IntegerType) and printed.element is not None and printed.is_signed
    )
    if not has_sign:
        _say(f"{before} {{}}{after}", [*values, value], is_signed=printed.is_signed)
        return
    for holds, space in zip(_by_sign(value), (" ", ""), strict=True):
        with only_if(holds):
            _say(f"{before}{space}{{}}{after}", [*values, value])


def _by_sign(value: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Whether a number is at least 0, and whether it is not."""
    if not isinstance(value.type, ir.FloatType):
        zero = constant(0, ir.IntegerType(value.type).width)
        return compare(Predicate.AT_LEAST, value, zero), compare(Predicate.LESS, value, zero)
    if value.type.width < 16:
        value = converted("arith.extf", value, ir.F32Type.get())
    zero = arith.constant(value.type, 0.0)
    return arith.cmpf(_FLOAT_AT_LEAST, value, zero), arith.cmpf(_FLOAT_LESS_OR_NAN, value, zero)


def _print(operation: ir.Operation, leaves: Leaves) -> None:
    """Print a message, and behind each tensor its elements."""
    attributes = operation.attributes
    signs = list(attributes["operand_signed"]) if "operand_signed" in attributes else [True] * len(operation.operands)
    pieces: list[str] = []
    values: list[ir.Value] = []
    signed: list[bool] = []
    taken = 0
    operands = iter(zip(operation.operands, signs, strict=True))
    for piece in format_pieces(format_of(operation)):
        pieces.append(piece.text)
        for value, is_signed in itertools.islice(operands, piece.operands):
            values.append(value)
            signed.append(is_signed)
            carried = carried_by(value.type)
            taken += len(carried.types) if carried else 1
            if piece.text != "{}" or not isinstance(view(value.type), MemRef):
                continue
            text, elements = _first_elements(_Printed.of(value, leaves, is_signed=is_signed), _MOST_VALUES - taken)
            pieces.append(text)
            values += elements
            signed += [is_signed] * len(elements)
            taken += len(elements)
    _create_print("".join(pieces), values, signed)


def _first_elements(printed: _Printed, most: int) -> tuple[str, list[ir.Value]]:
    """The format of a tensor's elements, and at most so many of these; nothing where the type does not say how many."""
    size = product(printed.layout.shape)
    if not isinstance(size, int):
        return "", []
    elements = [printed.load(index) for index in range(min(size, max(most, 0)))]
    text = ", ".join(["{}"] * len(elements) + ["[...]"] * (len(elements) < size))
    return f" = \n  ( {text} )", elements
