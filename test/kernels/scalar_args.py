"""z = alpha * x + beta * y, shifted and optionally negated, with an optional third tensor that is left out.

Exercises runtime scalars of several widths, a tuple argument, a boolean, `None`, and a stream.
"""

# cutecc: entry = "scalar_args"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=1000]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.z = "f32[?N]"
# cutecc: args.factors = "(f32=0.5, f32=-2.0)"
# cutecc: args.offset = "f64=0.25"
# cutecc: args.shift = "i64=3"
# cutecc: args.negate = "bool=True"
# cutecc: args.bias = "none"
# cutecc: args.stream = "stream"
# cutecc: reference = "reference"
# cutecc: outputs = ["z"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "3 * N * 4"
# cutecc: flops = "4 * N"

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute

THREADS = 128


@cute.kernel
def axpby_kernel(
    x: cute.Tensor,
    y: cute.Tensor,
    z: cute.Tensor,
    factors: tuple[cutlass.Float32, cutlass.Float32],
    offset: cutlass.Float64,
    shift: cutlass.Int64,
    negate: cutlass.Boolean,
    bias: cute.Tensor | None,
):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    count = cute.size(x)
    if i < count:
        alpha, beta = factors
        # x is read in a circle, `shift` elements ahead.
        j = cutlass.Int32((cutlass.Int64(i) + shift) % cutlass.Int64(count))
        value = alpha * x[j] + beta * y[i] + offset.to(cutlass.Float32)
        if cutlass.const_expr(bias is not None):
            value += bias[i]
        if negate:
            value = -value
        z[i] = value


@cute.jit
def scalar_args(
    x: cute.Tensor,
    y: cute.Tensor,
    z: cute.Tensor,
    factors: tuple[cutlass.Float32, cutlass.Float32],
    offset: cutlass.Float64,
    shift: cutlass.Int64,
    negate: cutlass.Boolean,
    bias: cute.Tensor | None,
    stream: CUstream,
):
    """z[i] = ±(factors[0] * x[i + shift] + factors[1] * y[i] + offset (+ bias[i])) for vectors of N, shift >= 0."""
    axpby_kernel(x, y, z, factors, offset, shift, negate, bias).launch(
        grid=[cute.ceil_div(cute.size(x), THREADS), 1, 1], block=[THREADS, 1, 1], stream=stream
    )


def reference(x, y, z, factors, offset, shift, negate, bias):
    """The expected `z`."""
    order = [(i + shift) % x.shape[0] for i in range(x.shape[0])]
    value = factors[0] * x[order] + factors[1] * y + offset
    return (-value if negate else value).astype("float32")
