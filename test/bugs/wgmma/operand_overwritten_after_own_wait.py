"""Overwrite an operand when the own warp has waited for its part of a `wgmma`, and the other three may not have.

The twin overwrites it behind the next product: that is one operation of all four, which each starts after its wait.
"""

# cutecc: entry = "operand_overwritten_after_own_wait"
# cutecc: target = "sm_90a"
# cutecc: args.a = "f16[64, 64] align=16"
# cutecc: args.b = "f16[16, 64] align=16"
# cutecc: args.c = "f16[16, 64] align=16"
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
def products_kernel(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    staged_a, staged_b, staged_c = stage(a, b, c)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    tiled_mma, operand_a, operand_b, sums = make_product(staged_a, staged_b)
    operand_c = tiled_mma.make_fragment_B(tiled_mma.get_slice(0).partition_B(staged_c))
    sums.fill(0.0)
    warpgroup.fence()
    for k in cutlass.range_constexpr(STEPS):
        cute.gemm(tiled_mma, sums, operand_a[None, None, k], operand_b[None, None, k], sums)  # other
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    if cutlass.const_expr(bug):
        staged_b[thread // 8, thread % 8] = cutlass.Float16(0.0)  # bug: race, mend: "tell other warps at a barrier"
    warpgroup.fence()
    for k in cutlass.range_constexpr(STEPS):
        cute.gemm(tiled_mma, sums, operand_a[None, None, k], operand_c[None, None, k], sums)
    warpgroup.commit_group()
    warpgroup.wait_group(0)
    if cutlass.const_expr(not bug):
        staged_b[thread // 8, thread % 8] = cutlass.Float16(0.0)
    cute.autovec_copy(sums, tiled_mma.get_slice(thread).partition_C(y))


@cute.jit
def operand_overwritten_after_own_wait(
    a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr
):
    """y = a @ b.T + a @ c.T."""
    products_kernel(a, b, c, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(a, b, c, y):
    """The expected `y`."""
    a = a.astype("float32")
    return a @ b.astype("float32").T + a @ c.astype("float32").T
