"""Vote with the whole warp where only threads with a positive element are."""

# cutecc: entry = "vote_where_some_are"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "i32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def vote_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    large = x[thread] > 0.5
    votes = cutlass.Int32(0)
    if cutlass.const_expr(bug):
        if x[thread] > 0.0:
            votes = cute.arch.vote_ballot_sync(large)  # check: check-partial-warps, mend: "move it out of the branch"
    else:
        ballot = cute.arch.vote_ballot_sync(large)
        if x[thread] > 0.0:
            votes = ballot
    y[thread] = votes


@cute.jit
def vote_where_some_are(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = which elements of the warp are above 0.5, where x is positive."""
    vote_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    bits = ((x.reshape(2, 32) > 0.5) << np.arange(32, dtype="u4")).sum(1, dtype="u4").view("i4")
    return np.where(x > 0, bits.repeat(32), 0).astype("i4")
