"""Two mbarriers, of which the first only is initialised."""

# cutecc: entry = "not_initialised"
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
    barriers = allocator.allocate_array(cutlass.Int64, 2)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread == 0:
        for i in cutlass.range_constexpr(2 - bug):
            cute.arch.mbarrier_init(barriers + i, THREADS)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    tile[thread] = x[thread]
    cute.arch.mbarrier_arrive(barriers + 1)  # bug: mbarrier
    cute.arch.mbarrier_wait(barriers + 1, 0)  # also: mbarrier
    y[thread] = tile[THREADS - 1 - thread]  # also: race


@cute.jit
def not_initialised(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
