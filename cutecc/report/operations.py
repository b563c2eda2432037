"""The operations of a module's text, each with its operands and the region that it is in.

A line of the text counts as one; a line that only goes on with an operation has no place, and closes its region.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import compress, repeat
from operator import attrgetter

from cutecc.record.stages import Stage
from cutecc.report.definitions import Definitions
from cutecc.report.digests import VALUE, without_names
from cutecc.report.module_lines import MARK, ModuleLine, read_lines

_NAME = re.compile(r'(?:[^="]*\0[^="]* = )?"?([\w$.]+)', re.ASCII)
_LOOPS = frozenset({"for", "while", "forall", "parallel"})

Key = tuple[int, str]
"""A place's number, and the text of an operation without names."""
_IS_BOUND = attrgetter("is_bound")


class Operations:
    """The operations of one module, numbered by their lines from 0 on."""

    def __init__(self, stage: Stage, aliases: dict[str, str]) -> None:
        """Comparable between modules that had the same `aliases`, which grows."""
        self.places = stage.places
        pieces = VALUE.split(without_names(stage.text.replace(MARK, ""), aliases))
        lines = read_lines(MARK.join(pieces[::2]).split("\n")[:-1])
        self.texts = [line.text for line in lines]
        """Without names and indentation; what stands behind a region is the text of its operation too."""
        self.parents: list[int | None] = []
        """The operation around each."""
        self.last: dict[int, int] = {}
        """Of an operation with regions, the last line of these."""
        self._nest(lines)
        definitions = Definitions(pieces[1::2], lines)
        self.uses = definitions.uses(self.parents)
        self.results = definitions.which()
        """Which results or arguments of these its operands are, `None` for the first; left out where each is that."""
        self.by_key: defaultdict[Key, list[int]] = defaultdict(list)
        for number, key in enumerate(zip(self.places, self.texts, strict=True)):
            if key[0] >= 0 or MARK in key[1]:
                self.by_key[key].append(number)

    def _nest(self, lines: Sequence[ModuleLine]) -> None:
        """Find the regions, and add what stands behind them to the text of their operations."""
        open_: list[int] = []
        around: int | None = None
        for number in compress(range(len(lines)), map(_IS_BOUND, lines)):
            self.parents += repeat(around, number - len(self.parents))
            line, owner = lines[number], number
            if line.closes and open_:
                owner = open_.pop()
                self.last[owner] = number
                around = open_[-1] if open_ else None
                if line.text != "}":
                    self.texts[owner] += line.text
            self.parents.append(around)
            if line.opens:
                open_.append(owner)
                around = owner
        self.parents += repeat(around, len(lines) - len(self.parents))

    def name(self, number: int) -> str:
        """As `arith.addi`."""
        return _name(self.texts[number])

    def has_results(self, number: int) -> bool:
        """Whether it has any."""
        return self.texts[number][:1] == MARK

    def is_constant(self, number: int) -> bool:
        """Whether it makes a constant."""
        return self.name(number).endswith("constant")

    def loop(self, number: int) -> int | None:
        """The innermost structured loop around it."""
        around = self.parents[number]
        while around is not None and self.name(around).rpartition(".")[2] not in _LOOPS:
            around = self.parents[around]
        return around


@lru_cache(1 << 14)
def _name(text: str) -> str:
    match = _NAME.match(text)
    return match[1] if match else ""
