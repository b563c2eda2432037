"""An mbarrier that is initialised for every step, where its phases would have done."""

# cutecc: entry = "initialised_again"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[2, 32]"
# cutecc: args.y = "f32[2, 32]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(32))
    for step in cutlass.range(x.shape[0], unroll=1):
        if thread == 0 and (step == 0 or bug):
            cute.arch.mbarrier_init(full, 32)  # bug: mbarrier
            cute.arch.mbarrier_init_fence()
        cute.arch.sync_threads()
        tile[thread] = x[step, thread]
        cute.arch.mbarrier_arrive(full)
        cute.arch.mbarrier_wait(full, 0 if bug else step)
        y[step, thread] = tile[31 - thread]
        cute.arch.sync_threads()


@cute.jit
def initialised_again(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
