"""Half of a warp enters the block's barrier inside of a branch, the other half in the other branch."""

# cutecc: entry = "divergent_barrier"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
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
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread % 2 == 0:
        tile[thread] = x[thread]
        if cutlass.const_expr(bug):
            cute.arch.sync_threads()  # bug: divergent-barrier
    else:
        tile[thread] = x[thread] * 2.0
    if cutlass.const_expr(not bug):
        cute.arch.sync_threads()
    y[thread] = tile[thread ^ 1]  # also: race


@cute.jit
def divergent_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x with neighbours swapped, odd elements of x doubled."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y.reshape(-1, 2)[:] = x.reshape(-1, 2)[:, ::-1]
    y[::2] *= 2
    return y
