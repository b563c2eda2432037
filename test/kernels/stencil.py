"""Five-point stencil on a plane, each tile with its halo in shared memory, described by a struct.

Exercises `cute.struct` storage, a halo loaded with clamped coordinates, integer `min` and `max`, and fused arithmetic.
"""

# cutecc: entry = "stencil"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?H=100, ?W=150]"
# cutecc: args.y = "f32[?H, ?W]"
# cutecc: args.weight = "f32=0.25"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "2 * H * W * 4"
# cutecc: flops = "6 * H * W"

import cutlass
from cutlass import cute

TILE_H, TILE_W = 8, 32
HALO_H, HALO_W = TILE_H + 2, TILE_W + 2
THREADS = TILE_H * TILE_W


@cute.struct
class Storage:
    """The tile of a block with one more element on each side."""

    tile: cute.struct.Align[cute.struct.MemRange[cutlass.Float32, HALO_H * HALO_W], 16]


@cute.kernel
def stencil_kernel(x: cute.Tensor, y: cute.Tensor, weight: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block_w, block_h, _ = cute.arch.block_idx()
    height, width = x.shape

    storage = cutlass.utils.SmemAllocator().allocate(Storage)
    tile = storage.tile.get_tensor(cute.make_ordered_layout((HALO_H, HALO_W), order=(1, 0)))

    # Beyond the borders the nearest element counts.
    for i in cutlass.range(thread, HALO_H * HALO_W, THREADS):
        row, column = i // HALO_W, i % HALO_W
        source_row = cutlass.min(cutlass.max(block_h * TILE_H + row - 1, 0), height - 1)
        source_column = cutlass.min(cutlass.max(block_w * TILE_W + column - 1, 0), width - 1)
        tile[row, column] = x[source_row, source_column]
    cute.arch.sync_threads()

    row, column = thread // TILE_W, thread % TILE_W
    at = (block_h * TILE_H + row, block_w * TILE_W + column)
    if cute.elem_less(at, y.shape):
        centre = tile[row + 1, column + 1]
        around = tile[row, column + 1] + tile[row + 2, column + 1] + tile[row + 1, column] + tile[row + 1, column + 2]
        y[at] = centre + weight * (around - 4.0 * centre)


@cute.jit
def stencil(x: cute.Tensor, y: cute.Tensor, weight: cutlass.Float32):
    """y = x + weight * (the four neighbours - 4 * x) for (H, W) tensors."""
    height, width = x.shape
    stencil_kernel(x, y, weight).launch(
        grid=[cute.ceil_div(width, TILE_W), cute.ceil_div(height, TILE_H), 1], block=[THREADS, 1, 1]
    )


def reference(x, y, weight):
    """The expected `y`."""
    import numpy as np

    p = np.pad(x.astype("float64"), 1, mode="edge")
    around = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]
    return (x + weight * (around - 4.0 * x)).astype("float32")
