"""Quantise f32 to 8-bit floats (e4m3) with a scale, and back.

Exercises packed narrow-precision conversions in both directions and one-byte stores merged into wide ones.
"""

# cutecc: entry = "fp8_convert"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?N{div=16}=1600] align=16"
# cutecc: args.q = "f8E4M3FN[?N{div=16}] align=16"
# cutecc: args.y = "f32[?N{div=16}] align=16"
# cutecc: args.scale = "f32=16.0"
# cutecc: reference = "reference"
# cutecc: outputs = ["q", "y"]
# cutecc: ulp = 0
# cutecc: bytes = "N * (4 + 1 + 4)"

import cutlass
from cutlass import cute

THREADS = 64
WIDTH = 16
LARGEST = 448.0


@cute.kernel
def fp8_kernel(x: cute.Tensor, q: cute.Tensor, y: cute.Tensor, scale: cutlass.Float32):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    piece = block * THREADS + thread
    if piece < cute.size(x, mode=[1]):
        v = x[None, piece].load() * scale
        v = cute.where(v > LARGEST, cute.full_like(v, LARGEST), v)
        v = cute.where(v < -LARGEST, cute.full_like(v, -LARGEST), v)
        narrow = v.to(q.element_type)
        q[None, piece].store(narrow)
        y[None, piece].store(narrow.to(cutlass.Float32) / scale)


@cute.jit
def fp8_convert(x: cute.Tensor, q: cute.Tensor, y: cute.Tensor, scale: cutlass.Float32):
    """q = x * scale as e4m3 and y = q / scale, for vectors of N."""
    tiler = (WIDTH,)
    pieces = cute.size(x) // WIDTH
    fp8_kernel(cute.zipped_divide(x, tiler), cute.zipped_divide(q, tiler), cute.zipped_divide(y, tiler), scale).launch(
        grid=[cute.ceil_div(pieces, THREADS), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, q, y, scale):
    """The expected `q` and `y`: three bits of mantissa, the smallest exponent -6, ties to even."""
    import numpy as np

    v = np.clip(x * np.float32(scale), -LARGEST, LARGEST)
    exponent = np.maximum(np.frexp(v)[1] - 1, -6)
    step = np.exp2(exponent - 3.0)
    narrow = (np.rint(v / step) * step).astype("float32")
    return narrow, narrow / np.float32(scale)
