"""A number of tf32 given to a kernel, added to numbers of tf32."""

# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[64] align=16"
# cutecc: args.y = "f32[64] align=16"
# cutecc: args.shift = "tf32=1.5"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-3

import cutlass
from cutlass import cute


@cute.kernel
def shift_each(x: cute.Tensor, y: cute.Tensor, shift: cutlass.TFloat32):
    thread, _, _ = cute.arch.thread_idx()
    y[thread] = (cutlass.TFloat32(x[thread]) + shift).to(cutlass.Float32)


@cute.jit
def launch(x: cute.Tensor, y: cute.Tensor, shift: cutlass.TFloat32):
    shift_each(x, y, shift).launch(grid=[1, 1, 1], block=[64, 1, 1])


def reference(x, shift):
    """What TFloat32 keeps of a number is up to the hardware; here, all."""
    return x + shift
