# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The kernels that run after a GEMM: one adds up the slices of parallel split K, one finishes reductions.

| kernel | block | grid | work |
|---|---|---|---|
| summation | 128 threads | a block for each 32×64 of D | adds up the slices in their order, then runs the epilogue |
| sums of slices | 256 threads | 256 sums a block | adds up many slices of a small D, for the summation |
| finish of `row`, `column` | 256 threads | 256 results a block, batches along Y | a thread adds up the parts of one |
| finish of `scalar` | 256 threads | a block for each batch | adds up all parts: a thread's own, then a tree |

None of them needs shared memory but the last, 8 numbers. All add in the same order in every run.
"""

from __future__ import annotations

from dataclasses import replace

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.values import Output
from cutecc.operations.kernels.access import Access
from cutecc.operations.kernels.epilogue_arithmetic import converted, neutral, reduced
from cutecc.operations.kernels.fused_epilogue import FusedEpilogue
from cutecc.operations.kernels.lanes import make_tiled_mma, warp_place
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.regions import region
from cutecc.operations.kernels.warp_reduction import exchanged
from cutecc.operations.kernels.workspace import SUMMING_CUT, ceil_div, partial_row, partial_type, parts_name

WARP = 32
SUMMATION_THREADS = SUMMING_CUT.warps[0] * SUMMING_CUT.warps[1] * WARP
FINISH_THREADS = 256


class Summation:
    """Adds up the slices of parallel split K, and runs the epilogue of `description`."""

    def __init__(self, description: GemmDescription, alignment: int | None = None):
        """Sums of a row are aligned to some elements, to 16 bytes if not given."""
        self.description, self.epilogue = description, FusedEpilogue(description)
        self.tile, self.warps = SUMMING_CUT.tile, SUMMING_CUT.warps
        self.dtype = numeric(partial_type(description))
        # Its blocks may be launched while those before it end.
        self.starts_early = description.family == "sm90"
        self.vector = partial_row(description, 1)
        self.alignment = alignment or self.vector

    def launch(self, problem, partials, operands, workspace, slices, stream) -> None:
        """`partials` is (M, N, slice)."""
        grid = (ceil_div(problem[0], self.tile[0]), ceil_div(problem[1], self.tile[1]), 1)
        self.kernel(problem, partials, operands, workspace, slices).launch(
            grid=grid, block=(SUMMATION_THREADS, 1, 1), stream=stream, use_pdl=self.starts_early
        )

    @cute.kernel
    def kernel(self, problem, partials, operands, workspace, slices):
        """One tile of D."""
        thread, _, _ = cute.arch.thread_idx()
        tile_m, tile_n, _ = cute.arch.block_idx()
        if cutlass.const_expr(self.starts_early):
            cute.arch.griddepcontrol_launch_dependents()
            cute.arch.griddepcontrol_wait()
        # Only for where the threads lie, which is the same for every type; there is none of integers.
        tiled_mma = make_tiled_mma(cutlass.Float32, self.warps, (1, self.vector))
        places = cute.local_tile(cute.make_identity_tensor(problem[:2]), self.tile, (tile_m, tile_n))
        places = tiled_mma.get_slice(thread).partition_C(places)
        sums = cute.make_rmem_tensor(places.shape, self.dtype)
        sums.fill(0)
        access = Access(places, *problem[:2])
        for index in cutlass.range(partials.shape[2], unroll=4):
            self.add(sums, access, partials[None, None, index])
        warp = warp_place(thread, self.warps)
        self.epilogue.apply(
            sums, places, problem, 0, operands, workspace=workspace, slices=slices, tile=(tile_m, tile_n), warp=warp
        )

    def add(self, sums, access: Access, partials) -> None:
        for row in access.patch.rows:
            piece = access.load(partials, self.alignment, access.patch.columns, row)
            for i, column in enumerate(access.patch.columns):
                at = access.patch.index[row, column]
                sums[at] = sums[at] + piece[i]


class SliceSums:
    """Adds up many slices of a small D before `Summation` takes them as one: the first gets the sums of all."""

    def launch(self, partials, stream) -> None:
        """`partials` is (M, N, slice), each slice in one piece."""
        m, _, slices = partials.shape
        row, _, of_slice = partials.stride
        count = cutlass.Int32(m * row)
        sums = cute.make_tensor(partials.iterator, cute.make_layout((count, slices), stride=(1, of_slice)))
        self.kernel(sums).launch(
            grid=(ceil_div(count, FINISH_THREADS), 1, 1), block=(FINISH_THREADS, 1, 1), stream=stream, use_pdl=True
        )

    @cute.kernel
    def kernel(self, sums):
        """One sum a thread."""
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()
        place = block * FINISH_THREADS + thread
        if place < sums.shape[0]:
            found = sums[place, 0]
            for index in cutlass.range(1, sums.shape[1], unroll=16):
                found = found + sums[place, index]
            sums[place, 0] = found


class Finish:
    """Puts the parts of every reduction of `description` together."""

    def __init__(self, description: GemmDescription):
        self.description, self.epilogue, self.cut = description, description.epilogue, FusedEpilogue(description).cut
        self.compute = numeric(self.epilogue.compute)

    def launch(self, problem, operands, workspace, slices, stream) -> None:
        """One launch for each reduction."""
        m, n, _, batches = problem[:4]
        for operand, argument in zip(self.epilogue.operands, operands, strict=True):
            if not isinstance(operand, Output) or operand.reduction == "none":
                continue
            count = self.cut.parts(operand.kind, m, n)
            extent = {"row": n, "column": m}.get(operand.kind, 1)
            parts = region(self.description, workspace, problem, slices, parts_name(operand.name), self.compute)
            strides = (cutlass.Int64(batches) * extent, cutlass.Int64(extent), 1)
            # Of rows that tiles fill up with, there are no results.
            results = 1 if operand.kind == "scalar" else argument.shape[0]
            parts = cute.make_tensor(parts.iterator, cute.make_layout((count, batches, results), stride=strides))
            is_one = operand.kind == "scalar"
            kernel, blocks = (self.all, 1) if is_one else (self.each, ceil_div(extent, FINISH_THREADS))
            # The kernel's symbol says what it takes: where the epilogue is written is nothing to it.
            kernel(replace(operand, place=None), parts, argument).launch(
                grid=(blocks, batches, 1), block=(FINISH_THREADS, 1, 1), stream=stream
            )

    @cute.kernel
    def each(self, output: cutlass.Constexpr, parts, target):
        """One result a thread: `parts` is (part, batch, result), `target` (result, batch), which may have fewer."""
        thread, _, _ = cute.arch.thread_idx()
        block, batch, _ = cute.arch.block_idx()
        place = block * FINISH_THREADS + thread
        if place < target.shape[0]:
            found = self.nothing(output)
            for part in cutlass.range(parts.shape[0], unroll=4):
                found[0] = self.reduced(output, found[0], parts[part, batch, place])
            target[place, batch] = self.rounded(output, found)

    @cute.kernel
    def all(self, output: cutlass.Constexpr, parts, target):
        """One result a block: `parts` is (part, batch, 1), `target` (batch)."""
        thread, _, _ = cute.arch.thread_idx()
        _, batch, _ = cute.arch.block_idx()
        found = self.nothing(output)
        for part in cutlass.range(thread, parts.shape[0], FINISH_THREADS, unroll=4):
            found[0] = self.reduced(output, found[0], parts[part, batch, 0])
        self.conclude(output, found, target, batch, thread)

    @cute.jit
    def conclude(self, output: cutlass.Constexpr, found, target, place, thread):
        """Reduce what each thread of a block has found to one result, and store it."""
        of_warps = cutlass.utils.SmemAllocator().allocate_tensor(
            self.compute, cute.make_layout(FINISH_THREADS // WARP), 16
        )
        self.over_lanes(output, found, WARP)
        if thread % WARP == 0:
            of_warps[thread // WARP] = found[0]
        cute.arch.sync_threads()
        if thread < WARP:
            found[0] = of_warps[thread % (FINISH_THREADS // WARP)]
            self.over_lanes(output, found, FINISH_THREADS // WARP)
            if thread == 0:
                target[place] = self.rounded(output, found)

    def over_lanes(self, output: Output, found, lanes: int) -> None:
        """Reduce over groups of `lanes` lanes."""
        distance = lanes // 2
        while distance:
            value = found.load()
            found.store(reduced(self.epilogue, output, value, exchanged(value, distance)))
            distance //= 2

    def nothing(self, output: Output) -> cute.Tensor:
        """A register that the reduction has taken nothing into yet."""
        found = cute.make_rmem_tensor((1,), self.compute)
        found.fill(neutral(output, self.epilogue.compute))
        return found

    def reduced(self, output: Output, left, right):
        pair = [cute.full((1,), each, self.compute) for each in (left, right)]
        return reduced(self.epilogue, output, *pair)[0]

    def rounded(self, output: Output, found: cute.Tensor):
        result = cute.make_rmem_tensor((1,), numeric(output.dtype))
        result.store(converted(found.load(), output.dtype, output.conversion))
        return result[0]
