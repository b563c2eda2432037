"""From places to every line of Python that they belong to: the user's, a library's, and those of the calls between."""

from __future__ import annotations

from collections import defaultdict

from cutecc.record.stages import UserLines
from cutecc.support.locations import Place

Line = tuple[str, int]
"""A file, as places name it, and a line from 1."""


def in_own_file(place: Place, own_file: str | None) -> Place:
    """`place` of code with the name of the module's own text, where it has one and MLIR has `-` for it."""
    if own_file is None or all(frame.file != "-" for frame in place):
        return place
    return tuple(frame._replace(file=own_file) if frame.file == "-" else frame for frame in place)


class Frames:
    """Knows the call chains of a trace."""

    def __init__(self, user_lines: UserLines) -> None:
        self._chains: defaultdict[Line, list[tuple[int, frozenset[Line]]]] = defaultdict(list)
        """By the line of the innermost frame, each with that frame's column."""
        for chain in user_lines.chains:
            innermost = chain[0]
            self._chains[innermost.file, innermost.line].append(
                (innermost.column, frozenset((frame.file, frame.line) for frame in chain))
            )
        self._known: dict[Place, frozenset[Line]] = {}

    def lines(self, place: Place) -> frozenset[Line]:
        """The lines of all frames that lead to `place`, by chains that go through its user's line.

        A place in a function of the user's that is called from several lines belongs to each of them. One without a
        column, as those of SASS, has the chains of every column of its line.
        """
        if place not in self._known:
            first, user = place[0], (place[-1].file, place[-1].line)
            chains = self._chains.get((first.file, first.line), [])
            own = frozenset((frame.file, frame.line) for frame in place)
            fitting = (chain for column, chain in chains if 0 in (first.column, column) or column == first.column)
            self._known[place] = own.union(*(chain for chain in fitting if user in chain))
        return self._known[place]
