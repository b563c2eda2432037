"""`cp.async` of 16 bytes to a buffer that starts 4 bytes behind an aligned one."""

# cutecc: entry = "async_copy_target"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[32, 4] align=16"
# cutecc: args.y = "f32[32, 4]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    start = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 4 * 33)
    first = (start + (4 - 3 * bug)).toint()
    aligned = cute.make_ptr(cutlass.Float32, first, cute.AddressSpace.smem, assumed_align=16)
    tile = cute.make_tensor(aligned, cute.make_layout((4, 32)))
    cute.copy(copy, x[thread, None], tile[None, thread])  # bug: misaligned
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    for i in cutlass.range_constexpr(4):
        y[thread, i] = tile[i, thread]  # also: misaligned


@cute.jit
def async_copy_target(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    copy_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
