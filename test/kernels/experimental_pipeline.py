"""Square a matrix with the experimental API: one warp feeds a TMA pipeline of three stages, four warps consume it.

Exercises `lir` pipelines, whose barriers, phases and arrival counts the compiler makes, and implicit TMA descriptors.
"""

# cutecc: entry = "experimental_pipeline"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f32[?M{div=32}=320, ?N{div=64}=192] align=16"
# cutecc: args.y = "f32[?M{div=32}, ?N{div=64}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 1e-6
# cutecc: bytes = "2 * M * N * 4"

import cutlass
from cutlass import cute
from cutlass.cute import experimental
from cutlass.cute.experimental.core import OperationTypeEnum

TILE = (32, 64)
STAGES = 3
CONSUMERS = 128  # threads; one more warp loads


@experimental.kernel
def square_kernel(x: cute.Tensor, y: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    column, _, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())

    staged_layout = cute.make_ordered_layout((*TILE, STAGES), order=(1, 0, 2))
    staged = experimental.allocate(cutlass.Float32, cute.AddressSpace.smem, staged_layout, alignment=128)
    pipeline = experimental.TMAToAsyncPipeline.create(
        num_stages=STAGES, consumer=OperationTypeEnum.LD_SHARED, consumer_arv_count=CONSUMERS
    )
    tiles_x = cute.local_tile(x, TILE, (None, column))
    tiles_y = cute.local_tile(y, TILE, (None, column))
    steps = cute.size(tiles_x, mode=[2])

    if warp == CONSUMERS // 32:
        for step in cutlass.range(steps, unroll=1):
            token, stage = pipeline.producer_acquire_and_get_stage()
            barrier = experimental.get_mbarrier(token)
            experimental.tma_load(tiles_x[None, None, step], staged[None, None, stage], barrier)
            pipeline.producer_commit_and_advance()
    else:
        piece = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=128)
        threads = cute.make_ordered_layout((8, 16), order=(1, 0))
        tiled_copy = cute.make_tiled_copy_tv(piece, threads, cute.make_ordered_layout((4, 4), order=(1, 0)))
        copy_slice = tiled_copy.get_slice(thread)
        shape = copy_slice.partition_S(tiles_y[None, None, 0]).shape
        fragment = experimental.allocate(cutlass.Float32, cute.AddressSpace.rmem, cute.make_layout(shape), alignment=16)
        for step in cutlass.range(steps, unroll=1):
            _, stage = pipeline.consumer_wait_and_get_stage()
            experimental.partition_and_copy(copy_slice, staged[None, None, stage], fragment)
            pipeline.consumer_release_and_advance()
            fragment.store(fragment.load() * fragment.load())
            experimental.partition_and_copy(copy_slice, fragment, tiles_y[None, None, step])


@experimental.jit
def experimental_pipeline(x: cute.Tensor, y: cute.Tensor):
    """y = x * x for (M, N) tensors whose sizes the tile divides."""
    square_kernel(x, y).launch(grid=[x.shape[1] // TILE[1], 1, 1], block=[CONSUMERS + 32, 1, 1])


def reference(x, y):
    """The expected `y`."""
    return x * x
