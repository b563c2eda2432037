"""A kernel that ends badly through every pipeline: a deadlock, a fault, or a launch that is refused."""

# cutecc: entry = "stuck"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?N=64]"
# cutecc: args.how = "const(0)"
# cutecc: reference = "reference"
# cutecc: outputs = ["x"]

import cutlass
from cutlass import cute


@cute.kernel
def stuck_kernel(x: cute.Tensor, how: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    shared = cutlass.utils.SmemAllocator()
    if cutlass.const_expr(how == 0):
        full = shared.allocate_array(cutlass.Int64, 1)
        if thread == 0:
            cute.arch.mbarrier_init(full, 2)
        cute.arch.sync_threads()
        if thread == 0:
            cute.arch.mbarrier_arrive(full)
        cute.arch.mbarrier_wait(full, 0)
        x[thread] = cutlass.Float32(1)
    elif cutlass.const_expr(how == 1):
        x[thread + (1 << 20)] = cutlass.Float32(1)
    else:
        tile = shared.allocate_tensor(cutlass.Float32, cute.make_layout(100_000))
        tile[thread] = x[thread]
        cute.arch.sync_threads()
        x[thread] = tile[63 - thread]


@cute.jit
def stuck(x: cute.Tensor, how: cutlass.Constexpr):
    stuck_kernel(x, how).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x):
    return x
