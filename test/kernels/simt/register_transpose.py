"""Transpose of 16 x 16 elements a thread, in registers.

Exercises two large fragments, read and written in different orders by plain loops.
"""

# cutecc: entry = "register_transpose"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[?M{div=256}=256, ?N{div=256}=256] align=16"
# cutecc: args.y = "f16[?N, ?M] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

TILE = 16  # elements of a thread, and threads of a block, along each side


@cute.kernel
def transpose_kernel(x: cute.Tensor, y: cute.Tensor):
    thread_n, thread_m, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    m, n = block_m * TILE + thread_m, block_n * TILE + thread_n
    rows = cute.make_layout((TILE, TILE), stride=(TILE, 1))
    given = cute.make_rmem_tensor(rows, cutlass.Float16)
    turned = cute.make_rmem_tensor(rows, cutlass.Float16)
    cute.autovec_copy(cute.local_tile(x, (TILE, TILE), (m, n)), given)
    for i in range(TILE):
        for j in range(TILE):
            turned[j, i] = given[i, j]
    cute.autovec_copy(turned, cute.local_tile(y, (TILE, TILE), (n, m)))


@cute.jit
def register_transpose(x: cute.Tensor, y: cute.Tensor):
    """y = x.T for an (M, N) tensor."""
    rows, columns = x.shape
    grid = [columns // TILE // TILE, rows // TILE // TILE, 1]
    transpose_kernel(x, y).launch(grid=grid, block=[TILE, TILE, 1])


def reference(x, y):
    """The expected `y`."""
    return x.T
