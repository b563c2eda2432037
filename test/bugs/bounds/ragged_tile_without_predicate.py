"""Pad a vector with zeros; nothing keeps the threads of its last, ragged tile from reading on."""

# cutecc: entry = "ragged_tile_without_predicate"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=200]"
# cutecc: args.y = "f32[256]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def pad_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    value = cutlass.Float32(0.0)
    if i < cute.size(x) or cutlass.const_expr(bug):
        value = x[i]  # bug: out-of-bounds
    y[i] = value


@cute.jit
def ragged_tile_without_predicate(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x, and zeros behind it."""
    pad_kernel(x, y, bug).launch(grid=[cute.size(y) // THREADS, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:] = 0
    y[: x.size] = x
    return y
