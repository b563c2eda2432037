"""Copy a strided vector, a grid-stride loop with one bounds check a thread.

Exercises dynamic 64-bit strides on both sides, `grid_dim`, and a `while` loop with a runtime condition.
"""

# cutecc: entry = "predicated_copy"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=5000]:(?XS{i64}=2)"
# cutecc: args.y = "f32[?N]:(?YS{i64}=1)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * N * 4"

from cutlass import cute

THREADS = 128
BLOCKS = 8


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    blocks, _, _ = cute.arch.grid_dim()
    i = block * THREADS + thread
    while i < cute.size(x):
        y[i] = x[i]
        i += blocks * THREADS


@cute.jit
def predicated_copy(x: cute.Tensor, y: cute.Tensor):
    """y = x for vectors of any stride."""
    copy_kernel(x, y).launch(grid=[BLOCKS, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x + 0.0
