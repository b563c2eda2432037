"""Copy two tiles with `cp.async` into shared memory that has room for one and a quarter."""

# cutecc: entry = "tile_too_small"
# cutecc: target = "sm_80"
# cutecc: args.x = "f32[192] align=16"
# cutecc: args.y = "f32[192]"
# cutecc: args.bug = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import cutlass
from cutlass import cute

THREADS, TILE = 32, 128


@cute.kernel
def copy_kernel(x: cute.Tensor, y: cute.Tensor, copy: cute.CopyAtom, bug: cutlass.Constexpr):
    thread, _, _ = cute.arch.thread_idx()
    elements = TILE + TILE // 4 if bug else 2 * TILE
    shared = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(elements), 16)
    pieces = cute.make_tensor(x.iterator, cute.make_layout((4, TILE // 4, 2)))
    stages = cute.make_tensor(shared.iterator, pieces.layout)
    for stage in cutlass.range_constexpr(2):
        if stage * TILE + 4 * thread < cute.size(x):
            place = stages[None, thread, stage]
            cute.copy(copy, pieces[None, thread, stage], place)  # bug: out-of-bounds, mend: "the kernel allocates"
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    for stage in cutlass.range_constexpr(2):
        for i in cutlass.range_constexpr(4):
            if stage * TILE + 4 * thread < cute.size(x):
                y[stage * TILE + 4 * thread + i] = stages[i, thread, stage]  # also: out-of-bounds


@cute.jit
def tile_too_small(x: cute.Tensor, y: cute.Tensor, bug: cutlass.Constexpr):
    """y = x."""
    copy = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=128)
    copy_kernel(x, y, copy, bug).launch(grid=[1, 1, 1], block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x
