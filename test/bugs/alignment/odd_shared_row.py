"""Rows of a shared tile padded by one element against bank conflicts, and then read four elements at a time."""

# cutecc: entry = "odd_shared_row"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[32, 4] align=16"
# cutecc: args.y = "f32[32, 4] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    pitch = 8 - 3 * bug
    start = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 32 * pitch)
    for i in cutlass.range_constexpr(4):
        (start + thread * pitch + i).store(x[thread, i])  # also: misaligned
    row = (start + thread * pitch).toint()
    aligned = cute.make_ptr(cutlass.Float32, row, cute.AddressSpace.smem, assumed_align=16)
    four = cute.make_rmem_tensor(4, cutlass.Float32)
    cute.autovec_copy(cute.make_tensor(aligned, cute.make_layout(4)), four)  # bug: misaligned
    cute.autovec_copy(four, y[thread, None])


@cute.jit
def odd_shared_row(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
