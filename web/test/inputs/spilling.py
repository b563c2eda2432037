"""Needs more registers than a block of 1024 threads leaves to each of them: values go to local memory and come back."""

# cutecc: entry = "scale"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M=2, 98304]"
# cutecc: args.y = "f32[?M, 98304]"
# cutecc: outputs = ["y"]

import cutlass
from cutlass import cute

THREADS = 1024
VALUES = 96


@cute.kernel
def scale_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, _, _ = cute.arch.block_idx()
    held = cute.make_rmem_tensor(cute.make_layout(VALUES), cutlass.Float32)
    total = cutlass.Float32(0.0)
    for each in cutlass.range_constexpr(VALUES):
        held[each] = cute.math.exp2(x[row, thread + each * THREADS], fastmath=True)
        total += held[each]
    # All values have to wait for the sum.
    total = cute.arch.warp_reduction_sum(total)
    for each in cutlass.range_constexpr(VALUES):
        y[row, thread + each * THREADS] = held[each] * total


@cute.jit
def scale(x: cute.Tensor, y: cute.Tensor):
    scale_kernel(x, y).launch(grid=[x.shape[0], 1, 1], block=[THREADS, 1, 1])
