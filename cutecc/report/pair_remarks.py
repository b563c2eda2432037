"""The remarks of two records side by side: those of one alone, and those of both, whose numbers may differ."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

import msgspec

from cutecc.errors import SourceLocation
from cutecc.record import Compilation, Remark
from cutecc.report.frames import Line
from cutecc.report.pair_source import SourcePair

_NUMBER = re.compile(r"\d[\d,.]*")


class RemarkPair(msgspec.Struct, frozen=True):
    """A remark of one record or of both."""

    by: str
    """The analysis or the pass."""
    a: Remark | None
    b: Remark | None
    a_line: Line | None = None
    """What it is about, a file as places name it and a line from 1; `None` for nothing that is there."""
    b_line: Line | None = None

    @property
    def same(self) -> bool:
        """Whether both have it, with the same words and numbers."""
        if self.a is None or self.b is None:
            return False
        return (self.a.message, self.a.numbers) == (self.b.message, self.b.numbers)


def remarks_text(pairs: Sequence[RemarkPair]) -> str:
    """How many there are of which kind, in words."""
    counts = {
        "in A alone": sum(each.b is None for each in pairs),
        "in B alone": sum(each.a is None for each in pairs),
        "in both with other numbers": sum(bool(each.a and each.b and not each.same) for each in pairs),
        "the same in both": sum(each.same for each in pairs),
    }
    return ", ".join(f"{count:,} {what}" for what, count in counts.items() if count)


class _Found(NamedTuple):
    by: str
    remark: Remark
    line: Line | None


def remark_pairs(a: Compilation, b: Compilation, sources: Sequence[SourcePair]) -> list[RemarkPair]:
    """The remarks of both, those of one alone first, then those that changed.

    Two are one when the same analysis or pass makes them of lines that belong together, in the same words but for
    their numbers.
    """
    files = {each.a: each for each in sources if each.a is not None}
    groups: defaultdict[object, tuple[list[_Found], list[_Found]]] = defaultdict(lambda: ([], []))
    for each in _remarks(a, [*files]):
        groups[_key(each, _in_second(each.line, files))][0].append(each)
    for each in _remarks(b, [each.b for each in sources if each.b is not None]):
        groups[_key(each, each.line)][1].append(each)
    found = [_pair(*both) for group in groups.values() for both in _paired(*group)]
    return sorted(found, key=lambda each: ((not each.a) + 2 * bool(each.a and each.b), each.same))


def _pair(ours: _Found | None, theirs: _Found | None) -> RemarkPair:
    """One of both, or of the record that has it."""
    found = ours or theirs
    assert found is not None
    return RemarkPair(
        found.by, ours and ours.remark, theirs and theirs.remark, ours and ours.line, theirs and theirs.line
    )


def _paired(ours: list[_Found], theirs: list[_Found]) -> Iterator[tuple[_Found | None, _Found | None]]:
    """Remarks of one line in the same words: first those with the same numbers, the others in their order."""
    left = [*theirs]
    rest: list[_Found] = []
    for each in ours:
        same = next((other for other in left if other.remark.numbers == each.remark.numbers), None)
        if same:
            left.remove(same)
            yield each, same
        else:
            rest.append(each)
    yield from zip_longest(rest, left)


def _key(found: _Found, line: Line | None) -> tuple[str, str, Line | None]:
    return found.by, _NUMBER.sub("#", found.remark.message), line


def _in_second(line: Line | None, files: dict[str, SourcePair]) -> Line | None:
    """The line of the second record that belongs to a line of the first."""
    pair = files.get(line[0]) if line else None
    if line is None or pair is None or pair.b is None:
        return line
    return pair.b, pair.in_second(line[1]) or -1


def _remarks(compilation: Compilation, files: Sequence[str]) -> Iterator[_Found]:
    for analysis in compilation.analyses:
        for each in analysis.remarks:
            yield _Found(analysis.name, each, _line(each, files))
    for step in compilation.steps:
        for each in step.remarks:
            yield _Found(step.name, each, _line(each, files))


def _line(remark: Remark, files: Sequence[str]) -> Line | None:
    """What a remark is about; it may name a file of `files` by its last parts."""
    place = SourceLocation.parse(remark.location) if remark.location else None
    if place is None or place.line is None:
        return None
    ending = f"/{place.file}"
    return next((each for each in files if each == place.file or each.endswith(ending)), place.file), place.line
