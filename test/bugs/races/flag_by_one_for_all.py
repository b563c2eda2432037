"""One thread releases a flag for its block, without waiting until the others have written."""

# cutecc: entry = "flag_by_one_for_all"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
# cutecc: args.value = "f32[64]"
# cutecc: args.flag = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def reset_kernel(flag: cute.Tensor):
    flag[0] = 0


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, value: cute.Tensor, flag: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    if block == 0:
        value[thread] = x[thread]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()
        if thread == 0:
            cute.arch.store(flag.iterator, cutlass.Int32(1), sem="release", scope="gpu")
    else:
        if thread == 0:
            seen = cutlass.Int32(0)
            while seen == 0:
                seen = cute.arch.load(flag.iterator, cutlass.Int32, sem="acquire", scope="gpu")
        cute.arch.sync_threads()
        y[thread] = value[thread]  # bug: race, mend: "sync_threads() belongs before the flag"


@cute.jit
def flag_by_one_for_all(x: cute.Tensor, y: cute.Tensor, value: cute.Tensor, flag: cute.Tensor, bug: cutlass.Constexpr):
    """y = x; `value` and `flag` are scratch."""
    reset_kernel(flag).launch(grid=[1, 1, 1], block=[1, 1, 1])
    hand_over_kernel(x, y, value, flag, bug).launch(grid=[2, 1, 1], block=[THREADS, 1, 1], cooperative=True)


def reference(x, y, value, flag):
    """The expected `y`."""
    return x
