# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The elements of D that a thread holds: rows × columns at static distances from the first one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import cutlass
from cutlass import cute

_WIDEST = 128
"""Bits of the widest access."""


@dataclass(frozen=True)
class Patch:
    """The layout of a thread's part of a tile, however a tiled MMA or copy has made it."""

    rows: tuple[int, ...]
    """M of each row, from that of the first element, ascending."""
    columns: tuple[int, ...]
    """N of each column, from that of the first element, ascending."""
    index: dict[tuple[int, int], int]
    """Where in the thread's register tensor the element of a row and column is."""
    run: int
    """How many columns at least are consecutive; the first of them is a multiple of it."""

    @classmethod
    def of(cls, coordinates: cute.Tensor) -> Patch:
        """That of a thread whose elements have these coordinates (m, n)."""
        layout = coordinates.layout
        index = {pair(cute.crd2idx(i, layout)): i for i in range(cute.size(layout))}
        rows, columns = (tuple(sorted({place[mode] for place in index})) for mode in (0, 1))
        assert len(rows) * len(columns) == len(index) == cute.size(layout), "a thread's elements are no rows × columns"
        run = len(columns)
        while not _in_runs(columns, run):
            run -= 1
        return cls(rows, columns, index, run)

    def groups(self, size: int) -> list[tuple[int, ...]]:
        """The columns, up to `size` at a time, or a run where that is more."""
        size = max(size // self.run, 1) * self.run
        return [self.columns[first : first + size] for first in range(0, len(self.columns), size)]

    def width(self, dtype: type[cutlass.Numeric], alignment: int) -> int:
        """The elements of the widest vector along a row, where addresses are multiples of `alignment` elements."""
        width = min(self.run, alignment, _WIDEST // dtype.width)
        return max(each for each in (1, 2, 4, 8, 16) if each <= width)


def pair(place: int | tuple[int, ...]) -> tuple[int, int]:
    """Both coordinates of a place, of which the DSL leaves the last ones out where they are always 0."""
    first, second, *_ = (*(place if isinstance(place, tuple) else (place,)), 0, 0)
    return first, second


def _in_runs(columns: tuple[int, ...], length: int) -> bool:
    if length & (length - 1) or len(columns) % length:
        return False
    runs = [columns[first : first + length] for first in range(0, len(columns), length)]
    return all(run[0] % length == 0 and all(b == a + 1 for a, b in pairwise(run)) for run in runs)


def strided(offsets: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Shape and strides of the layout whose i-th index is `offsets[i] - offsets[0]`; `None` if there is none."""
    if len(offsets) == 1:
        return (), ()
    step = offsets[1] - offsets[0]
    count = 2
    while count < len(offsets) and offsets[count] - offsets[count - 1] == step:
        count += 1
    while len(offsets) % count:
        count -= 1
    blocks = [offsets[first : first + count] for first in range(0, len(offsets), count)]
    if any(block[i] - block[0] != i * step for block in blocks for i in range(count)):
        return None
    outer = strided(tuple(block[0] for block in blocks))
    return None if outer is None else ((count, *outer[0]), (step, *outer[1]))
