"""GEMM for Blackwell data-centre GPUs of any types, majors and sizes that tensor cores take, by one block or a pair.

Exercises, with `--entry` and `--arg`, every kind of product without scales: the tile decides about the swizzle, and the
tensors about the rest. As it is here: unsigned bytes, both factors transposed, a pair of blocks with 64 rows each.
"""

# cutecc: entry = "Gemm(tile=(128, 96, 32), pair=True)"
# cutecc: target = "sm_100a"
# cutecc: args.a = "u8[?M{div=16}=144, ?K=72] order=(0, 1) align=16"
# cutecc: args.b = "u8[?N{div=16}=112, ?K] order=(0, 1) align=16"
# cutecc: args.c = "i32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "M * K + N * K + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, tcgen05
from cutlass.utils import LayoutEnum, sm100

THREADS = 128


class Gemm:
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors of any sizes that TMA can address.

    `tile` has the rows, the columns and the depth that a block, or with `pair` two, compute at a time. The type of c is
    that of the sums; f32 data is rounded to tf32, and elements of 6 and 4 bits get a byte each.
    """

    def __init__(self, tile=(128, 64, 64), pair: bool = False):
        self.tile = tile
        self.blocks = 2 if pair else 1
        self.group = tcgen05.CtaGroup(self.blocks)

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch the kernel."""
        tile_m, tile_n, tile_k = tile = self.tile
        types = a.element_type, b.element_type
        self.types = tuple(staged_type(each) for each in types)
        # Of a tile of each. Elements of 6 and 4 bits count as they are in global memory.
        self.loaded_bytes = (tile_m * types[0].width + tile_n * types[1].width) * tile_k // 8
        majors = (LayoutEnum.from_tensor(each).mma_major_mode() for each in (a, b))
        tiled_mma = sm100.make_trivial_tiled_mma(*types, *majors, c.element_type, self.group, tile[:2])
        a_layout = sm100.make_smem_layout_a(tiled_mma, tile, self.types[0], 1)
        b_layout = sm100.make_smem_layout_b(tiled_mma, tile, self.types[1], 1)
        load = cpasync.CopyBulkTensorTileG2SOp(self.group)
        internal_a, internal_b = (
            staged if staged is not each else None for staged, each in zip(self.types, types, strict=True)
        )
        tma_a, a_tma = cute.nvgpu.make_tiled_tma_atom_A(load, a, a_layout, tile, tiled_mma, internal_type=internal_a)
        tma_b, b_tma = cute.nvgpu.make_tiled_tma_atom_B(load, b, b_layout, tile, tiled_mma, internal_type=internal_b)
        self.kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout).launch(
            grid=[self.blocks, cute.ceil_div(c.shape[0], tile_m), cute.ceil_div(c.shape[1], tile_n)],
            block=[THREADS, 1, 1],
            cluster=[self.blocks, 1, 1],
        )

    @cute.kernel
    def kernel(
        self,
        tma_a: cute.CopyAtom,
        a: cute.Tensor,
        tma_b: cute.CopyAtom,
        b: cute.Tensor,
        c: cute.Tensor,
        tiled_mma: cute.TiledMma,
        a_layout: cute.ComposedLayout,
        b_layout: cute.ComposedLayout,
    ):
        tile_m, tile_n, tile_k = self.tile
        thread, _, _ = cute.arch.thread_idx()
        rank, tile_row, tile_column = cute.arch.block_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

        allocator = cutlass.utils.SmemAllocator()
        loaded, multiplied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
        tmem_address = allocator.allocate_array(cutlass.Int32)
        staged_a, staged_b = (
            allocator.allocate_tensor(dtype, layout.outer, 1024, swizzle=layout.inner)
            for dtype, layout in zip(self.types, (a_layout, b_layout), strict=True)
        )
        if thread == 0:
            cute.arch.mbarrier_init(loaded, 1)
            cute.arch.mbarrier_init(multiplied, 1)
            cute.arch.mbarrier_init_fence()
        self.wait_for_all()
        is_pair, columns = self.blocks == 2, 256
        if warp == 0:
            cute.arch.alloc_tmem(columns, tmem_address, is_two_cta=is_pair)
            cute.arch.relinquish_tmem_alloc_permit(is_two_cta=is_pair)
        self.wait_for_all()
        tmem = cute.arch.retrieve_tmem_ptr(c.element_type, 16, tmem_address)

        mma_slice = tiled_mma.get_slice(rank)
        tiles_a = mma_slice.partition_A(cute.local_tile(a, (tile_m, tile_k), (tile_row, None)))
        tiles_b = mma_slice.partition_B(cute.local_tile(b, (tile_n, tile_k), (tile_column, None)))
        fragment_a, fragment_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
        sums_shape = tiled_mma.partition_shape_C((tile_m, tile_n))
        sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(sums_shape).layout)
        alone = cute.make_layout(1)
        to_a, from_a = cpasync.tma_partition(
            tma_a, 0, alone, cute.group_modes(staged_a, 0, 3), cute.group_modes(tiles_a, 0, 3)
        )
        to_b, from_b = cpasync.tma_partition(
            tma_b, 0, alone, cute.group_modes(staged_b, 0, 3), cute.group_modes(tiles_b, 0, 3)
        )

        phase = cutlass.Int32(0)
        for step in range(cute.size(tiles_a, mode=[3])):
            if warp == 0:
                if rank == 0:
                    with cute.arch.elect_one():
                        cute.arch.mbarrier_arrive_and_expect_tx(loaded, self.loaded_bytes)
                cute.copy(tma_a, from_a[None, step], to_a[None, 0], tma_bar_ptr=loaded)
                cute.copy(tma_b, from_b[None, step], to_b[None, 0], tma_bar_ptr=loaded)
                if rank == 0:
                    cute.arch.mbarrier_wait(loaded, phase)
                    for k in cutlass.range_constexpr(cute.size(fragment_a, mode=[2])):
                        tiled_mma.set(tcgen05.Field.ACCUMULATE, step > 0 if k == 0 else True)
                        cute.gemm(tiled_mma, sums, fragment_a[None, None, k, 0], fragment_b[None, None, k, 0], sums)
                    with cute.arch.elect_one():
                        everyone = cutlass.Int16(3) if self.blocks == 2 else None
                        tcgen05.commit(multiplied, everyone, self.group)
            cute.arch.mbarrier_wait(multiplied, phase)
            # A warp that came late could miss two steps, and wait for ever.
            cute.arch.sync_threads()
            phase ^= 1

        # Only one block with 64 rows leaves half of the lanes free. Sums of 16 bits come two in a register.
        is_half = c.element_type.width == 16
        pack = tcgen05.Pack.PACK_16b_IN_32b if is_half else tcgen05.Pack.NONE
        load = tcgen05.Ld32x32bOp(tcgen05.Repetition(4 if is_half else 8), pack)
        if cutlass.const_expr(tile_m == 64):
            load = tcgen05.Ld16x128bOp(tcgen05.Repetition(1 if is_half else 2), pack)
        places = mma_slice.partition_C(
            cute.local_tile(cute.make_identity_tensor(c.shape), (tile_m, tile_n), (tile_row, tile_column))
        )
        tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(load, c.element_type), sums)
        load_slice = tiled_load.get_slice(thread)
        own_places = load_slice.partition_D(places)
        results = cute.make_rmem_tensor(own_places.shape, c.element_type)
        cute.copy(tiled_load, load_slice.partition_S(sums), results)
        cute.arch.fence_view_async_tmem_load()
        for i in cutlass.range_constexpr(cute.size(results)):
            if cute.elem_less(own_places[i], c.shape):
                c[own_places[i]] = results[i]

        self.wait_for_all()
        if warp == 0:
            cute.arch.dealloc_tmem(tmem, columns, is_two_cta=is_pair)

    def wait_for_all(self):
        """Wait for all threads, of both blocks of a pair."""
        if self.blocks == 1:
            cute.arch.sync_threads()
        else:
            cute.arch.cluster_arrive()
            cute.arch.cluster_wait()


def staged_type(dtype):
    """What elements are in shared memory."""
    if dtype is cutlass.Float32:
        return cutlass.TFloat32
    return cutlass.Uint8 if dtype.width < 8 else dtype


def reference(a, b, c):
    """The expected `c`, from f32 data rounded to 10 bits of mantissa, halves to even."""
    if a.dtype.kind in "iu":
        return a.astype("int32") @ b.astype("int32").T
    if a.dtype == "float32":
        bits = (each.view("uint32") for each in (a, b))
        a, b = ((each + 0xFFF + (each >> 13 & 1) & 0xFFFFE000).view("float32") for each in bits)
    return (a.astype("float32") @ b.astype("float32").T).astype(c.dtype)
