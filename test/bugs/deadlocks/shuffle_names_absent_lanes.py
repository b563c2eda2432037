"""Half of a warp shuffles under a mask of the whole warp, while the other half waits for what comes out."""

# cutecc: entry = "shuffle_names_absent_lanes"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[32]"
# cutecc: args.y = "f32[32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def swap_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(16))
    if thread == 0:
        cute.arch.mbarrier_init(full, 16)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    if thread < 16:
        mask = 0xFFFFFFFF if bug else 0xFFFF
        tile[thread] = cute.arch.shuffle_sync_bfly(x[thread], offset=1, mask=mask)  # bug: deadlock, mend: "the mask"
        cute.arch.mbarrier_arrive(full)
        y[thread] = x[thread]
    else:
        cute.arch.mbarrier_wait(full, 0)  # also: deadlock
        y[thread] = tile[thread - 16]


@cute.jit
def shuffle_names_absent_lanes(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = the first half of x, and the same with neighbours swapped."""
    swap_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    y[:16] = x[:16]
    y[16:].reshape(-1, 2)[:] = x[:16].reshape(-1, 2)[:, ::-1]
    return y
