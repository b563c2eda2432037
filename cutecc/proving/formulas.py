"""How numbers of a launch are computed: from what the kernel is launched with, as the kernel itself does it."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecc.runtime.launch import Launch


@dataclass(frozen=True, eq=False, slots=True)
class Formula:
    """A number of a launch."""

    name: str
    """An operation of `arith`; `constant`, `parameter` or `register`, a special one."""
    details: tuple[int | str, ...] = ()
    """A constant's value; a parameter's number and the byte in it; a register's name; which result, and a predicate."""
    parts: tuple[Formula, ...] = ()
    width: int = 32
    """Bits."""


def evaluate(formula: Formula, launch: Launch) -> int:
    """What the first block of a launch computes. Raises `KeyError` for what is not modelled."""
    return _evaluate(formula, launch, {})


def _evaluate(formula: Formula, launch: Launch, known: dict[Formula, int]) -> int:
    if formula not in known:
        known[formula] = _signed(_value(formula, launch, known), formula.width)
    return known[formula]


def _value(formula: Formula, launch: Launch, known: dict[Formula, int]) -> int:
    match formula.name, formula.details:
        case "constant", (int(value),):
            return value
        case "parameter", (int(number), int(offset)):
            start = launch.kernel.parameters[number].offset + offset
            return int.from_bytes(launch.parameters[start : start + formula.width // 8], "little")
        case "register", (str(name),):
            return _register(name, launch)
        case name, details:
            given = [_evaluate(part, launch, known) for part in formula.parts]
            if name == "arith.cmpi":
                return int(_PREDICATES[int(details[1])](*given))
            if name == "arith.extui":
                return given[0] & (1 << formula.parts[0].width) - 1
            if name == "arith.mului_extended":
                low, high = (each & (1 << formula.width) - 1 for each in given)
                return low * high >> (formula.width if details[0] else 0)
            return _ARITHMETIC[name.removeprefix("arith.")](*given)


def _register(name: str, launch: Launch) -> int:
    mode = "xyz".index(name[-1])
    if name.startswith("nctaid"):
        return launch.grid[mode]
    if name.startswith("nclusterid"):
        return launch.grid[mode] // launch.attributes.get("cluster", (1, 1, 1))[mode]
    return 0


def _signed(value: int, width: int) -> int:
    value &= (1 << width) - 1
    return value - (1 << width) if width > 1 and value >> (width - 1) else value


def _same(value: int) -> int:
    return value


def _shift_right(value: int, by: int) -> int:
    return value >> by


def _quotient(a: int, b: int) -> int:
    """Rounded towards zero."""
    found = abs(a) // abs(b)
    return found if (a < 0) == (b < 0) else -found


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _steps(a: int, b: int) -> int:
    return -(-a // b)


def _select(condition: int, a: int, b: int) -> int:
    return a if condition else b


_PREDICATES: list[Callable[[int, int], bool]] = [
    *(operator.eq, operator.ne),
    *(operator.lt, operator.le, operator.gt, operator.ge) * 2,
]
"""As `arith.cmpi` numbers them; sizes are not negative, so the last four are as the others."""
_ARITHMETIC: dict[str, Callable[..., int]] = {
    "addi": int.__add__,
    "subi": int.__sub__,
    "muli": int.__mul__,
    "divsi": _quotient,
    "divui": _quotient,
    "ceildivsi": _steps,
    "ceildivui": _steps,
    "remsi": _remainder,
    "remui": _remainder,
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
    "shli": int.__lshift__,
    "shrui": _shift_right,
    "shrsi": _shift_right,
    "minsi": min,
    "minui": min,
    "maxsi": max,
    "maxui": max,
    "select": _select,
    "extsi": _same,
    "trunci": _same,
    "index_cast": _same,
    "index_castui": _same,
}

_TOKENS = re.compile(r"struct<\(|array<(\d+) x |ptr(?:<\d+>)?|(?:i|f|bf)(\d+)|\)>|>")


@dataclass(frozen=True, slots=True)
class _Layout:
    """A type of a parameter: its bytes, and where its parts are."""

    size: int
    alignment: int
    parts: tuple[tuple[int, _Layout], ...] = ()


def offset_in(text: str, position: list[int]) -> int:
    """The byte at which a part of a parameter of this LLVM type is. Raises `ValueError` for a type that has none."""
    layout, offset = _layout(_TOKENS.finditer(text)), 0
    for each in position:
        if layout is None or each >= len(layout.parts):
            raise ValueError(text)
        inside, layout = layout.parts[each]
        offset += inside
    return offset


def _layout(tokens: Iterator[re.Match[str]]) -> _Layout | None:
    """The next type; `None` at the end of a structure."""
    token = next(tokens)
    if token[0] == ")>":
        return None
    if token[0] == "struct<(":
        return _structure(tokens)
    if token[1]:
        inner = _layout(tokens)
        next(tokens)
        count, inner = int(token[1]), inner or _Layout(0, 1)
        return _Layout(count * inner.size, inner.alignment, tuple((i * inner.size, inner) for i in range(count)))
    size = max(1, int(token[2]) // 8) if token[2] else 8
    return _Layout(size, size)


def _structure(tokens: Iterator[re.Match[str]]) -> _Layout:
    parts: list[tuple[int, _Layout]] = []
    size, alignment = 0, 1
    while (part := _layout(tokens)) is not None:
        size += -size % part.alignment
        parts.append((size, part))
        size, alignment = size + part.size, max(alignment, part.alignment)
    return _Layout(size + -size % alignment, alignment, tuple(parts))
