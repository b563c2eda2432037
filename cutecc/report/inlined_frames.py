"""The outer frames of inlined code, which nvdisasm prints with the file of the inner one.

    .loc 6 215 0, function_name $L__info_string0, inlined_at 1 437 9

stands in SASS as line 215 of file 6, inlined at line 437 *of file 6*. The PTX knows that it is file 1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from cutecc.ptx.locations import LOC, InlineAssembly
from cutecc.report.listings import files_of, ptx_place
from cutecc.support.locations import Frame, Place, place_of, without_columns


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
            self._read(text)

    def _read(self, text: str) -> None:
        lines, assembly = text.split("\n"), InlineAssembly(text)
        files, statement, position = files_of(lines), None, 0
        seen: set[str] = set()
        for line in lines:
            is_inside = assembly.holds(position)
            position += len(line) + 1
            if ".loc" not in line or (match := LOC.match(line)) is None:
                continue
            if not is_inside:
                statement = ptx_place(match, files)
            # The lines of inline assembly are of no file: they have the place of its statement.
            if statement is not None and (is_inside or match[0] not in seen):
                self._add(match, files, without_columns(statement))
            seen.add(match[0])

    def _add(self, match: re.Match[str], files: Mapping[str, str], place: Place) -> None:
        file = files.get(match[1])
        if file is None:
            return
        if match[4] is None:
            self._own[int(match[2])].add(file)
        elif match[4] in files:
            self._inlined[int(match[2]), int(match[5])].setdefault(file, set()).add(place)
            self._callers[int(match[5])].setdefault(file, set()).add(files[match[4]])

    def place(self, frames: Sequence[Frame]) -> Place:
        """The place that nvdisasm means by these frames, as far as the PTX has only one such."""
        inner, outer = frames[0], frames[-1]
        if len(frames) > 1:
            # Its file may be another's altogether.
            sites = self._inlined.get((inner.line, outer.line), {})
            places = sites.get(inner.file) or {each for found in sites.values() for each in found}
            return next(iter(places)) if len(places) == 1 else place_of(frames)
        own = self._own.get(inner.line, set())
        callers = self._callers.get(inner.line, {}).get(inner.file) or own
        if inner.file in own or len(callers) != 1:
            return (inner,)
        return (Frame(next(iter(callers)), inner.line, 0),)
