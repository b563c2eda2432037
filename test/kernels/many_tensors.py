"""A weighted sum of seven vectors into an eighth: one thread for each element.

Exercises a long parameter list, and a launch whose arguments cost more than its kernel.
"""

# cutecc: entry = "weighted_sum"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?N=1000]"
# cutecc: args.b = "f32[?N]"
# cutecc: args.c = "f32[?N]"
# cutecc: args.d = "f32[?N]"
# cutecc: args.e = "f32[?N]"
# cutecc: args.f = "f32[?N]"
# cutecc: args.g = "f32[?N]"
# cutecc: args.out = "f32[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["out"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "8 * N * 4"
# cutecc: flops = "13 * N"

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def sum_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    d: cute.Tensor,
    e: cute.Tensor,
    f: cute.Tensor,
    g: cute.Tensor,
    out: cute.Tensor,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    index = block * THREADS + thread
    if index < cute.size(out):
        total = cutlass.Float32(0)
        for weight, vector in enumerate((a, b, c, d, e, f, g), start=1):
            total += cutlass.Float32(weight) * vector[index]
        out[index] = total


@cute.jit
def weighted_sum(
    a: cute.Tensor,
    b: cute.Tensor,
    c: cute.Tensor,
    d: cute.Tensor,
    e: cute.Tensor,
    f: cute.Tensor,
    g: cute.Tensor,
    out: cute.Tensor,
):
    """out = a + 2 b + 3 c + 4 d + 5 e + 6 f + 7 g"""
    blocks = cute.ceil_div(cute.size(out), THREADS)
    sum_kernel(a, b, c, d, e, f, g, out).launch(grid=[blocks, 1, 1], block=[THREADS, 1, 1])


def reference(a, b, c, d, e, f, g, out):
    """The expected `out`."""
    return sum(weight * vector for weight, vector in enumerate((a, b, c, d, e, f, g), start=1))
