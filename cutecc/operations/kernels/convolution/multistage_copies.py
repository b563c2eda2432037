# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""How tiles of a matrix that is nowhere in memory, or that K goes through tap by tap, come into shared memory.

A thread has some vectors of each tile: rows × columns of them. Where a vector is in memory is the sum of what belongs
to its row, computed once, and what belongs to its column along K, which a walk keeps up. So is the pixel that it is of,
where that decides whether there is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import cutlass
from cutlass import cute

from cutecc.operations.kernels.convolution.digits import unsigned
from cutecc.operations.kernels.convolution.walks import Odometer, TapWalk
from cutecc.operations.kernels.patch import pair

OUTSIDE = -(1 << 30)
"""A coordinate from which no tap reaches the image."""


class Share:
    """A thread's vectors of a tile: where it writes them, and their rows and columns within the tile."""

    def __init__(self, copy: cute.TiledCopy, tile: tuple[int, int], stages: cute.Tensor, thread):
        own = copy.get_slice(thread)
        self.target = own.partition_D(stages)
        places = own.partition_S(cute.make_identity_tensor(tile))
        first_row, first_column = places[0]
        rows = [pair(cute.crd2idx((0, i, 0), places.layout))[0] for i in range(cute.size(places, mode=[1]))]
        columns = [pair(cute.crd2idx((0, 0, j), places.layout))[1] for j in range(cute.size(places, mode=[2]))]
        self.distances = columns
        """Columns from the first one, known when compiled."""
        self.rows = [first_row + row for row in rows]
        self.columns = [first_column + distance for distance in self.distances]


class Columns(Protocol):
    """What belongs to the columns of a step along K; `walk` goes from step to step."""

    walk: Any

    def offset(self, j: int) -> Any:
        """Elements, `Int64`."""

    def shift(self, j: int, axis: int) -> Any:
        """Pixels along a spatial axis."""

    def is_inside(self, j: int) -> Any: ...


class TapColumns:
    """Channels of the tap at which a `TapWalk` is; what belongs to the first column is in the rows already."""

    def __init__(self, walk: TapWalk, share: Share, tensor: int, distance=1):
        """`tensor` is 0 of the gathered one, 1 of the filters; `distance` are elements between channels."""
        self.walk, self.share, self.tensor, self.distance = walk, share, tensor, distance

    def offset(self, j: int):
        return self.walk.offsets[self.tensor] + self.share.distances[j] * self.distance

    def shift(self, j: int, axis: int):
        return self.walk.shifts[axis]

    def is_inside(self, j: int):
        return self.walk.channel[0] + self.share.columns[j] < self.walk.channels


class DigitColumns:
    """Places of an `Odometer`, of whose digits some are spatial: `axes` has the number of each axis's digit."""

    def __init__(self, odometer: Odometer, axes: Sequence[int]):
        self.walk, self.axes = odometer, axes

    def offset(self, j: int):
        return self.walk.offsets[j]

    def shift(self, j: int, axis: int):
        return self.walk.values[j, self.axes[axis]]

    def is_inside(self, j: int):
        return self.walk.is_inside(j)


class PlainColumns:
    """Places along K at one distance."""

    def __init__(self, share: Share, depth: int, extent, distance):
        self.share, self.depth, self.extent, self.distance = share, depth, extent, distance
        self.first = cute.make_rmem_tensor(1, cutlass.Int32)
        self.walk = self

    def offset(self, j: int):
        return cutlass.Int64(self.first[0] + self.share.columns[j]) * self.distance

    def is_inside(self, j: int):
        return self.first[0] + self.share.columns[j] < self.extent

    def seek(self, step) -> None:
        self.first[0] = step * self.depth

    def advance(self) -> None:
        self.first[0] = self.first[0] + self.depth


@dataclass(frozen=True)
class Row:
    """What belongs to a row of vectors."""

    offset: Any
    """Elements, `Int64`."""
    coordinates: tuple[Any, ...] = ()
    """Pixels, of a gathered matrix; `OUTSIDE` beyond its rows."""
    is_inside: Any = None
    """Of a matrix that is not gathered."""


class Source:
    """Where the vectors of a matrix are."""

    def __init__(self, rows: Sequence[Row], columns: Columns, extents: Sequence[Any] = ()):
        """`extents` are those of the gathered tensor's pixels."""
        self.rows, self.columns, self.extents = rows, columns, extents

    def place(self, i: int, j: int) -> tuple[Any, Any]:
        """The offset of a vector from its row's, in elements, and whether it is there."""
        row = self.rows[i]
        inside = self.columns.is_inside(j)
        if row.is_inside is not None:
            inside = inside & row.is_inside
        for axis, extent in enumerate(self.extents):
            inside = inside & is_within(row.coordinates[axis] + self.columns.shift(j, axis), extent)
        return self.columns.offset(j), inside


class DividedSource(Source):
    """The same of which a pixel is the quotient of a coordinate, where that is a whole number: of a strided dgrad."""

    def __init__(self, rows, columns, extents, divisors: Sequence[Any], distances: Sequence[Any]):
        """`distances` are elements between pixels; rows and columns have what else there is of an offset."""
        super().__init__(rows, columns, extents)
        self.divisors, self.distances = divisors, distances

    def place(self, i: int, j: int) -> tuple[Any, Any]:
        row, offset = self.rows[i], self.columns.offset(j)
        inside = self.columns.is_inside(j)
        for axis, extent in enumerate(self.extents):
            dividend = row.coordinates[axis] + self.columns.shift(j, axis)
            pixel, rest = divmod(cutlass.max(dividend, 0), self.divisors[axis])
            inside = inside & (dividend >= 0) & (rest == 0) & (pixel < extent)
            offset = offset + cutlass.Int64(pixel) * self.distances[axis]
        return offset, inside


def is_within(coordinate, extent):
    """Whether 0 ≤ `coordinate` < `extent`."""
    return unsigned(coordinate) < unsigned(extent)


class Fetch:
    """This thread's part in copying tiles of an operand from global memory into stages."""

    inside = None
    """What a matrix in memory has instead of a source."""

    def __init__(self, plan, copy: cute.TiledCopy, share: Share, tensor: cute.Tensor, source: Source, thread):
        self.plan, self.copy, self.share, self.source, self.thread = plan, copy, share, source, thread
        self.rows = [tensor.iterator + cute.assume(row.offset, divby=plan.vector) for row in source.rows]
        self.before, self.after = [], []
        """What is called with a step before it is copied, and what after that."""
        if not self.is_asynchronous:
            self.held = cute.make_fragment_like(share.target[None, None, None, 0])

    @property
    def is_asynchronous(self) -> bool:
        return getattr(self.plan, "is_asynchronous", True)

    def behind(self, begin) -> None:
        """The first tile needs no guards of its own."""

    @cute.jit
    def start(self, step, stage, end):
        """Begin to copy the tile of `step`, which comes after that of the call before; from `end` on, zeros."""
        for call in self.before:
            call(step)
        if self.is_copying():
            if cutlass.const_expr(not self.is_asynchronous):
                self.held.fill(0)
            for i in cutlass.range_constexpr(len(self.share.rows)):
                for j in cutlass.range_constexpr(len(self.share.columns)):
                    self.start_vector(i, j, stage, True if cutlass.const_expr(end is None) else step < end)
        for call in self.after:
            call()

    def start_vector(self, i: int, j: int, stage, is_inside) -> None:
        vector = self.plan.vector
        offset, inside = self.source.place(i, j)
        predicate = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
        predicate[0] = inside & is_inside
        pointer = self.rows[i] + cute.assume(offset, divby=vector)
        source = cute.make_tensor(pointer, cute.make_layout(((vector, 1), 1)))
        target = self.share.target[None, i, j, stage] if self.is_asynchronous else self.held[None, i, j]
        target = cute.make_tensor(target.iterator, cute.append(target.layout, cute.make_layout(1, stride=0)))
        cute.copy(self.copy, source, target, pred=predicate)

    def finish(self, stage) -> None:
        """Store what `start` has loaded into registers; nothing when the copy is asynchronous."""
        if not self.is_asynchronous:
            self._store(stage)

    @cute.jit
    def _store(self, stage):
        if self.is_copying():
            cute.copy(self.copy, self.held, self.share.target[None, None, None, stage])

    def is_copying(self):
        """Whether this thread has a part: small tiles do not have enough for all."""
        along, across = self.plan.copying
        return True if along * across == self.plan.threads else self.thread < along * across
