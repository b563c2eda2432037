"""Have the first `wgmma` add to accumulators that nobody has set."""

# cutecc: entry = "accumulators_not_cleared"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[64, 64] align=16"
# cutecc: args.b = "f16[8, 64] align=16"
# cutecc: args.y = "f32[64, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import OperandMajorMode, warpgroup

THREADS = 128


@cute.kernel
def product_kernel(
    a: cute.Tensor,
    b: cute.Tensor,
    y: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    bug: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    for i in cutlass.range_constexpr(4):
        row, piece = (i * THREADS + thread) // 8, thread % 8
        cute.autovec_copy(
            cute.local_tile(a[row, None], (8,), (piece,)),
            cute.local_tile(staged_a[row, None], (8,), (piece,)),
        )
    if thread < 64:
        row, piece = thread // 8, thread % 8
        cute.autovec_copy(
            cute.local_tile(b[row, None], (8,), (piece,)),
            cute.local_tile(staged_b[row, None], (8,), (piece,)),
        )
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()

    operand_a = tiled_mma.make_fragment_A(tiled_mma.get_slice(0).partition_A(staged_a))
    operand_b = tiled_mma.make_fragment_B(tiled_mma.get_slice(0).partition_B(staged_b))
    sums = cute.make_rmem_tensor(tiled_mma.partition_shape_C((64, 8)), cutlass.Float32)
    tiled_mma.set(warpgroup.Field.ACCUMULATE, True)
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    warpgroup.fence()
    for k in cutlass.range_constexpr(4):
        a_k, b_k = operand_a[None, None, k], operand_b[None, None, k]
        cute.gemm(tiled_mma, sums, a_k, b_k, sums)  # bug: uninitialised-register
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, tiled_mma.get_slice(thread).partition_C(y))


@cute.jit
def accumulators_not_cleared(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = a @ b.T."""
    major = OperandMajorMode.K
    op = warpgroup.MmaF16BF16Op(
        cutlass.Float16, cutlass.Float32, (64, 8, 16), warpgroup.OperandSource.SMEM, major, major
    )
    atom = warpgroup.make_smem_layout_atom(warpgroup.SmemLayoutAtomKind.K_SW128, cutlass.Float16)
    a_layout = cute.tile_to_shape(atom, (64, 64), order=(0, 1))
    b_layout = cute.tile_to_shape(atom, (8, 64), order=(0, 1))
    product_kernel(a, b, y, cute.make_tiled_mma(op), a_layout, b_layout, bug).launch(
        grid=[1, 1, 1], block=[THREADS, 1, 1]
    )


def reference(a, b, y):
    """The expected `y`."""
    return a.astype("float32") @ b.astype("float32").T
