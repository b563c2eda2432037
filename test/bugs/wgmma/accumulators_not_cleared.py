"""Have the first `wgmma` add to accumulators that nobody has set."""

# cutecc: entry = "accumulators_not_cleared"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[64, 64] align=16"
# cutecc: args.b = "f16[16, 64] align=16"
# cutecc: args.y = "f32[64, 16]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-4

import cutlass
from _product import STEPS, THREADS, make_product, stage
from cutlass import cute
from cutlass.cute.nvgpu import warpgroup


@cute.kernel
def product_kernel(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    staged_a, staged_b = stage(a, b)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    tiled_mma, operand_a, operand_b, sums = make_product(staged_a, staged_b)
    if cutlass.const_expr(not bug):
        sums.fill(0.0)
    warpgroup.fence()
    for k in cutlass.range_constexpr(STEPS):
        a_k, b_k = operand_a[None, None, k], operand_b[None, None, k]
        cute.gemm(tiled_mma, sums, a_k, b_k, sums)  # bug: uninitialised-register, check: check-uninitialised-fragments
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    cute.autovec_copy(sums, tiled_mma.get_slice(thread).partition_C(y))


@cute.jit
def accumulators_not_cleared(a: cute.Tensor, b: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = a @ b.T."""
    product_kernel(a, b, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(a, b, y):
    """The expected `y`."""
    return a.astype("float32") @ b.astype("float32").T
