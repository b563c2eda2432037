"""The Python of two records side by side: which file of one is which of the other, and which lines belong together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import PurePath
from typing import NamedTuple

import msgspec

from cutecc.record.stages import UserLines

_ALIKE = 0.6
"""How much of two lines has to be the same for one to be a new form of the other."""
_MOST_PAIRS = 10_000
"""Of lines that are compared word for word in one place that changed."""


class Stretch(NamedTuple):
    """Lines that follow each other in both files, and belong together one by one."""

    a: int
    """The first in A, from 1."""
    b: int
    lines: int
    same: bool
    """Whether they are the same text; of one line that is not, each has a form of its own."""


class SourcePair(msgspec.Struct, frozen=True):
    """A file of one or both records, as their places name it."""

    a: str | None
    b: str | None
    stretches: list[Stretch]
    """In the order of the lines; lines between them are of one file alone."""

    def in_second(self, line: int) -> int | None:
        """The line of the second file that belongs to `line` of the first; `None` where none does."""
        for each in self.stretches:
            if each.a <= line < each.a + each.lines:
                return line - each.a + each.b
        return None


def source_pairs(a: UserLines, b: UserLines, kernels: tuple[str | None, str | None] = (None, None)) -> list[SourcePair]:
    """The files of both, those of the user's first; `kernels` are those that the records say they are made of.

    Files belong together that have one name, then those of the kernels, then those whose names end alike.
    """
    left, right = dict(a.sources), dict(b.sources)
    names = [name for name in left if name in right]
    found = [SourcePair(name, name, stretches(left.pop(name), right.pop(name))) for name in names]
    for ours, theirs in _renamed([*left], [*right], kernels):
        found.append(SourcePair(ours, theirs, stretches(left.pop(ours), right.pop(theirs))))
    found += [SourcePair(name, None, []) for name in left]
    found += [SourcePair(None, name, []) for name in right]
    library = {*a.library, *b.library}
    own = {name for kernel in kernels for name in (*a.sources, *b.sources) if _is_kernel(name, kernel)}
    return sorted(found, key=lambda each: ((each.a or each.b) in library, not {each.a, each.b} & own))


def _renamed(
    ours: Sequence[str], theirs: Sequence[str], kernels: tuple[str | None, str | None]
) -> Iterator[tuple[str, str]]:
    """Files of other names that belong together, each once."""
    left = [*theirs]

    def taken(name: str) -> str:
        left.remove(name)
        return name

    for name in ours:
        alike = [
            each
            for each in left
            if (_is_kernel(name, kernels[0]) and _is_kernel(each, kernels[1]))
            or PurePath(each).name == PurePath(name).name
        ]
        if alike:
            yield name, taken(alike[0])


def _is_kernel(name: str, kernel: str | None) -> bool:
    """Whether a file is that of the kernel, which a record may name from another folder: `FILE`, `FILE:NAME`."""
    if kernel is None:
        return False
    parts = PurePath(kernel.rpartition(":")[0] if ".py:" in kernel else kernel).parts
    return PurePath(name).parts[-len(parts) :] == parts


def stretches(a: str, b: str) -> list[Stretch]:
    """Which lines of two texts belong together."""
    before, after = a.split("\n"), b.split("\n")
    if before == after:
        return [Stretch(1, 1, len(before), True)]
    found: list[Stretch] = []
    for tag, start, end, first, last in SequenceMatcher(None, before, after).get_opcodes():
        if tag == "equal":
            found.append(Stretch(start + 1, first + 1, end - start, True))
        elif tag == "replace":
            pairs = _alike(before[start:end], after[first:last])
            found += [Stretch(start + i + 1, first + j + 1, 1, False) for i, j in pairs]
    return found


def _alike(before: Sequence[str], after: Sequence[str]) -> list[tuple[int, int]]:
    """Lines of a place that changed that are forms of each other, both rising: those that are most alike in sum."""
    if len(before) * len(after) > _MOST_PAIRS:
        return []
    # By how many lines of each are left the best sum, and its pairs as a chain.
    best: list[list[tuple[float, _Chain | None]]] = [[(0.0, None)] * (len(after) + 1) for _ in range(len(before) + 1)]
    for i in reversed(range(len(before))):
        for j in reversed(range(len(after))):
            without = max(best[i + 1][j], best[i][j + 1], key=lambda each: each[0])
            likeness = _likeness(before[i], after[j])
            total, chain = best[i + 1][j + 1]
            best[i][j] = (total + likeness, _Chain(i, j, chain)) if total + likeness > without[0] else without
    pairs: list[tuple[int, int]] = []
    chain = best[0][0][1]
    while chain:
        pairs.append((chain.a, chain.b))
        chain = chain.rest
    return pairs


class _Chain(NamedTuple):
    a: int
    b: int
    rest: _Chain | None


def _likeness(a: str, b: str) -> float:
    """From 0 for lines that are none of each other's forms to 1."""
    matcher = SequenceMatcher(None, a.strip(), b.strip(), autojunk=False)
    if not a.strip() or matcher.real_quick_ratio() < _ALIKE or matcher.quick_ratio() < _ALIKE:
        return 0.0
    ratio = matcher.ratio()
    return ratio if ratio >= _ALIKE else 0.0
