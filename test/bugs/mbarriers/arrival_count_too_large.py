"""An mbarrier that waits for all 64 threads, of which one a warp arrives."""

# cutecc: entry = "arrival_count_too_large"
# cutecc: target = "sm_90a"
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
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread == 0:
        cute.arch.mbarrier_init(full, THREADS if bug else THREADS // 32)  # mend: "mbarrier_init(…, 2)"
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile[thread] = x[thread]
    cute.arch.sync_warp()
    if thread % 32 == 0:
        cute.arch.mbarrier_arrive(full)
    cute.arch.mbarrier_wait(full, 0)  # bug: deadlock
    y[thread] = tile[THREADS - 1 - thread]


@cute.jit
def arrival_count_too_large(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
