"""Rows of a matrix that a list of their numbers says, gathered by TMA, and scattered to the same rows of another.

`Rows(columns_adjacent)`: whether the elements of a row lie side by side; if not, those of a column do, and what is
gathered are columns.
"""

# cutecc: entry = "Rows(True)"
# cutecc: target = "sm_100a"
# cutecc: args.x = "f16[?M=64, 128] align=16"
# cutecc: args.rows = "i32[?K=32] align=16"
# cutecc: args.y = "f16[?L=64, 128] align=16"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

ROWS, WIDTH = 8, 64


class Rows:
    """y[rows[k]] = x[rows[k]]."""

    def __init__(self, columns_adjacent: bool):
        self.columns_adjacent = columns_adjacent

    def of(self, rows: int, width: int) -> tuple[int, int]:
        """A shape or coordinate of rows and of what lies side by side, in the order of the matrix."""
        return (rows, width) if self.columns_adjacent else (width, rows)

    @cute.kernel
    def kernel(
        self,
        gather: cute.CopyAtom,
        x: cute.Tensor,
        scatter: cute.CopyAtom,
        y: cute.Tensor,
        numbers: cute.Tensor,
        layout: cute.ComposedLayout,
    ):
        thread, _, _ = cute.arch.thread_idx()
        row, part, _ = cute.arch.block_idx()
        allocator = cutlass.utils.SmemAllocator()
        full = allocator.allocate_array(cutlass.Int64, 1)
        staged = allocator.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
        staged = cute.group_modes(staged, 0, 2)
        if thread == 0:
            cute.arch.mbarrier_init(full, 1)
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        at = self.of(None, part)
        tiles, to_tiles, its_numbers = (
            cute.group_modes(cute.local_tile(each, self.of(ROWS, WIDTH), at), 0, 2) for each in (x, y, numbers)
        )
        alone = cute.make_layout(1)
        to, of, rows = cpasync.tma_partition(gather, 0, alone, staged, [tiles, its_numbers])
        stored, stored_to, _ = cpasync.tma_partition(scatter, 0, alone, staged, [to_tiles, its_numbers])
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(cutlass.Float16, layout))
        cute.copy(gather, [of[None, row], rows[None, row]], to, tma_bar_ptr=full)
        cute.arch.mbarrier_wait(full, 0)
        cute.copy(scatter, stored, [stored_to[None, row], rows[None, row]])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)

    @cute.jit
    def __call__(self, x: cute.Tensor, rows: cute.Tensor, y: cute.Tensor):
        tile = self.of(ROWS, WIDTH)
        outer = cute.make_layout(tile, stride=self.of(WIDTH, 1))
        layout = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, outer)
        count, width = rows.shape[0], x.shape[1 if self.columns_adjacent else 0]
        # All elements of a row have its number.
        numbers = cute.make_tensor(rows.iterator, cute.make_layout(self.of(count, width), stride=self.of(1, 0)))
        gather, x_tma = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensor2DGather4G2SOp(), x, layout, tile, gmem_coord_tensor=numbers
        )
        scatter, y_tma = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensor2DScatter4S2GOp(), y, layout, tile, gmem_coord_tensor=numbers
        )
        self.kernel(gather, x_tma, scatter, y_tma, numbers, layout).launch(
            grid=[cute.ceil_div(count, ROWS), cute.ceil_div(width, WIDTH), 1], block=[32, 1, 1]
        )
