"""Root-mean-square normalisation of f16 rows with a weight vector, one warp a row.

Exercises f16 to f32 conversion of vectors, `TensorSSA.reduce`, warp shuffles, `rsqrt`, and a runtime scalar argument.
"""

# cutecc: entry = "rmsnorm"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[?M=203, ?N{div=8}=776] align=16"
# cutecc: args.weight = "f16[?N{div=8}] align=16"
# cutecc: args.y = "f16[?M, ?N{div=8}] align=16"
# cutecc: args.epsilon = "f32=1e-5"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 2e-3
# cutecc: bytes = "2 * M * N * 2 + N * 2"
# cutecc: flops = "4 * M * N"

import cutlass
from cutlass import cute

WARPS = 4
WIDTH = 8


@cute.kernel
def rmsnorm_kernel(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, epsilon: cutlass.Float32):
    """Tensors come in pieces: ((1, 8), (row, piece)) and ((8,), (piece,))."""
    block, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = block * WARPS + cute.arch.warp_idx()
    rows, pieces = x.shape[1]

    if row < rows:
        squares = cutlass.Float32(0.0)
        for piece in cutlass.range(lane, pieces, 32):
            v = x[(0, None), (row, piece)].load().to(cutlass.Float32)
            squares += (v * v).reduce(cute.ReductionOp.ADD, init_val=0.0, reduction_profile=0)
        for step in cutlass.range_constexpr(5):
            squares += cute.arch.shuffle_sync_bfly(squares, offset=1 << step)

        scale = cute.math.rsqrt(squares / cutlass.Float32(pieces * WIDTH) + epsilon)
        for piece in cutlass.range(lane, pieces, 32):
            v = x[(0, None), (row, piece)].load().to(cutlass.Float32)
            w = weight[(None,), piece].load().to(cutlass.Float32)
            y[(0, None), (row, piece)].store((v * scale * w).to(y.element_type))


@cute.jit
def rmsnorm(x: cute.Tensor, weight: cute.Tensor, y: cute.Tensor, epsilon: cutlass.Float32):
    """y = x / sqrt(mean(x**2) + epsilon) * weight along the rows of (M, N) tensors."""
    rmsnorm_kernel(
        cute.zipped_divide(x, (1, WIDTH)),
        cute.zipped_divide(weight, (WIDTH,)),
        cute.zipped_divide(y, (1, WIDTH)),
        epsilon,
    ).launch(grid=[cute.ceil_div(x.shape[0], WARPS), 1, 1], block=[32 * WARPS, 1, 1])


def reference(x, weight, y, epsilon):
    """The expected `y`."""
    v = x.astype("float64")
    scale = ((v * v).mean(1) + epsilon) ** -0.5
    return (v * scale[:, None] * weight.astype("float64")).astype("float16")
