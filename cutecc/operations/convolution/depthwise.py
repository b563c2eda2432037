"""Depthwise convolutions among the others: their instruction, their tiles, how long they take, how K is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil, prod

from cutecc.operations.convolution.description import ConvolutionDescription, Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.description import Mode, matched
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.depthwise import MULTIPLIED, PATCHES, VECTORS, WARP, WIDTHS
from cutecc.operations.machine import GLOBAL_BYTES, machine
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription, TileRequest

Extents = tuple[int, int, int]

_ACROSS = ((16, 1), (32, 1), (8, 1), (4, 1), (16, 2))
"""Lanes of a warp along channels, and warps along them."""
_WARPS = (8, 4, 2, 1)
"""Along pixels."""
_MOST_WARPS = 16
_COLUMNS = (7, 8, 14)
"""Outputs of a line that a thread of `wgrad` takes at a time."""
_LINES = {7: ((1, 7), (2, 4), (7, 1)), 5: ((1, 5), (5, 1)), 3: ((1, 3), (3, 1))}
"""By the width of a filter, the lines of it that a thread of `wgrad` has, and warps along them."""
_SCHEDULERS = 4
"""Of an SM: each issues an instruction of a warp a cycle."""
_L2_BYTES = 64
"""That an SM gets of the L2 cache a cycle."""
_SECTOR, _DRAM_LENGTH = 32, 64
"""Bytes that are read together, from the L2 cache and from global memory."""
_FINISH = 8500
"""Cycles in which the slices of `wgrad` are added up."""
_LATENCY = 3200
"""Cycles that a block waits for its pixels."""
_ALONE = 2.5
"""Cycles between instructions of a warp that a scheduler has no other for."""
_EXPOSED = 0.45
"""Of the time that memory takes, what is not hidden behind multiplying."""
_COPY, _FILTER, _STORE, _LINE, _PAIR, _BLOCK = 8, 32, 9, 20, 18, 100
"""Instructions for a vector that is copied, a tap that is, a pixel that is stored, a line of pixels, one of them for a
line of sums, and once."""
_BY_TAP = 36
"""Instructions for a pixel from global memory."""


def multiplies(a: Operand, b: Operand) -> bool:
    """Whether there are kernels for tensors of these types."""
    return a.stored.dtype == b.stored.dtype and a.stored.dtype in MULTIPLIED


def instruction(a: Operand) -> MathInstruction:
    """What multiplies elements of these types, which `multiplies` has said yes to."""
    dtype = a.stored.dtype
    return MathInstruction("simt", (1, 1, 1), dtype, dtype, MULTIPLIED[dtype])


def mode(kind: Kind) -> Mode:
    """How K is gone along."""
    return "split_k_parallel" if kind == "wgrad" else "gemm"


def near(description: ConvolutionDescription) -> Iterator[tuple[ConvolutionDescription, int]]:
    """The same as threads multiply it, with each tile, and how many parts of the means that changes."""
    gemm = description.gemm
    if not multiplies(gemm.a, gemm.b):
        return
    multiplying = instruction(gemm.a)
    epilogue = matched(gemm.epilogue, gemm.c, gemm.d, multiplying.accumulator)
    own = replace(gemm, instruction=multiplying, mode=mode(description.kind), epilogue=epilogue)
    changed = (own.instruction != gemm.instruction) + (own.mode != gemm.mode)
    for tile in (gemm.tile, *tiles(description, TileRequest())):
        yield replace(description, gemm=own.with_tile(tile)), changed + (tile != gemm.tile)


def tiles(description: ConvolutionDescription, request: TileRequest) -> Iterator[TileDescription]:
    """Tiles worth a try, with the parts that are asked for; not all of them are valid."""
    for threadblock, warps in _of_wgrad(description) if description.kind == "wgrad" else _of_pixels(description):
        tile = TileDescription(threadblock, request.stages or 2, warps)
        if request.allows(tile):
            yield tile


def _of_pixels(description: ConvolutionDescription) -> Iterator[tuple[Extents, Extents]]:
    """Of `fprop` and `dgrad`: threadblock and warps."""
    for (lanes, along), patch, warps in product(_ACROSS, PATCHES, _WARPS):
        if along * warps > _MOST_WARPS:
            continue
        channels = lanes * along * VECTORS[description.gemm.a.bits]
        yield (patch * WARP // lanes * warps, channels, 1), (warps, along, 1)


def _of_wgrad(description: ConvolutionDescription) -> Iterator[tuple[Extents, Extents]]:
    """Of `wgrad`: a thread has some lines of the filter, or all, or of a usual width none that is unrolled."""
    for (lanes, along), width, columns, warps in product(_ACROSS, (*WIDTHS, 1), _COLUMNS, _WARPS):
        if along > 1:
            continue
        for lines, along_n in _LINES.get(width, ((1, 1),)):
            if along_n * warps <= _MOST_WARPS:
                channels = lanes * VECTORS[description.gemm.a.bits]
                yield (channels, lines * width * along_n, columns * WARP // lanes * warps), (1, along_n, warps)


def cycles(description: ConvolutionDescription, sizes: ConvolutionProblem) -> float:
    """Estimated cycles of a valid depthwise convolution: what waves of blocks issue, and what memory takes besides."""
    geometry = sizes.geometry
    cut = depthwise.cut(description, geometry)
    m, n, _ = description.gemm.tile.threadblock
    blocks, item = prod(depthwise.tiles(description, geometry, cut)), description.gemm.a.bits // 8
    seen = prod(cut.seen)
    if description.kind == "wgrad":
        channels, tiles, split = m, blocks, slices(description, sizes)
        blocks = ceil(sizes.channels / m) * ceil(sizes.taps / n) * split
        issued = ceil(tiles / split) * _of_tile(description, sizes, cut) + 12 * depthwise.run(description)
        seen = (seen + cut.groups * cut.lines * cut.runs * depthwise.patch(description)[1]) * ceil(tiles / split)
    else:
        channels, blocks = n, blocks * ceil(sizes.channels / n)
        issued = _of_patch(description, sizes, cut)
    chip = machine(description.target)
    on_each = ceil(blocks / chip.multiprocessors)
    at_once = min(depthwise.blocks_per_sm(description), on_each)
    waves = on_each / at_once
    turns = max(at_once * depthwise.threads(description) / WARP / _SCHEDULERS, _ALONE)
    computing = (waves if waves > 3 else ceil(waves)) * (_LATENCY + issued * turns)
    moved = sizes.batch * sizes.channels * (prod(sizes.image) + prod(sizes.output)) * item
    length = channels * item if channels < sizes.channels else _DRAM_LENGTH
    from_global = moved * max(1, _DRAM_LENGTH / length) / GLOBAL_BYTES
    from_l2 = blocks * seen * channels * item * max(1, _SECTOR / length) / _L2_BYTES
    finishing = _FINISH if description.kind == "wgrad" else 0
    return computing + _EXPOSED * max(from_global, from_l2) / chip.multiprocessors + finishing


def _of_patch(description: ConvolutionDescription, sizes: ConvolutionProblem, cut: depthwise.Cut) -> float:
    """The instructions of a thread of `fprop` or `dgrad`."""
    (lines, columns), vector = depthwise.patch(description), depthwise.vector(description)
    planes = depthwise.planes(description, sizes.geometry)
    stored = lines * columns * _STORE + _BLOCK
    if not _is_unrolled(description, sizes, cut):
        return stored + sizes.taps * lines * columns * (_BY_TAP + 2 * vector)
    (height, width), stride, at_once = planes.filter, planes.stride, depthwise.threads(description)
    channels, met = description.gemm.tile.threadblock[1], 1.0
    lines_seen, seen = (lines - 1) * stride[0] + height, (columns - 1) * stride[1] + width
    if description.kind == "dgrad":
        lines_seen, seen = (lines + height - 2) / stride[0] + 1, (columns + width - 2) / stride[1] + 1
        met = 1 / prod(stride)
    summed = lines_seen * (seen * _load(description) + _LINE)
    summed += lines * height * (width + columns * width * vector * met + _PAIR)
    copied = prod(cut.seen) * channels / depthwise.staged_width(description, description.gemm.a.alignment) * _COPY
    filters = prod(planes.filter) * channels * _FILTER
    return stored + sizes.taps / prod(planes.filter) * (summed + (copied + filters) / at_once)


def _of_tile(description: ConvolutionDescription, sizes: ConvolutionProblem, cut: depthwise.Cut) -> float:
    """The instructions of a thread of `wgrad` for a rectangle of outputs."""
    columns, vector = depthwise.patch(description)[1], depthwise.vector(description)
    planes, outputs = depthwise.planes(description, sizes.geometry), cut.lines * columns
    if not _is_unrolled(description, sizes, cut):
        return outputs * (1 + depthwise.run(description)) * (_BY_TAP + 2 * vector)
    lines, taps = depthwise.filter_lines(description)
    seen = (cut.lines - 1) * planes.stride[0] + planes.filter[0]
    summed = seen * (((columns - 1) * planes.stride[1] + taps) * _load(description) + _LINE)
    summed += lines * cut.lines * (columns * (_load(description) + taps * vector) + _PAIR)
    pixels = prod(cut.seen) + cut.groups * cut.runs * outputs
    copied = pixels * description.gemm.tile.threadblock[0] * _COPY
    copied /= depthwise.staged_width(description, description.gemm.a.alignment)
    return _BLOCK + summed + copied / depthwise.threads(description)


def _load(description: ConvolutionDescription) -> int:
    """Instructions that load a thread's channels of a pixel from shared memory, and convert them."""
    return 1 + (depthwise.vector(description) if description.gemm.a.bits < 32 else 0)


def _is_unrolled(description: ConvolutionDescription, sizes: ConvolutionProblem, cut: depthwise.Cut) -> bool:
    widths = (depthwise.filter_lines(description)[1],) if description.kind == "wgrad" else WIDTHS
    along = sizes.filter[-1] in widths and (sizes.stride[-1] in depthwise.steps(description))
    return along and bool(depthwise.is_staged(description, sizes.geometry, cut))


def slices(description: ConvolutionDescription, sizes: ConvolutionProblem) -> int:
    """Into how many slices K of a `wgrad` is split when nobody says: as many as keep a GPU busy, each with outputs."""
    m, n, _ = description.gemm.tile.threadblock
    blocks = ceil(sizes.channels / m) * ceil(sizes.taps / n)
    wanted = machine(description.target).multiprocessors * depthwise.blocks_per_sm(description)
    geometry = sizes.geometry
    most = prod(depthwise.tiles(description, geometry, depthwise.cut(description, geometry)))
    return max(1, min(most, wanted // blocks, 256))
