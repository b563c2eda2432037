"""All threads of the block along z."""

# cutecc: entry = "block_too_deep"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel  # check: check-launch, mend: "let x be the dimension that is large"
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64))
    tile[thread] = x[block * 64 + thread]
    cute.arch.sync_threads()
    y[block * 64 + thread] = tile[63 - thread]


@cute.jit
def block_too_deep(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each 64 elements backwards."""
    block = [1, 1, 128] if cutlass.const_expr(bug) else [64, 1, 1]
    reverse_kernel(x, y, bug).launch(grid=[2, 1, 1], block=block)


def reference(x, y):
    """The expected `y`."""
    return x.reshape(2, 64)[:, ::-1].reshape(128)
