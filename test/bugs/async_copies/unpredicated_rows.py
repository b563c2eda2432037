"""Copy a tile of a matrix with `cp.async`, of which the last rows are past the matrix's end."""

# cutecc: entry = "unpredicated_rows"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[13,32] align=16"
# cutecc: args.y = "f32[13,32] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS, ROWS, COLUMNS = 32, 16, 32


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((ROWS, COLUMNS), stride=(COLUMNS, 1)), 16
    )
    sources = cute.make_tensor(x.iterator, cute.make_layout((4, ROWS * COLUMNS // 4)))
    places = cute.make_tensor(tile.iterator, sources.layout)
    for i in cutlass.range_constexpr(ROWS // 4):
        piece = i * THREADS + thread
        if bug or piece < cute.size(x) // 4:
            cute.copy(copy, sources[None, piece], places[None, piece])  # bug: out-of-bounds, mend: "the predicate"
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    for row in cutlass.range_constexpr(x.shape[0]):
        y[row, thread] = tile[row, thread]


@cute.jit
def unpredicated_rows(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    copy_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
