"""The mbarriers of stages that one warp fills for others: what the kernels beside this file have in common."""

import cutlass
from cutlass import cute


@cute.jit
def new_stages(allocator, count: cutlass.Constexpr, releases: cutlass.Constexpr = 32):
    """`full` and `empty` of each stage: a warp fills it, each thread for itself; so many arrivals release it."""
    lane = cute.arch.lane_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    full = allocator.allocate_array(cutlass.Int64, count)
    empty = allocator.allocate_array(cutlass.Int64, count)
    if warp == 0 and lane == 0:
        for stage in cutlass.range_constexpr(count):
            cute.arch.mbarrier_init(full + stage, 32)
            cute.arch.mbarrier_init(empty + stage, releases)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    return full, empty
