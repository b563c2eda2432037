"""Softmax over the rows of a matrix: one block a row, warp shuffles, then shared memory between the warps.

Exercises reductions (`fmax`, `+`), shuffles, barriers, `exp2` with fast math, and loops with a dynamic trip count.
"""

# cutecc: entry = "softmax"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?M=300, ?N=1000]"
# cutecc: args.y = "f32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-5
# cutecc: bytes = "2 * M * N * 4"
# cutecc: flops = "5 * M * N"

import math
import operator
from collections.abc import Callable

import cutlass
from cutlass import cute

WARPS = 4
THREADS = 32 * WARPS
LOG2_E = math.log2(math.e)


@cute.jit
def warp_reduce(value: cutlass.Float32, combine: cutlass.Constexpr[Callable]) -> cutlass.Float32:
    """Combine `value` over the 32 lanes; every lane gets the result."""
    for step in cutlass.range_constexpr(5):
        value = combine(value, cute.arch.shuffle_sync_bfly(value, offset=1 << step))
    return value


@cute.jit
def block_reduce(value: cutlass.Float32, scratch: cute.Tensor, combine: cutlass.Constexpr[Callable]) -> cutlass.Float32:
    """Combine `value` over the block; `scratch` holds one value a warp."""
    value = warp_reduce(value, combine)
    warp_index = cute.arch.warp_idx()  # broadcasts within the warp, so every lane has to take part
    if cute.arch.lane_idx() == 0:
        scratch[warp_index] = value
    cute.arch.sync_threads()
    value = scratch[0]
    for warp in cutlass.range_constexpr(1, WARPS):
        value = combine(value, scratch[warp])
    return value


@cute.kernel
def softmax_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    columns = x.shape[1]

    # Two arrays, so that the sum may be written while slower warps still read the maximum.
    allocator = cutlass.utils.SmemAllocator()
    maxima = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(WARPS))
    sums = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(WARPS))

    largest = -cutlass.Float32.inf
    for column in cutlass.range(thread, columns, THREADS):
        largest = cute.arch.fmax(largest, x[row, column])
    largest = block_reduce(largest, maxima, cute.arch.fmax)

    total = cutlass.Float32(0.0)
    for column in cutlass.range(thread, columns, THREADS):
        total += cute.math.exp2((x[row, column] - largest) * LOG2_E, fastmath=True)
    total = block_reduce(total, sums, operator.add)

    scale = 1.0 / total
    for column in cutlass.range(thread, columns, THREADS):
        y[row, column] = cute.math.exp2((x[row, column] - largest) * LOG2_E, fastmath=True) * scale


@cute.jit
def softmax(x: cute.Tensor, y: cute.Tensor):
    """y = softmax(x) along the rows of (M, N) tensors."""
    softmax_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    e = (x - x.max(1)[:, None]).astype("float64")
    e = 2.0 ** (e * LOG2_E)
    return (e / e.sum(1)[:, None]).astype("float32")


# cutecc: peers = ["torch_softmax"]
def torch_softmax(x, y):
    """The same with `torch.softmax`."""
    import torch

    torch.softmax(x, 1, out=y)
