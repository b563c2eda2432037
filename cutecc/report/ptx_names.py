"""PTX without the names of registers and labels, to compare it.

Lines that are the same but for a consistent renaming are the same line. The page does the same in TypeScript
(`web/src/diff/registers.ts`). A register of PTX is virtual, and has one name for its whole life, in its function.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from cutecc.report.comparing import Abstract, Sided

_LABEL = re.compile(r"\$L__\w+|\$__internal_\d+")
_VIRTUAL = re.compile(r"%[\w$.-]+", re.ASCII)
_NUMBERED = re.compile(r"%[a-z]+\d+")
_SPECIAL = re.compile(r"%(?:envreg|pm|clock)\d+")
"""Registers of the machine that have numbers."""
_DECLARED = re.compile(r"^(\.reg \S+\s+%\w+)<\d+>")
_DIGITS = re.compile(r"\d+")


def ptx_side(lines: Iterable[str]) -> Sided:
    """Lines of PTX to compare by `compare_sides`."""
    side = Sided([], [])
    numbers: dict[str, int] = {}
    for line in lines:
        key, names = _abstract(line.strip())
        definitions = [name not in numbers and name not in names[:position] for position, name in enumerate(names)]
        side.lines.append(Abstract(key, tuple(names), tuple(definitions)))
        side.resolved.append([numbers.setdefault(name, len(numbers)) for name in names])
        if line.startswith("}"):
            # What follows is another function. Numbers are not given twice.
            numbers = {f"{name} {number}" if name.startswith("%") else name: number for name, number in numbers.items()}
    return side


def _abstract(line: str) -> tuple[str, list[str]]:
    """A line without names, and these."""
    names: list[str] = []

    def register(match: re.Match[str]) -> str:
        name = match[0]
        names.append(name)
        is_virtual = _NUMBERED.fullmatch(name) and not _SPECIAL.fullmatch(name)
        return name.rstrip("0123456789") if is_virtual else name

    def label(match: re.Match[str]) -> str:
        names.append(match[0])
        return _DIGITS.sub("", match[0])

    return _LABEL.sub(label, _VIRTUAL.sub(register, _DECLARED.sub(r"\1<>", line))), names
