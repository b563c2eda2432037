# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""K split among blocks: which steps of K a slice multiplies, and how slices of one tile add up in turns."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.regions import region
from cutecc.operations.kernels.workspace import PARTIALS, ceil_div, partial_row, partial_type


def slice_of_steps(k, tile_k: int, slices, index):
    """The first step along K of slice `index`, and how many it has; a step is `tile_k` long or less."""
    return slice_of(ceil_div(k, tile_k), slices, index)


def slice_of(steps, slices, index):
    """The first of all `steps` along K that slice `index` has, and how many it has."""
    if cutlass.const_expr(slices is None):
        return cutlass.Int32(0), steps
    each = (steps + slices - 1) // slices
    first = each * index
    return first, cutlass.max(cutlass.min(each, steps - first), 0)


def partial_sums(description: GemmDescription, workspace, problem, slices) -> cute.Tensor:
    """The sums of all slices of parallel split K in the workspace: (M, N, slice), rows filled up to 16 bytes."""
    partials = region(description, workspace, problem, slices, PARTIALS, numeric(partial_type(description)))
    m, n = cutlass.Int64(problem[0]), cutlass.Int64(problem[1])
    row = cute.assume(partial_row(description, n), divby=partial_row(description, 1))
    return cute.make_tensor(
        partials.iterator, cute.make_layout((problem[0], problem[1], slices), stride=(row, 1, m * row))
    )


class Turns:
    """Slices of a tile, one after the other: each adds its sums to those before it, and the last one has them all.

    A slice waits for its turn in global memory, so those before it must be running or done: the slice is the slowest
    coordinate of the grid. The order of the additions is the same in every run.
    """

    def __init__(self, threads: int):
        self.threads = threads
        """Of the block, or those of it that hold sums; they are numbered from 0."""

    @cute.jit
    def add(self, sums, turns, partials, tile, index, slices, thread):
        """Add the sums of the slices before to the register tensor `sums`, and leave them for the next slice.

        `turns` and `partials` are regions of the workspace as tensors, `tile` the tile's index, `index` the slice's.
        Afterwards the slice `slices - 1` has the whole sums, and `turns[tile]` is 0 again.
        """
        # A thread keeps each sum at the same place as the thread of the next slice that continues it.
        own = cute.make_tensor(
            partials.iterator + cutlass.Int64(tile) * (self.threads * cute.size(sums)) + thread,
            cute.make_layout(cute.size(sums), stride=self.threads),
        )
        turn = turns.iterator + tile
        if index > 0:
            if thread == 0:
                now = cute.arch.load(turn, cutlass.Int32, sem="acquire", scope="gpu")
                while now != index:
                    now = cute.arch.load(turn, cutlass.Int32, sem="acquire", scope="gpu")
            self.sync()
            for i in cutlass.range_constexpr(cute.size(sums)):
                sums[i] = sums[i] + own[i]
        if index + 1 < slices:
            for i in cutlass.range_constexpr(cute.size(sums)):
                own[i] = sums[i]
            self.sync()
            if thread == 0:
                cute.arch.fence_acq_rel_gpu()
                cute.arch.store(turn, index + 1, sem="release", scope="gpu")
        elif thread == 0:
            cute.arch.store(turn, cutlass.Int32(0), sem="relaxed", scope="gpu")

    def sync(self):
        """Wait for all threads that hold sums."""
        cute.arch.barrier(barrier_id=TURNS_BARRIER, number_of_threads=self.threads)


TURNS_BARRIER = 7
"""The named barrier of `Turns`, which a kernel must not use for anything else at the same time."""
