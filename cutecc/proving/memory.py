"""Shared memory as ranges of bytes, each with the accesses that a later one may have to come after."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cutecc.proving.kernel import Operation

Range = tuple[int, int]
"""The first byte, and the one behind the last."""
TENSOR = 1 << 40
"""From here on addresses are of tensor memory."""


@dataclass(frozen=True, slots=True)
class Record:
    """An access, and when it is over: for whoever knows that a component of the clock has come to a value."""

    component: int
    value: int
    warp: int
    operation: Operation
    is_in_doubt: bool = False
    """Whether it may not be made at all."""


@dataclass(frozen=True, slots=True)
class Cell:
    """What was done last to some bytes."""

    writes: tuple[Record, ...] = ()
    reads: tuple[Record, ...] = ()
    """Since the last write."""

    def with_read(self, record: Record) -> Cell:
        """With one more read; of a component the last one is enough."""
        others = tuple(each for each in self.reads if each.component != record.component)
        return Cell(self.writes, (*others, record))

    def without(self, known: Callable[[Record], bool]) -> Cell:
        """With only those accesses that are not known to be over."""
        writes = tuple(each for each in self.writes if not known(each))
        reads = tuple(each for each in self.reads if not known(each))
        if not writes and not reads:
            return _UNTOUCHED
        return self if len(writes) == len(self.writes) and len(reads) == len(self.reads) else Cell(writes, reads)


_UNTOUCHED = Cell()
Known = Callable[[Record], bool]


class SharedMemory:
    """The shared memory of a cluster's blocks, cut where accesses begin and end."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._cells: dict[int, Cell] = {}
        self._cuts: dict[tuple[Range, ...], tuple[int, list[int]]] = {}
        """The starts of the pieces of ranges, as long as there are so many pieces altogether."""

    def copy(self) -> SharedMemory:
        found = SharedMemory()
        found._starts, found._cuts, found._cells = [*self._starts], dict(self._cuts), dict(self._cells)
        return found

    def read(self, ranges: Sequence[Range], record: Record, known: Known) -> Record | None:
        """A read; returns a write that it is not ordered after."""
        collides: Record | None = None
        cells = self._cells
        # Many pieces have the same, and share what becomes of it.
        afterwards: dict[int, tuple[Cell, Cell]] = {}
        for start in self._pieces(ranges):
            cell = cells.get(start, _UNTOUCHED)
            found = afterwards.get(id(cell))
            if found is None:
                for each in cell.writes:
                    if not known(each):
                        collides = each
                # With the one before: as long as that is kept, nothing else has its number.
                found = afterwards[id(cell)] = cell, cell if record in cell.reads else cell.with_read(record)
            cells[start] = found[1]
        return collides

    def write(self, ranges: Sequence[Range], record: Record, known: Known) -> Record | None:
        """A write; returns an access that it is not ordered after."""
        collides: Record | None = None
        cells = self._cells
        seen: dict[int, Cell] = {}
        after = Cell((record,))
        for start in self._pieces(ranges):
            cell = cells.get(start, _UNTOUCHED)
            if id(cell) not in seen:
                seen[id(cell)] = cell
                for each in (*cell.writes, *cell.reads):
                    if not known(each):
                        collides = each
            cells[start] = after
        return collides

    def open(self, known: Known) -> Iterable[tuple[int, tuple[Record, ...], tuple[Record, ...]]]:
        """Where bytes begin with accesses that not everybody knows to be over, or end; the others are forgotten."""
        cells = self._cells
        forgotten: dict[int, Cell] = {}
        last: Cell = _UNTOUCHED
        for start in self._starts:
            cell = cells.get(start, _UNTOUCHED)
            if cell is not _UNTOUCHED:
                kept = forgotten.get(id(cell))
                if kept is None:
                    kept = forgotten[id(cell)] = cell.without(known)
                if kept is _UNTOUCHED:
                    del cells[start]
                else:
                    cells[start] = kept
                cell = kept
            if cell is not last:
                last = cell
                yield start, cell.writes, cell.reads

    def _pieces(self, ranges: Sequence[Range]) -> list[int]:
        key = tuple(ranges)
        found = self._cuts.get(key)
        if found is not None and found[0] == len(self._starts):
            return found[1]
        for start, end in key:
            self._cut(start)
            self._cut(end)
        starts = self._starts
        pieces = [each for start, end in key for each in starts[bisect_left(starts, start) : bisect_left(starts, end)]]
        pieces = list(dict.fromkeys(pieces))
        self._cuts[key] = len(starts), pieces
        return pieces

    def _cut(self, at: int) -> None:
        index = bisect_right(self._starts, at)
        if index and self._starts[index - 1] == at:
            return
        if index and (before := self._cells.get(self._starts[index - 1])) is not None:
            self._cells[at] = before
        self._starts.insert(index, at)
