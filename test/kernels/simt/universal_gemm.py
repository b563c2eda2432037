"""Matrix product of 8 x 8 sums a thread with `cute.gemm` on shared memory, and copies under predicates.

Exercises predicates of two kinds in registers, one for the last tile, and 64 predicated stores.
"""

# cutecc: entry = "universal_gemm"
# cutecc: target = "sm_80"
# cutecc: args.a = "f32[?M=100, ?K=21]"
# cutecc: args.b = "f32[?N=90, ?K]"
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
    shared = cutlass.utils.SmemAllocator()
    own_copy, own_mma = copy.get_slice(thread), mma.get_slice(thread)

    def staged(tensor, block):
        """A tensor's tiles in global memory, their place in shared memory and where its elements are; a thread's."""
        tiles = cute.local_tile(tensor, (TILE, DEPTH), (block, None))
        places = cute.local_tile(cute.make_identity_tensor(tensor.shape), (TILE, DEPTH), (block, None))
        tile = shared.allocate_tensor(cutlass.Float32, layout, byte_alignment=16)
        return tile, own_copy.partition_S(tiles), own_copy.partition_D(tile), own_copy.partition_S(places)

    def allowed(places, shape, last=None):
        """Which elements of a tile are inside: of the tile `last`, or of those before it."""
        steps = cute.size(places, mode=[1])
        found = cute.make_rmem_tensor(cute.make_layout((1, steps, 1), stride=(0, 1, 0)), cutlass.Boolean)
        for step in range(steps):
            row, column = places[0, step, 0, 0 if cutlass.const_expr(last is None) else last]
            found[0, step, 0] = cute.elem_less(row, shape[0])
            if cutlass.const_expr(last is not None):
                found[0, step, 0] = cute.elem_less((row, column), shape)
        return found

    tile_a, from_a, to_a, in_a = staged(a, block_m)
    tile_b, from_b, to_b, in_b = staged(b, block_n)
    tiles = cute.size(from_a, mode=[3])
    inside_a, inside_b = allowed(in_a, a.shape), allowed(in_b, b.shape)
    last_a, last_b = allowed(in_a, a.shape, tiles - 1), allowed(in_b, b.shape, tiles - 1)
    to_c = own_mma.partition_C(cute.local_tile(c, (TILE, TILE), (block_m, block_n)))
    sums = mma.make_fragment_C(to_c)
    sums.fill(0.0)
    for k in range(tiles):
        if k == tiles - 1:
            to_a.fill(0.0)
            to_b.fill(0.0)
            cute.copy(copy, from_a[None, None, None, k], to_a, pred=last_a)
            cute.copy(copy, from_b[None, None, None, k], to_b, pred=last_b)
        else:
            cute.copy(copy, from_a[None, None, None, k], to_a, pred=inside_a)
            cute.copy(copy, from_b[None, None, None, k], to_b, pred=inside_b)
        cute.arch.sync_threads()
        cute.gemm(mma, sums, own_mma.partition_A(tile_a), own_mma.partition_B(tile_b), sums)
        cute.arch.sync_threads()
    places = own_mma.partition_C(cute.make_identity_tensor((TILE, TILE)))
    inside_c = cute.make_rmem_tensor(sums.layout, cutlass.Boolean)
    rest = (c.shape[0] - block_m * TILE, c.shape[1] - block_n * TILE)
    for i in range(cute.size(sums)):
        inside_c[i] = cute.elem_less(places[i], rest)
    cute.copy(cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32), sums, to_c, pred=inside_c)


@cute.jit
def universal_gemm(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
    """c = a @ b.T for (M, K), (N, K) and (M, N) tensors."""
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    threads = cute.make_layout((THREADS // DEPTH, DEPTH), stride=(DEPTH, 1))
    copy = cute.make_tiled_copy_tv(atom, threads, cute.make_layout((1, 1)))
    atoms = cute.make_layout((16, 16, 1), stride=(16, 1, 0))
    mma = cute.make_tiled_mma(cute.nvgpu.MmaUniversalOp(cutlass.Float32), atoms)
    grid = [*cute.ceil_div(c.shape, (TILE, TILE)), 1]
    gemm_kernel(a, b, c, cute.make_layout((TILE, DEPTH)), copy, mma).launch(grid=grid, block=[THREADS, 1, 1])


def reference(a, b, c):
    """The expected `c`."""
    return a @ b.T
