"""relu(x) @ w in bf16 with one warpgroup: x goes through registers, w lies in shared memory N-major.

Exercises wgmma with its first operand in registers, a transposed second operand, and the proxy fence.
"""

# cutecc: entry = "wgmma_registers"
# cutecc: target = "sm_90a"
# cutecc: args.x = "bf16[?M{div=64}=192, ?K{div=64}=128] align=16"
# cutecc: args.w = "bf16[?K{div=64}, ?N{div=64}=128] align=16"
# cutecc: args.y = "f32[?M, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "2 * (M * K + K * N) + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup

TILE = 64
THREADS = 128


@cute.kernel
def relu_gemm_kernel(
    x: cute.Tensor, w: cute.Tensor, y: cute.Tensor, tiled_mma: cute.TiledMma, w_layout: cute.ComposedLayout
):
    """`w` comes as (N, K), contiguous along N."""
    thread, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    staged_w = cutlass.utils.SmemAllocator().allocate_tensor(
        cutlass.BFloat16, w_layout.outer, byte_alignment=1024, swizzle=w_layout.inner
    )

    tiles_w = cute.local_tile(w, (TILE, TILE), (block_n, None))
    mma_slice = tiled_mma.get_slice(thread)
    thread_x = mma_slice.partition_A(cute.local_tile(x, (TILE, TILE), (block_m, None)))
    thread_y = mma_slice.partition_C(cute.local_tile(y, (TILE, TILE), (block_m, block_n)))
    fragment_x = tiled_mma.make_fragment_A(thread_x[None, None, None, 0])
    fragment_w = tiled_mma.make_fragment_B(tiled_mma.get_slice(0).partition_B(staged_w))
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((TILE, TILE)), cutlass.Float32)
    sums.fill(0.0)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)

    for step in range(cute.size(tiles_w, mode=[2])):
        # Eight neighbouring elements along N a thread, eight times.
        for i in cutlass.range_constexpr(TILE * TILE // (8 * THREADS)):
            piece = i * THREADS + thread
            n, k = piece % (TILE // 8), piece // (TILE // 8)
            from_w = cute.local_tile(tiles_w[None, k, step], (8,), (n,))
            to_w = cute.local_tile(staged_w[None, k], (8,), (n,))
            cute.autovec_copy(from_w, to_w)
        values = thread_x[None, None, None, step].load()
        fragment_x.store(cute.where(values > 0.0, values, cute.zeros_like(values)))

        cute.arch.fence_proxy("async.shared", space="cta")
        cute.arch.sync_threads()
        warpgroup.fence()
        for k in cutlass.range_constexpr(cute.size(fragment_w, mode=[2])):
            cute.gemm(tiled_mma, sums, fragment_x[None, None, k], fragment_w[None, None, k], sums)
        warpgroup.commit_group()
        warpgroup.wait_group(0)
        cute.arch.sync_threads()  # every warp is done with w's tile before the next one replaces it

    cute.autovec_copy(sums, thread_y)


@cute.jit
def wgmma_registers(x: cute.Tensor, w: cute.Tensor, y: cute.Tensor):
    """y = relu(x) @ w for (M, K), (K, N) and (M, N) tensors whose sizes 64 divides."""
    op = warpgroup.MmaF16BF16Op(
        cutlass.BFloat16,
        cutlass.Float32,
        (64, TILE, 16),
        warpgroup.OperandSource.RMEM,
        OperandMajorMode.K,
        OperandMajorMode.MN,
    )
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.MN_SW128, cutlass.BFloat16)
    w_layout = cute.tile_to_shape(atom, (TILE, TILE), order=(1, 0))
    w_nk = cute.make_tensor(w.iterator, cute.select(w.layout, mode=[1, 0]))
    relu_gemm_kernel(x, w_nk, y, cute.make_tiled_mma(op), w_layout).launch(
        grid=[y.shape[0] // TILE, y.shape[1] // TILE, 1], block=[THREADS, 1, 1]
    )


def reference(x, w, y):
    """The expected `y`."""
    x = x.astype("float32")
    return (x * (x > 0)) @ w.astype("float32")
