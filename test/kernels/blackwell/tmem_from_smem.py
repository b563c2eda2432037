"""Copy a matrix by way of tensor memory: from shared memory there, and by threads from there to global memory.

Exercises copies from shared to tensor memory of two shapes, which one thread issues and a commit completes.
"""

# cutecc: entry = "tmem_from_smem"
# cutecc: target = "sm_100a"
# cutecc: args.x = "f32[?M{div=128}=256, ?N{div=8}=24] align=16"
# cutecc: args.y = "f32[2, ?M, ?N] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "12 * M * N"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, tcgen05

ROWS, COLUMNS = TILE = 128, 8
ALLOCATED = 32
THREADS = 128


@cute.kernel
def copy_kernel(tma: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, layout: cute.Layout):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    loaded, copied = (allocator.allocate_array(cutlass.Int64) for _ in range(2))
    tmem_address = allocator.allocate_array(cutlass.Int32)
    staged = allocator.allocate_tensor(cutlass.Float32, layout, 128)
    if warp == 0:
        cute.arch.alloc_tmem(ALLOCATED, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(copied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)
    places = tuple(
        cute.make_tensor(tmem + which * COLUMNS, cute.make_layout(TILE, stride=(1 << 16, 1))) for which in range(2)
    )

    if warp == 0:
        tile = cute.group_modes(cute.local_tile(x, TILE, (block_m, block_n)), 0, 2)
        to, source = cpasync.tma_partition(tma, 0, cute.make_layout(1), cute.group_modes(staged, 0, 2), tile)
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(loaded, ROWS * COLUMNS * 4)
        cute.copy(tma, source, to, tma_bar_ptr=loaded)
        cute.arch.mbarrier_wait(loaded, 0)
        operations = tcgen05.Cp128x256bOp(tcgen05.CtaGroup.ONE), tcgen05.Cp128x128bOp(tcgen05.CtaGroup.ONE)
        for operation, place in zip(operations, places, strict=True):
            tiled_copy = tcgen05.make_s2t_copy(cute.make_copy_atom(operation, cutlass.Float32), place)
            copy_slice = tiled_copy.get_slice(0)
            described = tcgen05.get_s2t_smem_desc_tensor(tiled_copy, copy_slice.partition_S(staged))
            cute.copy(tiled_copy, described, copy_slice.partition_D(place))
        with cute.arch.elect_one():
            tcgen05.commit(copied)
    cute.arch.mbarrier_wait(copied, 0)

    load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x8), cutlass.Float32)
    for which in cutlass.range_constexpr(2):
        tiled_load = tcgen05.make_tmem_copy(load, places[which])
        load_slice = tiled_load.get_slice(thread)
        target = load_slice.partition_D(cute.local_tile(y[which, None, None], TILE, (block_m, block_n)))
        values = cute.make_rmem_tensor(target.shape, cutlass.Float32)
        cute.copy(tiled_load, load_slice.partition_S(places[which]), values)
        cute.arch.fence_view_async_tmem_load()
        cute.autovec_copy(values, target)

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, ALLOCATED)


@cute.jit
def tmem_from_smem(x: cute.Tensor, y: cute.Tensor):
    """y[0] = y[1] = x for an (M, N) and a (2, M, N) tensor; 128 divides M and 8 divides N."""
    # Core matrices, of 8 rows of 16 bytes, one below the other.
    layout = cute.make_layout(((8, ROWS // 8), (4, COLUMNS // 4)), stride=((4, 32), (1, 4 * ROWS)))
    tma, x_tma = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, layout, TILE)
    copy_kernel(tma, x_tma, y, layout).launch(
        grid=[x.shape[0] // ROWS, x.shape[1] // COLUMNS, 1], block=[THREADS, 1, 1]
    )


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.stack([x, x])
