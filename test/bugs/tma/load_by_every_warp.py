"""Load one tile, and have each warp of the block do so."""

# cutecc: entry = "load_by_every_warp"
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
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = new_mbarriers(allocator)
    tile = new_tile(allocator)
    target, source = partition(load, tile, x)
    if thread == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, BYTES)
    if cutlass.const_expr(bug):
        cute.copy(load, source, target, tma_bar_ptr=full)  # check: check-bulk-copies, mend: "if warp_idx == 0"
    elif warp == 0:
        cute.copy(load, source, target, tma_bar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    cute.basic_copy(own(tile), own(y))


@cute.jit
def load_by_every_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load, x_tma = make_load(x)
    copy_kernel(load, x_tma, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
