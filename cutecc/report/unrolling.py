"""How many copies there are of a loop's body, and who made them: the trace, a pass, LLVM or the assembler.

Only lines that stand in a loop of the source are asked, or are called from one: elsewhere, what is there several times
was never one.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from cutecc.report.frames import Frames, Line
from cutecc.report.listings import Listing
from cutecc.report.operations import Operations
from cutecc.support.locations import Place

Unroller = Literal["trace", "pass", "LLVM", "ptxas"]
Turns = Mapping[Line, Sequence[tuple[int, int]]]
"""By line the passes that unrolled operations of it, with how many there are of each."""


class Copies(msgspec.Struct, frozen=True, omit_defaults=True):
    """That a line is there several times; of a loop's own line, that its body is."""

    by: Unroller
    times: int
    """How many there are from then on, in all."""
    body: tuple[int, int] | None = None
    """Of a loop's own line, the first and the last one of the body."""
    step: int = 0
    """Position of the pass."""


class Loop(NamedTuple):
    """A `for` of a file, or of a comprehension."""

    head: int
    first: int
    last: int
    """Lines of the body, from 1."""
    file: str

    @property
    def line(self) -> Line:
        """Its own."""
        return self.file, self.head

    @property
    def body(self) -> tuple[int, int]:
        """Its first and last line."""
        return self.first, self.last

    @property
    def lines(self) -> list[Line]:
        """All of the body."""
        return [(self.file, line) for line in range(self.first, self.last + 1)]


def loops_of(file: str, source: str) -> list[Loop]:
    """The loops of a file of Python, the outer ones first; none where it cannot be read."""
    try:
        with warnings.catch_warnings():
            # Of an escape that is none, it is told where the file is compiled.
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(Loop(*lines, file) for lines in _loops(tree))


def _loops(tree: ast.AST) -> Iterator[tuple[int, int, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.For):
            yield (node.lineno, node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            yield (node.generators[0].target.lineno, node.elt.lineno, node.elt.end_lineno or node.elt.lineno)


def unrolling(
    traced: Operations,
    places: Sequence[Place],
    unrolled: Turns,
    listings: Iterable[Listing],
    frames: Frames,
    sources: Mapping[str, str],
) -> dict[Line, list[Copies]]:
    """Of each line that is there several times who made so many; `places` are those of `traced`.

    The trace unrolls loops that Python itself runs. `unrolled` is what passes did, and is told here of the loop's own
    line. LLVM is who generates code, as PTX has more of an operation than its input had; the assembler, where SASS has
    more than PTX.
    """
    by_line = _names_by_line(traced, places, frames)
    dynamic = {line for line, names in by_line.items() if any(name in _LOOPS for _, name in names)}
    # Those of a library's files may be many, and parsing takes longer than all else here.
    named = {file for file, _ in by_line}
    loops = [loop for file, source in sources.items() if file in named for loop in loops_of(file, source)]
    found: defaultdict[Line, list[Copies]] = defaultdict(list)
    _add_trace(found, [each for each in loops if each.line not in dynamic], by_line, places, frames)
    left = [each for each in loops if each.line in dynamic]
    for loop in left:
        found[loop.line] += _of_passes(loop, unrolled)
    _add_code(found, listings, frames, left)
    return {line: copies for line, copies in found.items() if copies}


_LOOPS: Container[str] = frozenset({"scf.for", "scf.while", "scf.forall", "scf.parallel"})
_Names = Counter[tuple[int, str]]
"""By a place's number and the name of an operation, how many are there."""
_NONE: _Names = Counter()


def _names_by_line(traced: Operations, places: Sequence[Place], frames: Frames) -> dict[Line, _Names]:
    found: defaultdict[Line, _Names] = defaultdict(Counter)
    at = Counter((place, traced.name(number)) for number, place in enumerate(traced.places) if place >= 0)
    for key, count in at.items():
        for line in frames.lines(places[key[0]]):
            found[line][key] = count
    return found


def _add_trace(
    found: defaultdict[Line, list[Copies]],
    loops: Iterable[Loop],
    by_line: Mapping[Line, _Names],
    places: Sequence[Place],
    frames: Frames,
) -> None:
    """Add the copies that are there because Python ran a loop; nothing of `loops` is in the module."""
    turns: dict[Loop, int] = {}
    for loop in loops:
        counts = Counter[int]()
        for line in loop.lines:
            counts.update(by_line.get(line, _NONE).values())
        turns[loop] = _most_common(counts)
    turns = {loop: times for loop, times in turns.items() if times > 1}
    for line, times in _of_lines(by_line, turns, places, frames).items():
        found[line].append(Copies("trace", times))
    for loop, times in turns.items():
        found[loop.line].append(Copies("trace", times, loop.body))


def _of_passes(loop: Loop, unrolled: Turns) -> Iterator[Copies]:
    times: defaultdict[int, set[int]] = defaultdict(set)
    for line in loop.lines:
        for step, count in unrolled.get(line, ()):
            times[step].add(count)
    for step in sorted(times):
        yield Copies("pass", min(times[step]), loop.body, step)


def _of_lines(
    by_line: Mapping[Line, _Names], loops: Iterable[Loop], places: Sequence[Place], frames: Frames
) -> dict[Line, int]:
    """How often each line is there whose operations were made in the body of a loop that Python ran."""
    inside = {line for loop in loops for line in loop.lines}
    found: dict[Line, int] = {}
    for line, names in by_line.items():
        counts = Counter(
            count for (place, _), count in names.items() if not inside.isdisjoint(frames.lines(places[place]))
        )
        # An expression may make several of an operation in each turn: what is there least often says how many turns.
        several = [count for count in counts if count > 1]
        if several and 2 * sum(counts[count] for count in several) > len(names):
            found[line] = min(several)
    return found


def _most_common(counts: Counter[int]) -> int:
    """The most common number, the least of several: an expression may make two of an operation in each turn."""
    return min(counts, key=lambda count: (-counts[count], count), default=0)


def _add_code(
    found: defaultdict[Line, list[Copies]],
    listings: Iterable[Listing],
    frames: Frames,
    loops: Sequence[Loop],
) -> None:
    """Add the copies that came about while code was generated, of loops that are in the module."""
    inside = {line for loop in loops for line in loop.lines}
    codes: dict[str, dict[Line, Counter[int]]] = {"ptx": {}, "sass": {}}
    for listing in listings:
        if listing.kind in codes:
            _count_copies(listing, frames, codes[listing.kind])
    before: dict[Line, int] = {}
    for kind, by in _CODE:
        times = {line: _most_common(counts) for line, counts in codes[kind].items() if line in inside}
        new = {line: count for line, count in times.items() if count > before.get(line, 1)}
        for line, count in new.items():
            found[line].append(Copies(by, count))
        for loop in loops:
            # What is not of an inner loop is there least often.
            if body := [new[line] for line in loop.lines if line in new]:
                found[loop.line].append(Copies(by, min(body), loop.body))
        before |= times


_CODE: tuple[tuple[str, Unroller], ...] = (("ptx", "LLVM"), ("sass", "ptxas"))


def _count_copies(listing: Listing, frames: Frames, found: dict[Line, Counter[int]]) -> None:
    """By line of how many copies its instructions are some."""
    times = [int(name[1:]) if name[:1] == "×" else 0 for name in listing.detail_names]
    for place, detail in zip(listing.places, listing.details, strict=False):
        if place >= 0 and detail >= 0 and times[detail]:
            for line in frames.lines(listing.table[place]):
                found.setdefault(line, Counter())[times[detail]] += 1
