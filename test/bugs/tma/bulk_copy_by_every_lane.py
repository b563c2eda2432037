"""One bulk copy, which all lanes of the warp issue."""

# cutecc: entry = "bulk_copy_by_every_lane"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from _tiles import THREADS, new_mbarriers
from cutlass import cute


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 128)
    full = new_mbarriers(allocator)
    if thread == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, THREADS * 4)
    if cutlass.const_expr(bug):
        if thread < 32:
            cute.copy(load, x, tile, mbar_ptr=full)  # check: check-bulk-copies, mend: "with cute.arch.elect_one()"
    else:
        if thread < 32:
            with cute.arch.elect_one():
                cute.copy(load, x, tile, mbar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    y[thread] = tile[THREADS - 1 - thread]


@cute.jit
def bulk_copy_by_every_lane(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    reverse_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
