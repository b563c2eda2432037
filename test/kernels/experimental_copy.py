"""Scale a matrix with the experimental API: partitioned copies through registers, arithmetic between them.

Exercises the `lir` dialect: its buffers, partitions and automatic vector copies, lowered to cute before anything else.
"""

# cutecc: entry = "experimental_copy"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M{div=16}=160, ?N{div=128}=256] align=16"
# cutecc: args.y = "f32[?M{div=16}, ?N{div=128}] align=16"
# cutecc: args.scale = "f32=3.0"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "2 * M * N * 4"

import cutlass
from cutlass import cute
from cutlass.cute import experimental

TILE = (16, 128)
THREADS = 128


@experimental.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor, scale: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    tile_x = cute.local_tile(x, TILE, (block_m, block_n))
    tile_y = cute.local_tile(y, TILE, (block_m, block_n))

    piece = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    values = cute.make_ordered_layout((4, 4), order=(1, 0))
    tiled_copy = cute.make_tiled_copy_tv(piece, threads, values)
    copy_slice = tiled_copy.get_slice(thread)

    shape = copy_slice.partition_S(tile_x).shape
    fragment = experimental.allocate(cutlass.Float32, cute.AddressSpace.rmem, cute.make_layout(shape), alignment=16)
    experimental.partition_and_copy(copy_slice, tile_x, fragment)
    fragment.store(fragment.load() * scale)
    experimental.partition_and_copy(copy_slice, fragment, tile_y)


@experimental.jit
def experimental_copy(x: cute.Tensor, y: cute.Tensor, scale: cutlass.Float32):
    """y = scale * x for (M, N) tensors whose sizes the tile divides."""
    rows, columns = x.shape
    scale_kernel(x, y, scale).launch(grid=[rows // TILE[0], columns // TILE[1], 1], block=[THREADS, 1, 1])


def reference(x, y, scale):
    """The expected `y`."""
    return x * scale
