"""The operations of a module's text, each with its operands and the region that it is in.

A line of the text counts as one; a line that only goes on with an operation has no place, and closes its region.
"""

from __future__ import annotations

import re
from functools import lru_cache

from cutecc.record.stages import Stage
from cutecc.report.digests import VALUE, without_names

_MARK = "\0"
"""Stands for a value's name."""
_NAME = re.compile(r'(?:[^="]*\0[^="]* = )?"?([\w$.]+)', re.ASCII)
_LOOPS = frozenset({"for", "while", "forall", "parallel"})

Key = tuple[int, str]
"""A place's number, and the text of an operation without names."""
Operands = tuple[int | None, ...]
"""The operations that define them, or that have them for arguments of their blocks; `None` where that is not known."""


class Operations:
    """The operations of one module, numbered by their lines from 0 on."""

    def __init__(self, stage: Stage, aliases: dict[str, str]) -> None:
        """Comparable between modules that had the same `aliases`, which grows."""
        self.places = stage.places
        pieces = VALUE.split(without_names(stage.text.replace(_MARK, ""), aliases))
        self.texts = [line.lstrip(" ") for line in _MARK.join(pieces[::2]).split("\n")[:-1]]
        """Without names and indentation; what stands behind a region is the text of its operation too."""
        self.parents: list[int] = []
        """The operation around each, -1 for none."""
        self.last: dict[int, int] = {}
        """Of an operation with regions, the last line of these."""
        self.operands = _operands(self.texts, pieces[1::2])
        self._nest()
        self.by_key: dict[Key, list[int]] = {}
        for number, key in enumerate(zip(self.places, self.texts, strict=True)):
            if key[0] >= 0 or _MARK in key[1]:
                self.by_key.setdefault(key, []).append(number)

    def _nest(self) -> None:
        open_ = [-1]
        for number, text in enumerate(self.texts):
            owner = number
            if text[:1] == "}" and len(open_) > 1:
                owner = open_.pop()
                self.last[owner] = number
                if text != "}":
                    self.texts[owner] += text
            self.parents.append(open_[-1])
            if text[-1:] == "{":
                open_.append(owner)

    def name(self, number: int) -> str:
        """As `arith.addi`."""
        match = _NAME.match(self.texts[number])
        return match[1] if match else ""

    def has_results(self, number: int) -> bool:
        """Whether it has any."""
        return self.texts[number][:1] == _MARK

    def is_constant(self, number: int) -> bool:
        """Whether it makes a constant."""
        return self.name(number).endswith("constant")

    def in_loop(self, number: int) -> bool:
        """Whether a structured loop is around it."""
        while (number := self.parents[number]) >= 0:
            if self.name(number).rpartition(".")[2] in _LOOPS:
                return True
        return False


def _operands(texts: list[str], names: list[str]) -> list[Operands]:
    """The operands of each line; `names` are those of all values in the order of the text."""
    defined: dict[str, int] = {}
    found: list[Operands] = []
    end = 0
    for number, text in enumerate(texts):
        count, results, arguments = _shape(text)
        if count == 0:
            found.append(())
            continue
        start, end = end, end + count
        here = names[start:end]
        if not arguments:
            found.append(tuple(map(defined.get, here[results:])))
            for name in here[:results]:
                defined[name] = number
            continue
        made = {*range(results), *arguments}
        found.append(tuple(defined.get(name) for position, name in enumerate(here) if position not in made))
        for position in made:
            defined[here[position]] = number
    return found


@lru_cache(1 << 14)
def _shape(text: str) -> tuple[int, int, tuple[int, ...]]:
    """How many values a line names, how many of them are results, and which are arguments of blocks."""
    results = text.count(_MARK, 0, text.find(" = ")) if text[:1] == _MARK else 0
    names = text.split(_MARK)[1:]
    # `scf.for %i = `, `func.func @f(%arg0: `, `^bb1(%0: `.
    begins = [number for number, rest in enumerate(names) if number >= results and rest.startswith((": ", " = "))]
    return len(names), results, tuple(begins) if text[-1:] in ("{", ":") else ()
