# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Reductions of an epilogue within a warp, by shuffles."""

from __future__ import annotations

from functools import partial

import cutlass
from cutlass import cute

from cutecc.frontend.written_place import called_from
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.values import Output
from cutecc.operations.kernels.access import Access, vector_copy
from cutecc.operations.kernels.epilogue_arithmetic import neutral, reduced
from cutecc.operations.kernels.numeric import numeric

LANES = (8, 4)
"""Of a warp along rows and along columns, the neighbours along columns."""
_WARP = 32


class WarpReduction:
    """One output that is a reduction: a thread takes its pieces in, and then a warp stores what it has found."""

    def __init__(self, output: Output, epilogue: Epilogue, access: Access, lanes: tuple[int, int] = LANES):
        self.output, self.epilogue, self.access, self.across = output, epilogue, access, lanes[1]
        self.compute = numeric(epilogue.compute)
        self.found: dict[tuple[int, ...], cute.TensorSSA] = {}
        """By columns, by row, or the only one."""

    def take(self, value: cute.TensorSSA, columns, row) -> None:
        """Reduce a piece into what was found; what is no element of D counts as nothing."""
        places = cute.make_rmem_tensor((len(columns),), cutlass.Int32)
        for i, column in enumerate(columns):
            places[i] = self.access.first_n + column
        end = cutlass.select_(self.access.row(row)[1], self.access.n, cutlass.Int32(0))
        nothing = cute.full((len(columns),), neutral(self.output, self.epilogue.compute), self.compute)
        value = cute.where(places.load() < cute.full((len(columns),), end, cutlass.Int32), value, nothing)
        key = columns
        if self.output.kind != "row":
            key, value = (row,) if self.output.kind == "column" else (0,), self._folded(value)
        self.found[key] = self._reduced(self.found[key], value) if key in self.found else value

    def store(self, part: cute.Tensor) -> None:
        """Reduce over the lanes, and let some of them store the results to their places in the vector `part`."""
        lane = cute.arch.lane_idx()
        match self.output.kind:
            case "row":
                lanes, writes = distances(self.across, _WARP), lane < self.across
            case "column":
                lanes, writes = distances(1, self.across), lane % self.across == 0
            case _:
                lanes, writes = distances(1, _WARP), lane == 0
        for places, value in self.found.items():
            for distance in lanes:
                value = self._reduced(value, exchanged(value, distance))
            results = cute.make_rmem_tensor((len(places),), self.compute)
            results.store(value)
            for i, place in enumerate(places):
                inside = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
                at, is_inside = self._place(place)
                inside[0] = writes & is_inside
                single = cute.make_layout((1, 1))
                target = cute.make_tensor(part.iterator + at, single)
                source = cute.make_tensor(results.iterator + i, single)
                cute.copy(vector_copy(self.compute, 1), source, target, pred=inside)

    def _place(self, place):
        """Where in the vector of results that of a thread's column or row is, and whether there is it."""
        match self.output.kind:
            case "row":
                return self.access.first_n + place, self.access.first_n + place < self.access.n
            case "column":
                return self.access.row(place)
            case _:
                return cutlass.Int32(0), True

    def _reduced(self, left: cute.TensorSSA, right: cute.TensorSSA) -> cute.TensorSSA:
        reduce = partial(reduced, self.epilogue, self.output, left, right)
        return called_from(self.output.place, self.epilogue.name, reduce)

    def _folded(self, value: cute.TensorSSA) -> cute.TensorSSA:
        """The elements of a piece reduced to one, in pairs."""
        elements = cute.make_rmem_tensor((cute.size(value.shape),), value.dtype)
        elements.store(value)
        single = [cute.full((1,), elements[i], value.dtype) for i in range(cute.size(value.shape))]
        while len(single) > 1:
            pairs = [self._reduced(*single[i : i + 2]) for i in range(0, len(single) - 1, 2)]
            single = pairs + single[len(single) & ~1 :]
        return single[0]


def distances(first: int, end: int) -> list[int]:
    """The powers of two from `first` to below `end`: of lanes that hold what is reduced."""
    return [1 << bit for bit in range(first.bit_length() - 1, end.bit_length() - 1)]


def exchanged(value: cute.TensorSSA, distance: int) -> cute.TensorSSA:
    """The value of the lane whose number differs in the bit `distance`."""
    count = cute.size(value.shape)
    own, other = cute.make_rmem_tensor((count,), value.dtype), cute.make_rmem_tensor((count,), value.dtype)
    own.store(value)
    for i in range(count):
        other[i] = cute.arch.shuffle_sync_bfly(own[i], distance)
    return other.load()
