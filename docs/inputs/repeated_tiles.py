"""Adds vectors tile by tile, the loop over tiles unrolled at trace time: as many operations as are asked for."""

# cutecc: entry = "repeated_tiles"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N{div=4}=4096] align=16"
# cutecc: args.y = "f32[?N{div=4}] align=16"
# cutecc: args.tiles = "const(4)"

import cutlass
from cutlass import cute

TILE = 512
THREADS = 128


@cute.kernel
def add_kernel(x: cute.Tensor, y: cute.Tensor, tiled_copy: cute.TiledCopy, tiles: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    mine = tiled_copy.get_slice(thread)
    coordinates = cute.make_identity_tensor(x.shape)
    for number in cutlass.range_constexpr(tiles):
        place = (block * tiles + number,)
        from_x = mine.partition_S(cute.local_tile(x, (TILE,), place))
        to_y = mine.partition_D(cute.local_tile(y, (TILE,), place))
        where = mine.partition_S(cute.local_tile(coordinates, (TILE,), place))
        if cute.elem_less(where[0], x.shape):
            values, sums = cute.make_fragment_like(from_x), cute.make_fragment_like(to_y)
            cute.copy(tiled_copy, from_x, values)
            cute.copy(tiled_copy, to_y, sums)
            sums[0] = sums[0] * cutlass.Float32(2.0)
            sums.store(sums.load() + values.load())
            cute.copy(tiled_copy, sums, to_y)


@cute.jit
def repeated_tiles(x: cute.Tensor, y: cute.Tensor, tiles: cutlass.Constexpr):
    """y = x + y, the first of four elements of y twice."""
    piece = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=128)
    tiled_copy = cute.make_tiled_copy_tv(piece, cute.make_layout(THREADS), cute.make_layout(TILE // THREADS))
    blocks = cute.ceil_div(x.shape[0], TILE * tiles)
    add_kernel(x, y, tiled_copy, tiles).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])
