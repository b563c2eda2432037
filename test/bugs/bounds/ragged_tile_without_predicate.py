"""Double a vector that the last block covers in part; nothing keeps its threads from reading on."""

# cutecc: entry = "ragged_tile_without_predicate"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=200]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def double_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    value = cutlass.Float32(0.0)
    if i < cute.size(x) or cutlass.const_expr(bug):
        value = x[i]  # bug: out-of-bounds
    if i < cute.size(y):
        y[i] = value + value


@cute.jit
def ragged_tile_without_predicate(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = 2 * x."""
    double_kernel(x, y, bug).launch(grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x + x
