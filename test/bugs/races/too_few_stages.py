"""A double buffer with one barrier a step, whose second stage was forgotten: the next store meets the last loads."""

# cutecc: entry = "too_few_stages"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[6, 128]"
# cutecc: args.y = "f32[6, 128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    stages = 2 - bug
    tiles = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, stages)))
    for step in cutlass.range(x.shape[0], unroll=1):
        tiles[thread, step % stages] = x[step, thread]  # bug: race
        cute.arch.sync_threads()
        y[step, thread] = tiles[THREADS - 1 - thread, step % stages]  # other


@cute.jit
def too_few_stages(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
