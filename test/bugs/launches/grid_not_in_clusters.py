"""A grid that does not divide into its clusters."""

# cutecc: entry = "grid_not_in_clusters"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel  # check: check-launch, mend: "round the grid up to (4, 1, 1)"
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    tile = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(64))
    tile[thread] = x[block * 64 + thread]
    cute.arch.sync_threads()
    y[block * 64 + thread] = tile[63 - thread]


@cute.jit
def grid_not_in_clusters(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each 64 elements backwards."""
    cluster = 4 if bug else 2
    reverse_kernel(x, y, bug).launch(grid=[2, 1, 1], block=[64, 1, 1], cluster=[cluster, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(2, 64)[:, ::-1].reshape(128)
