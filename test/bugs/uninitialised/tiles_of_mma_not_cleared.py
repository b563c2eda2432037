"""A warp's products of 2 x 4 tiles, whose accumulators nobody has set."""

# cutecc: entry = "tiles_of_mma_not_cleared"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[32]"
# cutecc: args.y = "f32[32, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def product_kernel(x: cute.Tensor, y: cute.Tensor, tiled_mma: cute.TiledMma, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((32, 32)), cutlass.Float32)
    a = cute.make_rmem_tensor(tiled_mma.partition_shape_A((32, 32)), cutlass.Float16)
    b = cute.make_rmem_tensor(tiled_mma.partition_shape_B((32, 32)), cutlass.Float16)
    a.fill(1.0)
    b.fill(0.0)
    b[0] = x[thread]
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    cute.gemm(tiled_mma, sums, a, b, sums)  # bug: uninitialised-register, mend: "sums.fill(0)"
    for i in cutlass.range_constexpr(cute.size(sums)):
        y[thread, i] = sums[i]


@cute.jit
def tiles_of_mma_not_cleared(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each thread's accumulators."""
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    product_kernel(x, y, cute.make_tiled_mma(op), bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    y[...] = 0
    columns = x.astype("float32").reshape(8, 4).sum(1)
    for number in (0, 2, 4, 6):
        y[:, number] = columns[np.arange(32) % 4 * 2]
        y[:, number + 1] = columns[np.arange(32) % 4 * 2 + 1]
    return y
