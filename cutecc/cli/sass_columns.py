"""Machine code in columns, as `cutecc show` and `cutecc explain` print it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import click

from cutecc.record.naming import short_kernel_name
from cutecc.report.annotated_sass import AnnotatedFunction
from cutecc.sass.effects import effects
from cutecc.support.locations import MARKS, Reason

_SYMBOL = re.compile(r"`\(([^)]*)\)")
_GUARD_WIDTH = 6
_OPCODE_WIDTH = 16
_LIVE_WIDTH = 4
_NOTE_WIDTH = 6
_FITTING_SHARE = 0.95
"""Of the instructions, that have room in the column of the code. Longer ones push what stands behind them."""
_GAP = "  "

_MARK_STYLES: dict[Reason, dict[str, Any]] = {
    "exact": {"fg": "green"},
    "operands": {},
    "compiler": {"dim": True},
    "order": {"fg": "yellow"},
    "unknown": {"fg": "yellow"},
}
_Cell = tuple[str, dict[str, Any]]
"""A text and its style."""


@dataclass(frozen=True)
class Columns:
    """Which columns there are besides the code and how many registers live."""

    control: bool = True
    aligned: bool = True
    """Whether operands stand below each other."""
    owner: bool = True
    code: int = 0
    """Characters for what is drawn at the left, offset, control code and code."""
    width: int | None = None
    """Characters of a line, where there is a limit."""


_BY_ROOM = (
    Columns(),
    Columns(owner=False),
    Columns(owner=False, aligned=False),
    Columns(owner=False, aligned=False, control=False),
)
"""What is left out for want of room, first what the lines above tell too."""


def choose_columns(
    annotated: AnnotatedFunction,
    numbers: Iterable[int],
    width: int | None,
    *,
    longest_owner: int = 0,
    margin: int = 0,
) -> Columns:
    """As many columns as have room in `width` for these instructions of a function, all of them where it is `None`.

    With the characters of the longest owner, 0 for none, and of what stands in front.
    """
    numbers = [*numbers]
    chosen = _BY_ROOM[-1]
    for columns in _BY_ROOM:
        lengths = sorted(_length(_code(annotated, number, columns)) for number in numbers)
        code = margin + (lengths[int(_FITTING_SHARE * (len(lengths) - 1))] if lengths else 0)
        chosen = Columns(columns.control, columns.aligned, columns.owner and longest_owner > 0, code, width)
        # Remarks, which are rare, may push their line.
        needed = _owner_at(chosen) + longest_owner if chosen.owner else code + len(_GAP) + _LIVE_WIDTH
        if width is None or needed <= width:
            break
    return chosen


def _length(cells: Iterable[_Cell]) -> int:
    return sum(len(text) for text, _ in cells)


def _owner_at(columns: Columns) -> int:
    """The character where owners begin."""
    return columns.code + len(_GAP) + _LIVE_WIDTH + _NOTE_WIDTH + len(_GAP)


def row(annotated: AnnotatedFunction, number: int, columns: Columns, *, owner: str = "", margin: str = "") -> str:
    """An instruction: what is drawn at its left, offset, control code, code, live registers, remark, owner."""
    code = [(margin, {"fg": "cyan"}), *_code(annotated, number, columns)]
    occupied, peak = annotated.liveness.occupied, annotated.liveness.peak
    is_peak = occupied[number] == peak and occupied[number - 1 : number] != [peak]
    cells: list[_Cell] = [
        *code,
        (" " * (columns.code - _length(code)) + _GAP, {}),
        (f"{occupied[number]:>{_LIVE_WIDTH}}", {"bold": True} if is_peak else {}),
    ]
    if number in annotated.spills:
        cells.append((" spill", {"fg": "red"}))
    elif is_peak:
        cells.append((" peak", {"fg": "yellow"}))
    if columns.owner and owner:
        cells += [(" " * max(_owner_at(columns) - _length(cells), len(_GAP)), {}), (owner, {"dim": True})]
    if (value := _spilled(annotated, number)) and _fits(_length(cells) + len(_GAP) + len(value), columns):
        cells.append((f"{_GAP}{value}", {"fg": "red", "dim": True}))
    return "".join(click.style(text, **style) if style and text.strip() else text for text, style in cells)


def _fits(length: int, columns: Columns) -> bool:
    return columns.width is None or length <= columns.width


def _spilled(annotated: AnnotatedFunction, number: int) -> str:
    """What made the value that a spill moves, with its line where that is another; empty of what is none."""
    instructions = annotated.function.instructions
    values = [instructions[each] for each in annotated.spills[number].values] if number in annotated.spills else []
    if not values:
        return ""
    first, place = values[0], values[0].place
    text = f"of {first.offset:04x} {effects(first.text).opcode}"
    if place and place != instructions[number].place:
        text += f", {os.path.basename(place[-1].file)}:{place[-1].line}"
    return f"{text} and {len(values) - 1} more" if len(values) > 1 else text


def _code(annotated: AnnotatedFunction, number: int, columns: Columns) -> list[_Cell]:
    """Offset, control code, guard, opcode and operands."""
    instruction = annotated.function.instructions[number]
    found = effects(instruction.text)
    guard = f"@{found.guard} " if found.guard else ""
    operands = _SYMBOL.sub(lambda match: _shown_symbol(match[1]), ", ".join(found.operands))
    opcode = found.opcode
    if columns.aligned:
        guard = f"{guard:<{_GUARD_WIDTH}}"
        opcode = f"{opcode:<{_OPCODE_WIDTH}}" if operands else opcode
    control = f"{annotated.controls[number]}{_GAP}" if columns.control and annotated.controls else ""
    return [
        (f"{MARKS[instruction.reason]} ", _MARK_STYLES[instruction.reason]),
        (f"{instruction.offset:04x}{_GAP}", {"dim": True}),
        (control, {"dim": True}),
        (guard, {"fg": "magenta"}),
        (f"{opcode} {operands}" if operands else opcode, {}),
    ]


def _shown_symbol(symbol: str) -> str:
    """A label or a subroutine as it is, a kernel by its short name."""
    return symbol if symbol.startswith((".L_", "$")) else short_kernel_name(symbol)
