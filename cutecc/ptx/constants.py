"""Constants and constant expressions (PTX ISA, "Constants")."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

from cutecc.ptx.syntax import Immediate

_WARP_SIZE = 32
_FLOAT = re.compile(
    r"([-+]?)\s*(?:0[fF]([0-9a-fA-F]{8})|0[dD]([0-9a-fA-F]{16})|(\d*\.\d+(?:[eE][-+]?\d+)?|\d+\.?[eE][-+]?\d+|\d+\.))"
)
_INTEGER = re.compile(r"(-?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|(0[0-7]*)|([1-9]\d*))U?")
_TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+U?|\d\w*|WARP_SZ|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^~!()<>])")
_DEEPEST = 100
"""Levels of parentheses and signs in a constant expression."""
_LONGEST = 1000
"""Digits of a constant; the largest of PTX has 64 (binary)."""


def parse_constant(text: str) -> Immediate | None:
    """The constant that `text` is: `-1`, `0x7fU`, `0f3F800000`, `1.5e3`, `(1 << 4) | 2`.

    `None` when it is none, or an integer of more than 64 bits.
    """
    if len(text) > _LONGEST:
        return None
    if found := _FLOAT.fullmatch(text):
        return _float(found)
    found = _INTEGER.fullmatch(text)
    value = _integer(found) if found else _Expression(text).value()
    return Immediate("integer", value) if value is not None and -(1 << 63) <= value < 1 << 64 else None


def _integer(match: re.Match[str]) -> int:
    sign, hexadecimal, binary, octal, decimal = match.groups()
    if hexadecimal:
        value = int(hexadecimal, 16)
    elif binary:
        value = int(binary, 2)
    else:
        value = int(octal, 8) if octal else int(decimal)
    return -value if sign else value


def _float(match: re.Match[str]) -> Immediate:
    sign, single, double, decimal = match.groups()
    if single is not None:
        return Immediate("f32", int(single, 16) ^ (1 << 31 if sign == "-" else 0))
    bits = int(double, 16) if double is not None else int.from_bytes(struct.pack(">d", float(decimal)))
    return Immediate("f64", bits ^ (1 << 63 if sign == "-" else 0))


def _quotient(a: int, b: int) -> int:
    """Towards zero, as in C."""
    magnitude = abs(a) // abs(b)
    return magnitude if (a < 0) == (b < 0) else -magnitude


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


_BINARY: list[dict[str, Callable[[int, int], int]]] = [
    {"||": lambda a, b: int(a != 0 or b != 0)},
    {"&&": lambda a, b: int(a != 0 and b != 0)},
    {"|": lambda a, b: a | b},
    {"^": lambda a, b: a ^ b},
    {"&": lambda a, b: a & b},
    {"==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b)},
    {
        "<": lambda a, b: int(a < b),
        "<=": lambda a, b: int(a <= b),
        ">": lambda a, b: int(a > b),
        ">=": lambda a, b: int(a >= b),
    },
    {"<<": lambda a, b: a << (b & 63), ">>": lambda a, b: a >> (b & 63)},
    {"+": lambda a, b: a + b, "-": lambda a, b: a - b},
    {"*": lambda a, b: a * b, "/": _quotient, "%": _remainder},
]
"""Operators by precedence, weakest first."""


class _Expression:
    """A constant expression of integers."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        self._next = 0
        position, end = 0, len(text.rstrip())
        while position < end:
            found = _TOKEN.match(text, position)
            if found is None:
                self._tokens.clear()
                return
            self._tokens.append(found[1])
            position = found.end()

    def value(self) -> int | None:
        try:
            value = self._binary(0, 0)
        except (ValueError, ZeroDivisionError):
            return None
        return value if self._next == len(self._tokens) else None

    def _take(self) -> str:
        if self._next == len(self._tokens):
            return ""
        self._next += 1
        return self._tokens[self._next - 1]

    def _binary(self, level: int, depth: int) -> int:
        if level == len(_BINARY):
            return self._unary(depth)
        value = self._binary(level + 1, depth)
        while self._next < len(self._tokens) and (function := _BINARY[level].get(self._tokens[self._next])):
            self._next += 1
            value = function(value, self._binary(level + 1, depth))
        return value

    def _unary(self, depth: int) -> int:
        if depth > _DEEPEST:
            raise ValueError
        match self._take():
            case "-":
                return -self._unary(depth + 1)
            case "+":
                return self._unary(depth + 1)
            case "~":
                return ~self._unary(depth + 1)
            case "!":
                return int(self._unary(depth + 1) == 0)
            case "(":
                value = self._binary(0, depth + 1)
                if self._take() != ")":
                    raise ValueError
                return value
            case "WARP_SZ":
                return _WARP_SIZE
            case token:
                found = _INTEGER.fullmatch(token)
                if found is None:
                    raise ValueError
                return _integer(found)
