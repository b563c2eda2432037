"""Two bulk copies complete at one mbarrier, which is told of one of them; the first wait never ends."""

# cutecc: entry = "second_operand_not_announced"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64, 4]:(1, 64) align=16"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64
ROUNDS = 2


@cute.kernel
def sum_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tiles = allocator.allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, 2)), 128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    total = cutlass.Float32(0.0)
    for step in cutlass.range(ROUNDS, unroll=1):
        if thread == 0:
            cute.copy(load, x[None, step], tiles[None, 0], mbar_ptr=full)
            cute.copy(load, x[None, step + ROUNDS], tiles[None, 1], mbar_ptr=full)
            cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * THREADS * (1 if bug else 2))  # mend: "512 bytes"
        cute.arch.mbarrier_wait(full, step % 2)  # bug: deadlock
        total += tiles[thread, 0] + tiles[THREADS - 1 - thread, 1]
        cute.arch.sync_threads()
    y[thread] = total


@cute.jit
def second_operand_not_announced(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the sums of columns, some of them backwards, of x."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    sum_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return (x[:, 0] + x[::-1, 2]) + (x[:, 1] + x[::-1, 3])
