"""The greatest element of each row and where it stands first, one warp a row.

Exercises loops that carry a value and its index through `if`, and shuffles of two types with the same tie rule.
"""

# cutecc: entry = "row_argmax"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=100, ?N=777]:(?LD{i64}=800, 1)"
# cutecc: args.values = "f32[?M]"
# cutecc: args.indices = "i64[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["values", "indices"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "M * N * 4 + M * 12"

import cutlass
from cutlass import cute

WARPS = 4


@cute.kernel
def argmax_kernel(x: cute.Tensor, values: cute.Tensor, indices: cute.Tensor):
    block, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    row = block * WARPS + cute.arch.warp_idx()

    if row < x.shape[0]:
        best = -cutlass.Float32.inf
        where = cutlass.Int32(0x7FFFFFFF)
        for column in cutlass.range(lane, x.shape[1], 32):
            value = x[row, column]
            # A lane's columns ascend: the first of equals stays.
            if value > best or where == 0x7FFFFFFF:
                best = value
                where = column

        for step in cutlass.range_constexpr(5):
            other = cute.arch.shuffle_sync_bfly(best, offset=16 >> step)
            other_where = cute.arch.shuffle_sync_bfly(where, offset=16 >> step)
            if other > best or (other == best and other_where < where):
                best = other
                where = other_where
        if lane == 0:
            values[row] = best
            indices[row] = cutlass.Int64(where)


@cute.jit
def row_argmax(x: cute.Tensor, values: cute.Tensor, indices: cute.Tensor):
    """values = x.max(1) and indices = x.argmax(1) for an (M, N) tensor without NaN."""
    argmax_kernel(x, values, indices).launch(grid=[cute.ceil_div(x.shape[0], WARPS), 1, 1], block=[32 * WARPS, 1, 1])


def reference(x, values, indices):
    """The expected `values` and `indices`."""
    return x.max(1), x.argmax(1).astype("int64")
