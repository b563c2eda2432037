"""What threads have in registers: fragments that look alike, masked accesses, numbers of tf32.

`Registers(kind)` is what is launched; the function called like the kind gives the expected `y`.
"""

# cutecc: entry = "Registers('two_fragments')"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 16] align=16"
# cutecc: args.y = "f32[64, 16] align=16"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-3

import cutlass
from cutlass import cute

ROW = 16


class Registers:
    """A thread for each row."""

    def __init__(self, kind: str):
        self.kind = kind

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        kind = self.kind
        thread, _, _ = cute.arch.thread_idx()
        source, target = x[thread, None], y[thread, None]
        if cutlass.const_expr(kind == "two_fragments"):
            product = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), cute.make_layout((8, 8, 1)))
            shape = product.partition_shape_C((8, 8))
            one, two = product.make_fragment_C(shape), product.make_fragment_C(shape)
            one.fill(source[0])
            two.fill(source[1])
            target[0], target[1] = one[0], two[0]
        elif cutlass.const_expr(kind.startswith("masked")):
            even = cute.make_rmem_tensor(ROW, cutlass.Boolean)
            for column in cutlass.range_constexpr(ROW):
                even[column] = (column + thread) % 2 == 0
            others = cute.full((ROW,), 1.5, cutlass.Float32)
            if cutlass.const_expr(kind == "masked_load"):
                target.store(source.load(mask=even.load(), pass_thru=others))
            else:
                target.store(others)
                target.store(source.load(), mask=even.load())
        else:
            held = cute.make_rmem_tensor(ROW, cutlass.TFloat32)
            held.fill(cutlass.TFloat32(1.5))
            last = cutlass.TFloat32(0.0)
            for column in cutlass.range(ROW):
                if source[column] > 0:
                    held[column] = cutlass.TFloat32(source[column])
                last = held[column]
            values = held.load()
            for column in cutlass.range_constexpr(ROW - 1):
                target[column] = cutlass.Float32(values[column])
            target[ROW - 1] = cutlass.Float32(last)

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=[1, 1, 1], block=[64, 1, 1])


def two_fragments(x, y):
    """The first two columns."""
    result = y.copy()
    result[:, :2] = x[:, :2]
    return result


def masked_load(x):
    """A chessboard."""
    import numpy as np

    row, column = np.indices(x.shape)
    return np.where((row + column) % 2 == 0, x, np.float32(1.5))


masked_store = masked_load


def tf32_numbers(x):
    """Each positive number, rounded."""
    import numpy as np

    return np.where(x > 0, x, np.float32(1.5))
