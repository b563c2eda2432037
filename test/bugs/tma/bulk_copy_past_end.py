"""Bring a ragged vector by bulk copies of whole tiles; the last one reaches past the vector's end."""

# cutecc: entry = "bulk_copy_past_end"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[100] align=16"
# cutecc: args.y = "f32[100]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import THREADS, new_mbarriers
from cutlass import cute

TILES = 2


@cute.kernel
def copy_kernel(
    x: cute.Tensor,
    y: cute.Tensor,
    whole: cute.CopyAtom,
    rest: cute.CopyAtom,
    left: cutlass.Constexpr,
    bug: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(TILES * THREADS), 128)
    full = new_mbarriers(allocator)
    if thread == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * (THREADS + (THREADS if bug else left)))
        first = cute.make_tensor(x.iterator, cute.make_layout(THREADS))
        cute.copy(whole, first, cute.local_tile(tile, (THREADS,), (0,)), mbar_ptr=full)
        if cutlass.const_expr(bug):
            second = cute.make_tensor(x.iterator + THREADS, cute.make_layout(THREADS))
            place = cute.local_tile(tile, (THREADS,), (1,))
            cute.copy(whole, second, place, mbar_ptr=full)  # bug: out-of-bounds, mend: "the size of the copy"
        else:
            second = cute.make_tensor(x.iterator + THREADS, cute.make_layout(left))
            cute.copy(rest, second, cute.make_tensor(tile.iterator + THREADS, second.layout), mbar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    for i in cutlass.range_constexpr(TILES):
        if i * THREADS + thread < cute.size(x):
            y[i * THREADS + thread] = tile[i * THREADS + thread]


@cute.jit
def bulk_copy_past_end(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    left = cute.size(x) - THREADS
    whole = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    rest = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * left)
    copy_kernel(x, y, whole, rest, left, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
