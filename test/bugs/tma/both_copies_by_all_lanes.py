"""Two bulk copies to one mbarrier that all 32 threads of a warp issue, where one announces the bytes of both."""

# cutecc: entry = "both_copies_by_all_lanes"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[2, 128] align=16"
# cutecc: args.y = "f16[2, 128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tiles = allocator.allocate_tensor(cutlass.Float16, cute.make_layout((2, THREADS), stride=(THREADS, 1)), 128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, 2 * 2 * THREADS)
        if cutlass.const_expr(bug):
            cute.copy(load, x[0, None], tiles[0, None], mbar_ptr=full)  # bug: mbarrier, mend: "elect_one()", also: race
            cute.copy(load, x[1, None], tiles[1, None], mbar_ptr=full)  # also: race
        else:
            with cute.arch.elect_one():
                cute.copy(load, x[0, None], tiles[0, None], mbar_ptr=full)
                cute.copy(load, x[1, None], tiles[1, None], mbar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)
    y[0, thread] = tiles[0, thread]  # also: race
    y[1, thread] = tiles[1, thread]  # also: race


@cute.jit
def both_copies_by_all_lanes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float16, num_bits_per_copy=16 * THREADS)
    copy_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
