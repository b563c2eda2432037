"""Integers as all threads of some warps have them: what operations of the lowered kernel make of them.

A value is a number that all threads have in common, an array of shape `(warps, 32)` of its width's type, or `None` for
one that is not known. Pointers are 64 bits wide, addresses in bytes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from cutecc.memory_rules.warps import WARP, Array, Mask

Value = int | Array | None
POINTER = 64
"""Bits."""

_SIGNED: dict[int, Any] = {1: np.bool_, 8: np.int8, 16: np.int16, 32: np.int32, 64: np.int64}
_UNSIGNED: dict[int, Any] = {1: np.bool_, 8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}
WIDTHS = frozenset(_SIGNED)
"""Of integers, in bits, that are known here."""
_LANES = np.arange(WARP)


def normalised(value: int, width: int) -> int:
    """The low bits of `value`: signed, or 0 and 1 for a single one."""
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def resized(value: Value, width: int, *, signed: bool, source: int) -> Value:
    """`value`, of `source` bits, extended or cut to `width`."""
    if value is None:
        return None
    if isinstance(value, int):
        low = value & ((1 << source) - 1)
        return normalised(-low if signed and source == 1 else value if signed else low, width)
    if source == 1:
        found = value.astype(_SIGNED[width])
        return -found if signed else found
    if width == 1:
        return (value & 1).astype(np.bool_)
    return value.astype(_SIGNED[width]) if signed else _unsigned(value, source).astype(_SIGNED[width])


def binary(name: str, width: int) -> Callable[[Any, Any], Value] | None:
    """The operation `name` of two known values of `width` bits; `None` when there is none here."""
    if width == 1:
        bits = _BITS.get(name)
        return bits and (lambda a, b: bits(a, b) if isinstance(a, int) and isinstance(b, int) else bits(a != 0, b != 0))
    exact = _EXACT.get(name) or _BITS.get(name)
    if exact is not None:
        return lambda a, b: normalised(exact(a, b), width) if isinstance(a, int) and isinstance(b, int) else exact(a, b)
    if name in _DIVISIONS:
        return lambda a, b: _divided(name, a, b, width)
    if name in _SHIFTS:
        return lambda a, b: _shifted(name, a, b, width)
    if name in _CHOICES:
        return lambda a, b: _chosen(name, a, b, width)
    return None


def compared(predicate: int, a: Any, b: Any, width: int) -> Value:
    """`arith.cmpi`, by its predicate's number."""
    compare, signed = _PREDICATES[predicate]
    if not signed:
        a, b = _unsigned(a, width), _unsigned(b, width)
    elif width == 1:
        # The one bit is the sign.
        a, b = -1 * a, -1 * b
    found = compare(a, b)
    return int(found) if isinstance(found, bool) else found


def selected(condition: Value, a: Value, b: Value, width: int) -> Value:
    """`a` where the condition holds, else `b`; both of `width` bits."""
    if isinstance(condition, int):
        return a if condition else b
    if a is None or b is None:
        return None
    if isinstance(a, int) and isinstance(b, int) and a == b:
        return a
    if condition is None:
        return None
    return np.where(condition, a, b).astype(_SIGNED[width])


def extended_product(a: Any, b: Any, width: int, *, signed: bool) -> tuple[Value, Value]:
    """The low and the high half of a product."""
    if isinstance(a, int) and isinstance(b, int):
        product = a * b if signed else _unsigned(a, width) * _unsigned(b, width)
        return normalised(product, width), normalised(product >> width, width)
    if width > 32:
        return None, None
    kind = np.int64 if signed else np.uint64
    wide = [np.asarray(each if signed else _unsigned(each, width)).astype(kind) for each in (a, b)]
    product = wide[0] * wide[1]
    return product.astype(_SIGNED[width]), (product >> kind(width)).astype(_SIGNED[width])


def shuffled(value: Value, kind: str, offset: Value, clamp: Value) -> Value:
    """`shfl.sync` with all threads of each warp taking part."""
    if isinstance(value, int):
        return value
    if value is None or offset is None or not isinstance(clamp, int):
        return None
    segment, last = clamp >> 8 & 31, clamp & 31
    offset = offset & 31
    low, high = _LANES & segment, (_LANES & segment) | (last & ~segment)
    match kind:
        case "idx":
            source, inside = low | (offset & ~segment), None
        case "up":
            source = _LANES - offset
            inside = source >= high
        case "down":
            source, inside = _LANES + offset, None
        case _:
            source, inside = _LANES ^ offset, None
    if inside is None:
        inside = source <= high
    source = np.broadcast_to(np.where(inside, source, _LANES), value.shape)
    return np.take_along_axis(value, source, axis=1)


def first_of_warps(mask: Mask) -> Mask:
    """The first thread of each warp that is in the mask."""
    return mask & (np.cumsum(mask, axis=1) == 1)


def as_mask(condition: Array) -> Mask:
    return condition if condition.dtype == np.bool_ else condition != 0


def of_width(value: Array, width: int) -> Array:
    """The same numbers in an array of the width's type."""
    return value.astype(_SIGNED[width])


def _unsigned(value: Any, width: int) -> Any:
    if isinstance(value, int):
        return value & ((1 << width) - 1)
    return value.view(_UNSIGNED[width])


def _divided(name: str, a: Any, b: Any, width: int) -> Value:
    if isinstance(b, int) and b == 0:
        return None
    if name in ("divui", "remui"):
        a, b = _unsigned(a, width), _unsigned(b, width)
        found = a // b if name == "divui" else a % b
        return normalised(found, width) if isinstance(found, int) else found.view(_SIGNED[width])
    if isinstance(a, int) and isinstance(b, int):
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return normalised(quotient if name == "divsi" else a - quotient * b, width)
    remainder = np.fmod(a, b)
    return remainder if name == "remsi" else (a - remainder) // b


def _shifted(name: str, a: Any, b: Any, width: int) -> Value:
    amount = _unsigned(b, width)
    if np.any(np.asarray(amount) >= width):
        # Poison.
        return None
    if isinstance(a, int) and isinstance(amount, int):
        start = _unsigned(a, width) if name == "shrui" else a
        return normalised(start << amount if name == "shli" else start >> amount, width)
    if isinstance(a, int):
        a = np.full(b.shape, a, b.dtype)
    if not isinstance(amount, int):
        amount = amount.astype(a.dtype)
    if name == "shli":
        return a << amount
    if name == "shrsi":
        return a >> amount
    return (_unsigned(a, width) >> (amount if isinstance(amount, int) else _unsigned(amount, width))).view(a.dtype)


def _chosen(name: str, a: Any, b: Any, width: int) -> Value:
    predicate = {"maxsi": 4, "minsi": 2, "maxui": 8, "minui": 6}[name]
    return selected(compared(predicate, a, b, width), a, b, width)


_EXACT: dict[str, Callable[[Any, Any], Any]] = {"addi": operator.add, "subi": operator.sub, "muli": operator.mul}
_BITS: dict[str, Callable[[Any, Any], Any]] = {
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
}
_DIVISIONS = ("divsi", "divui", "remsi", "remui")
_SHIFTS = ("shli", "shrsi", "shrui")
_CHOICES = ("maxsi", "minsi", "maxui", "minui")
BINARY = (*_EXACT, *_BITS, *_DIVISIONS, *_SHIFTS, *_CHOICES)
"""The operations of `arith` that `binary` knows."""
_PREDICATES: list[tuple[Callable[[Any, Any], Any], bool]] = [
    *((operator.eq, True), (operator.ne, True)),
    *((operator.lt, True), (operator.le, True), (operator.gt, True), (operator.ge, True)),
    *((operator.lt, False), (operator.le, False), (operator.gt, False), (operator.ge, False)),
]
"""In the order of MLIR's numbers: `eq`, `ne`, `slt`, `sle`, `sgt`, `sge`, `ult`, `ule`, `ugt`, `uge`."""
