"""Two warps produce halves of a tile, and the first of them arrives for both."""

# cutecc: entry = "arrives_for_two"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2, 32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((32, 2)))
    if warp == 0 and lane == 0:
        cute.arch.mbarrier_init(full, 2)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp < 2:
        tile[lane, warp] = x[warp, lane]  # other
        cute.arch.sync_warp()
        if lane == 0:
            if warp == 0:
                cute.arch.mbarrier_arrive(full, arrive_count=1 + bug)
            else:
                cute.arch.mbarrier_arrive(full)
    else:
        cute.arch.mbarrier_wait(full, 0)
        y[lane] = tile[lane, 0] + tile[lane, 1]  # bug: race


@cute.jit
def arrives_for_two(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x.sum(0)."""
    add_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[96, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[0] + x[1]
