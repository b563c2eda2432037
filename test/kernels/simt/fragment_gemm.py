"""Matrix product of 8 x 8 sums a thread, whose slices of both operands are whole fragments that plain loops index.

Exercises nests of loops that index registers, too long to be unrolled together.
"""

# cutecc: entry = "FragmentGemm()"
# cutecc: target = "sm_80"
# cutecc: args.a = "f16[?M{div=128}=128, ?K{div=64}=64]"
# cutecc: args.b = "f16[?N{div=128}=128, ?K{div=64}]"
# cutecc: args.c = "f16[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 2e-2

import cutlass
from cutlass import cute

SIDE = 16  # threads along each side of a block
SUMS = 8  # along each side of a thread's sums
TILE = SIDE * SUMS


class FragmentGemm:
    """c = a @ b.T in `dtype`, `depth` columns of a and b at a time."""

    def __init__(self, dtype: type[cutlass.Numeric] = cutlass.Float16, depth: int = 64):
        self.dtype, self.depth = dtype, depth

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """Launch a block for each 128 x 128 of c."""
        rows, columns = c.shape
        self.kernel(a, b, c).launch(grid=[columns // TILE, rows // TILE, 1], block=[SIDE, SIDE, 1])

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        """The sums of one block."""
        x, y, _ = cute.arch.thread_idx()
        block_n, block_m, _ = cute.arch.block_idx()
        shared = cutlass.utils.SmemAllocator()
        layout = cute.make_layout((TILE, self.depth), stride=(self.depth, 1))
        tile_a = shared.allocate_tensor(self.dtype, layout, byte_alignment=16)
        tile_b = shared.allocate_tensor(self.dtype, layout, byte_alignment=16)
        sums = cute.make_rmem_tensor((SUMS, SUMS), self.dtype)
        of_a = cute.make_rmem_tensor((SUMS, self.depth), self.dtype)
        of_b = cute.make_rmem_tensor((SUMS, self.depth), self.dtype)
        sums.fill(0.0)
        for begin in range(0, a.shape[1], self.depth):
            for i in range(TILE * self.depth // (SIDE * SIDE)):
                element = y * SIDE + x + i * SIDE * SIDE
                row, column = element // self.depth, element % self.depth
                tile_a[row, column] = a[block_m * TILE + row, begin + column]
                tile_b[row, column] = b[block_n * TILE + row, begin + column]
            cute.arch.sync_threads()
            for i in range(SUMS):
                for k in range(self.depth):
                    of_a[i, k] = tile_a[y * SUMS + i, k]
                    of_b[i, k] = tile_b[x * SUMS + i, k]
            for k in range(self.depth):
                for i in range(SUMS):
                    for j in range(SUMS):
                        sums[i, j] += of_a[i, k] * of_b[j, k]
            cute.arch.sync_threads()
        for i in range(SUMS):
            for j in range(SUMS):
                c[block_m * TILE + y * SUMS + i, block_n * TILE + x * SUMS + j] = sums[i, j]


def reference(a, b, c):
    """The expected `c`."""
    return (a.astype("float32") @ b.astype("float32").T).astype(a.dtype)
