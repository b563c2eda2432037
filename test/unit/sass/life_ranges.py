"""What nvdisasm says each instruction reads and writes, and what lives across it: its option `--print-life-ranges`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_COLUMNS = {"GPR": "R", "PRED": "P", "UGPR": "UR", "UPRED": "UP"}
_INSTRUCTION = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(\S[^;]*?)\s*;")


@dataclass
class LifeRanges:
    """One line of the table."""

    function: int
    """Of the text, from 0."""
    offset: int
    text: str
    marks: dict[str, str]
    """By register: `^` is written, `v` read, `x` both, `:` lives on."""

    def marked(self, marks: str) -> set[str]:
        """The registers that have one of `marks`."""
        return {name for name, mark in self.marks.items() if mark in marks}


def life_ranges(text: str) -> Iterator[LifeRanges]:
    """The lines of all functions in what nvdisasm prints with `-plr -lrm wide`."""
    columns: list[tuple[str, int, int]] = []
    kinds: list[str] = []
    function = -1
    for line in text.split("\n"):
        code, bar, table = line.partition("// |")
        if not bar:
            continue
        if "GPR" in table or "PRED" in table:
            kinds = re.findall(r"\w+", table)
            function += 1
        elif "#" in table:
            columns = list(_columns(kinds, table))
        elif match := _INSTRUCTION.match(code):
            marks = {name: mark for name, start, end in columns if (mark := table[start:end].strip())}
            yield LifeRanges(function, int(match[1], 16), match[2], marks)


def _columns(kinds: list[str], header: str) -> Iterator[tuple[str, int, int]]:
    start = 0
    for kind, group in zip(kinds, header.split("|"), strict=False):
        for number in re.finditer(r"\d+", group):
            yield f"{_COLUMNS[kind]}{number[0]}", start + number.start(), start + number.end()
        start += len(group) + 1
