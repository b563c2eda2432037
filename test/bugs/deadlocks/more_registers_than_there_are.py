"""Warpgroups that ask for more registers together than the block is launched with: the increase waits for ever."""

# cutecc: entry = "more_registers_than_there_are"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[384]"
# cutecc: args.y = "f32[384]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 384


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    if cute.arch.make_warp_uniform(thread // 128) == 0:
        cute.arch.setmaxregister_decrease(56 if bug else 40)
    else:
        cute.arch.setmaxregister_increase(232)  # check: check-register-budget, mend: "at most 64,512"
    y[thread] = x[thread]


@cute.jit
def more_registers_than_there_are(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
