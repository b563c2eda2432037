"""An mbarrier for three warps that is complete when two of them have arrived."""

# cutecc: entry = "arrival_count_too_small"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[96]"
# cutecc: args.y = "f32[96]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 96


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread == 0:
        cute.arch.mbarrier_init(full, 2 if bug else 3)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile[thread] = x[thread]  # other
    cute.arch.sync_warp()
    if thread % 32 == 0:
        cute.arch.mbarrier_arrive(full)
    cute.arch.mbarrier_wait(full, 0)
    y[thread] = tile[(thread + 32) % THREADS] + tile[(thread + 64) % THREADS]  # bug: race


@cute.jit
def arrival_count_too_small(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = for each third of x, the sum of both others."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    return np.roll(x, -32) + np.roll(x, -64)
