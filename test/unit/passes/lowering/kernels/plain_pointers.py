"""Swizzled pointers to shared memory without CuTe's types: thread i leaves x[i] where the swizzle says."""

# cutecc: entry = "Swizzled(3, 2, 3)"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[256] align=16"
# cutecc: args.y = "f32[256] align=16"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
import numpy
from cutlass import cute

THREADS = 256


class Swizzled:
    """y is x as it lies in memory; the swizzle is of bytes, and shared memory begins at a multiple of its period."""

    def __init__(self, bits: int, base: int, shift: int):
        self.swizzle = cutlass.Swizzle(bits, base, shift)

    @cute.kernel
    def kernel(self, x: cute.Tensor, y: cute.Tensor):
        thread, _, _ = cute.arch.thread_idx()
        held = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS), 1024)
        place = cutlass.apply_swizzle((held.iterator + thread).raw_ptr(), self.swizzle)
        place.store(x[thread])
        cute.arch.sync_threads()
        y[thread] = held[thread]

    @cute.jit
    def __call__(self, x: cute.Tensor, y: cute.Tensor):
        self.kernel(x, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def swizzled(x):
    """The expected `y` of S<3,2,3>."""
    return moved(x, 3, 2, 3)


def swizzled_upwards(x):
    """The expected `y` of S<2,2,-4>."""
    return moved(x, 2, 2, -4)


def moved(x, bits, base, shift):
    """Where what lies at each address goes."""
    address = 4 * numpy.arange(THREADS)
    mask = ((1 << bits) - 1) << (base + max(shift, 0))
    flipped = (address & mask) >> shift if shift > 0 else (address & mask) << -shift
    found = numpy.empty_like(x)
    found[(address ^ flipped) // 4] = x
    return found
