"""A pipeline of three stages that lets one group too many be in flight when it reads."""

# cutecc: entry = "wait_group_off_by_one"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[6, 128] align=16"
# cutecc: args.y = "f32[6, 128]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS = 128
STAGES = 3


@cute.kernel
def reverse_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    tiles = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout((THREADS, STAGES)))
    source = cute.logical_divide(x, (None, 1))[None, (None, thread)]
    target = cute.logical_divide(tiles, (1, None))[(None, thread), None]
    steps = x.shape[0]
    for ahead in cutlass.range(steps + STAGES - 1, unroll=1):
        if ahead < steps:
            cute.copy(copy, source[ahead, None], target[None, ahead % STAGES])  # other
        cute.arch.cp_async_commit_group()
        step = ahead - (STAGES - 1)
        if step >= 0:
            cute.arch.cp_async_wait_group(STAGES - 1 + bug)
            cute.arch.sync_threads()
            y[step, thread] = tiles[THREADS - 1 - thread, step % STAGES]  # bug: race
            cute.arch.sync_threads()


@cute.jit
def wait_group_off_by_one(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    reverse_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
