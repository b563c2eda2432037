"""The user's files in two records: which is which, and where a line of one is in the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from pathlib import PurePath

from cutecc.report.frames import Line
from cutecc.report.mapping import statement_lines


class Sources:
    """The files of a first record and a later one, by the names that places have for them."""

    def __init__(self, first: Mapping[str, str], later: Mapping[str, str]) -> None:
        self._first, self._later = first, later
        self._statements: dict[str, frozenset[int]] = {}
        self._forth: dict[Line, Line] = {}
        """By line of the first record."""
        for name, text in later.items():
            other = _counterpart(name, first)
            if other is not None:
                self._forth |= {(other, old): (name, new) for old, new in _counterparts(first[other], text)}

    def in_later(self, line: Line) -> Line:
        """What a line of the first record is in the later one; itself where that has it no more."""
        return self._forth.get(line, line)

    def is_statement(self, line: Line) -> bool:
        """Whether a line of the later record is a statement of a kernel or a function that it may call."""
        file, number = line
        if file not in self._statements:
            self._statements[file] = statement_lines(self._later.get(file, ""))
        return number in self._statements[file]

    def text(self, line: Line) -> str:
        """The text of a line of the later record, or of one that only the first has."""
        lines = self._later.get(line[0], self._first.get(line[0], "")).split("\n")
        return lines[line[1] - 1].strip() if 0 < line[1] <= len(lines) else ""


def _counterpart(name: str, others: Mapping[str, str]) -> str | None:
    """The file that has the most of a path, from its end on; `None` where none has the same name."""

    def common(other: str) -> int:
        parts = list(zip(reversed(PurePath(name).parts), reversed(PurePath(other).parts), strict=False))
        return next((number for number, (a, b) in enumerate(parts) if a != b), len(parts))

    best = max(others, key=common, default=None)
    return best if best is not None and common(best) else None


def _counterparts(before: str, after: str) -> Iterator[tuple[int, int]]:
    """Lines of `before`, from 1, with what they are in `after`; changed ones, where as many have taken their place."""
    old, new = before.split("\n"), after.split("\n")
    for tag, a, a_end, b, b_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal" or a_end - a == b_end - b:
            yield from zip(range(a + 1, a_end + 1), range(b + 1, b_end + 1), strict=True)
