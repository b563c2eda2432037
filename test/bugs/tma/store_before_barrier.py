"""Every thread fences its stores, but warp 0 starts the TMA store before the others are that far."""

# cutecc: entry = "store_before_barrier"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[16, 32]"
# cutecc: args.y = "f32[16, 32] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import THREADS, make_store, new_tile, own, partition
from cutlass import cute


@cute.kernel
def copy_kernel(x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tile = new_tile(cutlass.utils.SmemAllocator())
    cute.basic_copy(own(x), own(tile))  # other
    cute.arch.fence_proxy("async.shared", space="cta")
    if cutlass.const_expr(not bug):
        cute.arch.sync_threads()
    source, target = partition(store, tile, y)
    if warp == 0:
        cute.copy(store, source, target)  # bug: race
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def store_before_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    store, y_tma = make_store(y)
    copy_kernel(x, store, y_tma, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
