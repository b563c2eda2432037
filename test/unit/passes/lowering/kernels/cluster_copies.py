"""Bulk copies, and stores, between global memory, shared memory, and the other block of a cluster."""

# cutecc: entry = "exchange"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2048] align=16"
# cutecc: args.y = "f32[2048] align=16"
# cutecc: outputs = ["y"]
# cutecc: reference = "exchange_reference"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

THREADS = 128
PART = 4 * THREADS  # of each block
BYTES = 4 * PART


@cute.jit
def both_are_here():
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def prepared(barriers: cute.Pointer):
    """Two mbarriers that one thread arrives at, which the other block may see."""
    thread, _, _ = cute.arch.thread_idx()
    if thread == 0:
        cute.arch.mbarrier_init(barriers, 1)
        cute.arch.mbarrier_init(barriers + 1, 1)
        cute.arch.mbarrier_init_fence()
        cute.arch.mbarrier_arrive_and_expect_tx(barriers, BYTES)
        cute.arch.mbarrier_arrive_and_expect_tx(barriers + 1, BYTES)
    cute.arch.sync_threads()
    both_are_here()


@cute.jit
def written(staged: cute.Tensor, part: cute.Tensor):
    """Copy a block's result to global memory."""
    thread, _, _ = cute.arch.thread_idx()
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread == 0:
        cute.copy(cute.make_copy_atom(cpasync.CopyBulkS2GOp(), cutlass.Float32), staged, part)
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)
    both_are_here()


@cute.kernel
def exchange_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    other = cute.arch.block_idx_in_cluster() ^ 1
    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 2)
    mine = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(PART), 128)
    theirs = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(PART), 128)
    prepared(barriers)
    if thread == 0:
        load = cute.make_copy_atom(cpasync.CopyBulkG2SOp(), cutlass.Float32)
        cute.copy(load, cute.local_tile(x, (PART,), (block,)), mine, mbar_ptr=barriers)
    cute.arch.mbarrier_wait(barriers, 0)
    if thread == 0:
        send = cute.make_copy_atom(cpasync.CopyBulkS2SOp(), cutlass.Float32)
        arrived = cute.arch.map_dsmem_ptr(barriers + 1, other)
        cute.copy(send, mine, theirs, mbar_ptr=arrived, cta_rank=other)
    cute.arch.mbarrier_wait(barriers + 1, 0)
    written(theirs, cute.local_tile(y, (PART,), (block,)))


@cute.jit
def exchange(x: cute.Tensor, y: cute.Tensor):
    """Each block gets what the other one of its cluster loads."""
    exchange_kernel(x, y).launch(grid=[4, 1, 1], block=[THREADS, 1, 1], cluster=[2, 1, 1])


def exchange_reference(x, y):
    """The expected `y`."""
    return x.reshape(2, 2, PART)[:, ::-1].reshape(-1)


@cute.kernel
def spread_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    rank = cute.arch.block_idx_in_cluster()
    allocator = cutlass.utils.SmemAllocator()
    barriers = allocator.allocate_array(cutlass.Int64, 2)
    halves = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((PART // 2, 2)), 128)
    result = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(PART), 128)
    prepared(barriers)
    if thread == 0:
        # Both blocks get both halves: each loads one of them for both.
        load = cute.make_copy_atom(cpasync.CopyBulkG2SMulticastOp(), cutlass.Float32)
        half = cute.local_tile(x, (PART // 2,), (block,))
        cute.copy(load, half, halves[None, rank], mbar_ptr=barriers, mcast_mask=cutlass.Int16(3))
    cute.arch.mbarrier_wait(barriers, 0)
    values = cute.make_rmem_tensor((4,), cutlass.Float32)
    cute.autovec_copy(cute.local_tile(cute.coalesce(halves), (4,), (thread,)), values)
    store = cute.make_copy_atom(cpasync.CopyDsmemStoreOp(), cutlass.Float32, num_bits_per_copy=128)
    there = cute.make_tensor(cute.arch.map_dsmem_ptr(result.iterator, rank ^ 1), result.layout)
    arrived = cute.arch.map_dsmem_ptr(barriers + 1, rank ^ 1)
    cute.copy(store, values, cute.local_tile(there, (4,), (thread,)), mbar_ptr=arrived)
    cute.arch.mbarrier_wait(barriers + 1, 0)
    written(result, cute.local_tile(y, (PART,), (block,)))


@cute.jit
def spread(x: cute.Tensor, y: cute.Tensor):
    """Both blocks of a cluster get all that they load together, by way of the other one."""
    spread_kernel(x, y).launch(grid=[4, 1, 1], block=[THREADS, 1, 1], cluster=[2, 1, 1])


def spread_reference(x, y):
    """The expected `y`."""
    loaded = x[: 2 * PART].reshape(2, 1, PART)
    return loaded.repeat(2, axis=1).reshape(-1)
