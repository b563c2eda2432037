"""Two blocks fill neighbouring pieces of a vector, the first one element too many."""

# cutecc: entry = "blocks_overlap"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[256]"
# cutecc: args.y = "f32[256]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    first = block * THREADS
    end = first + THREADS + bug
    for i in cutlass.range(first + thread, end, THREADS, unroll=1):
        if i < cute.size(x):
            y[i] = x[i] * (block + 2)  # bug: race, mend: "a place of its own"


@cute.jit
def blocks_overlap(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = 2 * x in the first half, 3 * x in the second."""
    scale_kernel(x, y, bug).launch(grid=[2, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return x * np.repeat(np.float32([2, 3]), 128)
