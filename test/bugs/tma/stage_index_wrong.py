"""Two stages: both are loaded first, but each step reads the stage whose mbarrier it has not waited for."""

# cutecc: entry = "stage_index_wrong"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[32, 32] align=16"
# cutecc: args.y = "f32[32, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import BYTES, THREADS, make_load, new_mbarriers, new_tile, own, partition, tiles_of
from cutlass import cute

STAGES = 2


@cute.kernel
def copy_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = new_mbarriers(allocator, STAGES)
    stages = new_tile(allocator, STAGES)
    tiles = tiles_of(x)
    target, source = partition(load, stages, tiles)
    if warp == 0:
        for step in cutlass.range_constexpr(STAGES):
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + step, BYTES)
            cute.copy(load, source[None, step], target[None, step], tma_bar_ptr=full + step)  # other
    for step in cutlass.range(STAGES, unroll=1):
        cute.arch.mbarrier_wait(full + (step + bug) % STAGES, 0)
        cute.basic_copy(own(stages)[None, None, step], own(tiles_of(y))[None, None, step])  # bug: race


@cute.jit
def stage_index_wrong(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load, x_tma = make_load(x)
    copy_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
