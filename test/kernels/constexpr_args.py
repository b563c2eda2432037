"""Polynomial and activation chosen at compile time: an integer, a string, a tuple and a number type as `Constexpr`.

Exercises specialisation: `const_expr` branches, unrolled evaluation, and arguments that vanish from the signature.
"""

# cutecc: entry = "constexpr_args"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=1000]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.coefficients = "const((1.0, -0.5, 0.25, 0.125))"
# cutecc: args.activation = "const('relu')"
# cutecc: args.compute_type = "const(f64)"
# cutecc: args.threads = "const(64)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "2 * N * 4"
# cutecc: flops = "6 * N"

import cutlass
from cutlass import cute


@cute.kernel
def polynomial_kernel(
    x: cute.Tensor,
    y: cute.Tensor,
    coefficients: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    compute_type: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * threads + thread
    if i < cute.size(x):
        v = compute_type(x[i])
        total = compute_type(coefficients[-1])
        for degree in cutlass.range_constexpr(len(coefficients) - 2, -1, -1):
            total = total * v + coefficients[degree]

        if cutlass.const_expr(activation == "relu"):
            if total < 0.0:
                total = compute_type(0.0)
        elif cutlass.const_expr(activation == "abs"):
            if total < 0.0:
                total = -total
        else:
            assert activation == "none", f"unknown activation {activation!r}"
        y[i] = total.to(y.element_type)


@cute.jit
def constexpr_args(
    x: cute.Tensor,
    y: cute.Tensor,
    coefficients: cutlass.Constexpr,
    activation: cutlass.Constexpr,
    compute_type: cutlass.Constexpr,
    threads: cutlass.Constexpr,
):
    """y = activation(sum of coefficients[k] * x**k) for vectors of N."""
    polynomial_kernel(x, y, coefficients, activation, compute_type, threads).launch(
        grid=[cute.ceil_div(cute.size(x), threads), 1, 1], block=[threads, 1, 1]
    )


def reference(x, y):
    """The expected `y` for the defaults above."""
    v = x.astype("float64")
    total = 1.0 - 0.5 * v + 0.25 * v**2 + 0.125 * v**3
    return (total * (total > 0)).astype("float32")
