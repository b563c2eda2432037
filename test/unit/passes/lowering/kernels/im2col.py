"""The matrix of a convolution: for each pixel of the result, the channels that each tap of its filter meets.

TMA pads, and knows strides and dilation; a block copies the pixels and channels of one tile for one tap. Of a cluster,
each block loads a share for all. What is said by mode of pixels says it of the innermost first: width, height, depth.
"""

# cutecc: entry = "im2col"
# cutecc: target = "sm_90a"
# cutecc: args.x = "f16[?N=2, ?H=9, ?W=11, ?C{div=8}=24] align=16"
# cutecc: args.y = "f16[?M=96, ?K=144] align=16"
# cutecc: args.taps = "(i32=3, i32=2)"
# cutecc: args.before = "(i32=1, i32=0)"
# cutecc: args.behind = "(i32=2, i32=1)"
# cutecc: args.stride = "(i32=2, i32=1)"
# cutecc: args.dilation = "(i32=1, i32=2)"
# cutecc: args.tile = "const((32, 16))"
# cutecc: args.blocks = "const(1)"
# cutecc: args.transposed = "const(False)"
# cutecc: reference = "reference"
# cutecc: outputs = ["y"]
# cutecc: tolerance = 0.0

import itertools

import cutlass
import numpy as np
from cutlass import cute
from cutlass.cute.nvgpu import cpasync

THREADS = 64


@cute.kernel
def im2col_kernel(
    load: cute.CopyAtom,
    x: cute.Tensor,
    y: cute.Tensor,
    layout: cute.ComposedLayout,
    tile: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    transposed: cutlass.Constexpr,
):
    thread, _, _ = cute.arch.thread_idx()
    row, column, tap = cute.arch.block_idx()
    row = row // blocks
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    rank = cute.arch.make_warp_uniform(cute.arch.block_idx_in_cluster())
    pixels, channels = tile
    allocator = cutlass.utils.SmemAllocator()
    full = allocator.allocate_array(cutlass.Int64, 1)
    staged = allocator.allocate_tensor(y.element_type, layout.outer, 1024, layout.inner)
    if thread == 0:
        cute.arch.mbarrier_init(full, 1)
        cute.arch.mbarrier_init_fence()
    cute.arch.sync_threads()
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()

    # x is (pixels, (channels, taps...)), or the other way round. A tile is of one tap.
    pixel_mode, column_mode = (1, 0) if transposed else (0, 1)
    tiler = ((channels,), pixels) if transposed else (pixels, (channels,))
    tiles = cute.group_modes(cute.local_tile(x, tiler, (None, None)), 0, 2)
    to, of = cpasync.tma_partition(load, rank, cute.make_layout(blocks), cute.group_modes(staged, 0, 2), tiles)
    count, depth = x.shape[pixel_mode], x.shape[column_mode][0]
    if warp == 0:
        with cute.arch.elect_one():
            cute.arch.mbarrier_arrive_and_expect_tx(full, cute.size_in_bytes(y.element_type, layout))
        at = column + cute.ceil_div(depth, channels) * tap
        source = of[None, at, row] if transposed else of[None, row, at]
        cute.copy(load, source, to, tma_bar_ptr=full, mcast_mask=cutlass.Int16((1 << blocks) - 1))
    cute.arch.mbarrier_wait(full, 0)

    # Each block of the cluster writes every so many-th element.
    for i in cutlass.range(thread * blocks + rank, pixels * channels, THREADS * blocks):
        p, c = i // channels, i % channels
        pixel, channel = row * pixels + p, column * channels + c
        if pixel < count and channel < depth:
            y[pixel, tap * depth + channel] = staged[c, p] if transposed else staged[p, c]
    cute.arch.cluster_arrive()
    cute.arch.cluster_wait()


@cute.jit
def im2col(
    x: cute.Tensor,
    y: cute.Tensor,
    taps: tuple,
    before: tuple,
    behind: tuple,
    stride: tuple,
    dilation: tuple,
    tile: cutlass.Constexpr,
    blocks: cutlass.Constexpr,
    transposed: cutlass.Constexpr,
):
    """y[pixel, (tap, channel)] = x where the tap of the pixel is, and 0 outside of x."""
    modes = len(taps)
    # (N, D, H, W, C) as TMA has it: ((W, H, D, N), C), or (C, (W, H, D, N)).
    layout = cute.select(x.layout, [*reversed(range(modes + 1)), modes + 1])
    layout = cute.select(cute.group_modes(layout, 0, modes + 1), [1, 0] if transposed else [0, 1])
    images = cute.make_tensor(x.iterator, layout)
    # Rows of 32, 64 or 128 bytes are swizzled as TMA does it.
    swizzle = cute.make_swizzle(tile[1].bit_length() - 4, 4, 3)
    box, order = (tile[::-1], (0, 1)) if transposed else (tile, (1, 0))
    shared = cute.make_composed_layout(swizzle, 0, cute.make_ordered_layout(box, order=order))
    load, x_tma = cpasync.make_im2col_tma_atom(
        cpasync.CopyBulkTensorIm2ColG2SMulticastOp() if blocks > 1 else cpasync.CopyBulkTensorIm2ColG2SOp(),
        images,
        shared,
        box,
        lower_corner_whd=tuple(-size for size in before),
        upper_corner_whd=tuple(size - (tap - 1) * step for size, tap, step in zip(behind, taps, dilation, strict=True)),
        lower_padding_whd=before,
        upper_padding_whd=behind,
        stride_whd=stride,
        lower_srt=(0,) * modes,
        stride_srt=dilation,
        num_multicast=blocks,
    )
    rows = cute.ceil_div(x_tma.shape[1 if transposed else 0], tile[0])
    columns = cute.ceil_div(x.shape[modes + 1], tile[1])
    im2col_kernel(load, x_tma, y, shared, tile, blocks, transposed).launch(
        grid=[rows * blocks, columns, cute.size(taps)], block=[THREADS, 1, 1], cluster=[blocks, 1, 1]
    )


def reference(x, y, taps, before, behind, stride, dilation):
    """The expected `y`."""
    # By mode of x, where width is the last but the channels.
    taps, before, behind, stride, dilation = (each[::-1] for each in (taps, before, behind, stride, dilation))
    padded = np.pad(x, [(0, 0), *zip(before, behind, strict=True), (0, 0)])
    found = []
    for tap in itertools.product(*map(range, taps)):
        parts = [slice(None)]
        for size, at, step, far, count in zip(padded.shape[1:-1], tap, stride, dilation, taps, strict=True):
            parts.append(slice(at * far, size - (count - 1 - at) * far, step))
        found.append(padded[tuple(parts)].reshape(-1, x.shape[-1]))
    return np.concatenate(found, axis=1)
