"""Nearest-neighbour resize of a batch of images; a linear index is split by divisors prepared on the host.

Exercises `FastDivmod` values computed by the host function and passed to the kernel, and rank-3 tensors.
"""

# cutecc: entry = "fast_division"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?B=3, ?H=17, ?W=23]"
# cutecc: args.y = "f32[?B, ?OH=40, ?OW=31]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "4 * B * (H * W + OH * OW)"

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def resize_kernel(x: cute.Tensor, y: cute.Tensor, columns: cute.FastDivmodDivisorV2, rows: cute.FastDivmodDivisorV2):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    i = block * THREADS + thread
    if i < cute.size(y):
        rest, column = divmod(i, columns)
        image, row = divmod(rest, rows)
        source_row = row * x.shape[1] // rows
        source_column = column * x.shape[2] // columns
        y[image, row, column] = x[image, source_row, source_column]


@cute.jit
def fast_division(x: cute.Tensor, y: cute.Tensor):
    """y = x resized from (B, H, W) to (B, OH, OW)."""
    _, rows, columns = y.shape
    by_columns = cute.fast_divmod_create_divisor_v2(cutlass.Int32(columns))
    by_rows = cute.fast_divmod_create_divisor_v2(cutlass.Int32(rows))
    resize_kernel(x, y, by_columns, by_rows).launch(
        grid=[cute.ceil_div(cute.size(y), THREADS), 1, 1], block=[THREADS, 1, 1]
    )


def reference(x, y):
    """The expected `y`."""
    _, height, width = x.shape
    _, rows, columns = y.shape
    from_row = [r * height // rows for r in range(rows)]
    from_column = [c * width // columns for c in range(columns)]
    return x[:, from_row][:, :, from_column]
