"""Quantise rows of f32 to 4-bit floats in blocks of 32 with a power of two each (MXFP4), and read them back.

Exercises conversions from f32 to e2m1, to both formats of 6 bits and to ue8m0, rounded up, and back, the maximum of a
vector, and stores of elements of which two share a byte.
"""

# cutecc: entry = "fp4_quantize"
# cutecc: target = "sm_100a, sm_120a"
# cutecc: args.x = "f32[?M=9, ?N{div=32}=320] align=16"
# cutecc: args.q = "f4E2M1FN[?M, ?N{div=32}] align=16"
# cutecc: args.scales = "f8E8M0FNU[?M, ?S=10]"
# cutecc: args.y = "f32[?M, ?N{div=32}] align=16"
# cutecc: args.y6 = "f32[2, ?M, ?N{div=32}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["q", "scales", "y", "y6"]
# cutecc: ulp = 0
# cutecc: bytes = "M * N * 529 / 32"

import cutlass
from cutlass import cute

THREADS = 64
VECTOR = 32  # elements that share a scale
LARGEST = 6.0  # e2m1


@cute.kernel
def quantize_kernel(x: cute.Tensor, q: cute.Tensor, scales: cute.Tensor, y: cute.Tensor, y6: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, block, _ = cute.arch.block_idx()
    piece = block * THREADS + thread
    tiler = (1, VECTOR)
    if piece < cute.size(scales, mode=[1]):
        values = cute.local_tile(x, tiler, (row, piece)).load()
        magnitude = cute.where(values < 0.0, -values, values)
        largest = magnitude.reduce(cute.ReductionOp.MAX, 0.0, 0)
        # The next power of two, so that nothing is larger than what e2m1 has.
        powers = cute.make_rmem_tensor(cute.make_layout((2,)), cutlass.Float32)
        powers.fill(largest / LARGEST)
        scale = cute.make_rmem_tensor(cute.make_layout((2,)), scales.element_type)
        scale.store(powers.load().to(scales.element_type))
        powers.store(scale.load().to(cutlass.Float32))
        narrow = (values / powers[0]).to(q.element_type)
        cute.local_tile(q, tiler, (row, piece)).store(narrow)
        cute.local_tile(y, tiler, (row, piece)).store(narrow.to(cutlass.Float32) * powers[0])
        scales[row, piece] = scale[0]
        for number, wider in enumerate((cutlass.Float6E2M3FN, cutlass.Float6E3M2FN)):
            sixths = (values / powers[0]).to(wider).to(cutlass.Float32)
            cute.local_tile(y6, (1, 1, VECTOR), (number, row, piece)).store(sixths * powers[0])


@cute.jit
def fp4_quantize(x: cute.Tensor, q: cute.Tensor, scales: cute.Tensor, y: cute.Tensor, y6: cute.Tensor):
    """q = x / scales as e2m1 and y = q * scales, for (M, N) tensors and (M, N / 32) scales; y6, by e2m3 and by e3m2."""
    quantize_kernel(x, q, scales, y, y6).launch(
        grid=[x.shape[0], cute.ceil_div(scales.shape[1], THREADS), 1], block=[THREADS, 1, 1]
    )


def reference(x, q, scales, y, y6):
    """The expected outputs: so many bits of mantissa, the smallest exponent, ties to even."""
    import numpy as np

    blocks = x.reshape(len(x), -1, VECTOR)
    mantissa, exponent = np.frexp(abs(blocks).max(2) / np.float32(LARGEST))
    powers = np.exp2(exponent - (mantissa == 0.5)).astype("float32")
    scaled = blocks / powers[..., None]

    def rounded(mantissa, smallest):
        step = np.exp2(np.maximum(np.frexp(scaled)[1] - 1, smallest) - float(mantissa))
        return (np.rint(scaled / step) * step).astype("float32")

    narrow, *wider = (rounded(*format) for format in ((1, 0), (3, 0), (2, -2)))
    narrow_y, *y6 = ((each * powers[..., None]).reshape(x.shape) for each in (narrow, *wider))
    return narrow.reshape(x.shape), powers, narrow_y, np.stack(y6)
