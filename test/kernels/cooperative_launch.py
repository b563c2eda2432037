"""Subtract the mean of a whole vector in one launch: all blocks meet at a barrier in global memory.

Exercises a cooperative launch, release and acquire accesses at GPU scope, and a spin loop.
"""

# cutecc: entry = "cooperative_launch"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=10000]"
# cutecc: args.y = "f32[?N]"
# cutecc: args.partial = "f32[16]"
# cutecc: args.arrived = "i32[1]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "3 * N * 4"

import cutlass
from cutlass import cute

BLOCKS = 16
THREADS = 128


@cute.kernel
def reset_kernel(arrived: cute.Tensor):
    arrived[0] = 0


@cute.kernel
def centre_kernel(x: cute.Tensor, y: cute.Tensor, partial: cute.Tensor, arrived: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp_sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS // 32))

    total = cutlass.Float32(0.0)
    for i in cutlass.range(block * THREADS + thread, cute.size(x), BLOCKS * THREADS):
        total += x[i]
    for step in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << step)
    warp_index = cute.arch.warp_idx()  # broadcasts within the warp, so every lane has to take part
    if cute.arch.lane_idx() == 0:
        warp_sums[warp_index] = total
    cute.arch.sync_threads()

    if thread == 0:
        block_sum = cutlass.Float32(0.0)
        for warp in cutlass.range_constexpr(THREADS // 32):
            block_sum += warp_sums[warp]
        partial[block] = block_sum
        # The release makes this block's sum visible to whoever acquires the full count.
        cute.arch.atomic_add(arrived.iterator, cutlass.Int32(1), sem="release", scope="gpu")
        seen = cutlass.Int32(0)
        while seen < BLOCKS:
            seen = cute.arch.load(arrived.iterator, cutlass.Int32, sem="acquire", scope="gpu")
    cute.arch.sync_threads()

    mean = cutlass.Float32(0.0)
    for other in cutlass.range_constexpr(BLOCKS):
        mean += cute.arch.load(partial.iterator + other, cutlass.Float32, sem="relaxed", scope="gpu")
    mean /= cutlass.Float32(cute.size(x))
    for i in cutlass.range(block * THREADS + thread, cute.size(x), BLOCKS * THREADS):
        y[i] = x[i] - mean


@cute.jit
def cooperative_launch(x: cute.Tensor, y: cute.Tensor, partial: cute.Tensor, arrived: cute.Tensor):
    """y = x - mean(x) for vectors of N; `partial` and `arrived` are scratch."""
    reset_kernel(arrived).launch(grid=[1, 1, 1], block=[1, 1, 1])
    centre_kernel(x, y, partial, arrived).launch(grid=[BLOCKS, 1, 1], block=[THREADS, 1, 1], cooperative=True)


def reference(x, y, partial, arrived):
    """The expected `y`."""
    return (x - x.astype("float64").mean()).astype("float32")
