"""The warp that starts the TMA store fences its own stores to the tile, and nobody those of the others."""

# cutecc: entry = "fence_by_one_warp"
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
    if warp == 0 or not bug:
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    source, target = partition(store, tile, y)
    if warp == 0:
        cute.copy(store, source, target)  # bug: missing-proxy-fence
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def fence_by_one_warp(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    store, y_tma = make_store(y)
    copy_kernel(x, store, y_tma, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
