# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""Hopper's grouped products of 8-bit floats with a scale for each row and 128 of K of A, and each 128×128 of B, along
`depth` each column and 128 of K.

A step along K is as deep as a block. Its sums are made apart, and added to those of the tile in f32, each multiplied by
the scales of its row and of its column's block. Tensor cores keep fewer digits of sums, so this is more exact too.
While one warpgroup adds, the other multiplies. A warp of its own copies the scales of each step to shared memory.
"""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup

from cutecc.operations.grouped.description import SCALE_BLOCK, GroupedDescription
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.grouped import scaled
from cutecc.operations.kernels.grouped.operands import scales_of
from cutecc.operations.kernels.grouped.sm90_kernel import GroupedSm90
from cutecc.operations.kernels.patch import Patch
from cutecc.operations.kernels.sm80_copies import async_copy
from cutecc.operations.kernels.sm90_instructions import make_tiled_mma
from cutecc.operations.kernels.sm90_stages import WARP


class ScaledSm90(GroupedSm90):
    """The kernel of one description."""

    def __init__(self, grouped: GroupedDescription):
        super().__init__(grouped)
        self.columns = scaled.columns(grouped.gemm)
        self.factors = scaled.factors(grouped)
        self.is_by_column = grouped.packing == "depth"
        self.fillers += WARP

    def allocate_beside(self, allocator) -> cute.Tensor:
        """The scales of each stage: those of the tile's rows, then those of its blocks of columns."""
        layout = cute.make_ordered_layout((sum(self.factors), self.stages), order=(0, 1))
        return allocator.allocate_tensor(cutlass.Float32, layout, scaled.ALIGNMENT)

    @cute.jit
    def fill_beside(self, warp_index, problem, slices, scales, full, empty):
        """Fetch the scales of all steps; the warp beside that of the tiles does."""
        if warp_index == 1:
            self.produce(problem, slices, lambda: scales, full, empty, self.fetch_scales)

    @cute.jit
    def fetch_scales(self, task, problem, scales, full, empty, stage, phase):
        """Fetch the scales of one task; returns the next place in the ring."""
        of_a, of_b = scales_of(self.grouped, task.problem, task.batch, task.span)
        rows, columns = self.factors
        lane = cute.arch.lane_idx()
        first = task.span.begin[0] + task.m * self.tile[0] + lane
        # Rows behind the last one are not stored.
        sources = [of_a[cutlass.min(first + i, of_a.shape[0] - 1), None] for i in range(0, rows, WARP)]
        column = task.n * self.tile[1] // (1 if self.is_by_column else SCALE_BLOCK) + lane
        others = [of_b[cutlass.min(column + i, of_b.shape[0] - 1), None] for i in range(0, columns, WARP)]
        for step in range(task.steps):
            cute.arch.mbarrier_wait(empty + stage, phase)
            for i in cutlass.range_constexpr(len(sources)):
                copy_scale(sources[i], step, scales, (i * WARP + lane, stage))
            for i in cutlass.range_constexpr(len(others)):
                if lane < columns - i * WARP:
                    copy_scale(others[i], step, scales, (rows + i * WARP + lane, stage))
            cute.arch.cp_async_mbarrier_arrive_noinc(full + stage)
            stage, phase = self.following(stage, phase)
        return stage, phase

    @cute.jit
    def multiply(self, tiled_mma, sums, staged, task, coordinates, full, empty, stage, phase, thread):
        """As that of a GEMM, but step by step, and each step part by part: 64 rows and a block of columns."""
        (a, b, scales), (rows, _) = staged, self.factors
        parts = [(m, n) for n in range(cute.size(sums, mode=[2])) for m in range(cute.size(sums, mode=[1]))]
        products = cute.make_rmem_tensor((sums.shape[0], 1, 1), self.accumulator)
        patch = Patch.of(coordinates[None, 0, 0])
        row = coordinates[0][0] - task.span.begin[0] - task.m * self.tile[0]
        column = coordinates[0][1] - task.n * self.tile[1]
        sums.fill(0)
        last = stage
        for step in range(task.steps):
            cute.arch.mbarrier_wait(full + stage, phase)
            for index in cutlass.range_constexpr(len(parts)):
                m, n = parts[index]
                self.begin_products(products, a[None, m, None, stage], b[None, n, None, stage])
                of_columns = [scales[rows + each, stage] for each in self.scales_along(n, column, patch)]
                of_rows = [scales[row + m * sm90.INSTRUCTION_M + each, stage] for each in patch.rows]
                warpgroup.wait_group(0)
                if cutlass.const_expr(index == len(parts) - 1):
                    # One lane tells that all have read the scales.
                    cute.arch.sync_warp()
                    if step + 1 < task.steps:
                        self.release(empty + stage, thread)
                add(sums[None, m, n], products, patch, of_rows, of_columns)
            last = stage
            stage, phase = self.following(stage, phase)
        return stage, phase, last

    def scales_along(self, part: int, first, patch: Patch) -> list:
        """Which scales of columns those of a part of the tile are; a thread's begin at the column `first`."""
        if not self.is_by_column:
            return [part]
        return [part * self.columns + first + each for each in patch.columns]

    def begin_products(self, products: cute.Tensor, a: cute.Tensor, b: cute.Tensor) -> None:
        """Have tensor cores multiply a step of a part."""
        tiled_mma = make_tiled_mma(self.description, self.columns)
        warpgroup.fence()
        tiled_mma.set(warpgroup.Field.ACCUMULATE, False)
        for k in range(cute.size(a, mode=[1])):
            cute.gemm(tiled_mma, products, of_one(a[None, k]), of_one(b[None, k]), products)
            tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
        warpgroup.commit_group()


def of_one(fragment: cute.Tensor) -> cute.Tensor:
    """A fragment of one instruction, as one of several has it."""
    return cute.make_tensor(fragment.iterator, cute.append(fragment.layout, cute.make_layout(1), 2))


def copy_scale(source: cute.Tensor, step, scales: cute.Tensor, place) -> None:
    """Begin to copy the scale of a step to a place in shared memory."""
    copy = cute.make_copy_atom(async_copy(32), cutlass.Float32, num_bits_per_copy=32)
    one = cute.make_layout(1)
    begin = source.iterator + step * source.stride[0]
    target = scales.iterator + cute.crd2idx(place, scales.layout)
    cute.copy(copy, cute.make_tensor(begin, one), cute.make_tensor(target, one))


def add(sums: cute.Tensor, products: cute.Tensor, patch: Patch, of_rows, of_columns) -> None:
    """Add the sums of a step to those of the tile, each with the factors of its row and column; one may be of all."""
    for row, of_row in zip(patch.rows, of_rows, strict=True):
        for i, column in enumerate(patch.columns):
            place = patch.index[row, column]
            sums[place] = sums[place] + products[place] * (of_row * of_columns[i % len(of_columns)])
