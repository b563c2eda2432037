"""What one operation makes of the ranges of its operands: upstream's arith, vector and nvvm, and the wheel's cute.

Operations outside the tables make no statement: an integer result of theirs can be anything. For cute's tuples,
shapes, coordinates, strides and layouts the wheel keeps one range of 64 bits per value, the hull over all their leaves
(observed by asking the wheel's `int-range-optimizations` which comparisons it decides, nvidia-cutlass-dsl 4.8.1).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from cutecc.ir.bytecode_tables import Dense
from cutecc.passes.nvidia.reimplementations import int_ranges as r

Range = r.Range
Ranges = list[Range | None]
Transfer = Callable[[Any, Ranges], list[Range] | None]
"""From the operation's record and its operands' ranges to its results' ranges; `None` leaves them as they are."""

TUPLE_WIDTH = 64

_TUPLE_TYPES = ("!cute.int_tuple<", "!cute.coord<", "!cute.shape<", "!cute.stride<", "!cute.layout<", "!cute.i")
# Operations of which the first property is looked at, and whether it may be absent.
REQUIRED_ATTRIBUTES = {"arith.constant", "arith.cmpi", "scf.index_switch"}
OPTIONAL_ATTRIBUTES = {"arith.addi", "arith.subi", "arith.muli", "arith.shli", "cute.get_scalars"}
SPECIAL_REGISTER = "nvvm.read.ptx.sreg."

_FLAGS = {
    None: 0,
    "#arith.overflow<none>": 0,
    "#arith.overflow<nsw>": r.NSW,
    "#arith.overflow<nuw>": r.NUW,
    "#arith.overflow<nsw, nuw>": r.NSW | r.NUW,
}

_NON_NEGATIVE_TYPES = ("!cute.coord<", "!cute.shape<")


def is_tuple(type_text: str) -> bool:
    """Whether the wheel keeps a range for values of this cute type."""
    return type_text.startswith(_TUPLE_TYPES)


@functools.lru_cache(1024)
def static_leaves(type_text: str) -> tuple[int, ...]:
    """The numbers a tuple's type spells out, without divisibilities and modes: `(?{div=4},3,1@0)` gives 3 and 1."""
    quoted = type_text.partition('"')[2].rpartition('"')[0]
    return tuple(int(leaf) for leaf in re.findall(r"(?<![\w@-])-?\d+", re.sub(r"\{[^}]*\}", "", quoted)))


@functools.lru_cache(4096)
def as_tuple(known: Range, type_text: str) -> Range:
    """Bring a range into the form the wheel keeps for a value of cute type.

    Coordinates and shapes are clamped at zero. A single value becomes two, `[n, n + 1]`: upstream's analysis cannot
    represent a constant of a type that is no integer.
    """
    if type_text.startswith(_NON_NEGATIVE_TYPES) and known[3] < 0:
        highest = known[4] if known[4] >= 0 else r.signed_limits(TUPLE_WIDTH)[1]
        known = r.from_signed(0, highest, TUPLE_WIDTH)
    if r.constant_value(known) is not None:
        width, low, high, signed_low, _ = known
        known = (width, low, low + 1 if low == high else high, signed_low, signed_low + 1)
    return known


def _binary(function: Callable[[Range, Range], Range]) -> Transfer:
    def transfer(_: Any, operands: Ranges) -> list[Range] | None:
        left, right = operands
        return None if left is None or right is None else [function(left, right)]

    return transfer


def _flagged(function: Callable[[Range, Range, int], Range]) -> Transfer:
    def transfer(record: Any, operands: Ranges) -> list[Range] | None:
        left, right = operands
        if left is None or right is None:
            return None
        return [function(left, right, _FLAGS[record.attribute])]

    return transfer


def _constant(record: Any, _: Ranges) -> list[Range] | None:
    if record.cache is None:
        known = _constant_range(record.attribute, record.kind.widths[0])
        record.cache = [known] if known else ()
    return record.cache or None


def _constant_range(attribute: Any, width: int) -> Range | None:
    if not width:
        return None
    if isinstance(attribute, int):
        return r.constant(attribute, width)
    if not isinstance(attribute, Dense):
        return None
    hull: Range | None = None
    for element in attribute.elements:
        known = r.constant(element, width)
        hull = known if hull is None else r.union(hull, known)
    return hull


def _compare(record: Any, operands: Ranges) -> list[Range] | None:
    left, right = operands
    if left is None or right is None:
        return None
    return [r.compare(record.attribute, left, right)]


def _select(record: Any, operands: Ranges) -> list[Range] | None:
    condition, on_true, on_false = operands
    decided = r.constant_value(condition) if condition is not None else None
    if decided is not None:
        chosen = on_true if decided else on_false
        return None if chosen is None else [chosen]
    if on_true is None or on_false is None:
        return [r.full(record.kind.widths[0])] if record.kind.integers[0] else None
    return [r.union(on_true, on_false)]


def _extend(function: Callable[[Range, int], Range]) -> Transfer:
    def transfer(record: Any, operands: Ranges) -> list[Range] | None:
        known, width = operands[0], record.kind.widths[0]
        if known is None:
            return None
        if known[0] == width:
            return [known]
        return [function(known, width) if known[0] < width else r.truncate(known, width)]

    return transfer


def _special_register(record: Any, _: Ranges) -> list[Range] | None:
    if record.cache is None:
        width = record.kind.widths[0]
        record.cache = r.full(width)
        if record.attribute is not None:
            # The attribute's upper end is exclusive; upstream takes it for inclusive, and so does the wheel.
            low, high = (int(end) for end in re.findall(r"-?\d+", record.attribute.partition(",")[2]))
            mask = (1 << width) - 1
            record.cache = (width, low & mask, high & mask, r.to_signed(low, width), r.to_signed(high, width))
    return [record.cache]


def _hull(record: Any, operands: Ranges) -> list[Range] | None:
    """A vector whose elements are elements of the operands; positions are no elements."""
    hull: Range | None = None
    for known, number in zip(operands, record.operands, strict=True):
        if known is None:
            return None
        if record.records.width(number) == record.kind.widths[0]:
            hull = known if hull is None else r.union(hull, known)
    return None if hull is None else [hull]


def _first_operand(_: Any, operands: Ranges) -> list[Range] | None:
    return None if operands[0] is None else [operands[0]]


def _make_tuple(record: Any, operands: Ranges) -> list[Range] | None:
    """The hull of the operands and of the numbers in the result's type, for every result."""
    hull: Range | None = None
    for known in operands:
        if known is None:
            return None
        known = r.extend(known, TUPLE_WIDTH)
        hull = known if hull is None else r.union(hull, known)
    if record.cache is None:
        record.cache = [static_leaves(text) for text in record.kind.type_texts]
    results: list[Range] = []
    for text, leaves in zip(record.kind.type_texts, record.cache, strict=True):
        result = hull
        for leaf in leaves:
            known = r.constant(leaf, TUPLE_WIDTH)
            result = known if result is None else r.union(result, known)
        if result is None:
            return None
        results.append(as_tuple(result, text))
    return results


def _make_layout(record: Any, operands: Ranges) -> list[Range] | None:
    """Like other tuples, but strides that come from products of the shape are unknown."""
    if len(operands) == 1 and "?" in record.kind.type_texts[0].partition(":")[2]:
        return None
    return _make_tuple(record, operands)


def _pass_tuple(record: Any, operands: Ranges) -> list[Range] | None:
    known = operands[0]
    if known is None:
        return None
    return [as_tuple(r.extend(known, TUPLE_WIDTH), text) for text in record.kind.type_texts]


def _tuple_arithmetic(function: Callable[[Range, Range], Range]) -> Transfer:
    def transfer(record: Any, operands: Ranges) -> list[Range] | None:
        left, right = operands
        if left is None or right is None:
            return None
        result = function(r.extend(left, TUPLE_WIDTH), r.extend(right, TUPLE_WIDTH))
        return [as_tuple(result, record.kind.type_texts[0])]

    return transfer


def _get_scalars(record: Any, operands: Ranges) -> list[Range] | None:
    known = operands[0]
    if record.cache is None:
        text = record.records.type_text(record.operands[0])
        whole = record.attribute is not None or not static_leaves(text)
        record.cache = (text.startswith(_NON_NEGATIVE_TYPES), whole)
    non_negative, whole = record.cache
    if known is not None and whole:
        return [r.truncate(known, width) if width < known[0] else known for width in record.kind.widths]
    if non_negative:
        return [r.from_signed(0, r.signed_limits(width)[1], width) for width in record.kind.widths]
    return [r.full(width) for width in record.kind.widths]


TRANSFERS: dict[str, Transfer] = {
    "arith.constant": _constant,
    "arith.addi": _flagged(r.add),
    "arith.subi": _flagged(r.sub),
    "arith.muli": _flagged(r.mul),
    "arith.shli": _flagged(r.shift_left),
    "arith.divui": _binary(r.div_unsigned),
    "arith.divsi": _binary(r.div_signed),
    "arith.ceildivui": _binary(r.ceildiv_unsigned),
    "arith.ceildivsi": _binary(r.ceildiv_signed),
    "arith.floordivsi": _binary(r.floordiv_signed),
    "arith.remui": _binary(r.rem_unsigned),
    "arith.remsi": _binary(r.rem_signed),
    "arith.andi": _binary(r.bit_and),
    "arith.ori": _binary(r.bit_or),
    "arith.xori": _binary(r.bit_xor),
    "arith.shrui": _binary(r.shift_right_unsigned),
    "arith.shrsi": _binary(r.shift_right_signed),
    "arith.maxsi": _binary(r.max_signed),
    "arith.minsi": _binary(r.min_signed),
    "arith.maxui": _binary(r.max_unsigned),
    "arith.minui": _binary(r.min_unsigned),
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.extui": _extend(r.extend_unsigned),
    "arith.extsi": _extend(r.extend_signed),
    "arith.trunci": _extend(r.extend),
    "arith.index_cast": _extend(r.extend_signed),
    "arith.index_castui": _extend(r.extend_unsigned),
    "vector.broadcast": _hull,
    "vector.shape_cast": _hull,
    "vector.extract": _first_operand,
    "vector.insert": _hull,
    "vector.transpose": _hull,
    "cute.assume": _pass_tuple,
    "cute.static": _make_tuple,
    "cute.make_int_tuple": _make_tuple,
    "cute.make_coord": _make_tuple,
    "cute.make_shape": _make_tuple,
    "cute.make_stride": _make_tuple,
    "cute.make_layout": _make_layout,
    "cute.get_leaves": _pass_tuple,
    "cute.get_shape": _pass_tuple,
    "cute.get_stride": _pass_tuple,
    "cute.to_int_tuple": _pass_tuple,
    "cute.get_scalars": _get_scalars,
    "cute.tuple_add": _tuple_arithmetic(r.add),
    "cute.tuple_sub": _tuple_arithmetic(r.sub),
    "cute.tuple_mul": _tuple_arithmetic(r.mul),
    "cute.tuple_div": _tuple_arithmetic(r.div_signed),
    "cute.tuple_mod": _tuple_arithmetic(r.rem_signed),
}


def transfer_of(name: str) -> Transfer | None:
    """The transfer function of an operation by its name."""
    return _special_register if name.startswith(SPECIAL_REGISTER) else TRANSFERS.get(name)
