"""The bits of -x for a vector of zeros: up to 4.7.1 the DSL traces `0 - x`, which is +0, since 4.8 a negation, -0.

Not known to be reported. It is a small change of results that a comparison bit for bit has to show, and of no pass.
"""

# cutecc: entry = "negate"
# cutecc: target = "sm_90a"
# cutecc: args.src = "f32[128] align=16"
# cutecc: args.dst = "i32[128] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["dst"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

PIECE = 4


@cute.kernel
def negate_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    values = cute.local_tile(src, (PIECE,), (thread,)).load()
    negated = cute.make_rmem_tensor((PIECE,), cutlass.Float32)
    negated.store(-(values - values))
    cute.autovec_copy(cute.recast_tensor(negated, cutlass.Int32), cute.local_tile(dst, (PIECE,), (thread,)))


@cute.jit
def negate(src: cute.Tensor, dst: cute.Tensor):
    """dst = the bits of -(src - src)."""
    negate_kernel(src, dst).launch(grid=[1, 1, 1], block=[src.shape[0] // PIECE, 1, 1])


def reference(src, dst):
    """The expected `dst`."""
    return (-(src - src)).view("int32")
