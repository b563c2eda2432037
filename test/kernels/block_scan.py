"""Inclusive prefix sum of each row, in f64, a chunk at a time with the carry in a register.

Exercises double-precision shuffles, a scan over warps in shared memory, and a `while` loop around barriers.
"""

# cutecc: entry = "block_scan"
# cutecc: target = "sm_80"
# cutecc: args.x = "f64[?M=20, ?N=1000]"
# cutecc: args.y = "f64[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-9
# cutecc: bytes = "2 * M * N * 8"

import cutlass
from cutlass import cute

WARPS = 8
THREADS = 32 * WARPS


@cute.kernel
def scan_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    lane = cute.arch.lane_idx()
    warp = cute.arch.warp_idx()
    columns = x.shape[1]
    warp_sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float64, cute.make_layout(WARPS))

    carry = cutlass.Float64(0.0)
    first = cutlass.Int32(0)
    while first < columns:
        column = first + thread
        value = cutlass.Float64(0.0)
        if column < columns:
            value = x[row, column]
        for step in cutlass.range_constexpr(5):
            below = cute.arch.shuffle_sync_up(value, offset=1 << step, mask_and_clamp=0)
            if lane >= 1 << step:
                value += below
        if lane == 31:
            warp_sums[warp] = value
        cute.arch.sync_threads()

        # Every thread adds up the warps before its own, and all of them for the next chunk.
        value += carry
        for other in cutlass.range_constexpr(WARPS):
            warp_sum = warp_sums[other]
            if other < warp:
                value += warp_sum
            carry += warp_sum
        if column < columns:
            y[row, column] = value
        cute.arch.sync_threads()
        first += THREADS


@cute.jit
def block_scan(x: cute.Tensor, y: cute.Tensor):
    """y = x.cumsum(1) for (M, N) tensors."""
    scan_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.cumsum(1)
