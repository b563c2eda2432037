"""A launch that asks for the shared memory of 64 f16, where the kernel stores f32."""

# cutecc: entry = "shared_bytes_of_other_type"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[64]"
# cutecc: args.y = "f32[64]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 64


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    tile = cute.make_tensor(cute.arch.get_dyn_smem(cutlass.Float32, alignment=16), cute.make_layout(THREADS))
    tile[thread] = x[thread]  # bug: out-of-bounds
    cute.arch.sync_threads()
    y[thread] = tile[THREADS - 1 - thread]  # also: out-of-bounds


@cute.jit
def shared_bytes_of_other_type(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x backwards."""
    width = 16 if cutlass.const_expr(bug) else 32
    reverse_kernel(x, y).launch(grid=[1, 1, 1], block=[THREADS, 1, 1], smem=THREADS * width // 8)


def reference(x, y):
    """The expected `y`."""
    return x[::-1]
