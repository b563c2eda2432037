"""A bulk copy whose announcement counts the tile with its padding, not the bytes that are copied."""

# cutecc: entry = "announces_padding_too"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64
PADDED = THREADS + 16


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(PADDED), 128)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if thread == 0:
        cute.arch.mbarrier_arrive_and_expect_tx(full, 4 * (PADDED if bug else THREADS))  # mend: "256 bytes"
        target = cute.make_tensor(tile.iterator, cute.make_layout(THREADS))
        cute.copy(load, x, target, mbar_ptr=full)
    cute.arch.mbarrier_wait(full, 0)  # bug: deadlock
    y[thread] = tile[THREADS - 1 - thread]


@cute.jit
def announces_padding_too(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkG2SOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    reverse_kernel(x, y, load, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
