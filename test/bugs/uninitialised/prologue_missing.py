"""A double buffer whose loop fetches the next tile, and which nobody has given the first."""

# cutecc: entry = "prologue_missing"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4, 64]"
# cutecc: args.y = "f32[4, 64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tiles = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, 2)))
    steps = x.shape[0]
    if cutlass.const_expr(not bug):
        tiles[thread, 0] = x[0, thread]
    for step in cutlass.range(steps, unroll=1):
        cute.arch.sync_threads()
        if step + 1 < steps:
            tiles[thread, (step + 1) % 2] = x[step + 1, thread]
        y[step, thread] = tiles[THREADS - 1 - thread, step % 2]  # bug: uninitialised-shared


@cute.jit
def prologue_missing(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
