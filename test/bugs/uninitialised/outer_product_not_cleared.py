"""Sums of outer products, in a fragment of 32 elements that nobody has set before the loop."""

# cutecc: entry = "outer_product_not_cleared"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[12, 3]"
# cutecc: args.y = "f32[32, 4, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6

import cutlass
from cutlass import cute

THREADS = 32
M, N = 4, 8


@cute.kernel
def product_kernel(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sums = cute.make_rmem_tensor((M, N), cutlass.Float32)  # mend: "sums.fill(0)"
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    for k in cutlass.range(a.shape[1], unroll=1):
        for i in cutlass.range_constexpr(M):
            for j in cutlass.range_constexpr(N):
                sums[i, j] += a[i, k] * b[j, k]  # bug: uninitialised-register
    for i in cutlass.range_constexpr(M):
        for j in cutlass.range_constexpr(N):
            y[thread, i, j] = sums[i, j]


@cute.jit
def outer_product_not_cleared(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the product of the first 4 and the last 8 rows of x, for each thread."""
    a, b = cute.local_tile(x, (4, 3), (0, 0)), cute.local_tile(cute.domain_offset((4, 0), x), (8, 3), (0, 0))
    product_kernel(a, b, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    y[...] = sum(np.multiply.outer(x[:4, k], x[4:, k]) for k in range(3))
    return y
