"""Matrix product of 8 x 8 sums a thread, one element of shared memory at a time, in plain loops.

Exercises a loop that stays one around unrolled loops.
"""

# cutecc: entry = "scalar_gemm"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M{div=128}=128, ?K{div=8}=24]"
# cutecc: args.b = "f32[?N{div=128}=128, ?K{div=8}]"
# cutecc: args.c = "f32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4

import cutlass
from cutlass import cute

SIDE = 16  # threads along each side of a block
SUMS = 8  # along each side of a thread's sums
TILE, DEPTH = SIDE * SUMS, 8


@cute.kernel
def gemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    shared = cutlass.utils.SmemAllocator()
    layout = cute.make_layout((TILE, DEPTH), stride=(1, TILE))
    tile_a = shared.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    tile_b = shared.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    sums = cute.make_rmem_tensor((SUMS, SUMS), cutlass.Float32)
    sums.fill(0.0)
    for begin in range(0, a.shape[1], DEPTH):
        for i in range(TILE * DEPTH // (SIDE * SIDE)):
            element = y * SIDE + x + i * SIDE * SIDE
            row, column = element // DEPTH, element % DEPTH
            tile_a[row, column] = a[block_m * TILE + row, begin + column]
            tile_b[row, column] = b[block_n * TILE + row, begin + column]
        cute.arch.sync_threads()
        for k in range(DEPTH):
            for i in range(SUMS):
                for j in range(SUMS):
                    sums[i, j] += tile_a[y * SUMS + i, k] * tile_b[x * SUMS + j, k]
        cute.arch.sync_threads()
    for i in range(SUMS):
        for j in range(SUMS):
            c[block_m * TILE + y * SUMS + i, block_n * TILE + x * SUMS + j] = sums[i, j]


@cute.jit
def scalar_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors."""
    rows, columns = c.shape
    gemm_kernel(a, b, c).launch(grid=[columns // TILE, rows // TILE, 1], block=[SIDE, SIDE, 1])


def reference(a, b, c):
    """The expected `c`."""
    return a @ b.T
