"""One block hands a value to another through a flag, and raises the flag with a store of no order at all."""

# cutecc: entry = "flag_stored_weakly"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[1]"
# cutecc: args.y = "f32[1]"
# cutecc: args.value = "f32[1]"
# cutecc: args.flag = "i32[1]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel
def reset_kernel(flag: cute.Tensor):
    flag[0] = 0


@cute.kernel
def hand_over_kernel(x: cute.Tensor, y: cute.Tensor, value: cute.Tensor, flag: cute.Tensor, bug: cutlass.Constexpr):
    block, _, _ = cute.arch.block_idx()
    if block == 0:
        value[0] = x[0]  # also: race
        if cutlass.const_expr(bug):
            cute.arch.store(flag.iterator, cutlass.Int32(1))  # bug: race, mend: 'sem="release", scope="gpu"'
        else:
            cute.arch.store(flag.iterator, cutlass.Int32(1), sem="release", scope="gpu")
    else:
        seen = cutlass.Int32(0)
        while seen == 0:
            seen = cute.arch.load(flag.iterator, cutlass.Int32, sem="acquire", scope="gpu")  # other
        y[0] = value[0]  # also: race


@cute.jit
def flag_stored_weakly(x: cute.Tensor, y: cute.Tensor, value: cute.Tensor, flag: cute.Tensor, bug: cutlass.Constexpr):
    """y = x; `value` and `flag` are scratch."""
    reset_kernel(flag).launch(grid=[1, 1, 1], block=[1, 1, 1])
    hand_over_kernel(x, y, value, flag, bug).launch(grid=[2, 1, 1], block=[1, 1, 1], cooperative=True)


def reference(x, y, value, flag):
    """The expected `y`."""
    return x
