"""Store tiles through two buffers in turns, with one store too many in flight when a buffer is written again."""

# cutecc: entry = "store_wait_off_by_one"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 32]"
# cutecc: args.y = "f32[64, 32] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import THREADS, make_store, new_tile, own, partition, tiles_of
from cutlass import cute

STAGES = 2


@cute.kernel
def copy_kernel(x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, bug: cutlass.Constexpr):
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    stages = new_tile(cutlass.utils.SmemAllocator(), STAGES)
    tiles = tiles_of(y)
    source, target = partition(store, stages, tiles)
    for step in cutlass.range(tiles.shape[2], unroll=1):
        cute.basic_copy(own(tiles_of(x))[None, None, step], own(stages)[None, None, step % STAGES])  # bug: race
        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        if warp == 0:
            cute.copy(store, source[None, step % STAGES], target[None, step])  # other
            cute.arch.cp_async_bulk_commit_group()
            cute.arch.cp_async_bulk_wait_group(STAGES - 1 + bug, read=True)
        cute.arch.sync_threads()
    if warp == 0:
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def store_wait_off_by_one(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    store, y_tma = make_store(y)
    copy_kernel(x, store, y_tma, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
