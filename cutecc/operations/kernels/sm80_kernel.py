# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The multistage tensor-core GEMM in CuTe: cp.async into a ring of stages, fragments one step ahead, `mma.sync`."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import sm80
from cutecc.operations.kernels.gemm_kernel import MultistageKernel
from cutecc.operations.kernels.lanes import warp_place
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.problem import matrix
from cutecc.operations.kernels.sm80_copies import Fetch, Fragments, stages_layout
from cutecc.operations.kernels.sm80_instructions import Multiplication, make_tiled_mma
from cutecc.operations.kernels.split_k import slice_of_steps


class Sm80Gemm(MultistageKernel):
    """The kernel of one description; `sm80.py` says how it works."""

    def __init__(self, description: GemmDescription):
        super().__init__(description)
        self.threads = sm80.block_threads(description)
        self.plans = sm80.plans(description)
        self.multiplication = Multiplication(description)

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        self.kernel(problem, a, b, operands, workspace, slices).launch(
            grid=self.rasterization.grid(problem, slices), block=(self.threads, 1, 1), stream=stream
        )

    @cute.kernel
    def kernel(self, problem, a, b, operands, workspace, slices):
        """One tile of D, or one slice of it."""
        thread, _, _ = cute.arch.thread_idx()
        block = cute.arch.block_idx()
        m, n, k, _ = problem
        tile_m, tile_n, batch = self.rasterization.of_block(block, problem)
        first, steps = slice_of_steps(k, self.tile[2], slices, block[2])

        plan_a, plan_b = self.plans
        stages_a, stages_b = self.allocate_stages()
        a = matrix(a, plan_a.operand, m, k, batch, rows_contiguous=plan_a.is_k_major)
        b = matrix(b, plan_b.operand, n, k, batch, rows_contiguous=plan_b.is_k_major)
        fetches = self.fetches((a, b), (m, n), k, (tile_m, tile_n), (stages_a, stages_b), thread)
        sums = self.multiply(first, steps, k, fetches, (stages_a, stages_b), thread)
        self.give(sums, problem, (tile_m, tile_n), batch, stages_a, operands, workspace, slices, block[2], thread)

    def fetches(self, operands, rows, k, tile, stages, thread) -> tuple[Fetch, ...]:
        """What copies the tiles of A and B that belong to a tile of D; `rows` are M and N."""
        return tuple(
            Fetch(plan, self.tiles(operand, plan, k, index), into, index * plan.tile[0], extent, thread)
            for plan, operand, extent, index, into in zip(self.plans, operands, rows, tile, stages, strict=True)
        )

    def multiply(self, first, steps, extent, fetches, stages, thread) -> cute.Tensor:
        """This thread's sums of products of `steps` tiles along K from the tile `first` on, where K is `extent`."""
        tiled_mma = make_tiled_mma(self.description)
        fragments = tuple(
            Fragments(plan, each, tiled_mma, thread, is_a=plan is self.plans[0])
            for plan, each in zip(self.plans, stages, strict=True)
        )
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C(self.tile[:2]), self.accumulator)
        sums.fill(0)
        self.main_loop(first, steps, extent, fetches, fragments, tiled_mma, sums)
        return sums

    @cute.jit
    def give(self, sums, problem, tile, batch, stages_a, operands, workspace, slices, slice_index, thread):
        """What becomes of the sums of a tile."""
        places = make_tiled_mma(self.description).get_slice(thread).partition_C(self.places(problem, tile))
        holders = sm80.holding_threads(self.description)
        if cutlass.const_expr(holders < self.threads):
            self.gather(stages_a.iterator, sums, thread, holders)
        if holders == self.threads or thread < holders:
            warp = warp_place(thread, self.warps[:2])
            self.conclude(
                *(sums, places, problem, tile, batch),
                *(operands, workspace, slices, slice_index, thread, warp, holders),
            )

    def allocate(self, allocator, plan: sm80.OperandPlan) -> cute.Tensor:
        """The stages of an operand in shared memory: (rows, K, stage)."""
        layout, swizzle = stages_layout(plan, self.stages), cute.make_swizzle(*plan.swizzle)
        return allocator.allocate_tensor(numeric(plan.operand.dtype), layout, sm80.STAGES_ALIGNMENT, swizzle=swizzle)

    @cute.jit
    def gather(self, shared: cute.Pointer, sums: cute.Tensor, thread, holders: int):
        """Add up the sums of warps along K, each of which had its part of every tile; the first ones then have all."""
        along_k, count = self.warps[2], cute.size(sums)
        # All have read their last fragments. Lanes leave their sums side by side.
        cute.arch.sync_threads()
        layout = cute.make_layout((count, holders, along_k - 1), stride=(holders, 1, count * holders))
        left = cute.make_tensor(cute.recast_ptr(shared, dtype=self.accumulator), layout)
        if thread >= holders:
            for i in cutlass.range_constexpr(count):
                left[i, thread % holders, thread // holders - 1] = sums[i]
        cute.arch.sync_threads()
        if thread < holders:
            for part in cutlass.range_constexpr(along_k - 1):
                for i in cutlass.range_constexpr(count):
                    sums[i] = sums[i] + left[i, thread, part]

    def tiles(self, operand: cute.Tensor, plan: sm80.OperandPlan, k, index) -> cute.Tensor:
        """The block's tiles (rows, K, step) of an operand, shifted so that the first one is what K leaves over.

        It is then the only tile of which a part is outside of the matrix: at its beginning, before the matrix.
        """
        shifted = cute.domain_offset((0, -self.missing(k)), operand)
        # K and the tile's K are multiples of the vector where K is contiguous, so the shift keeps the alignment.
        pointer = shifted.iterator.align(plan.vector * plan.bytes)
        return cute.local_tile(cute.make_tensor(pointer, shifted.layout), plan.tile, (index, None))

    def missing(self, k):
        """By how much K falls short of whole tiles."""
        depth = self.tile[2]
        return (k + depth - 1) // depth * depth - k

    @cute.jit
    def begin(self, first, extent):
        """Where K begins in the tile `first`, where K is `extent`."""
        begin = cutlass.Int32(self.missing(extent))
        if first > 0:
            begin = cutlass.Int32(0)
        return begin

    @cute.jit
    def main_loop(self, first, steps, extent, fetches, fragments, tiled_mma, sums):
        """Add the products of `steps` tiles along K from the tile `first` on, where K is `extent`, to `sums`."""
        self.fill(first, steps, fetches, self.begin(first, extent))

        # While some instructions along K multiply, the next ones' fragments are on their way.
        depth = fragments[0].steps // sm80.steps_at_once(self.description)
        if steps > 0:
            self.load(fragments, 0, 0)
        stage = cutlass.Int32(0)
        free = cutlass.Int32(self.stages - 1)
        for step in range(steps):
            for k in cutlass.range_constexpr(depth):
                if cutlass.const_expr(k == depth - 1):
                    for fetch in fetches:
                        fetch.finish(free)
                    # From here on the next stage is full, and all warps have read this one.
                    self.wait()
                    free = stage
                    if step + 1 < steps:
                        stage = self.after(stage)
                self.load(fragments, (k + 1) % depth, stage)
                if cutlass.const_expr(k == 0):
                    ahead = step + self.stages - 1
                    if ahead < steps:
                        for fetch in fetches:
                            fetch.start(first + ahead, free, fetch.inside)
                    cute.arch.cp_async_commit_group()
                self.multiplication.add(tiled_mma, sums, self.loaded(fragments, k))

    @cute.jit
    def fill(self, first, steps, fetches, begin):
        """Start to fill all stages but one, and wait for the first of them."""
        for stage in cutlass.range_constexpr(self.stages - 1):
            if stage < steps:
                for fetch in fetches:
                    inside = fetch.behind(begin) if cutlass.const_expr(stage == 0) else fetch.inside
                    fetch.start(first + stage, stage, inside)
                for fetch in fetches:
                    fetch.finish(stage)
            cute.arch.cp_async_commit_group()
        self.wait()

    def load(self, fragments, k: int, stage) -> None:
        """Load what the `k`-th instructions along K multiply."""
        for fragment in fragments:
            for step in self.steps(k):
                fragment.load(step, stage)

    def loaded(self, fragments, k: int):
        """What the `k`-th instructions along K multiply: A and B of each step."""
        return [tuple(fragment.registers[None, None, step] for fragment in fragments) for step in self.steps(k)]

    def steps(self, k: int) -> range:
        """The steps along K of a tile that are multiplied as the `k`-th ones."""
        at_once = sm80.steps_at_once(self.description)
        return range(k * at_once, (k + 1) * at_once)
