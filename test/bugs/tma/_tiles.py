"""Tiles of f32 in shared memory, and TMA to and from them: what the kernels beside this file have in common."""

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

TILE = (16, 32)
BYTES = TILE[0] * TILE[1] * 4
THREADS = 64


def make_load(x):
    """TMA from tiles of `x`, and `x` as TMA takes it."""
    return cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, _rows(TILE), TILE)


def make_store(y):
    """TMA to tiles of `y`, and `y` as TMA takes it."""
    return cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileS2GOp(), y, _rows(TILE), TILE)


def new_tile(allocator, *stages, alignment=128):
    """One tile in shared memory, or some, `(row, column, stage)`."""
    return allocator.allocate_tensor(cutlass.Float32, _rows((*TILE, *stages)), byte_alignment=alignment)


@cute.jit
def new_mbarriers(allocator, count: cutlass.Constexpr = 1):
    """Mbarriers that one arrival completes, and all threads of the block know of."""
    thread, _, _ = cute.arch.thread_idx()
    barriers = allocator.allocate_array(cutlass.Int64, count)
    if thread == 0:
        for i in cutlass.range_constexpr(count):
            cute.arch.mbarrier_init(barriers + i, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    return barriers


def partition(atom, tile, x):
    """The tile and the tile of `x`, or tiles, as `cute.copy` by TMA takes them."""
    return cpasync.tma_partition(atom, 0, cute.make_layout(1), cute.group_modes(tile, 0, 2), cute.group_modes(x, 0, 2))


def tiles_of(x):
    """Its tiles, one below the other: `(row, column, tile)`."""
    return cute.local_tile(x, TILE, (None, 0))


def own(tile):
    """The elements of a tile, or of each of some tiles, that are this thread's to copy."""
    thread, _, _ = cute.arch.thread_idx()
    return cute.local_partition(tile, _rows((THREADS // TILE[1], TILE[1])), thread)


def _rows(shape):
    return cute.make_ordered_layout(shape, order=(1, 0, *range(2, len(shape))))
