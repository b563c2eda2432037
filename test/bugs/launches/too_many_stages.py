"""As many stages of shared memory as no block can have."""

# cutecc: entry = "too_many_stages"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[128]"
# cutecc: args.y = "f32[128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute


@cute.kernel  # check: check-launch, mend: "with fewer stages or smaller tiles"
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    stages = 1000 if bug else 4
    tiles = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((64, stages)))
    tile = tiles[None, 0]
    tile[thread] = x[block * 64 + thread]
    cute.arch.sync_threads()
    y[block * 64 + thread] = tile[63 - thread]


@cute.jit
def too_many_stages(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = each 64 elements backwards."""
    reverse_kernel(x, y, bug).launch(grid=[2, 1, 1], block=[64, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x.reshape(2, 64)[:, ::-1].reshape(128)
