"""Copy an f16 matrix in 128-bit pieces with a `TiledCopy`, one predicate a piece.

Exercises `make_tiled_copy_tv`, thread slices, `local_tile`, vector loads and stores, and a predicate for each vector.
"""

# cutecc: entry = "vector_copy"
# cutecc: target = "sm_80"
# cutecc: args.src = "f16[?M=333, ?N{div=8}=1016]:(?LDS{i64 div=8}=1024, 1) align=16"
# cutecc: args.dst = "f16[?M, ?N{div=8}]:(?LDD{i64 div=8}=1016, 1) align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["dst"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * M * N * 2"

import cutlass
from cutlass import cute

TILE = (16, 256)


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor, tiled_copy: cute.TiledCopy):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    tile = (block_m, block_n)
    coordinates = cute.local_tile(cute.make_identity_tensor(src.shape), TILE, tile)

    slice_ = tiled_copy.get_slice(thread)
    thread_src = slice_.partition_S(cute.local_tile(src, TILE, tile))  # (piece, m, n)
    thread_dst = slice_.partition_D(cute.local_tile(dst, TILE, tile))
    thread_coord = slice_.partition_S(coordinates)

    # N is a multiple of 8, so a piece of 8 elements is inside or outside as a whole.
    in_bounds = cute.make_rmem_tensor((1, *thread_coord.shape[1:]), cutlass.Boolean)
    for m in cutlass.range_constexpr(in_bounds.shape[1]):
        for n in cutlass.range_constexpr(in_bounds.shape[2]):
            in_bounds[0, m, n] = cute.elem_less(thread_coord[0, m, n], src.shape)

    fragment = cute.make_fragment_like(thread_src)
    cute.copy(tiled_copy, thread_src, fragment, pred=in_bounds)
    cute.copy(tiled_copy, fragment, thread_dst, pred=in_bounds)


@cute.jit
def vector_copy(src: cute.Tensor, dst: cute.Tensor):
    """dst = src for (M, N) tensors of contiguous rows."""
    piece = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), src.element_type, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((1, 8), order=(1, 0))
    tiled_copy = cute.make_tiled_copy_tv(piece, threads, values)
    rows, columns = src.shape
    copy_kernel(src, dst, tiled_copy).launch(
        grid=[cute.ceil_div(columns, TILE[1]), cute.ceil_div(rows, TILE[0]), 1],
        block=[cute.size(threads), 1, 1],
    )


def reference(src, dst):
    """The expected `dst`."""
    return src + 0
