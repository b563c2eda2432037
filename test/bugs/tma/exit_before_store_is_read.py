"""A block starts a TMA store and ends, and its shared memory with it, before the store has read that."""

# cutecc: entry = "exit_before_store_is_read"
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
    cute.basic_copy(own(x), own(tile))
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    source, target = partition(store, tile, y)
    if warp == 0:
        cute.copy(store, source, target)  # bug: race
        cute.arch.cp_async_bulk_commit_group()
        if cutlass.const_expr(not bug):
            cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def exit_before_store_is_read(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    store, y_tma = make_store(y)
    copy_kernel(x, store, y_tma, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
