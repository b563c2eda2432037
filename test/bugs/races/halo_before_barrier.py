"""A three-point stencil: each warp waits for its own elements only, and its halo is its neighbours'."""

# cutecc: entry = "halo_before_barrier"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[126]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def stencil_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    tile[thread] = x[thread]  # other
    if cutlass.const_expr(bug):
        cute.arch.sync_warp()
    else:
        cute.arch.sync_threads()
    if thread > 0 and thread < THREADS - 1:
        y[thread - 1] = (tile[thread - 1] + tile[thread + 1]) * 0.5  # bug: race


@cute.jit
def halo_before_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the mean of both neighbours of the inner elements of x."""
    stencil_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return (x[:-2] + x[2:]) * x.dtype.type(0.5)
