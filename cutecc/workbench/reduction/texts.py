"""What can be simplified in a module's text: layouts and sizes in its types, and the names of its symbols.

A layout is part of a type, and the types of operations follow from each other: it is changed wherever it stands. MLIR
then says whether the module still makes sense.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

_LAYOUT = re.compile(r'"([0-9?(),:{}=a-z*@/ _+E-]*[:(][0-9?(),:{}=a-z*@/ _+E-]*)"')
"""A layout, shape, stride or tile, as CuTe's types quote it."""
_SIZED = re.compile(r"(?:vector<(?:\[?\d+\]?x)+|array<\d+ x |array<i(?:32|64): [-\d, ]+>)")
"""Types and attributes with sizes: of vectors, of LLVM's arrays, lists of integers."""
_LAYOUT_OR_SIZED = re.compile(f"{_LAYOUT.pattern}|{_SIZED.pattern}")
_NUMBER = re.compile(r"(?<![\w@])\d+(?!\w*=)")
_SYMBOL = re.compile(r"@([\w$.-]+)")
_LONG = 8
"""Characters of a symbol's name above which it is made shorter."""
_MOST_DIGITS = 20


@dataclass(frozen=True)
class Replacement:
    """One text for another, wherever it stands."""

    old: str
    new: str


@dataclass(frozen=True)
class TextKind:
    """A kind of edit of a module's text."""

    name: str
    where: re.Pattern[str]
    """What is looked at."""
    sites: Callable[[str], list[Replacement]]
    within: re.Pattern[str] | None = None
    """What of it is replaced; `None` for all of it."""

    def edit(self, text: str, replacements: Sequence[Replacement]) -> str:
        """Do some of the replacements. Of several for the same text, the first counts."""
        new = {each.old: each.new for each in reversed(replacements)}

        def replaced(match: re.Match[str]) -> str:
            if self.within is None:
                return new.get(match[0], match[0])
            return self.within.sub(lambda part: new.get(part[0], part[0]), match[0])

        return self.where.sub(replaced, text)


def _distinct(pattern: re.Pattern[str], text: str) -> list[str]:
    return list(dict.fromkeys(match[0] for match in pattern.finditer(text)))


def _value(digits: str) -> int:
    # Python refuses to read a number of thousands of digits, and none in a type has so many.
    return int(digits) if len(digits) < _MOST_DIGITS else 0


def _numbers(pattern: re.Pattern[str], to: Callable[[int], int]) -> Callable[[str], list[Replacement]]:
    """Each number above 1 in what `pattern` finds, one at a time, `to` something smaller."""

    def sites(text: str) -> list[Replacement]:
        found: list[Replacement] = []
        for old in _distinct(pattern, text):
            for match in _NUMBER.finditer(old):
                value = _value(match[0])
                if value > 1 and (new := to(value)) < value:
                    found.append(Replacement(old, f"{old[: match.start()]}{new}{old[match.end() :]}"))
        return found

    return sites


def _everywhere(to: Callable[[int], int]) -> Callable[[str], list[Replacement]]:
    """Each number above 1, in all layouts and sizes at once: types that follow from each other change together."""

    def sites(text: str) -> list[Replacement]:
        pieces = _distinct(_LAYOUT_OR_SIZED, text)
        numbers = dict.fromkeys(match[0] for piece in pieces for match in _NUMBER.finditer(piece))
        return [Replacement(old, str(to(_value(old)))) for old in numbers if _value(old) > 1]

    return sites


def _modes(text: str) -> list[Replacement]:
    """Each mode of each layout or shape, left out."""
    found: list[Replacement] = []
    for old in _distinct(_LAYOUT, text):
        parts = [_components(part) for part in old[1:-1].split(":")]
        rank = len(parts[0])
        if rank < 2 or any(len(part) != rank for part in parts):
            continue
        for index in range(rank):
            left = [[*part[:index], *part[index + 1 :]] for part in parts]
            new = ":".join(part[0] if rank == 2 else f"({','.join(part)})" for part in left)
            found.append(Replacement(old, f'"{new}"'))
    return found


def _components(text: str) -> list[str]:
    """The components of a tuple, itself where it is none."""
    if not (text.startswith("(") and text.endswith(")")):
        return [text]
    parts, depth = [""], 0
    for character in text[1:-1]:
        depth += (character in "({") - (character in ")}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _names(text: str) -> list[Replacement]:
    """Each long name of a symbol, made short."""
    symbols = _distinct(_SYMBOL, text)
    known = set(symbols)
    free = (name for name in _short_names() if name not in known)
    return [Replacement(old, next(free)) for old in symbols if len(old) > _LONG]


def _short_names() -> Iterator[str]:
    number = 0
    while True:
        yield f"@f{number}"
        number += 1


def _one(value: int) -> int:
    return 1


def _half(value: int) -> int:
    return value // 2


TEXT_KINDS: dict[str, TextKind] = {
    kind.name: kind
    for kind in (
        TextKind("modes of layouts", _LAYOUT, _modes),
        TextKind("sizes everywhere to 1", _LAYOUT_OR_SIZED, _everywhere(_one), _NUMBER),
        TextKind("sizes everywhere halved", _LAYOUT_OR_SIZED, _everywhere(_half), _NUMBER),
        TextKind("sizes in layouts to 1", _LAYOUT, _numbers(_LAYOUT, _one)),
        TextKind("sizes in layouts halved", _LAYOUT, _numbers(_LAYOUT, _half)),
        TextKind("sizes in types to 1", _SIZED, _numbers(_SIZED, _one)),
        TextKind("sizes in types halved", _SIZED, _numbers(_SIZED, _half)),
        TextKind("names", _SYMBOL, _names),
    )
}
"""In the order in which they are tried."""


def edit_text(text: str, kind: str, chosen: Collection[int]) -> str:
    """Do an edit to some of its sites."""
    sites = TEXT_KINDS[kind].sites(text)
    return TEXT_KINDS[kind].edit(text, [sites[index] for index in sorted(chosen)])
