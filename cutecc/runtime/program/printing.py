"""C's `printf` formats over a host program's numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cutecc.record.host_program import ValueType
from cutecc.runtime.program.number_expressions import BITS, Number, is_integer

WIDEST = 1000
"""The largest width and precision."""


@dataclass(frozen=True)
class Conversion:
    """One conversion that takes an argument, such as `%08.3f`."""

    flags: str
    width: int
    precision: int | None
    bits: int
    """Of the integer that an integer conversion reads."""
    letter: str

    @property
    def takes_float(self) -> bool:
        """Whether the argument is a float; otherwise it is an integer."""
        return self.letter in "eEfFgG"


def parse_format(text: str, *, strings: bool = False) -> list[str | Conversion]:
    """The pieces of a C format: literal text, and conversions of an argument each.

    Knows `%d %i %u %x %X %o %c %p`, `%e %f %g` and their capitals, and `%%`, with flags, a width, a precision and a
    length, and `%s` where `strings` are asked for. Raises `ValueError` for any other, in particular those that write
    memory or take a width as an argument.
    """
    pieces: list[str | Conversion] = []
    position = 0
    while (start := text.find("%", position)) >= 0:
        pieces.append(text[position:start])
        found = _CONVERSION.match(text, start)
        if found is None or (found[5] == "s" and not strings):
            raise ValueError(f"a conversion that is not supported: '{text[start : start + 8]}'")
        flags, width, precision, length, letter = found.groups()
        if max(int(width or 0), int(precision or 0)) > WIDEST:
            raise ValueError(f"a width or precision above {WIDEST}: '{found.group()[:20]}'")
        if letter == "%":
            pieces.append("%")
        else:
            digits = None if precision is None else int(precision or 0)
            bits = 64 if letter in "ps" else _LENGTHS[length]
            pieces.append(Conversion(flags, int(width or 0), digits, bits, letter))
        position = found.end()
    pieces.append(text[position:])
    return [piece for piece in pieces if piece != ""]


def formatter(text: str, types: Sequence[ValueType]) -> Callable[..., str]:
    """A function from values of these types to what C prints for the format `text`."""
    pieces = parse_format(text)

    def formatted(*values: Number) -> str:
        arguments = iter(zip(values, types, strict=True))
        return "".join(piece if isinstance(piece, str) else converted(piece, *next(arguments)) for piece in pieces)

    return formatted


_CONVERSION = re.compile(r"%([-+ #0]*)([0-9]{0,9})(?:\.([0-9]{0,9}))?(hh|ll|[hljzt])?([diuxXocpeEfFgGs%])")
_LENGTHS = {None: 32, "hh": 8, "h": 16, "l": 64, "ll": 64, "j": 64, "z": 64, "t": 64}


def converted(conversion: Conversion, value: Number, type_: ValueType) -> str:
    """What C prints for one argument, no string, of this type."""
    if conversion.takes_float:
        return _float(conversion, float(value))
    if conversion.letter == "c":
        return _padded(conversion, "", chr(int(value) & 0xFF), zeros=False)
    return _integer(conversion, int(value), type_)


def _integer(conversion: Conversion, value: int, type_: ValueType) -> str:
    letter, flags, precision = conversion.letter, conversion.flags, conversion.precision
    signed = letter in "di"
    value = _converted(conversion, value, type_, signed)
    if letter == "p":
        if value == 0:
            return _padded(conversion, "", "(nil)", zeros=False)
        letter, flags = "x", flags + "#"
    digits = "" if precision == 0 and value == 0 else format(abs(value), "d" if letter in "diu" else letter)
    digits = digits.rjust(precision or 0, "0")
    prefix = _sign(flags, value < 0) if signed or conversion.letter == "p" else ""
    if "#" in flags and letter == "o" and not digits.startswith("0"):
        digits = f"0{digits}"
    elif "#" in flags and letter in "xX" and value:
        prefix += f"0{letter}"
    return _padded(conversion, prefix, digits, zeros=precision is None)


def _converted(conversion: Conversion, value: int, type_: ValueType, signed: bool) -> int:
    """The bits of a value, of whatever sign, as the number that a conversion reads."""
    if signed and is_integer(type_) and type_ != "i1" and value >> (BITS[type_] - 1):
        value -= 1 << BITS[type_]
    value &= (1 << conversion.bits) - 1
    if signed and value >> (conversion.bits - 1):
        value -= 1 << conversion.bits
    return value


def _float(conversion: Conversion, value: float) -> str:
    alternate = "#" if "#" in conversion.flags else ""
    precision = 6 if conversion.precision is None else conversion.precision
    digits = f"%{alternate}.{precision}{conversion.letter}" % abs(value)
    negative = math.copysign(1.0, value) < 0
    return _padded(conversion, _sign(conversion.flags, negative), digits, zeros=math.isfinite(value))


def _sign(flags: str, negative: bool) -> str:
    return "-" if negative else "+" if "+" in flags else " " if " " in flags else ""


def _padded(conversion: Conversion, prefix: str, digits: str, *, zeros: bool) -> str:
    missing = conversion.width - len(prefix)
    if "-" in conversion.flags:
        return prefix + digits.ljust(missing)
    if zeros and "0" in conversion.flags:
        return prefix + digits.rjust(missing, "0")
    return (prefix + digits).rjust(conversion.width)
