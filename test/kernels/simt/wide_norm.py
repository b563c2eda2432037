"""Layer norm of rows of 8192 elements by one warp: more in a thread's fragments than there are registers.

Exercises what no order of instructions keeps from spilling.
"""

# cutecc: entry = "wide_norm"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[?M=5, 8192] align=16"
# cutecc: args.w = "f16[8192] align=16"
# cutecc: args.y = "f16[?M, 8192] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 5e-3

import cutlass
from cutlass import cute

PART, LANES = 256, 32
SIZE = PART * LANES


@cute.kernel
def norm_kernel(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    lane, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    values = cute.make_rmem_tensor((1, PART), cutlass.Float16)
    results = cute.make_rmem_tensor((1, PART), cutlass.Float16)
    weights = cute.make_rmem_tensor((PART,), cutlass.Float16)
    cute.autovec_copy(cute.local_tile(x, (1, PART), (row, lane)), values)
    cute.autovec_copy(cute.local_tile(w, (PART,), (lane,)), weights)
    mean = cutlass.Float32(0.0)
    for i in range(PART):
        mean += cutlass.Float32(values[0, i])
    mean = cute.arch.warp_reduction_sum(mean) / SIZE
    variance = cutlass.Float32(0.0)
    for i in range(PART):
        off = cutlass.Float32(values[0, i]) - mean
        variance += off * off
    scale = cute.math.rsqrt(cute.arch.warp_reduction_sum(variance) / SIZE + 1e-5)
    for i in range(PART):
        scaled = (cutlass.Float32(values[0, i]) - mean) * scale * cutlass.Float32(weights[i])
        results[0, i] = scaled.to(cutlass.Float16)
    cute.autovec_copy(results, cute.local_tile(y, (1, PART), (row, lane)))


@cute.jit
def wide_norm(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    """y = (x - mean) / sqrt(variance + 1e-5) * w, row by row."""
    norm_kernel(x, w, y).launch(grid=[x.shape[0], 1, 1], block=[LANES, 1, 1])


def reference(x, w, y):
    """The expected `y`."""
    import numpy as np

    x = x.astype("float32")
    off = x - x.mean(axis=1, keepdims=True)
    return (off / np.sqrt((off * off).mean(axis=1, keepdims=True) + 1e-5) * w).astype("float16")
