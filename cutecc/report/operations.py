"""The operations of a module's text, each with its operands and the region that it is in.

A line of the text counts as one; a line that only goes on with an operation has no place, and closes its region.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from cutecc.record.stages import Stage
from cutecc.report.digests import VALUE, without_names

_MARK = "\0"
"""Stands for a value's name."""
_NAME = re.compile(r'(?:[^="]*\0[^="]* = )?"?([\w$.]+)', re.ASCII)
_ISOLATING = re.compile(r"[\w.]*(?:func|kernel|module)\b", re.ASCII)
_LOOPS = frozenset({"for", "while", "forall", "parallel"})

Key = tuple[int, str]
"""A place's number, and the text of an operation without names."""
Uses = tuple[int | None, ...]
"""The operation around one, then those that define its operands, or have them for arguments of their blocks; `None`
where there is none."""


class Operations:
    """The operations of one module, numbered by their lines from 0 on."""

    def __init__(self, stage: Stage, aliases: dict[str, str]) -> None:
        """Comparable between modules that had the same `aliases`, which grows."""
        self.places = stage.places
        pieces = VALUE.split(without_names(stage.text.replace(_MARK, ""), aliases))
        self.texts = [line.lstrip(" ") for line in _MARK.join(pieces[::2]).split("\n")[:-1]]
        """Without names and indentation; what stands behind a region is the text of its operation too."""
        self.parents: list[int | None] = []
        """The operation around each."""
        self.last: dict[int, int] = {}
        """Of an operation with regions, the last line of these."""
        behind = self._nest()
        self.uses: list[Uses] = []
        self.results: dict[int, tuple[str | None, ...]] = {}
        """Which results or arguments of these its operands are, `None` for the first; left out where each is that."""
        self._find_uses(pieces[1::2])
        for owner, text in behind:
            self.texts[owner] += text
        self.by_key: dict[Key, list[int]] = {}
        for number, key in enumerate(zip(self.places, self.texts, strict=True)):
            if key[0] >= 0 or _MARK in key[1]:
                self.by_key.setdefault(key, []).append(number)

    def _nest(self) -> list[tuple[int, str]]:
        """Find the regions; what stands behind them, with the number of the operation."""
        behind: list[tuple[int, str]] = []
        open_: list[int] = []
        around: int | None = None
        for number, text in enumerate(self.texts):
            owner = number
            start = text[:1]
            if start == "}" and open_:
                owner = open_.pop()
                self.last[owner] = number
                around = open_[-1] if open_ else None
                if text != "}":
                    behind.append((owner, text))
            elif start == "^":
                # A comment names the blocks that lead here.
                self.texts[number] = text.partition("  // ")[0]
            self.parents.append(around)
            if text[-1:] == "{":
                open_.append(owner)
                around = owner
        return behind

    def _find_uses(self, names: list[str]) -> None:
        """Resolve the names of all values, which are given in the order of the text."""
        shapes = {text: _shape(text) for text in set(self.texts)}
        defined: dict[str, int] = {}
        later: dict[str, str] = {}
        """Of results and arguments that are not the first and have names of their own, which they are."""
        has_packs = False
        find, found, is_disjoint = defined.get, self.uses, later.keys().isdisjoint
        end = 0
        for number, (text, parent) in enumerate(zip(self.texts, self.parents, strict=True)):
            count, results, is_pack, arguments, isolates = shapes[text]
            if isolates:
                defined.clear()
                later.clear()
            if count == 0:
                found.append((parent,))
                continue
            start, end = end, end + count
            made = names[start : start + results]
            used = names[start + results : end]
            if arguments:
                made, used = _with_arguments(made, used, arguments)
            uses = (parent, *map(find, used))
            if has_packs and None in uses:
                parts = [each.partition("#") for each in used]
                uses = (parent, *[find(name) for name, _, _ in parts])
                self._note(number, _which(parts, later))
            elif later and not is_disjoint(used):
                self.results[number] = tuple(map(later.get, used))
            found.append(uses)
            has_packs = has_packs or is_pack
            _define(made, number, defined, later)

    def _note(self, number: int, which: tuple[str | None, ...]) -> None:
        if any(which):
            self.results[number] = which

    def name(self, number: int) -> str:
        """As `arith.addi`."""
        return _name(self.texts[number])

    def has_results(self, number: int) -> bool:
        """Whether it has any."""
        return self.texts[number][:1] == _MARK

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


class _Shape(NamedTuple):
    names: int
    """How many names of values a line has."""
    results: int
    """The first of these."""
    is_pack: bool
    """Whether its results have one name, `%0:2`."""
    arguments: tuple[int, ...]
    """Which of the others are arguments of its blocks."""
    isolates: bool
    """Whether what is in its region sees no value of before."""


@lru_cache(1 << 14)
def _shape(text: str) -> _Shape:
    head, equals, _ = text.partition(" = ")
    results = head.count(_MARK) if equals and text[0] == _MARK else 0
    is_pack = results > 0 and text[1] == ":"
    if text[-1:] != "{" and text[:1] != "^":
        return _Shape(text.count(_MARK), results, is_pack, (), False)
    names = text.split(_MARK)[1:]
    # `scf.for %i = `, `func.func @f(%arg0: `, `^bb1(%0: `.
    begins = [each for each, rest in enumerate(names[results:]) if rest.startswith((": ", " = "))]
    return _Shape(len(names), results, is_pack, tuple(begins), _ISOLATING.match(text) is not None)


def _with_arguments(made: list[str], used: list[str], arguments: Collection[int]) -> tuple[list[str], list[str]]:
    """What an operation makes and uses, where some that are named among the used are arguments of its block."""
    made = made + [used[each] for each in arguments]
    return made, [each for position, each in enumerate(used) if position not in arguments]


def _which(parts: Sequence[tuple[str, str, str]], later: Mapping[str, str]) -> tuple[str | None, ...]:
    """Which result each operand is, of operations whose results are one name, `%0#1`, or have names of their own."""
    return tuple(later.get(name) if number in ("", "0") else number for name, _, number in parts)


def _define(made: Sequence[str], number: int, defined: dict[str, int], later: dict[str, str]) -> None:
    for position, name in enumerate(made):
        defined[name] = number
        if position:
            later[name] = str(position)
        elif name in later:
            del later[name]
