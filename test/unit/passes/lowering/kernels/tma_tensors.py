"""Tensors of many kinds, copied by TMA box by box.

`Copy(tile)` is what is launched: a block of one warp for every box of the tile's sizes, the last mode the innermost.
`Copy(tile, internal)` has TMA take the elements for numbers of another type.
"""

# cutecc: entry = "Copy((4, 32))"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?M=16, 64] align=16"
# cutecc: args.y = "f16[?M, 64] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync


class Copy:
    """y = x, whose sizes are multiples of the tile's."""

    def __init__(self, tile: tuple[int, ...], internal: type | None = None):
        self.tile, self.internal = tile, internal

    @cute.kernel
    def kernel(self, load: cute.CopyAtom, x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, layout: cute.Layout):
        thread, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        allocator = cutlass.utils.SmemAllocator()
        full = allocator.allocate_array(cutlass.Int64, 1)
        staged = cute.group_modes(allocator.allocate_tensor(cutlass.Float16, layout, 128), 0, len(self.tile))
        if thread == 0:
            cute.arch.mbarrier_init(full, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        alone = cute.make_layout(1)
        to, load_from = cpasync.tma_partition(load, 0, alone, staged, cute.zipped_divide(x, self.tile))
        store_from, store_to = cpasync.tma_partition(store, 0, alone, staged, cute.zipped_divide(y, self.tile))
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float16, layout))
        cute.copy(load, load_from[None, block], to, tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, 0)
        cute.copy(store, store_from, store_to[None, block])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        layout = cute.make_ordered_layout(self.tile, order=tuple(reversed(range(len(self.tile)))))
        kind, into, out_of = self.internal, cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        load, x_tma = cpasync.make_tiled_tma_atom(into, x, layout, self.tile, internal_type=kind)
        store, y_tma = cpasync.make_tiled_tma_atom(out_of, y, layout, self.tile, internal_type=kind)
        self.kernel(load, x_tma, store, y_tma, layout).launch(
            grid=[cute.size(x) // cute.size(layout), 1, 1], block=[32, 1, 1]
        )


def reference(x, y):
    """The expected `y`."""
    return x
