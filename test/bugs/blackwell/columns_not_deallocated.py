"""A block exits with the columns that it has allocated."""

# cutecc: entry = "columns_not_deallocated"
# cutecc: target = "sm_100a"
# cutecc: args.a = "f16[128, 64] align=16"
# cutecc: args.b = "f16[64, 64] align=16"
# cutecc: args.c = "f32[128, 64] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["c"]
# cutecc: tolerance = 1e-3

import cutlass
from _tensor_product import BYTES, COLUMNS, THREADS, K, M, N, copies, layouts, multiplication, parts, sums_of, transfer
from _tensor_product import reference as reference
from cutlass import cute
from cutlass.cute.nvgpu import tcgen05


@cute.kernel
def product_kernel(
    tma_a: cute.CopyAtom,
    a: cute.Tensor,
    tma_b: cute.CopyAtom,
    b: cute.Tensor,
    c: cute.Tensor,
    tiled_mma: cute.TiledMma,
    a_layout: cute.ComposedLayout,
    b_layout: cute.ComposedLayout,
    bug: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    loaded = allocator.allocate_array(cutlass.Int64, 2)
    multiplied = loaded + 1
    place = allocator.allocate_array(cutlass.Int32, 1)
    staged_a = allocator.allocate_tensor(cutlass.Float16, a_layout.outer, 1024, swizzle=a_layout.inner)
    staged_b = allocator.allocate_tensor(cutlass.Float16, b_layout.outer, 1024, swizzle=b_layout.inner)
    if warp == 0:
        cute.arch.alloc_tmem(COLUMNS, place)  # bug: tensor-memory, mend: "one warp deallocates them"
    if thread == 0:
        cute.arch.mbarrier_init(loaded, 1)
        cute.arch.mbarrier_init(multiplied, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    sums = sums_of(tiled_mma, cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, place))
    part = tiled_mma.get_slice(0)
    to_a, from_a = parts(tma_a, staged_a, part.partition_A(cute.local_tile(a, (M, K), (0, None))))
    to_b, from_b = parts(tma_b, staged_b, part.partition_B(cute.local_tile(b, (N, K), (0, None))))
    operand_a, operand_b = tiled_mma.make_fragment_A(staged_a), tiled_mma.make_fragment_B(staged_b)
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(loaded, BYTES)
        cute.copy(tma_a, from_a[None, 0], to_a[None, 0], tma_bar_ptr=loaded)
        cute.copy(tma_b, from_b[None, 0], to_b[None, 0], tma_bar_ptr=loaded)
        cute.arch.mbarrier_wait(loaded, 0)
        for k in cutlass.range_constexpr(cute.size(operand_a, mode=[2])):
            tiled_mma.set(tcgen05.Field.ACCUMULATE, k > 0)
            cute.gemm(tiled_mma, sums, operand_a[None, None, k, 0], operand_b[None, None, k, 0], sums)
        with cute.arch.elect_one():
            tcgen05.commit(multiplied)
    cute.arch.mbarrier_wait(multiplied, 0)
    tiled, source, target, registers = transfer(sums, part.partition_C(c), thread)
    cute.copy(tiled, source, registers)
    cute.arch.fence_view_async_tmem_load()
    cute.autovec_copy(registers, target)
    cute.arch.sync_threads()
    giver = -1 if cutlass.const_expr(bug) else 0
    if warp == giver:
        cute.arch.dealloc_tmem(sums.iterator, COLUMNS)


@cute.jit
def columns_not_deallocated(a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, bug: cutlass.Constexpr):
    """c = a @ b.T."""
    tiled_mma = multiplication()
    a_layout, b_layout = layouts(tiled_mma)
    tma_a, a_tma, tma_b, b_tma = copies(tiled_mma, a, b, a_layout, b_layout)
    product_kernel(tma_a, a_tma, tma_b, b_tma, c, tiled_mma, a_layout, b_layout, bug).launch(
        grid=[1, 1, 1], block=[THREADS, 1, 1]
    )
