"""Wait for the group of a `cp.async` that was never committed to one."""

# cutecc: entry = "no_commit_group"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128] align=16"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    cute.copy(copy, cute.local_tile(x, (1,), (thread,)), cute.local_tile(tile, (1,), (thread,)))  # other
    if cutlass.const_expr(not bug):
        cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    y[thread] = tile[thread]  # bug: race


@cute.jit
def no_commit_group(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    copy_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
