"""GEMM of 4-bit by 8-bit floats with a power of two for every 32 along K (MXFP4 x MXFP8), one warp a 16 x 32 tile.

Exercises `ldmatrix` that unpacks numbers of 4 bits to a byte each, 8-byte `cp.async` that leaves room for that, and
a product whose factors differ in width.
"""

# cutecc: entry = "gemm_mxf8f6f4_sm120"
# cutecc: target = "sm_120a"
# cutecc: args.a = "f4E2M1FN[?M{div=16}=48, ?K{div=32}=160] align=16"
# cutecc: args.b = "f8E4M3FN[?N{div=32}=96, ?K{div=32}] align=16"
# cutecc: args.scales_a = "f8E8M0FNU[?M, ?S=5]"
# cutecc: args.scales_b = "f8E8M0FNU[?N, ?S]"
# cutecc: args.c = "f32[?M, ?N{div=32}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-4
# cutecc: bytes = "M * K // 2 + N * K + (M + N) * K // 32 + 4 * M * N"
# cutecc: flops = "2 * M * N * K"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync, warp

M, N, K = 16, 8, 32  # of a product
TILE_N = 4 * N
VECTOR = 32  # elements that share a scale
RUN = 16  # elements of a row that `ldmatrix` unpacks from 16 bytes, of which they fill 8


@cute.kernel
def gemm_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    scales_a: cute.Tensor,
    scales_b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    copy_run: cute.CopyAtom,
    unpack: cute.CopyAtom,
):
    lane, _, _ = cute.arch.thread_idx()
    block_m, block_n, _ = cute.arch.block_idx()
    mma_slice = tiled_mma.get_slice(lane)
    thread_b = mma_slice.partition_B(cute.local_tile(b, (TILE_N, K), (block_n, None)))
    thread_c = mma_slice.partition_C(cute.local_tile(c, (M, TILE_N), (block_m, block_n)))
    runs = cute.local_tile(a, (M, RUN), (block_m, None))
    fragment_b = tiled_mma.make_fragment_B(thread_b[None, None, None, 0])
    sums = tiled_mma.make_fragment_C(thread_c)
    sums.fill(0.0)

    # Of each row two runs; a matrix is 8 rows of a run, and a lane has the address of one row.
    staged = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Uint8, cute.make_layout((16, M, K // RUN)), 16)
    packed = cute.make_tensor(staged.iterator, cute.make_layout((RUN // 2, M, K // RUN), stride=(1, 16, 16 * M)))
    row, half = lane % M, lane // M
    fragment_a = cute.make_rmem_tensor(cute.make_layout(((4, 2, 2),)), cutlass.Uint8)
    bytes_a = cute.make_tensor(fragment_a.iterator, cute.make_layout((16,)))
    words_a = cute.recast_tensor(bytes_a, cutlass.Uint32)
    scale_a = cute.make_rmem_tensor(cute.make_layout((1,)), scales_a.element_type)
    scale_b = cute.make_rmem_tensor(cute.make_layout((1,)), scales_b.element_type)
    for step in range(cute.size(thread_b, mode=[3])):
        run = cute.recast_tensor(runs[row, None, K // RUN * step + half], cutlass.Uint8)
        cute.copy(copy_run, run, packed[None, row, half])
        cute.arch.cp_async_commit_group()
        cute.autovec_copy(thread_b[None, None, None, step], fragment_b)
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_warp()
        cute.copy(unpack, staged[None, row, half], bytes_a)
        cute.arch.sync_warp()
        # The product wants the four bits in the middle of the byte.
        for word in cutlass.range_constexpr(cute.size(words_a)):
            words_a[word] = words_a[word] << 2
        scale_a[0] = scales_a[block_m * M + lane // 4 + lane % 2 * 8, step]
        tiled_mma.set(warp.Field.SFA, scale_a.iterator)
        for n in cutlass.range_constexpr(TILE_N // N):
            scale_b[0] = scales_b[block_n * TILE_N + n * N + lane // 4, step]
            tiled_mma.set(warp.Field.SFB, scale_b.iterator)
            product = sums[None, 0, n]
            cute.gemm(tiled_mma, product, fragment_a, fragment_b[None, n, 0], product)
    cute.autovec_copy(sums, thread_c)


@cute.jit
def gemm_mxf8f6f4_sm120(a: cute.Tensor, b: cute.Tensor, scales_a: cute.Tensor, scales_b: cute.Tensor, c: cute.Tensor):
    """c = (a scaled) @ (b scaled).T for (M, K), (N, K) and (M, N) tensors, with (M, K / 32) and (N, K / 32) scales."""
    op = warp.MmaMXF8F6F4Op(a.element_type, b.element_type, cutlass.Float32, scales_a.element_type)
    copy_run = cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Uint8, num_bits_per_copy=RUN * a.element_type.width)
    unpack = cute.make_copy_atom(warp.LdMatrix8x16x8bOp(num_matrices=4, unpack_bits=4), cutlass.Uint8)
    gemm_kernel(a, b, scales_a, scales_b, c, cute.make_tiled_mma(op), copy_run, unpack).launch(
        grid=[c.shape[0] // M, c.shape[1] // TILE_N, 1], block=[32, 1, 1]
    )


def reference(a, b, scales_a, scales_b, c):
    """The expected `c`; all but `c` have to convert to f32."""

    def scaled(matrix, scales):
        return matrix.astype("float32") * scales.astype("float32").repeat(VECTOR, axis=1)

    return scaled(a, scales_a) @ scaled(b, scales_b).T
