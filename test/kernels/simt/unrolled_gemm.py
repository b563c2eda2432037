"""Matrix product of one sum a thread, of tensors of known size, whose loop over tiles asks to be unrolled in full.

Exercises a hint that asks for more than the code generator should do.
"""

# cutecc: entry = "unrolled_gemm"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[10, 8192]"
# cutecc: args.b = "f32[16, 8192]"
# cutecc: args.c = "f32[10, 16]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-3

import cutlass
from cutlass import cute

SIDE = 16


@cute.kernel
def gemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    x, y, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    row, column = block_m * SIDE + y, block_n * SIDE + x
    shared = cutlass.utils.SmemAllocator()
    tile_a = shared.allocate_tensor(cutlass.Float32, cute.make_layout((SIDE, SIDE)), byte_alignment=16)
    tile_b = shared.allocate_tensor(cutlass.Float32, cute.make_layout((SIDE, SIDE)), byte_alignment=16)
    rows, depth = a.shape
    columns, _ = b.shape
    total = cutlass.Float32(0.0)
    for tile in cutlass.range((depth + SIDE - 1) // SIDE, unroll_full=True):
        begin = tile * SIDE
        if row < rows and begin + x < depth:
            tile_a[y, x] = a[row, begin + x]
        else:
            tile_a[y, x] = cutlass.Float32(0.0)
        if column < columns and begin + y < depth:
            tile_b[x, y] = b[column, begin + y]
        else:
            tile_b[x, y] = cutlass.Float32(0.0)
        cute.arch.sync_threads()
        for k in range(SIDE):
            total += tile_a[y, k] * tile_b[x, k]
        cute.arch.sync_threads()
    if row < rows and column < columns:
        c[row, column] = total


@cute.jit
def unrolled_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors."""
    rows, columns = c.shape
    grid = [cute.ceil_div(columns, SIDE), cute.ceil_div(rows, SIDE), 1]
    gemm_kernel(a, b, c).launch(grid=grid, block=[SIDE, SIDE, 1])


def reference(a, b, c):
    """The expected `c`."""
    return a @ b.T
