"""Keep one multiprocessor busy for a number of clock cycles; takes no tensor at all.

Exercises a kernel whose only parameter is a scalar, the clock register, and a `while` loop without memory effects.
"""

# cutecc: entry = "no_tensor"
# cutecc: target = "sm_80"
# cutecc: args.cycles = "i64=10000"
# cutecc: args.stream = "stream"

import cutlass
from cuda.bindings.driver import CUstream
from cutlass import cute


@cute.kernel
def spin_kernel(cycles: cutlass.Int64):
    start = cutlass.Int64(cute.arch.clock64())
    now = start
    while now - start < cycles:
        now = cutlass.Int64(cute.arch.clock64())


@cute.jit
def no_tensor(cycles: cutlass.Int64, stream: CUstream):
    """Spin for `cycles` clock cycles on `stream`."""
    spin_kernel(cycles).launch(grid=[1, 1, 1], block=[32, 1, 1], stream=stream)
