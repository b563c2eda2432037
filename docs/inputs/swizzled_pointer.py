"""One warp loads a tile of 64 rows from swizzled shared memory with `ldmatrix`, 16 rows at a time.

Made for docs/lowering.md: here the swizzle belongs to the pointer, and every address goes through it.
"""

# cutecc: entry = "swizzled_pointer"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[64, 64] align=16"
# cutecc: args.y = "f16[32, 32] align=16"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp


@cute.kernel
def swizzled_kernel(x: cute.Tensor, y: cute.Tensor, tiled_mma: cute.TiledMma):
    thread, _, _ = cute.arch.thread_idx()
    staged = cutlass.utils.SmemAllocator().allocate_tensor(
        x.element_type,
        cute.make_layout((64, 64), stride=(64, 1)),
        byte_alignment=1024,
        swizzle=cute.make_swizzle(3, 4, 3),
    )
    rows = cute.zipped_divide(staged, (2, 64))
    cute.autovec_copy(cute.zipped_divide(x, (2, 64))[None, thread], rows[None, thread])
    cute.arch.sync_threads()

    fragment = tiled_mma.make_fragment_A(tiled_mma.get_slice(thread).partition_A(staged))
    load = cute.make_tiled_copy_A(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), x.element_type), tiled_mma)
    source, target = load.get_slice(thread).partition_S(staged), load.retile(fragment)
    cute.copy(load, source[None, None, 0], target[None, None, 0])
    cute.autovec_copy(target[None, None, 0], cute.logical_divide(y[None, thread], cute.make_layout(8)))


@cute.jit
def swizzled_pointer(x: cute.Tensor, y: cute.Tensor):
    """y[:, t] = what thread t gets of the first 16 columns of x."""
    tiled_mma = cute.make_tiled_mma(warp.MmaF16BF16Op(x.element_type, cutlass.Float32, (16, 8, 16)), (1, 1, 1))
    swizzled_kernel(x, y, tiled_mma).launch(grid=[1, 1, 1], block=[32, 1, 1])
