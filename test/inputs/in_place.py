"""Doubles a tensor where it stands, and nobody says what comes of it."""

# cutecc: target = "sm_80"
# cutecc: args.y = "f32[?N=100]"
# cutecc: outputs = ["y"]

from cutlass import cute


@cute.kernel
def kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    index = block * 64 + thread
    if index < y.shape[0]:
        y[index] = y[index] + y[index]


@cute.jit
def double(y: cute.Tensor):
    """y = 2 y."""
    kernel(y).launch(grid=[cute.ceil_div(y.shape[0], 64), 1, 1], block=[64, 1, 1])
