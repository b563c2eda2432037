"""The largest magnitude and the smallest element of each row, found while tensor memory is loaded; 128 rows a block.

Exercises loads of tensor memory that reduce what they load, and tensor memory without any matrix product.
"""

# cutecc: entry = "tmem_row_extremes"
# cutecc: target = "sm_103a"
# cutecc: args.x = "f32[?M=300, 64] align=16"
# cutecc: args.largest = "f32[?M]"
# cutecc: args.smallest = "f32[?M]"
# cutecc: reference = "reference"
# cutecc: outputs = ["largest", "smallest"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "4 * M * 66"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import tcgen05

ROWS, COLUMNS = 128, 64
THREADS = 128


@cute.kernel
def extremes_kernel(x: cute.Tensor, largest: cute.Tensor, smallest: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    tmem_address = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32)
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, tmem_address)
        cute.arch.relinquish_tmem_alloc_permit()
    cute.arch.sync_threads()
    tmem = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, tmem_address)
    held = cute.make_tensor(tmem, cute.make_layout((ROWS, COLUMNS), stride=(1 << 16, 1)))

    # A row a thread.
    row = block * ROWS + thread
    store = cute.make_copy_atom(tcgen05.St32x32bOp(tcgen05.Repetition.x64), cutlass.Float32)
    tiled_store = tcgen05.make_tmem_copy(store, held)
    store_slice = tiled_store.get_slice(thread)
    values = cute.make_rmem_tensor(
        store_slice.partition_S(cute.make_identity_tensor(held.shape)).shape, cutlass.Float32
    )
    values.fill(0)
    if row < x.shape[0]:
        cute.autovec_copy(x[row, None], cute.make_tensor(values.iterator, cute.make_layout(COLUMNS)))
    cute.copy(tiled_store, values, store_slice.partition_D(held))
    cute.arch.fence_view_async_tmem_store()

    for operation, result in (
        (tcgen05.LdRed32x32bOp(tcgen05.Repetition.x64, redOp=tcgen05.TmemLoadRedOp.MAXABS), largest),
        (tcgen05.LdRed32x32bOp(tcgen05.Repetition.x64, redOp=tcgen05.TmemLoadRedOp.MIN, nan=True), smallest),
    ):
        tiled_load = tcgen05.make_tmem_copy(cute.make_copy_atom(operation, cutlass.Float32), held)
        load_slice = tiled_load.get_slice(thread)
        extreme = cute.make_rmem_tensor(1, cutlass.Float32)
        cute.copy(tiled_load, load_slice.partition_S(held), [values, extreme])
        cute.arch.fence_view_async_tmem_load()
        if row < x.shape[0]:
            result[row] = extreme[0]

    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.dealloc_tmem(tmem, COLUMNS)


@cute.jit
def tmem_row_extremes(x: cute.Tensor, largest: cute.Tensor, smallest: cute.Tensor):
    """largest[m] = abs(x[m]).max() and smallest[m] = x[m].min() for an (M, 64) tensor."""
    extremes_kernel(x, largest, smallest).launch(grid=[cute.ceil_div(x.shape[0], ROWS), 1, 1], block=[THREADS, 1, 1])


def reference(x, largest, smallest):
    """The expected `largest` and `smallest`."""
    return abs(x).max(1), x.min(1)
