"""Rows of a shared-memory tile written and read as vectors of 128 bits: plain, then swizzled."""

# cutecc: entry = "swizzled_vectors"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[64, 64] align=16"
# cutecc: args.y = "f16[64, 64] align=16"
# cutecc: args.z = "f16[64, 64] align=16"
# cutecc: outputs = ["y", "z"]

import cutlass
from cutlass import cute

SIZE = 64
THREADS = 64


@cute.kernel
def vectors_kernel(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    rows = cute.make_layout((SIZE, SIZE), stride=(SIZE, 1))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, rows)
    allocator = cutlass.utils.SmemAllocator()
    plain_tile = allocator.allocate_tensor(x.element_type, rows, byte_alignment=128)
    swizzled_tile = allocator.allocate_tensor(x.element_type, swizzled, byte_alignment=128)
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    eight = cute.make_fragment_like(cute.zipped_divide(x, (1, 8))[None, (0, 0)])

    # A row a thread: threads are 128 bytes apart.
    for i in cutlass.range_constexpr(SIZE // 8):
        cute.copy(atom, cute.zipped_divide(x, (1, 8))[None, (thread, i)], eight)
        cute.copy(atom, eight, cute.zipped_divide(plain_tile, (1, 8))[None, (thread, i)])
        cute.copy(atom, eight, cute.zipped_divide(swizzled_tile, (1, 8))[None, (thread, i)])
    cute.arch.sync_threads()
    for i in cutlass.range_constexpr(SIZE // 8):
        cute.copy(atom, cute.zipped_divide(plain_tile, (1, 8))[None, (thread, i)], eight)
        cute.copy(atom, eight, cute.zipped_divide(y, (1, 8))[None, (thread, i)])
    for i in cutlass.range_constexpr(SIZE // 8):
        cute.copy(atom, cute.zipped_divide(swizzled_tile, (1, 8))[None, (thread, i)], eight)
        cute.copy(atom, eight, cute.zipped_divide(z, (1, 8))[None, (thread, i)])


@cute.jit
def swizzled_vectors(x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):
    """y = z = x, through shared memory."""
    vectors_kernel(x, y, z).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])
