"""A stencil that works in place: a barrier orders the threads of a block, and nothing the blocks."""

# cutecc: entry = "stencil_in_place"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[256]"
# cutecc: args.y = "f32[256]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def stencil_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    source = y if cutlass.const_expr(bug) else x
    own = source[i]
    next = source[(i + 1) % (4 * THREADS)]  # other
    cute.arch.sync_threads()
    y[i] = own + next  # bug: race


@cute.jit
def stencil_in_place(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x plus its right neighbour."""
    stencil_kernel(x, y, bug).launch(grid=[4, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return x + np.roll(x, -1)
