"""A scan that doubles its reach: one barrier a step, where reading and writing in place take two."""

# cutecc: entry = "scan_in_place"
# cutecc: target = "sm_80"
# cutecc: args.x = "i32[64]"
# cutecc: args.y = "i32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def scan_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    sums = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Int32, cute.make_layout(THREADS))
    sums[thread] = x[thread]
    cute.arch.sync_threads()
    reach = cutlass.Int32(1)
    while reach < THREADS:
        below = cutlass.Int32(0)
        if thread >= reach:
            below = sums[thread - reach]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()
        sums[thread] = sums[thread] + below  # bug: race
        cute.arch.sync_threads()
        reach = reach * 2
    y[thread] = sums[thread]


@cute.jit
def scan_in_place(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x.cumsum()."""
    scan_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.cumsum(dtype="int32")
