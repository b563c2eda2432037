"""Copy a ragged vector in pieces of four with `cp.async`; the last piece reaches past its end."""

# cutecc: entry = "unpredicated_tail"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[101] align=16"
# cutecc: args.y = "f32[101]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 32


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(4 * THREADS), 16)
    pieces = cute.make_tensor(x.iterator, cute.make_layout((4, THREADS)))
    whole = cute.size(x) // 4
    if thread < whole + bug:
        cute.copy(copy, pieces[None, thread], cute.local_tile(tile, (4,), (thread,)))  # bug: out-of-bounds
    elif thread == whole:
        tile[4 * whole] = x[4 * whole]
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    for i in cutlass.range_constexpr(4):
        if 4 * thread + i < cute.size(x):
            y[4 * thread + i] = tile[4 * thread + i]


@cute.jit
def unpredicated_tail(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    copy_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
