"""An mbarrier told to expect more bytes than the copy brings: a tile in bytes of another type."""

# cutecc: entry = "too_many_bytes"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[16, 32] align=16"
# cutecc: args.y = "f32[16, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import BYTES, THREADS, make_load, new_mbarriers, new_tile, own, partition
from cutlass import cute


@cute.kernel
def copy_kernel(load: cute.CopyAtom, x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = new_mbarriers(allocator)
    tile = new_tile(allocator)
    target, source = partition(load, tile, x)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, BYTES * (1 + bug))  # mend: "2048 bytes"
        cute.copy(load, source, target, tma_bar_ptr=full)  # also: race
    cute.arch.mbarrier_wait(full, 0)  # bug: deadlock
    cute.basic_copy(own(tile), own(y))


@cute.jit
def too_many_bytes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load, x_tma = make_load(x)
    copy_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
