"""Softmax of rows of 512, one warp a row, two numbers an instruction.

Exercises packed f32 arithmetic, `redux` of floats, 256-bit loads and stores, and a row that stays in registers.
"""

# cutecc: entry = "f32x2_softmax"
# cutecc: target = "sm_100a"
# cutecc: args.x = "f32[?M=21, 512] align=32"
# cutecc: args.y = "f32[?M, 512] align=32"
# cutecc: args.largest = "f32[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y", "largest"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "4 * M * (2 * 512 + 1)"

import math

import cutlass
from cutlass import cute

WARPS = 4  # of a block
COLUMNS = 512
WIDTH = 8  # numbers that an access moves
LOG2_E = math.log2(math.e)


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor, largest: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    lane, row = thread % 32, block * WARPS + thread // 32
    if row < x.shape[0]:
        # (WIDTH, piece): the lane's pieces are 32 apart.
        lanes = (None, (lane, None))
        pieces = cute.logical_divide(cute.make_layout(COLUMNS), WIDTH)
        by_lane = cute.logical_divide(pieces, (None, 32))
        source = cute.make_tensor(x[row, None].iterator, by_lane)[lanes]
        target = cute.make_tensor(y[row, None].iterator, by_lane)[lanes]
        wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), x.element_type, num_bits_per_copy=256)
        values = cute.make_fragment_like(source)
        cute.copy(wide, source, values)

        own = values.load().reduce(cute.ReductionOp.MAX, -cutlass.Float32.inf, 0)
        whole = cute.arch.warp_redux_sync(own, "fmax", nan=True)
        scale, offset = cutlass.Float32(LOG2_E), -whole * LOG2_E
        sums = (cutlass.Float32(0.0), cutlass.Float32(0.0))
        for i in cutlass.range_constexpr(0, cute.size(values), 2):
            low, high = cute.arch.fma_packed_f32x2((values[i], values[i + 1]), (scale, scale), (offset, offset))
            pair = cute.math.exp2(low), cute.math.exp2(high)
            values[i], values[i + 1] = pair
            sums = cute.arch.add_packed_f32x2(sums, pair)
        total = cute.arch.warp_reduction_sum(sums[0] + sums[1])
        inverse = 1.0 / total
        for i in cutlass.range_constexpr(0, cute.size(values), 2):
            pair = cute.arch.mul_packed_f32x2((values[i], values[i + 1]), (inverse, inverse))
            values[i], values[i + 1] = pair
        cute.copy(wide, values, target)
        if lane == 0:
            largest[row] = whole


@cute.jit
def f32x2_softmax(x: cute.Tensor, y: cute.Tensor, largest: cute.Tensor):
    """y = softmax(x) and the largest number of each row, for (M, 512) tensors."""
    softmax_kernel(x, y, largest).launch(grid=[cute.ceil_div(x.shape[0], WARPS), 1, 1], block=[WARPS * 32, 1, 1])


def reference(x, y, largest):
    """The expected `y` and `largest`."""
    import numpy as np

    powers = np.exp(x.astype("float64") - x.max(1)[:, None])
    return (powers / powers.sum(1)[:, None]).astype("float32"), x.max(1)
