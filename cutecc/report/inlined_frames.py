"""The outer frames of inlined code, which nvdisasm prints with the file of the inner one.

    .loc 6 215 0, function_name $L__info_string0, inlined_at 1 437 9

stands in SASS as line 215 of file 6, inlined at line 437 *of file 6*. The PTX knows that it is file 1.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from cutecc.ptx.locations import FILE, LOC, named_file
from cutecc.report.listings import ptx_place
from cutecc.sass import SassFunction
from cutecc.support.locations import Frame, Place


class CallSites:
    """Where the code of PTX texts is inlined, without columns, as SASS has it."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._own: defaultdict[int, set[str]] = defaultdict(set)
        """By line of code that is not inlined, the files that it is of."""
        self._inlined: defaultdict[tuple[int, int], dict[str, set[Place]]] = defaultdict(dict)
        """By line of inlined code and the line that it is inlined at, and by its file, its places."""
        self._callers: defaultdict[int, dict[str, set[str]]] = defaultdict(dict)
        """By line that code is inlined at, and by that code's file, the files of this line."""
        for text in texts:
            self._read(text.split("\n"))

    def _read(self, lines: list[str]) -> None:
        files = {match[1]: named_file(match[2]) for match in map(FILE.match, lines) if match}
        for match in {match[0]: match for match in map(LOC.match, lines) if match}.values():
            file, place = files.get(match[1]), ptx_place(match, files)
            if file is None or place is None:
                continue
            if match[4] is None:
                self._own[int(match[2])].add(file)
            elif match[4] in files:
                self._inlined[int(match[2]), int(match[5])].setdefault(file, set()).add(without_columns(place))
                self._callers[int(match[5])].setdefault(file, set()).add(files[match[4]])

    def place(self, place: Place) -> Place:
        """The place that nvdisasm means, as far as the PTX has only one such."""
        inner, outer = place[0], place[-1]
        if len(place) > 1:
            # Its file may be another's altogether.
            sites = self._inlined.get((inner.line, outer.line), {})
            places = sites.get(inner.file) or {each for found in sites.values() for each in found}
            return place if place in places or len(places) != 1 else next(iter(places))
        own = self._own.get(inner.line, set())
        if inner.file in own:
            return place
        callers = self._callers.get(inner.line, {}).get(inner.file) or own
        return (Frame(next(iter(callers)), inner.line, 0),) if len(callers) == 1 else place


def place_frames(function: SassFunction, sites: CallSites) -> None:
    """Give the instructions of a function the places that their PTX has."""
    for each in function.instructions:
        if each.place is not None:
            each.place = sites.place(each.place)


def without_columns(place: Place) -> Place:
    """A place as the line table of a binary has it."""
    return tuple(frame._replace(column=0) for frame in place)
