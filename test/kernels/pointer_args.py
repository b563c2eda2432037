"""Gather rows through raw pointers and run-time sizes, as a caller without tensor objects would pass them.

Exercises pointer arguments, tensors built in the host function, ordered layouts with dynamic shape, and alignment.
"""

# cutecc: entry = "pointer_args"
# cutecc: target = "sm_80"
# cutecc: args.table = "ptr<f16>=128000@gmem align=16"
# cutecc: args.indices = "ptr<i32>=100@gmem align=4"
# cutecc: args.out = "ptr<f16>=25600@gmem align=16"
# cutecc: args.rows = "i32=500"
# cutecc: args.picks = "i32=100"
# cutecc: args.columns = "i32=256"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "100 * (4 + 256 * 2 * 2)"

import cutlass
from cutlass import cute

THREADS = 64
WIDTH = 8


@cute.kernel
def gather_kernel(table: cute.Tensor, indices: cute.Tensor, out: cute.Tensor):
    """`table` and `out` come in pieces of 8 elements: (8, piece, row)."""
    thread, _, _ = cute.arch.thread_idx()
    pick, _, _ = cute.arch.block_idx()
    row = indices[pick]
    if row >= 0 and row < table.shape[2]:
        for piece in cutlass.range(thread, table.shape[1], THREADS):
            cute.autovec_copy(table[None, piece, row], out[None, piece, pick])


@cute.jit
def pointer_args(
    table: cute.Pointer,
    indices: cute.Pointer,
    out: cute.Pointer,
    rows: cutlass.Int32,
    picks: cutlass.Int32,
    columns: cutlass.Int32,
):
    """out[p] = table[indices[p]] for a (rows, columns) table; columns is a multiple of 8."""
    pieces = columns // WIDTH
    table_tensor = cute.make_tensor(table, cute.make_ordered_layout((WIDTH, pieces, rows), order=(0, 1, 2)))
    out_tensor = cute.make_tensor(out, cute.make_ordered_layout((WIDTH, pieces, picks), order=(0, 1, 2)))
    index_tensor = cute.make_tensor(indices, cute.make_layout(picks))
    gather_kernel(table_tensor, index_tensor, out_tensor).launch(grid=[picks, 1, 1], block=[THREADS, 1, 1])


def reference(table, indices, out, rows, picks, columns):
    """The expected `out`: rows whose index is outside of the table are left as they are."""
    expected = out.reshape(picks, columns)
    inside = (indices >= 0) & (indices < rows)
    expected[inside] = table.reshape(rows, columns)[indices[inside]]
    return expected.reshape(-1)
