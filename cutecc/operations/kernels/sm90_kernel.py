# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""The warp-specialised Hopper GEMM in CuTe: TMA, multicast in clusters, mbarriers, wgmma, an epilogue of TMA stores."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warpgroup

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.cluster_sums import ClusterSums
from cutecc.operations.kernels.operand_copies import operand_copies
from cutecc.operations.kernels.operand_copies_kernel import OperandCopies
from cutecc.operations.kernels.outgoing_boxes import OutgoingBoxes
from cutecc.operations.kernels.signature import is_persistent
from cutecc.operations.kernels.sm90_instructions import make_tiled_mma
from cutecc.operations.kernels.sm90_stages import WARP, WARPGROUP, Sm90Stages, copy_tile
from cutecc.operations.kernels.split_k import slice_of
from cutecc.operations.kernels.workspace import ceil_div


class Task(NamedTuple):
    """What a block computes of a tile of D."""

    m: Any
    """Of the tile, counted in tiles."""
    n: Any
    batch: Any
    slice: Any
    """Of K, its index."""
    first: Any
    """The first step along K."""
    steps: Any
    """How many."""


class Sm90Gemm(Sm90Stages):
    """The kernel of one description; `sm90.py` says how it works."""

    def __init__(self, description: GemmDescription):
        super().__init__(description)
        self.gathering = None
        if self.slices > 1:
            self.gathering = ClusterSums(self.slices, self.warpgroups * WARPGROUP, self.accumulator)

    def launch(self, problem, a, b, operands, workspace, slices, multiprocessors, stream) -> None:
        """As many clusters as the GPU holds at once, or as there is work for."""
        along_x, along_y = self.blocks
        if cutlass.const_expr(operand_copies(self.description)):
            a, b = OperandCopies(self.description).launch(problem, a, b, workspace, slices, stream)
        target = None
        if cutlass.const_expr(self.result is not None):
            target = operands[self.product.epilogue.operands.index(self.result)]
        transfers = self.transfers(problem, a, b, target)
        tasks = self.tasks(problem, slices)
        if cutlass.const_expr(is_persistent(self.description)):
            tasks = cutlass.min(tasks, sm90.clusters_at_once(along_x * along_y, multiprocessors))
        self.start(problem, transfers, operands, workspace, slices, tasks, stream)

    def start(self, problem, transfers, operands, workspace, slices, clusters, stream) -> None:
        """Launch the kernel with so many clusters."""
        (tma_a, a, a_layout), (tma_b, b, b_layout), (tma_d, d, d_layout) = transfers
        along_x, along_y = self.blocks
        tiled_mma = make_tiled_mma(self.description, self.columns)
        box_mma = make_tiled_mma(self.description, self.box[1])
        self.kernel(
            *(problem, tma_a, a, tma_b, b, tma_d, d, tiled_mma, box_mma, a_layout, b_layout, d_layout),
            *(operands, workspace, slices),
        ).launch(
            # Of a grid's extents only the first may exceed 65,535.
            grid=(along_x * clusters, along_y, 1),
            block=(sm90.block_threads(self.description), 1, 1),
            cluster=(along_x, along_y, 1),
            min_blocks_per_mp=1,
            stream=stream,
            use_pdl=True,
        )

    def tiled(self, problem):
        """The sizes that are cut into tiles."""
        return problem

    def tasks(self, problem, slices):
        """How many tiles of clusters there are, each slice of K counted."""
        tiled = self.tiled(problem)
        of_m, of_n = self.rasterization.tiles(tiled)
        return of_m * of_n * tiled[3] * (1 if slices is None else slices)

    @cute.kernel
    def kernel(
        self,
        problem,
        tma_a,
        a,
        tma_b,
        b,
        tma_d,
        d,
        tiled_mma: cute.TiledMma,
        box_mma: cute.TiledMma,
        a_layout,
        b_layout,
        d_layout,
        operands,
        workspace,
        slices,
    ):
        """Every tile that this block computes; `a`, `b` and `d` are coordinate tensors, as TMA takes them."""
        thread, _, _ = cute.arch.thread_idx()
        warp_index = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        group = warp_index // 4
        if warp_index == 0:
            cpasync.prefetch_descriptor(tma_a)
            cpasync.prefetch_descriptor(tma_b)
            if cutlass.const_expr(self.result is not None):
                cpasync.prefetch_descriptor(tma_d)

        allocator = cutlass.utils.SmemAllocator()
        full = allocator.allocate_array(cutlass.Int64, self.stages)
        empty = allocator.allocate_array(cutlass.Int64, self.stages)
        turns = allocator.allocate_array(cutlass.Int64, 2)
        gathered = self.gathering.allocate(allocator, self.rows * self.tile[1] // WARPGROUP) if self.gathering else None
        beside = self.allocate_beside(allocator)
        staged_a = self.allocate(allocator, self.description.a.dtype, a_layout)
        staged_b = self.allocate(allocator, self.description.b.dtype, b_layout)
        staged_d = None
        if cutlass.const_expr(self.result is not None):
            staged_d = self.allocate(allocator, self.result.dtype, d_layout)
        if cutlass.const_expr(self.gathering is not None):
            self.gathering.initialize(gathered, thread)
        self.initialize(full, empty, turns, thread)

        # What runs before this launch may still write what is read here; from here on the next may start to get ready.
        cute.arch.griddepcontrol_launch_dependents()
        cute.arch.griddepcontrol_wait()

        if group == 0:
            if cutlass.const_expr(self.registers is not None):
                cute.arch.setmaxregister_decrease(self.registers[0])
            if warp_index == 0:
                sources = partial(self.sources, (tma_a, a, staged_a), (tma_b, b, staged_b))
                self.produce(problem, slices, sources, full, empty, self.fetch)
            if cutlass.const_expr(beside is not None):
                self.fill_beside(warp_index, problem, slices, beside, full, empty)
        else:
            if cutlass.const_expr(self.registers is not None):
                cute.arch.setmaxregister_increase(self.registers[1])
            staged, barriers, out = (staged_a, staged_b, beside), (full, empty, turns), (tma_d, d, staged_d, box_mma)
            place = (thread - WARPGROUP, group - 1)
            self.consume(problem, slices, tiled_mma, staged, barriers, gathered, operands, out, workspace, *place)

    def turn(self):
        """The index of this block's cluster, and how many clusters take turns."""
        (x, _, _), (blocks, _, _) = cute.arch.block_idx(), cute.arch.grid_dim()
        return x // self.blocks[0], blocks // self.blocks[0]

    def slice_of_block(self):
        """Which slice of K this block of a cluster has."""
        x, _, _ = cute.arch.block_idx()
        return x % self.slices

    def steps(self, problem, batch):
        """How many steps along K the tiles of a batch have."""
        return ceil_div(problem[2], self.tile[2])

    @cute.jit
    def task(self, position, problem, slices):
        """This block's part in what the cluster computes at a position."""
        along_m, along_n = self.cluster
        block_m, block_n = self.place()
        whole = self.tasks(problem, None)
        m, n, batch = self.rasterization.split(position % whole, self.tiled(problem))
        slice_index = position // whole
        if cutlass.const_expr(self.gathering is None):
            first, steps = slice_of(self.steps(problem, batch), slices, slice_index)
        else:
            first, steps = slice_of(self.steps(problem, batch), self.slices, self.slice_of_block())
        return Task(m * along_m + block_m, n * along_n + block_n, batch, slice_index, first, steps)

    def begin(self, index, problem):
        """The position of the task `index`."""
        return index

    def advance(self, position, by, problem):
        """The position that comes `by` tasks later."""
        return position + by

    def is_left(self, position, tasks):
        """Whether there is a task at a position."""
        return position < tasks

    def steps_of(self, position, ahead, tasks, problem, slices):
        """How many steps the task has that comes `ahead` tasks later; any number where there is none."""
        return self.task(cutlass.min(position + ahead, tasks - 1), problem, slices).steps

    @cute.jit
    def produce(self, problem, slices, sources, full, empty, fetch):
        """Fetch into the ring what every task of this block needs, by `fetch` from `sources()`; one warp runs this."""
        cluster, clusters = self.turn()
        found = sources()
        stage = cutlass.Int32(0)
        phase = cutlass.Int32(1)  # a fresh barrier counts as just past phase 1: the first round does not wait
        tasks = self.tasks(problem, slices)
        position = self.begin(cluster, problem)
        while self.is_left(position, tasks):
            task = self.task(position, problem, slices)
            stage, phase = fetch(task, problem, found, full, empty, stage, phase)
            position = self.advance(position, clusters, problem)
        if cutlass.const_expr(self.cluster != (1, 1)):
            # A block must not end while others of its cluster still arrive at its barriers.
            for _ in cutlass.range_constexpr(self.stages):
                cute.arch.mbarrier_wait(empty + stage, phase)
                stage, phase = self.following(stage, phase)

    @cute.jit
    def fetch(self, task, problem, sources, full, empty, stage, phase):
        """Fetch the tiles of one task; returns the next place in the ring."""
        (m, n, batch, _, first, steps) = task
        (tma_a, from_a, to_a, mask_a), (tma_b, from_b, to_b, mask_b) = sources
        for step in range(first, first + steps):
            arrived = self.expect(full, empty, stage, phase)
            copy_tile(tma_a, from_a[None, m, step, batch], to_a[None, stage], arrived, mask_a)
            copy_tile(tma_b, from_b[None, n, step, batch], to_b[None, stage], arrived, mask_b)
            stage, phase = self.following(stage, phase)
        return stage, phase

    @cute.jit
    def consume(self, problem, slices, tiled_mma, staged, barriers, gathered, operands, out, workspace, thread, group):
        """Multiply tile after tile, and run the epilogue of each; a warpgroup runs this."""
        (staged_a, staged_b, beside), (full, empty, turns) = staged, barriers
        cluster, clusters = self.turn()
        rows_of = 0 if self.is_pingpong else group
        own_rows = cute.local_tile(staged_a, (self.rows, self.tile[2]), (rows_of, 0, None))
        whole = tiled_mma.get_slice(0)
        fragment_a = tiled_mma.make_fragment_A(whole.partition_A(own_rows))
        fragment_b = tiled_mma.make_fragment_B(whole.partition_B(staged_b))
        sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((self.rows, self.tile[1])), self.accumulator)

        stage, phase, stride = cutlass.Int32(0), cutlass.Int32(0), clusters
        turn, parity = cutlass.Int32(0), cutlass.Int32(0)
        tasks = self.tasks(problem, slices)
        position = self.begin(cluster, problem)
        if cutlass.const_expr(self.is_pingpong):
            # Warpgroups take every other task. The second begins behind the first one's, and the first need not wait
            # for its first turn: a fresh barrier counts as just past phase 1.
            turn = 1 - group
            if group == 1:
                stage, phase = self.advanced(stage, phase, self.steps_of(position, 0, tasks, problem, slices))
                position = self.advance(position, clusters, problem)
            stride = clusters * 2
        while self.is_left(position, tasks):
            task = self.task(position, problem, slices)
            steps = task.steps
            place = (task.m * (self.tile[0] // self.rows) + rows_of, task.n)
            bounds, tile = self.bounds(problem, task, (self.rows, self.tile[1]), place)
            coordinates = tiled_mma.get_slice(thread % WARPGROUP).partition_C(tile)
            early = self.load_early(coordinates, bounds, task.batch, operands)
            if cutlass.const_expr(self.is_pingpong):
                cute.arch.mbarrier_wait(turns + group, turn)
                turn ^= 1
            if steps == 0:
                self.words(sums).fill(0)
            stage, phase, last = self.multiply(
                tiled_mma, sums, (fragment_a, fragment_b, beside), task, coordinates, full, empty, stage, phase, thread
            )
            if cutlass.const_expr(self.is_pingpong):
                self.pass_turn(turns + (1 - group), thread)
            warpgroup.wait_group(0)
            if steps > 0:
                self.release(empty + last, thread)
            if cutlass.const_expr(self.is_pingpong):
                # What the other warpgroup multiplies lies between.
                between = self.steps_of(position, clusters, tasks, problem, slices)
                stage, phase = self.advanced(stage, phase, between)
            outgoing = (operands, early, out, place, thread, group, task)
            if cutlass.const_expr(self.gathering is None):
                self.finish(self.taken(sums), coordinates, outgoing, task, bounds, slices, workspace, thread)
            else:
                rank = self.slice_of_block()
                self.gathering.add(sums, gathered, rank, thread, parity)
                parity ^= 1
                if rank == 0:
                    self.finish(sums, coordinates, outgoing, task, bounds, slices, workspace, thread)
            position = self.advance(position, stride, problem)
        if cutlass.const_expr(self.gathering is not None):
            self.gathering.finish(gathered, self.slice_of_block(), parity)
        if thread % WARPGROUP < WARP:
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    def bounds(self, problem, task: Task, shape, place):
        """The sizes of a task's product, and the (m, n) of the elements of a part of its tile."""
        return problem, cute.local_tile(cute.make_identity_tensor(problem[:2]), shape, place)

    def load_early(self, coordinates, problem, batch, operands):
        """What the epilogue of a tile loads before its sums are there."""
        return self.epilogue.load_early(coordinates, problem, batch, operands)

    def words(self, sums: cute.Tensor) -> cute.Tensor:
        """The registers of sums: two f16 share one, which the compiler takes apart in the main loop if others do."""
        return cute.recast_tensor(sums, cutlass.Int32) if self.accumulator.width == 16 else sums

    def taken(self, sums: cute.Tensor) -> cute.Tensor:
        """The sums for the epilogue, which uses them one by one."""
        if self.accumulator.width != 16:
            return sums
        found = cute.make_rmem_tensor(sums.shape, self.accumulator)
        self.words(found).store(self.words(sums).load())
        return found

    @cute.jit
    def pass_turn(self, turn, thread):
        """Let the other warpgroup multiply, once all warps of this one have begun.

        Until then one of them may still wait for this one's turn, which must not come a second time meanwhile.
        """
        if thread % WARP == 0:
            cute.arch.mbarrier_arrive(turn)

    @cute.jit
    def multiply(self, tiled_mma, sums, staged, task, coordinates, full, empty, stage, phase, thread):
        """Issue the products of every step; those of the last may still be under way.

        Returns the next place in the ring, and the stage that is read last.
        """
        fragment_a, fragment_b, _ = staged
        last = stage
        for step in range(task.steps):
            cute.arch.mbarrier_wait(full + stage, phase)
            warpgroup.fence()
            tiled_mma.set(warpgroup.Field.ACCUMULATE, step > 0)
            for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                slice_a, slice_b = fragment_a[None, None, k, stage], fragment_b[None, None, k, stage]
                cute.gemm(tiled_mma, sums, slice_a, slice_b, sums)
                tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            # With this step's products under way, those of the step before are what must be done.
            warpgroup.wait_group(1)
            if step > 0:
                self.release(empty + last, thread)
            last = stage
            stage, phase = self.following(stage, phase)
        return stage, phase, last

    @cute.jit
    def release(self, barrier, thread):
        """Tell every block whose loads reach this one that the warp has read a stage.

        A warp knows only that its own part of a `wgmma` is done, so each one tells.
        """
        along_m, along_n = self.cluster
        lane = thread % WARP
        if cutlass.const_expr(self.cluster == (1, 1)):
            if lane == 0:
                cute.arch.mbarrier_arrive(barrier)
        else:
            # One thread for each block of this one's row and column of the cluster.
            block_m, block_n = self.place()
            other_m, other_n = lane % along_m, lane // along_m
            shares = (other_m == block_m) | (other_n == block_n)
            if (lane < along_m * along_n) & shares:
                cute.arch.mbarrier_arrive(barrier, lane)

    @cute.jit
    def finish(self, sums, coordinates, outgoing, task, problem, slices, workspace, thread):
        """Conclude a tile; `outgoing` is what `apply` takes in the place of operands."""
        warp_of_tile = (thread // WARP % (4 if self.is_pingpong else 4 * self.warpgroups), 0)
        tile = (task.m, task.n)
        # The last tiles of a cluster may lie outside of D altogether.
        if self.is_inside(task, problem):
            self.conclude(
                *(sums, coordinates, problem, tile, task.batch, outgoing, workspace, slices, task.slice),
                *(thread, warp_of_tile, WARPGROUP * self.warpgroups),
            )

    def is_inside(self, task: Task, problem):
        """Whether a task has elements of D."""
        return (task.m * self.tile[0] < problem[0]) & (task.n * self.tile[1] < problem[1])

    def apply(self, sums, coordinates, problem, batch, outgoing, workspace, slices, tile, warp):
        """The epilogue of the warpgroup's part of a tile.

        Of `outgoing`, the place is that of the warpgroup's rows among all of D, in units of them and of tiles.
        """
        operands, early, *_ = outgoing
        takers = {} if self.result is None else {self.result.name: self.outgoing_boxes(outgoing, batch)}
        self.epilogue.apply(
            *(sums, coordinates, problem, batch, operands),
            **{"workspace": workspace, "slices": slices, "tile": tile, "warp": warp, "early": early, "takers": takers},
        )

    def outgoing_boxes(self, outgoing, batch, kind: type[OutgoingBoxes] = OutgoingBoxes) -> Any:
        """What takes a warpgroup's part of D."""
        _, _, (tma_d, d, staged_d, box_mma), place, thread, group, _ = outgoing
        boxes = cute.local_tile(d, self.box, (None, None, None))
        across = self.tile[1] // self.box[1]
        first = (place[0] * (self.rows // self.box[0]), place[1] * across)
        return kind(tma_d, boxes, staged_d, box_mma, first, across, batch, thread % WARPGROUP, group)
