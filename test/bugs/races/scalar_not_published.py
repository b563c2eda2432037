"""One thread puts a scalar into shared memory, and all of the block read it at once."""

# cutecc: entry = "scalar_not_published"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def shift_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    first = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(1))
    if thread == 0:
        first[0] = x[0]  # other
    if cutlass.const_expr(not bug):
        cute.arch.sync_threads()
    scalar = first[0]  # bug: race, mend: "sync_threads() belongs between the two", also: uninitialised-shared
    y[thread] = x[thread] - scalar


@cute.jit
def scalar_not_published(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x - x[0]."""
    shift_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x - x[0]
