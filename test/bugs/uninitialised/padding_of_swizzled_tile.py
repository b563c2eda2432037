"""A ragged tile whose rows beyond the tensor are neither loaded nor cleared, behind a swizzle."""

# cutecc: entry = "padding_of_swizzled_tile"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?M=5, 64]"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

ROWS, COLUMNS = 8, 64


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, layout: cute.ComposedLayout, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.Float16, layout.outer, 128, swizzle=layout.inner)
    for row in cutlass.range(ROWS, unroll=1):
        if row < x.shape[0]:
            tile[row, thread] = x[row, thread]
        elif cutlass.const_expr(not bug):
            tile[row, thread] = cutlass.Float16(0.0)
    cute.arch.sync_threads()
    total = cutlass.Float32(0.0)
    for row in cutlass.range(ROWS, unroll=1):
        total += tile[row, COLUMNS - 1 - thread].to(cutlass.Float32)  # bug: uninitialised-shared, mend: "63] (shared+"
    y[thread] = total


@cute.jit
def padding_of_swizzled_tile(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sums of columns of x, backwards."""
    kind = cute.nvgpu.warpgroup.SmemLayoutAtomKind.K_SW128
    atom = cute.nvgpu.warpgroup.make_smem_layout_atom(kind, cutlass.Float16)
    layout = cute.tile_to_shape(atom, (ROWS, COLUMNS), (0, 1))
    sum_kernel(x, y, layout, bug).launch(grid=[1, 1, 1], block=[COLUMNS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    total = 0 * x[0].astype("float32")
    for row in x.astype("float32"):
        total = total + row
    return total[::-1]
