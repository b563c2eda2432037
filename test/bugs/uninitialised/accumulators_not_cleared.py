"""A product of one 16 x 8 tile whose accumulators `mma.sync` adds to before anyone has set them."""

# cutecc: entry = "accumulators_not_cleared"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-5

import cutlass
from cutlass import cute


@cute.kernel
def product_kernel(x: cute.Tensor, y: cute.Tensor, tiled_mma: cute.TiledMma, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((16, 8)), cutlass.Float32)  # mend: "sums.fill(0)"
    a = cute.make_rmem_tensor(tiled_mma.partition_shape_A((16, 16)), cutlass.Float16)
    b = cute.make_rmem_tensor(tiled_mma.partition_shape_B((8, 16)), cutlass.Float16)
    a.fill(1.0)
    b.fill(0.0)
    b[0] = x[thread]
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    cute.gemm(tiled_mma, sums, a, b, sums)  # bug: uninitialised-register, check: check-uninitialised-fragments
    y[thread] = sums[0]


@cute.jit
def accumulators_not_cleared(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each thread's first accumulator."""
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    product_kernel(x, y, cute.make_tiled_mma(op), bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    columns = x.astype("float32").reshape(8, 4).sum(1)
    return columns[np.arange(32) % 4 * 2]
