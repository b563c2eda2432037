"""Steps through coordinates with `cute.increment_coord`, which the open lowering does not know."""

# cutecc: entry = "coordinate_steps"
# cutecc: target = "sm_80"
# cutecc: args.y = "i32[8]"
# cutecc: outputs = ["y"]

from cutlass import cute


@cute.kernel
def coordinate_steps_kernel(y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    row, column = cute.increment_coord((thread % 2, thread // 2), (2, 4))
    y[thread] = row + 2 * column


@cute.jit
def coordinate_steps(y: cute.Tensor):
    """y[i] = (i + 1) % 8."""
    coordinate_steps_kernel(y).launch(grid=[1, 1, 1], block=[8, 1, 1])
