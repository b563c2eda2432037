"""Go on with a barrier where an element is positive: the first one, or each thread's own."""

# cutecc: entry = "each_thread_decides"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
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
    flags = allocator.allocate_tensor(cutlass.Int32, cute.make_layout(64))
    tile = allocator.allocate_tensor(cutlass.Float32, cute.make_layout(64))
    tile[thread] = x[thread]
    flags[thread] = 0
    if thread % 2 == 0:
        flags[thread] = 1
    cute.arch.sync_threads()
    if flags[thread if bug else 0] == 1:
        cute.arch.sync_threads()  # bug: divergent-barrier, also: deadlock, check: check-divergent-barriers
        y[thread] = tile[63 - thread]


@cute.jit
def each_thread_decides(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
