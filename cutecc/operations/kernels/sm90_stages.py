# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportCallIssue=false, reportGeneralTypeIssues=false, reportIndexIssue=false, reportOperatorIssue=false, reportPrivateImportUsage=false, reportOptionalMemberAccess=false, reportOptionalSubscript=false
"""The ring of stages of a Hopper kernel: what TMA brings and takes, where that lies in shared memory, and barriers."""

from __future__ import annotations

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

from cutecc.operations.description import GemmDescription
from cutecc.operations.kernels import sm90
from cutecc.operations.kernels.gemm_kernel import GemmKernel
from cutecc.operations.kernels.numeric import numeric
from cutecc.operations.kernels.operand_copies import is_read_along_k
from cutecc.operations.kernels.rasterization import Rasterization
from cutecc.operations.kernels.sm90_instructions import staged_layout, swizzled_atom

WARPGROUP, WARP = sm90.WARPGROUP, 32


class Sm90Stages(GemmKernel):
    """A Hopper kernel without what it computes."""

    def __init__(self, description: GemmDescription):
        super().__init__(description)
        tile = description.tile
        self.tile, self.stages, self.cluster = tile.threadblock, tile.stages, sm90.sharing(description)
        self.slices = sm90.cluster_slices(description)
        self.blocks = (self.cluster[0] * self.slices, self.cluster[1])
        """Of a cluster, along x and y of the grid."""
        self.is_pingpong = tile.schedule == "pingpong"
        self.warpgroups, self.rows = sm90.warpgroups(description), sm90.rows_of_warpgroup(description)
        self.columns = self.tile[1]
        """Of a `wgmma`."""
        self.fillers = 1
        """Arrivals that fill a stage: that of the warp which has TMA write it."""
        self.registers = sm90.registers(description)
        # Clusters, not blocks, are what takes turns.
        of_cluster = (self.tile[0] * self.cluster[0], self.tile[1] * self.cluster[1])
        self.rasterization = Rasterization(description.swizzle, of_cluster)
        self.result = sm90.result(description)
        self.box = (sm90.INSTRUCTION_M, sm90.out_columns(description, self.result) if self.result else self.tile[1])

    def transfers(self, problem, a, b, d):
        """Of A, B and D, unless that is `None`: the copies that TMA does, coordinates, and layout in shared memory."""
        (m, n, _), (along_m, along_n) = self.tile, self.cluster
        tma_d, d_coordinates, d_layout = None, None, None
        a_layout, tma_a, a = self.loads(problem, "a", a, m, sharers=along_n)
        b_layout, tma_b, b = self.loads(problem, "b", b, n, sharers=along_m)
        if cutlass.const_expr(d is not None):
            d_layout = self.out_layout()
            buffer = cute.slice_(d_layout, (None, None, 0))
            tma_d, d_coordinates = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), d, buffer, self.box)
        return (tma_a, a, a_layout), (tma_b, b, b_layout), (tma_d, d_coordinates, d_layout)

    def loads(self, problem, name: str, tensor, rows: int, sharers: int):
        """The layout of `a` or `b` in shared memory, the TMA loads of its tiles, and their coordinates.

        `sharers` blocks of a cluster load a tile together.
        """
        tile = (rows, self.tile[2])
        operation = cpasync.CopyBulkTensorTileG2SMulticastOp() if sharers > 1 else cpasync.CopyBulkTensorTileG2SOp()
        # `wgmma` cuts f32 off at the digits of tf32; TMA rounds them to the nearest on their way.
        rounded = cutlass.TFloat32 if self.description.instruction.a == "tf32" else None
        # A stage's layout is made, not sliced: the DSL aborts where the swizzle does not repeat with every stage.
        atom, coordinates = cpasync.make_tiled_tma_atom(
            operation, tensor, self.staged(name, tile), tile, num_multicast=sharers, internal_type=rounded
        )
        return self.staged(name, (*tile, self.stages)), atom, coordinates

    def staged(self, name: str, shape: tuple[int, ...]) -> cute.ComposedLayout:
        """The layout of a tile (rows, K) or tiles (rows, K, stage) of `a` or `b` in shared memory."""
        operand = self.description.a if name == "a" else self.description.b
        return staged_layout(operand, shape, is_read_along_k(self.description, name))

    def out_layout(self) -> cute.ComposedLayout:
        """Boxes of D in shared memory: (64, columns, buffer), some buffers for each warpgroup."""
        atom = swizzled_atom(numeric(self.result.dtype), self.box[1], "K")
        return cute.tile_to_shape(atom, (*self.box, sm90.OUT_BUFFERS * self.warpgroups), order=(0, 1, 2))

    def allocate(self, allocator, dtype: str, layout: cute.ComposedLayout) -> cute.Tensor:
        """Shared memory of a swizzled layout."""
        return allocator.allocate_tensor(numeric(dtype), layout.outer, sm90.STAGES_ALIGNMENT, swizzle=layout.inner)

    def allocate_beside(self, allocator):
        """Shared memory of what stages hold besides tiles of A and B, or `None`."""
        return None

    @cute.jit
    def initialize(self, full, empty, turns, thread):
        """Set up the barriers of the whole cluster.

        A stage is full when TMA has written all its bytes, and empty when every warp that multiplies it has, also in
        the blocks that this one's loads reach.
        """
        along_m, along_n = self.cluster
        warps = WARPGROUP // WARP * (1 if self.is_pingpong else self.warpgroups)
        readers = (along_m + along_n - 1) * warps
        if thread == 0:
            for stage in cutlass.range_constexpr(self.stages):
                cute.arch.mbarrier_init(full + stage, self.fillers)
                cute.arch.mbarrier_init(empty + stage, readers)
            for which in cutlass.range_constexpr(2):
                cute.arch.mbarrier_init(turns + which, WARPGROUP // WARP)
            cute.arch.mbarrier_init_fence()
        if cutlass.const_expr(self.blocks != (1, 1)):
            cute.arch.cluster_arrive_relaxed()
            cute.arch.cluster_wait()
        else:
            cute.arch.sync_threads()

    def place(self):
        """This block's (m, n) in its cluster."""
        x, y, _ = cute.arch.block_idx()
        return x % self.cluster[0], y

    @cute.jit
    def advanced(self, stage, phase, steps):
        """The place in the ring `steps` stages on: the stage, and the parity of its barriers."""
        ahead = stage + steps
        return ahead % self.stages, phase ^ (ahead // self.stages % 2)

    @cute.jit
    def following(self, stage, phase):
        """The next place in the ring."""
        stage += 1
        if stage == self.stages:
            stage = cutlass.Int32(0)
            phase ^= 1
        return stage, phase

    def sources(self, load_a, load_b):
        """Of A and of B: the TMA loads, tiles as TMA has them, those in shared memory, and which blocks get them."""
        block_m, block_n = self.place()
        tile_m, tile_n, tile_k = self.tile
        of_a = self.partitioned(load_a, (tile_m, tile_k), block_n, sharers=self.cluster[1])
        of_b = self.partitioned(load_b, (tile_n, tile_k), block_m, sharers=self.cluster[0])
        mask_a, mask_b = self.receivers(block_m, block_n)
        return (*of_a, mask_a), (*of_b, mask_b)

    def receivers(self, block_m, block_n):
        """The blocks that get what this one loads of A, and of B: a bit for each; `None` for itself alone."""
        along_m, along_n = self.cluster
        # Those along M are next to each other.
        same_m = sum(1 << (other * along_m) for other in range(along_n))
        of_a = cutlass.Int16(same_m << block_m) if along_n > 1 else None
        of_b = cutlass.Int16(((1 << along_m) - 1) << (block_n * along_m)) if along_m > 1 else None
        return of_a, of_b

    def partitioned(self, load, tile, block, sharers: int):
        """Of one operand what `sources` says, where `block` of some sharers loads its part of every tile."""
        tma, tensor, staged = load
        tiles = cute.group_modes(cute.local_tile(tensor, tile, (None,) * cute.rank(tensor)), 0, 2)
        to, source = cpasync.tma_partition(tma, block, cute.make_layout(sharers), cute.group_modes(staged, 0, 2), tiles)
        return tma, source, to

    def expect(self, full, empty, stage, phase):
        """Wait until a stage is empty; returns the barrier of its bytes, which is told how many come."""
        cute.arch.mbarrier_wait(empty + stage, phase)
        arrived = full + stage
        # What lies outside of A or B arrives as zeros, and counts as transferred.
        tile_m, tile_n, tile_k = self.tile
        stage_bytes = (tile_m * self.description.a.bits + tile_n * self.description.b.bits) * tile_k // 8
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(arrived, stage_bytes)
        return arrived


def copy_tile(tma, source, to, arrived, receivers, descriptor=None) -> None:
    """Have TMA copy a tile, of which `arrived` is told; `receivers` are blocks of the cluster, `None` this one.

    `descriptor` is another one than that of the copy.
    """
    options = {} if receivers is None else {"mcast_mask": receivers}
    options |= {} if descriptor is None else {"tma_desc_ptr": descriptor}
    cute.copy(tma, source, to, tma_bar_ptr=arrived, **options)
