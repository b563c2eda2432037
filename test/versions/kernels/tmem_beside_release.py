"""Read 64 columns of tensor memory in four warps of twelve; the other eight give registers back, in their own `if`.

NVIDIA/cutlass #3420 reports of 4.6.0 and 4.6.1 that libNVVM fails on a kernel with `tcgen05.ld` of 64 columns, a
`setmaxnreg.dec` in the other warps, and 384 threads. So does 4.7.0; 4.6.3 and 4.7.1 compile it.
The first pass that differs is `nvgpu-optimization`, which 4.6.0 and 4.7.0 do not have. Of two `if`s with opposite
conditions it makes one with an `else`, so that no path leads from `setmaxnreg.dec` to the load. Code generation still
fails without it: with `--without nvgpu-optimization`, 4.6.3, 4.7.1 and 4.8.1 do not compile the kernel either.
"""

# cutecc: entry = "read_columns"
# cutecc: target = "sm_100a"
# cutecc: args.dst = "f32[128, 64] align=16"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, tcgen05

COLUMNS = 64
THREADS = 384
READERS = 128


@cute.kernel
def read_kernel(dst: cute.Tensor, tiled_mma: cute.TiledMma):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    tmem_address = allocator.allocate_array(cutlass.Int32, 1)
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)
    sums = cute.make_tensor(tmem, tiled_mma.make_fragment_C(tiled_mma.partition_shape_C((128, COLUMNS))).layout)

    if warp >= READERS // 32:
        cute.arch.setmaxregister_decrease(40)
    if warp < READERS // 32:
        load = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x64, tcgen05.Pack.NONE), cutlass.Float32)
        tiled_load = tcgen05.make_tmem_copy(load, sums)
        load_slice = tiled_load.get_slice(thread)
        target = load_slice.partition_D(tiled_mma.get_slice(0).partition_C(dst))
        fragment = cute.make_rmem_tensor(target.shape, cutlass.Float32)
        cute.copy(tiled_load, load_slice.partition_S(sums), fragment)
        cute.arch.fence_view_async_tmem_load()
        cute.autovec_copy(fragment, target)
    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def read_columns(dst: cute.Tensor):
    """dst = the first 64 columns of the tensor memory."""
    op = tcgen05.MmaF16BF16Op(
        cutlass.Float16,
        cutlass.Float32,
        (128, COLUMNS, 16),
        tcgen05.CtaGroup.ONE,
        tcgen05.OperandSource.SMEM,
        OperandMajorMode.K,
        OperandMajorMode.K,
    )
    read_kernel(dst, cute.make_tiled_mma(op)).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])
