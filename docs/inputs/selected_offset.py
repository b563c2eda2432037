"""Write one of the two halves of every pair of 16-byte vectors, the half chosen at run time.

Exercises an offset that comes out of an `if`: `propagate-divby-through-control-flow` finds that it is a multiple of 4.
"""

# cutecc: entry = "selected_offset"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?N{div=4}] align=16"
# cutecc: args.parity = "i32"

import cutlass
from cutlass import cute


@cute.kernel
def store_kernel(x: cute.Tensor, parity: cutlass.Int32):
    thread, _, _ = cute.arch.thread_idx()
    offset = cutlass.Int32(0)
    if parity == 1:
        offset = cutlass.Int32(4)
    half = cute.make_tensor(x.iterator + offset, cute.make_layout((4, 32), stride=(1, 8)))
    half[None, thread].fill(1.0)


@cute.jit
def selected_offset(x: cute.Tensor, parity: cutlass.Int32):
    """Fill every other vector of the first 256 elements of an (N,) tensor."""
    store_kernel(x, parity).launch(grid=[1, 1, 1], block=[32, 1, 1])
