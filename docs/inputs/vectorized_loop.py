"""Scale a vector: each thread takes eight elements, in a loop that asks the compiler to work on all of them at once.

Exercises `vectorize=True`, which `loop-vectorize` obeys.
"""

# cutecc: entry = "vectorized_loop"
# cutecc: target = "sm_100a"
# cutecc: args.x = "f32[?N{div=1024}] align=16"
# cutecc: args.y = "f32[?N{div=1024}] align=16"

import cutlass
from cutlass import cute

THREADS = 128
VALUES = 8


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    values = cute.make_rmem_tensor((VALUES,), cutlass.Float32)
    mine = cute.local_tile(x, (VALUES,), (block * THREADS + thread,))
    values.store(mine.load())
    for i in cutlass.range(VALUES, vectorize=True):
        values[i] = values[i] * values[i] + 1.0
    cute.local_tile(y, (VALUES,), (block * THREADS + thread,)).store(values.load())


@cute.jit
def vectorized_loop(x: cute.Tensor, y: cute.Tensor):
    """y = x * x + 1 for (N,) tensors with N a multiple of 1024."""
    scale_kernel(x, y).launch(grid=[cute.size(x) // (THREADS * VALUES), 1, 1], block=[THREADS, 1, 1])
