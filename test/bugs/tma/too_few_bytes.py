"""Two tiles on one mbarrier, which is told to expect the bytes of one of them."""

# cutecc: entry = "too_few_bytes"
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


@cute.kernel
def copy_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = new_mbarriers(allocator)
    halves = new_tile(allocator, 2)
    tiles = tiles_of(x)
    target, source = partition(load, halves, tiles)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, BYTES * (2 - bug))  # also: mbarrier, mend: "4096 bytes"
        cute.copy(load, source[None, 0], target[None, 0], tma_bar_ptr=full)
        cute.copy(load, source[None, 1], target[None, 1], tma_bar_ptr=full)  # other, also: race
    cute.arch.mbarrier_wait(full, 0)
    for half in cutlass.range_constexpr(2):
        cute.basic_copy(own(halves)[None, None, half], own(tiles_of(y))[None, None, half])  # bug: race


@cute.jit
def too_few_bytes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load, x_tma = make_load(x)
    copy_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
