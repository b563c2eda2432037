# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false
"""The SIMT GEMM in CuTe: cp.async into a ring of stages, fragments one step of K ahead, fused multiply-adds."""

from __future__ import annotations

import cutlass
from cutlass import cute

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import simt
from cutecc.operations.kernels.gemm_kernel import MultistageKernel
from cutecc.operations.kernels.lanes import make_tiled_mma, warp_place
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.problem import matrix
from cutecc.operations.kernels.sm80_copies import async_copy
from cutecc.operations.kernels.split_k import slice_of_steps


class Fetch:
    """This thread's part in copying tiles of an operand from global memory into stages."""

    def __init__(self, plan: simt.OperandPlan, operand: cute.Tensor, stages: cute.Tensor, index, thread):
        """`operand` is (rows, K), `stages` (rows, K, stage); the block has the tile `index` along the rows."""
        self.copy = tiled_copy(plan)
        own = self.copy.get_slice(thread)
        self.source = own.partition_S(cute.local_tile(operand, plan.tile, (index, None)))
        self.target = own.partition_D(stages)
        places = own.partition_S(cute.make_identity_tensor(plan.tile))
        self.columns = [places[0, 0, i][1] for i in range(cute.size(places, mode=[2]))]
        self.rows_inside = [
            index * plan.tile[0] + places[0, i, 0][0] < operand.shape[0] for i in range(cute.size(places, mode=[1]))
        ]
        self.depth = plan.tile[1]

    def start(self, step, stage, end) -> None:
        """Copy the tile of `step` into `stage`; what lies beyond the rows, or from K = `end` on, is zeros there."""
        inside = cute.make_rmem_tensor((1, len(self.rows_inside), len(self.columns)), cutlass.Boolean)
        for j, column in enumerate(self.columns):
            column_inside = step * self.depth + column < end
            for i, row_inside in enumerate(self.rows_inside):
                inside[0, i, j] = row_inside & column_inside
        whole = (None, None, None)
        cute.copy(self.copy, self.source[(*whole, step)], self.target[(*whole, stage)], pred=inside)


class SimtGemm(MultistageKernel):
    """The kernel of one description; `simt.py` says how it works."""

    def __init__(self, description: GemmDescription):
        super().__init__(description)
        self.threads = simt.block_threads(description)
        self.plans = simt.plans(description)
        self.occupancy = {
            "min_blocks_per_mp": simt.blocks_per_sm(description),
            "preferred_smem_carveout": simt.shared_memory_percentage(description),
        }

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """One block for each tile of D, batch and slice of K."""
        self.kernel(problem, a, b, operands, workspace, slices).launch(
            grid=self.rasterization.grid(problem, slices),
            block=(self.threads, 1, 1),
            stream=stream,
            **self.occupancy,
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
        end = cutlass.min((first + steps) * self.tile[2], k)
        sums = self.multiply(first, steps, end, fetches, (stages_a, stages_b), thread)
        self.give(sums, problem, (tile_m, tile_n), batch, stages_a, operands, workspace, slices, block[2], thread)

    def fetches(self, operands, rows, k, tile, stages, thread) -> tuple[Fetch, ...]:
        """What copies the tiles of A and B that belong to a tile of D; `rows` are M and N."""
        return tuple(
            Fetch(plan, operand, into, index, thread)
            for plan, operand, index, into in zip(self.plans, operands, tile, stages, strict=True)
        )

    def multiply(self, first, steps, end, fetches, stages, thread) -> cute.Tensor:
        """This thread's sums of products of `steps` tiles along K from the tile `first` on; copies end at `end`."""
        tiled_mma = self.make_tiled_mma()
        own = tiled_mma.get_slice(thread)
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C(self.tile[:2]), self.accumulator)
        sums.fill(0)
        sources = own.partition_A(stages[0]), own.partition_B(stages[1])
        self.main_loop(first, steps, end, fetches, sources, tiled_mma, sums)
        return sums

    def give(self, sums, problem, tile, batch, stages_a, operands, workspace, slices, slice_index, thread) -> None:
        """What becomes of the sums of a tile."""
        places = self.make_tiled_mma().get_slice(thread).partition_C(self.places(problem, tile))
        warp = warp_place(thread, self.warps[:2])
        self.conclude(
            *(sums, places, problem, tile, batch),
            *(operands, workspace, slices, slice_index, thread, warp, self.threads),
        )

    def make_tiled_mma(self) -> cute.TiledMma:
        return make_tiled_mma(self.accumulator, self.warps[:2], simt.vector(self.description))

    def allocate(self, allocator, plan: simt.OperandPlan) -> cute.Tensor:
        """The stages of an operand in shared memory: (rows, K, stage)."""
        layout = cute.make_layout((*plan.tile, self.stages), stride=(1, plan.row_stride, plan.stage_elements))
        return allocator.allocate_tensor(numeric(plan.operand.dtype), layout, 128)

    @cute.jit
    def main_loop(self, first, steps, end, fetches, sources, tiled_mma, sums):
        """Add the products of `steps` tiles along K, from `first`, up to K = `end`, to `sums`."""
        for stage in cutlass.range_constexpr(self.stages - 1):
            for fetch in fetches:
                fetch.start(first + stage, stage, end)
            cute.arch.cp_async_commit_group()
        self.wait()

        depth = self.tile[2]
        fragment_a = tiled_mma.make_fragment_A(sources[0][None, None, None, 0])
        fragment_b = tiled_mma.make_fragment_B(sources[1][None, None, None, 0])
        fragments = fragment_a, fragment_b
        self.load(fragments, sources, 0, 0)
        stage = cutlass.Int32(0)
        free = cutlass.Int32(self.stages - 1)
        for step in range(steps):
            for k in cutlass.range_constexpr(depth):
                if cutlass.const_expr(k == depth - 1):
                    # From here on the next stage is full, and all threads have read this one.
                    self.wait()
                    free = stage
                    stage = self.after(stage)
                self.load(fragments, sources, (k + 1) % depth, stage)
                if cutlass.const_expr(k == 0):
                    for fetch in fetches:
                        fetch.start(first + step + self.stages - 1, free, end)
                    cute.arch.cp_async_commit_group()
                part = (None, None, k)
                cute.gemm(tiled_mma, sums, fragment_a[part], fragment_b[part], sums)
        cute.arch.cp_async_wait_group(0)

    def load(self, fragments, sources, k: int, stage) -> None:
        """Load a thread's elements of A and B for one K."""
        for fragment, source in zip(fragments, sources, strict=True):
            cute.autovec_copy(source[None, None, k, stage], fragment[None, None, k])


def tiled_copy(plan: simt.OperandPlan) -> cute.TiledCopy:
    """The copies of a whole tile, or of the part of it that the threads of a block copy at once."""
    bits = plan.vector * plan.operand.bits
    atom = cute.make_copy_atom(async_copy(bits), numeric(plan.operand.dtype), num_bits_per_copy=bits)
    order = (1, 0) if plan.is_k_major else (0, 1)
    threads = cute.make_ordered_layout(plan.copying, order=order)
    return cute.make_tiled_copy_tv(atom, threads, cute.make_layout((plan.vector, 1)))
