"""Reverse tiles one after another through one buffer, which is filled again while other warps still read it."""

# cutecc: entry = "missing_barrier_before_reuse"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[4, 128]"
# cutecc: args.y = "f32[4, 128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(THREADS))
    for step in cutlass.range(x.shape[0], unroll=1):
        tile[thread] = x[step, thread]  # bug: race, mend: "sync_threads()"
        cute.arch.sync_threads()
        y[step, thread] = tile[THREADS - 1 - thread]  # other
        if cutlass.const_expr(not bug):
            cute.arch.sync_threads()


@cute.jit
def missing_barrier_before_reuse(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    reverse_kernel(x, y, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
