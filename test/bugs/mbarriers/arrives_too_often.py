"""Three warps arrive twice each at an mbarrier that counts one arrival of each."""

# cutecc: entry = "arrives_too_often"
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
        cute.arch.mbarrier_init(full, THREADS // 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile[thread] = x[thread]
    cute.arch.sync_warp()
    if thread % 32 == 0:
        cute.arch.mbarrier_arrive(full, arrive_count=1 + bug)  # bug: mbarrier
    cute.arch.mbarrier_wait(full, 0)  # also: deadlock
    y[thread] = tile[THREADS - 1 - thread]  # also: race


@cute.jit
def arrives_too_often(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
