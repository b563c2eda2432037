"""Two warps exchange at barrier 0, which is the one that all others may be at already: sync_threads()."""

# cutecc: entry = "barrier_number_of_all"
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
def exchange_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[thread] = x[thread]
    if thread >= 64:
        # Those of the other half go on to the barrier of all at once.
        cute.arch.barrier(barrier_id=0 if bug else 1, number_of_threads=64)  # check: check-named-barriers
        y[thread] = tile[THREADS - 1 - thread + 64]
    cute.arch.sync_threads()
    if thread < 64:
        y[thread] = tile[63 - thread]


@cute.jit
def barrier_number_of_all(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each half of x backwards."""
    exchange_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.concatenate([x[:64][::-1], x[64:][::-1]])
