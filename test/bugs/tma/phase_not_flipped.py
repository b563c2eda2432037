"""Load tile after tile through one buffer and wait for phase 0 each time, also when phase 1 is running."""

# cutecc: entry = "phase_not_flipped"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 32] align=16"
# cutecc: args.y = "f32[64, 32]"
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
    tile = new_tile(allocator)
    tiles = tiles_of(x)
    target, source = partition(load, tile, tiles)
    for step in cutlass.range(tiles.shape[2], unroll=1):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, BYTES)
            cute.copy(load, source[None, step], target, tma_bar_ptr=full)  # also: race
        if cutlass.const_expr(bug):
            cute.arch.mbarrier_wait(full, 0)  # bug: deadlock, mend: "takes parity 1"
        else:
            cute.arch.mbarrier_wait(full, step % 2)
        cute.basic_copy(own(tile), own(tiles_of(y))[None, None, step])  # also: race
        cute.arch.sync_threads()


@cute.jit
def phase_not_flipped(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load, x_tma = make_load(x)
    copy_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
