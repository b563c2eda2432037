"""A warp loads a matrix that the other warp stores, without a barrier."""

# cutecc: entry = "ldmatrix_before_barrier"
# cutecc: target = "sm_80"
# cutecc: args.x = "f16[16, 8]"
# cutecc: args.y = "f16[16, 8]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import warp

THREADS = 64


@cute.kernel
def swap_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.TiledCopy, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    layout = cute.make_layout((16, 8), stride=(8, 1))
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, layout, byte_alignment=16)
    for part in cutlass.range_constexpr(2):
        row, column = thread // 8 + 8 * part, thread % 8
        tile[row, column] = x[row, column]  # other
    if cutlass.const_expr(not bug):
        cute.arch.sync_threads()
    lane, first = thread % 32, 1 - thread // 32
    matrix = cute.local_tile(tile, (8, 8), (first, 0))
    values = cute.make_rmem_tensor_like(load.get_slice(lane).partition_D(matrix))
    cute.copy(load, load.get_slice(lane).partition_S(matrix), values)  # bug: race
    for i in cutlass.range_constexpr(2):
        y[first * 8 + lane // 4, lane % 4 * 2 + i] = values[i]


@cute.jit
def ldmatrix_before_barrier(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 1), cutlass.Float16)
    load = cute.make_tiled_copy(atom, cute.make_layout(((4, 8), 2), stride=((16, 1), 8)), (8, 8))
    swap_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
