"""Two warps that take turns, by one line for both: nobody's first turn is now."""

# cutecc: entry = "turns_begin_with_nobody"
# cutecc: target = "sm_90a"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
import numpy as np
from cutlass import cute


@cute.kernel
def turns_kernel(y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    turns = allocator.allocate_array(cutlass.Int64, 2)
    if thread == 0:
        cute.arch.mbarrier_init(turns, 32)
        cute.arch.mbarrier_init(turns + 1, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    parity = 0 if cutlass.const_expr(bug) else 1 - warp
    cute.arch.mbarrier_wait(turns + warp, parity)  # bug: deadlock, mend: "takes parity 1"
    y[thread] = cutlass.Float32(warp)
    cute.arch.mbarrier_arrive(turns + 1 - warp)


@cute.jit
def turns_begin_with_nobody(y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the number of each thread's warp."""
    turns_kernel(y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(y):
    """The expected `y`."""
    return np.repeat([0, 1], 32).astype(y.dtype)
