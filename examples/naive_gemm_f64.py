"""Double-precision matrix product, one element of the output a thread: the shortest correct GEMM.

Exercises a dynamic `for` loop carrying a scalar, `f64` arithmetic, and plain element access with 64-bit strides.
"""

# cutecc: entry = "naive_gemm_f64"
# cutecc: target = "sm_80"
# cutecc: args.a = "f64[?M=100, ?K=75]"
# cutecc: args.b = "f64[?K, ?N=130]"
# cutecc: args.c = "f64[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-10
# cutecc: bytes = "8 * (M * K + K * N + M * N)"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute

BLOCK = 16


@cute.kernel
def gemm_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    thread_n, thread_m, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    m = block_m * BLOCK + thread_m
    n = block_n * BLOCK + thread_n

    if cute.elem_less((m, n), c.shape):
        total = cutlass.Float64(0.0)
        for k in cutlass.range(a.shape[1]):
            total += a[m, k] * b[k, n]
        c[m, n] = total


@cute.jit
def naive_gemm_f64(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b for (M, K) and (K, N) tensors."""
    rows, columns = c.shape
    gemm_kernel(a, b, c).launch(
        grid=[cute.ceil_div(columns, BLOCK), cute.ceil_div(rows, BLOCK), 1],
        block=[BLOCK, BLOCK, 1],
    )


def reference(a, b, c):
    """The expected `c`."""
    return a @ b


# cutecc: peers = ["torch_matmul"]
def torch_matmul(a, b, c):
    """The same with `torch.matmul`, which calls cuBLAS."""
    import torch

    torch.matmul(a, b, out=c)
