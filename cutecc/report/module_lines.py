"""What the lines of a module's text say, whatever the names of its values are.

The lines of a module are many, and few of them differ by more than names: each of these is read once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

MARK = "\0"
"""Stands for a value's name."""
_ISOLATING = re.compile(r"[\w.]*(?:func|kernel|module)\b", re.ASCII)


class ModuleLine(NamedTuple):
    """What a line says."""

    text: str
    """Without indentation, with `MARK` for names."""
    names: int
    """How many names of values it has."""
    results: int
    """The first of these."""
    makes: int
    """How many of them are results, or arguments of its blocks."""
    made: tuple[int, ...]
    """For each name its position among those that the line makes, from 1; 0 for one that it uses."""
    is_pack: bool
    """Whether its results have one name, `%0:2`."""
    has_arguments: bool
    """Whether names behind the results are arguments of its blocks."""
    closes: bool
    """Whether a region ends here."""
    opens: bool
    """Whether one begins here."""
    isolates: bool
    """Whether what is in its region sees no value of before."""
    is_bound: bool
    """Whether a region ends or begins here."""


def read_lines(texts: Iterable[str]) -> list[ModuleLine]:
    """What lines say that have `MARK` for names."""
    return [*map(_Known().__getitem__, texts)]


class _Known(dict[str, ModuleLine]):
    """The different lines of one module, each hashed once."""

    def __missing__(self, text: str) -> ModuleLine:
        line = self[text] = _read(text)
        return line


@lru_cache(1 << 14)
def _read(text: str) -> ModuleLine:
    text = text.lstrip(" ")
    is_label = text[:1] == "^"
    if is_label:
        # A comment names the blocks that lead here.
        text = text.partition("  // ")[0]
    closes, opens = text[:1] == "}", text[-1:] == "{"
    head, equals, _ = text.partition(" = ")
    results = head.count(MARK) if equals and text[0] == MARK else 0
    behind = text.split(MARK)[1 + results :]
    made = [*range(1, results + 1)]
    count = results
    for rest in behind:
        # `scf.for %i = `, `func.func @f(%arg0: `, `^bb1(%0: `.
        is_argument = (opens or is_label) and rest.startswith((": ", " = "))
        count += is_argument
        made.append(count if is_argument else 0)
    return ModuleLine(
        text,
        len(made),
        results,
        count,
        tuple(made),
        is_pack=results > 0 and text[1] == ":",
        has_arguments=count > results,
        closes=closes,
        opens=opens,
        isolates=opens and _ISOLATING.match(text) is not None,
        is_bound=closes or opens,
    )
