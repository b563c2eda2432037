"""Half of the warps wait at the block's barrier, the other half at one of their own."""

# cutecc: entry = "barrier_in_one_branch"
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
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[thread] = x[thread]
    if warp < 2:
        cute.arch.sync_threads()  # bug: deadlock
    elif cutlass.const_expr(bug):
        cute.arch.barrier(barrier_id=1, number_of_threads=THREADS)  # also: deadlock, mend: "sync_threads()"
    else:
        cute.arch.sync_threads()
    y[thread] = tile[THREADS - 1 - thread]


@cute.jit
def barrier_in_one_branch(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
