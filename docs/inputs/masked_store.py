"""A bulk store that leaves out bytes: what the open lowering has no row for."""

# cutecc: entry = "masked_store"
# cutecc: target = "sm_100a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64] align=16"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

EVEN_ELEMENTS = 0x0F0F
"""Of each 16 bytes, those of the first and the third number."""


@cute.kernel
def masked_store_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    staged = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64), 16)
    staged[thread] = x[thread]
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if thread == 0:
        store = cute.make_copy_atom(cpasync.CopyBulkS2GByteMaskOp(), cutlass.Float32)
        cute.copy(store, staged, y, byte_mask=cutlass.Int16(EVEN_ELEMENTS))
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0)


@cute.jit
def masked_store(x: cute.Tensor, y: cute.Tensor):
    masked_store_kernel(x, y).launch(grid=[1, 1, 1], block=[64, 1, 1])
