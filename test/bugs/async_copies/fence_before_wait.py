"""The proxy fence before a bulk store comes too early: the `cp.async` copies are not over yet."""

# cutecc: entry = "fence_before_wait"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64] align=16"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, load: cute.CopyAtom, store: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 128)
    cute.copy(load, cute.local_tile(x, (1,), (thread,)), cute.local_tile(tile, (1,), (thread,)))  # other
    cute.arch.cp_async_commit_group()
    if cutlass.const_expr(bug):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.cp_async_wait_group(0)
    if cutlass.const_expr(not bug):
        cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread == 0:
        cute.copy(store, tile, y)  # bug: missing-proxy-fence
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def fence_before_wait(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    load = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    store = cute.make_copy_atom(cute.nvgpu.cpasync.CopyBulkS2GOp(), cutlass.Float32, num_bits_per_copy=32 * THREADS)
    copy_kernel(x, y, load, store, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
