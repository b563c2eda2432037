"""Waits for a barrier by its state, each time for a millisecond at most: y[i] = i + 1, once all threads are there."""

# cutecc: entry = "timed_waits"
# cutecc: target = "sm_90a"
# cutecc: args.y = "i32[32]"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
import numpy
from cutlass import cute
from cutlass._mlir.dialects import nvvm

THREADS = 32


@cute.kernel
def timed_waits_kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    barrier = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int64, 1)
    if thread == 0:
        cute.arch.mbarrier_init(barrier, THREADS)
    cute.arch.sync_threads()
    state = nvvm.mbarrier_arrive(barrier.to_llvm_ptr())
    nanoseconds = cutlass.Int32(1_000_000).ir_value()
    arrived = cutlass.Boolean(False)
    while not arrived:
        arrived = cutlass.Boolean(nvvm.mbarrier_try_wait_timelimit(barrier.to_llvm_ptr(), state, nanoseconds))
    y[thread] = thread + 1


@cute.jit
def timed_waits(y: cute.Tensor):
    timed_waits_kernel(y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def counted():
    """The expected `y`."""
    return numpy.arange(1, THREADS + 1).astype("int32")
