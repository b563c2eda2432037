"""The maximum of a ragged vector: threads beyond its end leave their place in shared memory as it was."""

# cutecc: entry = "ragged_tail"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=100]"
# cutecc: args.largest = "f32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["largest"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def largest_kernel(x: cute.Tensor, largest: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    if thread < cute.size(x):
        tile[thread] = x[thread]
    elif not bug:
        tile[thread] = -cutlass.Float32.inf
    cute.arch.sync_threads()
    if thread == 0:
        found = -cutlass.Float32.inf
        for i in cutlass.range(THREADS, unroll=1):
            found = cute.arch.fmax(found, tile[i])  # bug: uninitialised-shared
        largest[0] = found


@cute.jit
def ragged_tail(x: cute.Tensor, largest: cute.Tensor, bug: cutlass.Constexpr):
    """largest = x.max()."""
    largest_kernel(x, largest, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, largest):
    """The expected `largest`."""
    return x.max(keepdims=True)
