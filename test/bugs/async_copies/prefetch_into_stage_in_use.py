"""A pipeline whose prefetch goes into the stage that is being read: its index is one off."""

# cutecc: entry = "prefetch_into_stage_in_use"
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
    for stage in cutlass.range_constexpr(STAGES - 1):
        cute.copy(copy, source[stage, None], target[None, stage])
        cute.arch.cp_async_commit_group()
    for step in cutlass.range(steps, unroll=1):
        cute.arch.cp_async_wait_group(STAGES - 2)
        cute.arch.sync_threads()
        ahead = step + STAGES - 1
        if ahead < steps:
            cute.copy(copy, source[ahead, None], target[None, (ahead + bug) % STAGES])  # other
        cute.arch.cp_async_commit_group()
        y[step, thread] = tiles[THREADS - 1 - thread, step % STAGES]  # bug: race


@cute.jit
def prefetch_into_stage_in_use(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = every row of x backwards."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32)
    reverse_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x[:, ::-1]
