"""Scale numbers and add the scale, in two loops that LLVM leaves as they are (docs/checking.md)."""

# cutecc: entry = "scale"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[?N=1000]"
# cutecc: args.factor = "f32[1]"
# cutecc: args.y = "f32[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "2 * N * 4"

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def scale_kernel(x: cute.Tensor, factor: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    for i in cutlass.range(thread, x.shape[0], THREADS):
        y[i] = x[i] * factor[0]
    for i in cutlass.range(thread, x.shape[0], THREADS, unroll_full=True):
        y[i] = y[i] + factor[0]


@cute.jit
def scale(x: cute.Tensor, factor: cute.Tensor, y: cute.Tensor):
    scale_kernel(x, factor, y).launch(grid=(1, 1, 1), block=(THREADS, 1, 1))


def reference(x, factor, y):
    y[:] = x * factor[0] + factor[0]
