"""`cute.gemm` of tensors of every rank that CuTe names, by one thread each: with and without modes of values and of K.

`Product(form)` is what is launched, of a form in `FORMS`. Rows of a, b, c and d are what a thread has.
"""

# cutecc: entry = "Product('(M,K)')"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[32, 24] align=16"
# cutecc: args.b = "f32[32, 24] align=16"
# cutecc: args.c = "f32[32, 24] align=16"
# cutecc: args.d = "f32[32, 24] align=16"
# cutecc: outputs = ["d"]
# cutecc: tolerance = 0.0

import cutlass
import numpy
from cutlass import cute

THREADS = 32
V, M, N, K = 2, 4, 3, 2
FORMS = {
    "(V)": ((V,), (V,), (V,)),
    "(M)": ((M,), (N,), (M, N)),
    "(M,K)": ((M, K), (N, K), (M, N)),
    "((M),K)": (((2, 2), K), (N, K), ((2, 2), N)),
    "(V,M)": ((V, M), (V, N), (V, M, N)),
    "(V,M,K)": ((V, M, K), (V, N, K), (V, M, N)),
}
"""The shapes of A, B and C."""


class Product:
    """d = a * b + c, of A in global memory, and B and the sums in registers; what a row of c has beyond goes to d."""

    def __init__(self, form: str):
        self.form = form

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        shape_a, shape_b, shape_c = FORMS[self.form]
        fma = cute.make_mma_atom(cute.nvgpu.MmaUniversalOp(cutlass.Float32))
        mine_a = cute.make_tensor(a[thread, None].iterator, cute.make_layout(shape_a))
        mine_b = cute.make_rmem_tensor(shape_b, cutlass.Float32)
        sums = cute.make_rmem_tensor(shape_c, cutlass.Float32)
        for i in cutlass.range_constexpr(cute.size(mine_b)):
            mine_b[i] = b[thread, i]
        for i in cutlass.range_constexpr(cute.size(sums)):
            sums[i] = c[thread, i]
        cute.gemm(fma, sums, mine_a, mine_b, sums)
        for i in cutlass.range_constexpr(cute.size(d, mode=[1])):
            d[thread, i] = sums[i] if i < cute.size(sums) else c[thread, i]

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, d: cute.Tensor):
        self.kernel(a, b, c, d).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def of_values(a, b, c):
    """The expected `d` of (V)."""
    return products(a, b, c, V, 1, 1, 1)


def of_vectors(a, b, c):
    """That of (M)."""
    return products(a, b, c, 1, M, N, 1)


def of_matrices(a, b, c):
    """That of (M,K)."""
    return products(a, b, c, 1, M, N, K)


def of_vectors_of_values(a, b, c):
    """That of (V,M)."""
    return products(a, b, c, V, M, N, 1)


def of_matrices_of_values(a, b, c):
    """That of (V,M,K)."""
    return products(a, b, c, V, M, N, K)


def products(a, b, c, v, m, n, k):
    """One sum after another of fused products, each rounded once, in the order of K. The first mode is the fastest."""
    expected = c.copy()
    sums = c[:, : v * m * n].reshape(-1, n, m, v)
    for step in range(k):
        left = a[:, : v * m * k].reshape(-1, k, 1, m, v)[:, step].astype("float64")
        right = b[:, : v * n * k].reshape(-1, k, n, 1, v)[:, step].astype("float64")
        sums = (left * right + sums).astype("float32")
    expected[:, : v * m * n] = numpy.ascontiguousarray(sums).reshape(len(c), -1)
    return expected
