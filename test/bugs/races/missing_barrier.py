"""Reverse a tile through shared memory; nothing orders the stores of one warp before the loads of another."""

# cutecc: entry = "missing_barrier"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
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
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[thread] = x[thread]  # other
    if cutlass.const_expr(not bug):
        cute.arch.sync_threads()
    y[thread] = tile[THREADS - 1 - thread]  # bug: race, mend: "sync_threads()"


@cute.jit
def missing_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
