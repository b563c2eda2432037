"""Read what a bulk store has written after waiting for its reads alone."""

# cutecc: entry = "result_read_after_read_wait"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, store: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 128)
    tile[thread] = x[thread]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread == 0:
        cute.copy(store, tile, y)  # other
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=bug)
    cute.arch.sync_threads()
    other = y[THREADS - 1 - thread]  # bug: race
    cute.arch.sync_threads()
    y[thread] = other  # also: race


@cute.jit
def result_read_after_read_wait(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    store = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkS2GOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    copy_kernel(x, y, store, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
