"""Matrix product of 8 x 8 sums a thread, from two buffers of shared memory and two fragments in turn.

Exercises asynchronous copies of single elements, and an unrolled loop that loads one fragment and multiplies another.
"""

# cutecc: entry = "buffered_gemm"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M{div=128}=128, ?K{div=8}=32]"
# cutecc: args.b = "f32[?N{div=128}=128, ?K{div=8}]"
# cutecc: args.c = "f32[?M, ?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4

import cutlass
from cutlass import cute

TILE, DEPTH, THREADS = 128, 8, 256


@cute.kernel
def gemm_kernel(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, layout: cute.Layout, copy: cute.TiledCopy, mma: cute.TiledMma
):
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    own_copy, own_mma = copy.get_slice(thread), mma.get_slice(thread)
    shared = cutlass.utils.SmemAllocator()
    tile_a = shared.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    tile_b = shared.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
    from_a = own_copy.partition_S(cute.local_tile(a, (TILE, DEPTH), (block_m, None)))
    from_b = own_copy.partition_S(cute.local_tile(b, (TILE, DEPTH), (block_n, None)))
    to_a, to_b = own_copy.partition_D(tile_a), own_copy.partition_D(tile_b)
    part_a, part_b = own_mma.partition_A(tile_a), own_mma.partition_B(tile_b)
    to_c = own_mma.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))
    of_a = mma.make_fragment_A(part_a[None, None, None, 0])
    of_b = mma.make_fragment_B(part_b[None, None, None, 0])
    sums = mma.make_fragment_C(to_c)
    sums.fill(0.0)

    tiles, blocks = cute.size(from_a, mode=[3]), cute.size(of_a, mode=[2])
    cute.copy(copy, from_a[None, None, None, 0], to_a[None, None, None, 0])
    cute.copy(copy, from_b[None, None, None, 0], to_b[None, None, None, 0])
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    cute.autovec_copy(part_a[None, None, 0, 0], of_a[None, None, 0])
    cute.autovec_copy(part_b[None, None, 0, 0], of_b[None, None, 0])
    buffer = cutlass.Int32(0)
    for tile in range(tiles):
        for block in cutlass.range(blocks, unroll_full=True):
            if block == 0:
                if tile + 1 < tiles:
                    cute.copy(copy, from_a[None, None, None, tile + 1], to_a[None, None, None, 1 - buffer])
                    cute.copy(copy, from_b[None, None, None, tile + 1], to_b[None, None, None, 1 - buffer])
                cute.arch.cp_async_commit_group()
            if block == blocks - 1:
                cute.arch.cp_async_wait_group(0)
                cute.arch.sync_threads()
                buffer = 1 - buffer
            following = (block + 1) % blocks
            cute.autovec_copy(part_a[None, None, following, buffer], of_a[None, None, following])
            cute.autovec_copy(part_b[None, None, following, buffer], of_b[None, None, following])
            cute.gemm(mma, sums, of_a[None, None, block], of_b[None, None, block], sums)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), sums, to_c)


@cute.jit
def buffered_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors."""
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    threads = cute.make_layout((THREADS // DEPTH, DEPTH), stride=(DEPTH, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 1)))
    four = cute.make_layout((16, 4), stride=(4, 1))
    mma = cute.make_tiled_mma(
        cute.nvgpu.MmaUniversalOp(cutlass.Float32),
        cute.make_layout((16, 16, 1), stride=(16, 1, 0)),
        permutation_mnk=(four, four, None),
    )
    layout = cute.make_layout((TILE, DEPTH, 2), stride=(1, TILE + 4, (TILE + 4) * DEPTH))
    grid = [*cute.ceil_div(c.shape, (TILE, TILE)), 1]
    gemm_kernel(a, b, c, layout, copy, mma).launch(grid=grid, block=[THREADS, 1, 1])


def reference(a, b, c):
    """The expected `c`."""
    return a @ b.T
