"""Row sums and maxima of wide rows: the four blocks of a cluster split a row and combine through each other's memory.

Exercises distributed shared memory: remote loads through mapped pointers, asynchronous remote stores, cluster barriers.
"""

# cutecc: entry = "cluster_reduce"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M=50, ?N=3000]"
# cutecc: args.sums = "f32[?M]"
# cutecc: args.maxima = "f32[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["sums", "maxima"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "M * N * 4"
# cutecc: flops = "2 * M * N"

import cutlass
from cutlass import cute

CLUSTER = 4
WARPS = 4
THREADS = 32 * WARPS


@cute.kernel
def reduce_kernel(x: cute.Tensor, sums: cute.Tensor, maxima: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    _, row, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    lane = cute.arch.lane_idx()
    warp = cute.arch.warp_idx()

    allocator = cutlass.utils.SmemAllocator()
    arrival = allocator.allocate_array(cutlass.Int64, 1)
    warp_values = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((2, WARPS)))
    block_sum = allocator.allocate_array(cutlass.Float32, 1)
    received = allocator.allocate_array(cutlass.Int32, CLUSTER)  # the maximum of each block, sent to the first one
    if thread == 0:
        cute.arch.mbarrier_init(arrival, 1)
        cute.arch.mbarrier_init_fence()
        if rank == 0:
            cute.arch.mbarrier_arrive_and_expect_tx(arrival, CLUSTER * 4)
    # The remote stores below may start only when the first block's barrier is ready.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()

    total = cutlass.Float32(0.0)
    largest = -cutlass.Float32.inf
    for column in cutlass.range(rank * THREADS + thread, x.shape[1], CLUSTER * THREADS):
        value = x[row, column]
        total += value
        largest = cute.arch.fmax(largest, value)
    for step in cutlass.range_constexpr(5):
        total += cute.arch.shuffle_sync_bfly(total, offset=1 << step)
        largest = cute.arch.fmax(largest, cute.arch.shuffle_sync_bfly(largest, offset=1 << step))
    if lane == 0:
        warp_values[0, warp] = total
        warp_values[1, warp] = largest
    cute.arch.sync_threads()

    if thread == 0:
        total = warp_values[0, 0]
        largest = warp_values[1, 0]
        for other in cutlass.range_constexpr(1, WARPS):
            total += warp_values[0, other]
            largest = cute.arch.fmax(largest, warp_values[1, other])
        block_sum.store(total)
        cute.arch.store_async_dsmem(received + rank, largest.bitcast(cutlass.Int32), arrival, 0)
    # Release this block's sum to the cluster, acquire the others'.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()

    if rank == 0 and thread == 0:
        total = cutlass.Float32(0.0)
        for other in cutlass.range_constexpr(CLUSTER):
            total += cute.arch.map_dsmem_ptr(block_sum, other).load()
        sums[row] = total

        cute.arch.mbarrier_wait(arrival, 0)
        largest = -cutlass.Float32.inf
        for other in cutlass.range_constexpr(CLUSTER):
            largest = cute.arch.fmax(largest, (received + other).load().bitcast(cutlass.Float32))
        maxima[row] = largest
    # No block leaves while the first one still reads its memory.
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def cluster_reduce(x: cute.Tensor, sums: cute.Tensor, maxima: cute.Tensor):
    """sums = x.sum(1) and maxima = x.max(1) for an (M, N) tensor."""
    reduce_kernel(x, sums, maxima).launch(grid=[CLUSTER, x.shape[0], 1], block=[THREADS, 1, 1], cluster=[CLUSTER, 1, 1])


def reference(x, sums, maxima):
    """The expected `sums` and `maxima`."""
    return x.astype("float64").sum(1).astype("float32"), x.max(1)
