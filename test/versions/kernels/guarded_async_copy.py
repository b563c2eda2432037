"""Add f32 rows by way of shared memory: 16 bytes a thread and row, copied asynchronously and guarded by a predicate.

The notes of 4.6.1 (quoted in Dao-AILab/quack #174) name a slower FlashAttention 2 on Ampere, without a cause. Such
kernels copy guarded tiles by `cp.async`. In 4.6.0, `cute-expand-ops` writes a branch around each, with a store of zeros
in its `else`. Since 4.6.3, and in 4.7.0, it selects the source size, of which 0 fills with zeros: no branch, no store.
"""

# cutecc: entry = "add_rows"
# cutecc: target = "sm_80"
# cutecc: args.src = "f32[?M=61, ?N{div=4}=500] align=16"
# cutecc: args.dst = "f32[?B=8, ?N{div=4}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["dst"]
# cutecc: tolerance = 1e-6

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

ROWS = 8
PIECE = 4
THREADS = 128


@cute.kernel
def rows_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block_n, block_m, _ = cute.arch.block_idx()
    column = (block_n * THREADS + thread) * PIECE
    allocator = cutlass.utils.SmemAllocator()
    staged = allocator.allocate_tensor(
        cutlass.Float32, cute.make_layout((ROWS, (PIECE, THREADS)), stride=(PIECE * THREADS, (1, PIECE))), 16
    )
    atom = cute.make_copy_atom(
        cpasync.CopyG2SOp(cache_mode=cpasync.LoadCacheMode.GLOBAL), cutlass.Float32, num_bits_per_copy=128
    )
    inside = cute.make_rmem_tensor(cute.make_layout(PIECE, stride=0), cutlass.Boolean)
    for i in cutlass.range_constexpr(ROWS):
        row = block_m * ROWS + i
        inside[0] = cute.elem_less((row, column), src.shape)
        source = cute.local_tile(src[row, None], (PIECE,), (block_n * THREADS + thread,))
        cute.copy(atom, source, staged[i, (None, thread)], pred=inside)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)

    if column < src.shape[1]:
        total = staged[0, (None, thread)].load()
        for i in cutlass.range_constexpr(1, ROWS):
            total = total + staged[i, (None, thread)].load()
        cute.local_tile(dst[block_m, None], (PIECE,), (block_n * THREADS + thread,)).store(total)


@cute.jit
def add_rows(src: cute.Tensor, dst: cute.Tensor):
    """dst[b] = the sum of rows 8b to 8b + 7 of src, as far as there are any; 4 divides the contiguous N."""
    rows, columns = src.shape
    rows_kernel(src, dst).launch(
        grid=[cute.ceil_div(columns, PIECE * THREADS), cute.ceil_div(rows, ROWS), 1], block=[THREADS, 1, 1]
    )


def reference(src, dst):
    """The expected `dst`."""
    sums = src[: dst.shape[0]] * 0
    for row in range(src.shape[0]):
        sums[row // ROWS] += src[row]
    return sums
