"""The element-wise add of `examples/elementwise_add.py` with its tiles in the order of rows, not of columns.

Blocks that run together touch memory that lies together. A grid has room for a million rows.
"""

# cutecc: entry = "add_by_rows"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M=1000, ?N{div=4}=2044] align=16"
# cutecc: args.b = "f32[?M, ?N{div=4}] align=16"
# cutecc: args.c = "f32[?M, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "3 * M * N * 4"

import cutlass
from cutlass import cute

THREADS = (4, 32)
VALUES = (4, 4)


@cute.kernel
def add_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, tv_layout: cute.Layout, tiler: cute.Tile):
    """Add the tile of this block, a row of tiles after the other."""
    thread, _, _ = cute.arch.thread_idx()
    column, row, _ = cute.arch.block_idx()

    def of_thread(tensor):
        tile = cute.zipped_divide(tensor, tiler)[(None, None), (row, column)]
        return cute.prepend_ones(cute.composition(tile, tv_layout)[thread, None], up_to_rank=2)

    coordinates = of_thread(cute.make_identity_tensor(c.shape))
    in_bounds = cute.make_rmem_tensor(coordinates.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(in_bounds)):
        in_bounds[i] = cute.elem_less(coordinates[i], c.shape)

    element = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), c.element_type)
    terms = [cute.make_fragment_like(of_thread(tensor)) for tensor in (a, b)]
    for tensor, term in zip((a, b), terms, strict=True):
        term.fill(0)
        cute.copy(element, of_thread(tensor), term, pred=in_bounds)
    total = cute.make_fragment_like(terms[0])
    total.store(terms[0].load() + terms[1].load())
    cute.copy(element, total, of_thread(c), pred=in_bounds)


@cute.jit
def add_by_rows(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a + b for row-major (M, N) tensors."""
    tiler, tv_layout = cute.make_layout_tv(
        cute.make_ordered_layout(THREADS, order=(1, 0)), cute.make_ordered_layout(VALUES, order=(1, 0))
    )
    rows, columns = cute.ceil_div(c.shape, tiler)
    add_kernel(a, b, c, tv_layout, tiler).launch(grid=[columns, rows, 1], block=[cute.size(tv_layout, mode=[0]), 1, 1])


def reference(a, b, c):
    """The expected `c`."""
    return a + b


# cutecc: peers = ["torch_add"]
def torch_add(a, b, c):
    """The same with `torch.add`."""
    import torch

    torch.add(a, b, out=c)
