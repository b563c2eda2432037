"""A bulk copy that all 32 threads of a warp issue, where one of them announces its bytes."""

# cutecc: entry = "copied_by_all_lanes"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2, 64] align=16"
# cutecc: args.y = "f32[2, 64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64
ROUNDS = 2


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    for step in cutlass.range(ROUNDS, unroll=1):
        if warp == 0:
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * THREADS)
            if cutlass.const_expr(bug):
                cute.copy(load, x[step, None], tile, mbar_ptr=full)  # mend: "elect_one()", also: race
            else:
                with cute.arch.elect_one():
                    cute.copy(load, x[step, None], tile, mbar_ptr=full)
        cute.arch.mbarrier_wait(full, step % 2)  # bug: deadlock
        y[step, thread] = tile[THREADS - 1 - thread]  # also: race
        cute.arch.sync_threads()


@cute.jit
def copied_by_all_lanes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    reverse_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
