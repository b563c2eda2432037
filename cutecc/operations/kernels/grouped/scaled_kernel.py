# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Hopper's grouped products of 8-bit floats with a scale for each row and 128 of K of A, and each 128×128 of B.

A step along K is as deep as a block. Its sums are made apart, and added to those of the tile in f32, each multiplied by
the scales of its row and of its column's block. Tensor cores keep fewer digits of sums, so this is more exact too.
While one warpgroup adds, the other multiplies.
"""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup

from cutecc.operations.grouped.description import SCALE_BLOCK
from cutecc.operations.kernels.grouped.sm90_kernel import GroupedSm90, GroupedTask
from cutecc.operations.kernels.patch import Patch
from cutecc.operations.kernels.workspace import ceil_div


class Factors:
    """What a thread's sums of a step are multiplied by."""

    def __init__(self, task: GroupedTask, coordinates: cute.Tensor, tile_n: int):
        """`coordinates` are the (m, n) of the sums, in all rows; the tile has `tile_n` columns."""
        self.patch = Patch.of(coordinates)
        of_a, of_b = task.problem.scales
        self.steps = task.steps
        m, _ = coordinates[0]
        self.rows = []
        for row in self.patch.rows:
            # Rows behind the last one are not stored.
            place = cutlass.min(m + row, of_a.shape[0] - 1)
            self.rows.append(of_a[place, None])
        # A tile is part of a block, or some whole ones.
        first, last = task.n * tile_n // SCALE_BLOCK, of_b.shape[0] - 1
        blocks = range(ceil_div(tile_n, SCALE_BLOCK))
        self.columns = [of_b[cutlass.min(first + block, last), None, task.batch] for block in blocks]
        self.now = self.fragment()
        self.coming = self.fragment()

    def fragment(self) -> cute.Tensor:
        return cute.make_rmem_tensor((len(self.rows) + len(self.columns),), cutlass.Float32)


@cute.jit
def load(factors: Factors, step):
    """Begin to load those of a step, if there is one."""
    sources, coming = [*factors.rows, *factors.columns], factors.coming
    if step < factors.steps:
        for i in cutlass.range_constexpr(len(sources)):
            coming[i] = sources[i][step]


def take(factors: Factors) -> None:
    """From now on, what was loaded counts."""
    factors.now.store(factors.coming.load())


def add(factors: Factors, sums: cute.Tensor, products: cute.Tensor) -> None:
    """Add the sums of a step to those of the tile."""
    rows, count = factors.patch.rows, len(factors.columns)
    for i, row in enumerate(rows):
        both = [factors.now[i] * factors.now[len(rows) + block] for block in range(count)]
        for column in factors.patch.columns:
            place = factors.patch.index[row, column]
            sums[place] = sums[place] + products[place] * both[column // SCALE_BLOCK]


class ScaledSm90(GroupedSm90):
    """The kernel of one description."""

    @cute.jit
    def multiply(self, tiled_mma, sums, fragment_a, fragment_b, task, coordinates, full, empty, stage, phase, thread):
        """As that of a GEMM, step by step."""
        factors = Factors(task, coordinates, self.tile[1])
        products = cute.make_rmem_tensor(sums.shape, self.accumulator)
        sums.fill(0)
        last = stage
        load(factors, 0)
        for step in range(task.steps):
            cute.arch.mbarrier_wait(full + stage, phase)
            take(factors)
            warpgroup.fence()
            tiled_mma.set(warpgroup.Field.ACCUMULATE, False)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                slice_a, slice_b = fragment_a[None, None, k, stage], fragment_b[None, None, k, stage]
                cute.gemm(tiled_mma, products, slice_a, slice_b, products)
                tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            load(factors, step + 1)
            warpgroup.wait_group(0)
            if step + 1 < task.steps:
                self.release(empty + stage, thread)
            add(factors, sums, products)
            last = stage
            stage, phase = self.following(stage, phase)
        return stage, phase, last
