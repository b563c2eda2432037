"""Element-wise add of two matrices of any shape: a TV layout, `zipped_divide` and a predicated tail.

Exercises layout algebra, identity tensors, per-element predicates, and vector loads and stores of whole tiles.
"""

# cutecc: entry = "elementwise_add"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M=1000, ?N{div=4}=2044] align=16"
# cutecc: args.b = "f32[?M, ?N{div=4}] align=16"
# cutecc: args.c = "f32[?M, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "3 * M * N * 4"
# cutecc: flops = "M * N"

import cutlass
from cutlass import cute


@cute.kernel
def add_kernel(
    tiled_a: cute.Tensor,
    tiled_b: cute.Tensor,
    tiled_c: cute.Tensor,
    tiled_coord: cute.Tensor,
    shape: cute.Shape,
    tv_layout: cute.Layout,
):
    """Add one tile; every tensor comes divided, as ((tile_m, tile_n), (rest_m, rest_n))."""
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()

    # One tile of each operand, seen through (thread, value) coordinates, then this thread's values. The mode of size 1
    # in front is what a copy moves at once: one element, so that each has a predicate of its own.
    tile = ((None, None), block)
    thread_a = cute.prepend_ones(cute.composition(tiled_a[tile], tv_layout)[thread, None], up_to_rank=2)
    thread_b = cute.prepend_ones(cute.composition(tiled_b[tile], tv_layout)[thread, None], up_to_rank=2)
    thread_c = cute.prepend_ones(cute.composition(tiled_c[tile], tv_layout)[thread, None], up_to_rank=2)
    thread_coord = cute.prepend_ones(cute.composition(tiled_coord[tile], tv_layout)[thread, None], up_to_rank=2)

    # Tiles at the lower and right edges stick out: mask every element by its own coordinate.
    in_bounds = cute.make_rmem_tensor(thread_coord.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(in_bounds)):
        in_bounds[i] = cute.elem_less(thread_coord[i], shape)

    fragment_a = cute.make_fragment_like(thread_a)
    fragment_b = cute.make_fragment_like(thread_b)
    fragment_c = cute.make_fragment_like(thread_c)
    fragment_a.fill(0)
    fragment_b.fill(0)

    element = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), tiled_a.element_type)
    cute.copy(element, thread_a, fragment_a, pred=in_bounds)
    cute.copy(element, thread_b, fragment_b, pred=in_bounds)
    fragment_c.store(fragment_a.load() + fragment_b.load())
    cute.copy(element, fragment_c, thread_c, pred=in_bounds)


@cute.jit
def elementwise_add(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a + b for row-major (M, N) tensors."""
    # 4 x 32 threads of 4 x 4 values each: a tile of 16 x 128, every warp on four rows of 512 bytes.
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((4, 4), order=(1, 0))
    tiler, tv_layout = cute.make_layout_tv(threads, values)

    coordinates = cute.make_identity_tensor(c.shape)
    tiled_a = cute.zipped_divide(a, tiler)
    tiled_b = cute.zipped_divide(b, tiler)
    tiled_c = cute.zipped_divide(c, tiler)
    tiled_coord = cute.zipped_divide(coordinates, tiler)

    add_kernel(tiled_a, tiled_b, tiled_c, tiled_coord, c.shape, tv_layout).launch(
        grid=[cute.size(tiled_c, mode=[1]), 1, 1],
        block=[cute.size(tv_layout, mode=[0]), 1, 1],
    )


def reference(a, b, c):
    """The expected `c`."""
    return a + b


# cutecc: peers = ["torch_add"]
def torch_add(a, b, c):
    """The same with `torch.add`."""
    import torch

    torch.add(a, b, out=c)
