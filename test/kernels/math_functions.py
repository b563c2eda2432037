"""A tour of the math functions, exact and fast-math, on vectors of four values.

Exercises `cute.math` on register vectors (`TensorSSA`), comparisons with `where`, and the lowering of dialect `math`.
"""

# cutecc: entry = "math_functions"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N{div=4}=4096] align=16"
# cutecc: args.smooth = "f32[?N{div=4}] align=16"
# cutecc: args.waves = "f32[?N{div=4}] align=16"
# cutecc: args.bell = "f32[?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["smooth", "waves", "bell"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "4 * N * 4"

import math

from cutlass import cute

THREADS = 128
WIDTH = 4


@cute.kernel
def math_kernel(x: cute.Tensor, smooth: cute.Tensor, waves: cute.Tensor, bell: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    piece = block * THREADS + thread
    if piece < cute.size(x, mode=[1]):
        v = x[None, piece].load()
        magnitude = cute.where(v < 0.0, -v, v)

        # log1p of the exponential, the root and its reciprocal, and a logistic curve.
        softplus = cute.math.log(1.0 + cute.math.exp(-magnitude))
        root = cute.math.sqrt(magnitude + 1.0) * cute.math.rsqrt(magnitude + 2.0, fastmath=True)
        logistic = 1.0 / (1.0 + cute.math.exp2(v * -math.log2(math.e), fastmath=True))
        smooth[None, piece].store(softplus + root + logistic)

        angle = cute.math.atan2(v, magnitude + 0.5)
        waves[None, piece].store(cute.math.sin(v) * cute.math.cos(v, fastmath=True) + angle + cute.math.tanh(v))

        bell[None, piece].store(2.0 + cute.math.erf(v * math.sqrt(0.5)))


@cute.jit
def math_functions(x: cute.Tensor, smooth: cute.Tensor, waves: cute.Tensor, bell: cute.Tensor):
    """Three functions of `x`, element by element; all four are vectors of N."""
    pieces = cute.size(x) // WIDTH
    tiler = (WIDTH,)
    math_kernel(
        cute.zipped_divide(x, tiler),
        cute.zipped_divide(smooth, tiler),
        cute.zipped_divide(waves, tiler),
        cute.zipped_divide(bell, tiler),
    ).launch(grid=[cute.ceil_div(pieces, THREADS), 1, 1], block=[THREADS, 1, 1])


def reference(x, smooth, waves, bell):
    """The expected `smooth`, `waves` and `bell`."""
    import numpy as np

    v = x.astype("float64")
    magnitude = abs(v)
    softplus = np.log1p(np.exp(-magnitude))
    root = np.sqrt(magnitude + 1) / np.sqrt(magnitude + 2)
    logistic = 1 / (1 + np.exp(-v))
    erf = np.array([math.erf(e) for e in (v * math.sqrt(0.5)).tolist()])
    wave = np.sin(v) * np.cos(v) + np.arctan2(v, magnitude + 0.5) + np.tanh(v)
    return tuple(r.astype("float32") for r in (softplus + root + logistic, wave, 2 + erf))
