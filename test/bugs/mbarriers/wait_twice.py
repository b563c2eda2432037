"""A consumer waits for a second phase that its producer has no reason to complete."""

# cutecc: entry = "wait_twice"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    if warp == 0 and lane == 0:
        cute.arch.mbarrier_init(full, 32)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        tile[lane] = x[lane]
        cute.arch.mbarrier_arrive(full)
    else:
        cute.arch.mbarrier_wait(full, 0)
        if cutlass.const_expr(bug):
            cute.arch.mbarrier_wait(full, 1)  # bug: deadlock, mend: "one wait for each phase"
        y[lane] = tile[31 - lane]


@cute.jit
def wait_twice(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    hand_over_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
