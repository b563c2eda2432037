"""The sum of the nine pixels around each one, two apart, as a convolution loads them: tap by tap, through TMA's im2col.

Exercises im2col descriptors with padding and dilation, tap offsets, a ring of stages, and a store by such a descriptor.
"""

# cutecc: entry = "im2col"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?N=2, ?H=13, ?W=18, ?C{div=8}=40] align=16"
# cutecc: args.y = "f16[?N, ?H, ?W, ?C{div=8}] align=16"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0
# cutecc: bytes = "4 * N * H * W * C"

import cutlass
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

PIXELS, CHANNELS = 64, 32
TAPS, APART = 3, 2
STAGES = 3
THREADS = 128


@cute.kernel
def im2col_kernel(
    load: cute.CopyAtom, x: cute.Tensor, store: cute.CopyAtom, y: cute.Tensor, layout: cute.ComposedLayout
):
    thread, _, _ = cute.arch.thread_idx()
    row, column, _ = cute.arch.block_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, STAGES)
    staged = allocator.allocate_tensor(cutlass.Float16, layout.outer, 1024, layout.inner)
    if thread == 0:
        for stage in cutlass.range_constexpr(STAGES):
            cute.arch.mbarrier_init(full + stage, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()

    # Of (pixels, (channels, taps…)): the tiles of this block's pixels and channels, one for each tap.
    alone = cute.make_layout(1)
    grouped = cute.group_modes(staged, 0, 2)
    tiles_x = cute.group_modes(cute.local_tile(x, (PIXELS, (CHANNELS,)), (row, None)), 0, 2)
    tiles_y = cute.group_modes(cute.local_tile(y, (PIXELS, (CHANNELS,)), (row, None)), 0, 2)
    load_to, load_from = cpasync.tma_partition(load, 0, alone, grouped, tiles_x)
    store_from, store_to = cpasync.tma_partition(store, 0, alone, grouped, tiles_y)
    columns = cute.size(tiles_x, mode=[1, 0])
    stage_bytes = PIXELS * CHANNELS * 2

    if warp == 0:
        for tap in cutlass.range_constexpr(STAGES):
            with cute.arch.elect_one():
                cute.arch.mbarrier_arrive_and_expect_tx(full + tap, stage_bytes)
            cute.copy(load, load_from[None, column + columns * tap], load_to[None, tap], tma_bar_ptr=full + tap)

    sums = cute.make_rmem_tensor(PIXELS * CHANNELS // THREADS, cutlass.Float32)
    sums.fill(0.0)
    for tap in cutlass.range_constexpr(TAPS * TAPS):
        stage = tap % STAGES
        cute.arch.mbarrier_wait(full + stage, (tap // STAGES) % 2)
        for i in cutlass.range_constexpr(cute.size(sums)):
            pixel, channel = (i * THREADS + thread) // CHANNELS, thread % CHANNELS
            sums[i] = sums[i] + staged[pixel, channel, stage].to(cutlass.Float32)
        # All have read the stage before it is filled again, or written.
        cute.arch.sync_threads()
        further = tap + STAGES
        if cutlass.const_expr(further < TAPS * TAPS):  # noqa: SIM102 - one is of the trace, one of the kernel
            if warp == 0:
                with cute.arch.elect_one():
                    cute.arch.mbarrier_arrive_and_expect_tx(full + stage, stage_bytes)
                cute.copy(
                    load, load_from[None, column + columns * further], load_to[None, stage], tma_bar_ptr=full + stage
                )

    for i in cutlass.range_constexpr(cute.size(sums)):
        pixel, channel = (i * THREADS + thread) // CHANNELS, thread % CHANNELS
        staged[pixel, channel, 0] = sums[i].to(cutlass.Float16)
    cute.arch.fence_proxy("async.shared", space="cta")
    cute.arch.sync_threads()
    if warp == 0:
        cute.copy(store, store_from[None, 0], store_to[None, column])
        cute.arch.cp_async_bulk_commit_group()
        cute.arch.cp_async_bulk_wait_group(0, read=True)


@cute.jit
def im2col(x: cute.Tensor, y: cute.Tensor):
    """y[n, h, w] = the sum of x[n, h + 2 i, w + 2 j] for i and j from -1 to 1, 0 outside of x."""
    # TMA has pixels before channels, the innermost mode first: ((W, H, N), C).
    images, results = (
        cute.make_tensor(each.iterator, cute.group_modes(cute.select(each.layout, [2, 1, 0, 3]), 0, 3))
        for each in (x, y)
    )
    outer = cute.make_ordered_layout((PIXELS, CHANNELS, STAGES), order=(1, 0, 2))
    layout = cute.make_composed_layout(cute.make_swizzle(2, 4, 3), 0, outer)
    reach = (TAPS - 1) * APART
    padding = (reach // 2, reach // 2)
    load, x_tma = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColG2SOp(),
        images,
        layout,
        (PIXELS, CHANNELS),
        lower_corner_whd=(-padding[0], -padding[1]),
        upper_corner_whd=(padding[0] - reach, padding[1] - reach),
        lower_padding_whd=padding,
        upper_padding_whd=padding,
        stride_whd=(1, 1),
        lower_srt=(0, 0),
        stride_srt=(APART, APART),
    )
    store, y_tma = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColS2GOp(), results, layout, (PIXELS, CHANNELS)
    )
    grid = [cute.ceil_div(x_tma.shape[0], PIXELS), cute.ceil_div(x.shape[3], CHANNELS), 1]
    im2col_kernel(load, x_tma, store, y_tma, layout).launch(grid=grid, block=[THREADS, 1, 1])


def reference(x, y):
    """The expected `y`."""
    import numpy as np

    height, width = x.shape[1:3]
    padded = np.pad(x.astype(np.float32), [(0, 0), (APART, APART), (APART, APART), (0, 0)])
    total = np.zeros(x.shape, np.float32)
    for row in range(0, TAPS * APART, APART):
        for column in range(0, TAPS * APART, APART):
            total += padded[:, row : row + height, column : column + width]
    return total.astype(np.float16)
