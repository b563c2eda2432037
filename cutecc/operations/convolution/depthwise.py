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
from cutecc.operations.kernels.convolution.depthwise import LANES, MULTIPLIED, WIDTHS, run, threads, vector
from cutecc.operations.machine import machine
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand
from cutecc.operations.tile import TileDescription, TileRequest

_RUNS = (4, 8, 2, 1)
"""Pixels of a thread."""
_TAPS = (7, 5, 3, 4, 2, 1)
"""Of a thread, of `wgrad`."""
_GRIDS = ((4, 1), (8, 1), (4, 2), (2, 2), (2, 1), (1, 1))
"""Warps along pixels and channels."""
_SCHEDULERS = 4
"""Of an SM: each issues an instruction of a warp a cycle."""
_WARPS = 24
"""Of an SM that slices of `wgrad` are made for."""
_SPARE = 128
"""Registers for sums that would halve what a GPU issues."""
_L2_BYTES = 40
"""That an SM gets of the L2 cache a cycle."""
_LOAD = 7
"""Instructions of a load, besides the conversion of what is loaded."""


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
    widest = WIDEST_ALIGNMENT * 8 // description.gemm.a.bits
    vectors = [each for each in (1, 2, 4, 8) if each <= widest]
    for channels in reversed(vectors):
        if description.kind == "wgrad":
            cuts = (
                ((LANES[1] * channels, taps * along_n, LANES[0] * along_k), (1, along_n, along_k))
                for taps, along_n, along_k in product(_TAPS, range(1, 10), (1, 2, 4))
            )
        else:
            cuts = (
                ((LANES[0] * pixels * along_m, LANES[1] * channels * along_n, 1), (along_m, along_n, 1))
                for pixels, (along_m, along_n) in product(_RUNS, _GRIDS)
            )
        for threadblock, warps in cuts:
            tile = TileDescription(threadblock, request.stages or 2, warps)
            if request.allows(tile):
                yield tile


def cycles(description: ConvolutionDescription, sizes: ConvolutionProblem) -> float:
    """Estimated cycles of a valid depthwise convolution: what warps issue, and what blocks read of the L2 cache."""
    m, n, _ = description.gemm.tile.threadblock
    channels, own, warps = vector(description), run(description), threads(description) // depthwise.WARP
    lines, width = prod(sizes.filter[:-1]), sizes.filter[-1]
    is_usual = width in WIDTHS and sizes.stride[-1] == sizes.dilation[-1] == 1
    load, bytes_of = _LOAD + channels, description.gemm.a.bits // 8 * sizes.batch * sizes.channels
    if description.kind == "wgrad":
        # A thread's taps are a line of the filter, or each loads for itself.
        loads = 2 if is_usual and own == width else 1 + own
        along_lines = sizes.batch * prod(sizes.output[:-1]) / (LANES[0] * description.gemm.tile.warps[2])
        issued = sizes.output[-1] * (loads * load + own * channels) * along_lines
        across = ceil(sizes.taps / n)
        blocks = ceil(sizes.channels / m) * across
        read = across * bytes_of * (prod(sizes.image) + prod(sizes.output))
    else:
        pixels = sizes.output if description.kind == "fprop" else sizes.image
        columns = width + own - 1 if is_usual else width * own
        issued = lines * (columns * load + width * channels * (own + 0.25))
        runs = sizes.batch * prod(pixels[:-1]) * ceil(pixels[-1] / own)
        blocks = ceil(runs * own / m) * ceil(sizes.channels / n)
        # The lines that a block computes see others before and behind them.
        read = bytes_of * prod(sizes.image) * (1 + (lines - 1) * pixels[-1] / m)
    sums = own * channels * (2 if description.gemm.a.bits == 64 else 1)
    # Of threads with many sums, fewer hide the time that loads take.
    turns = max(blocks * warps / _at_once(description), 1 if description.kind != "wgrad" else 0)
    issuing = issued * turns * (1 + sums / _SPARE)
    reading = read / (machine(description.target).multiprocessors * _L2_BYTES)
    return max(issuing, reading) + min(issuing, reading) / 4


def slices(description: ConvolutionDescription, sizes: ConvolutionProblem) -> int:
    """Into how many slices K of a `wgrad` is split when nobody says: as many as keep a GPU busy, each with lines."""
    m, n, _ = description.gemm.tile.threadblock
    blocks = ceil(sizes.channels / m) * ceil(sizes.taps / n)
    wanted = machine(description.target).multiprocessors * _WARPS // (threads(description) // depthwise.WARP)
    lines = sizes.batch * prod(sizes.output[:-1])
    most = ceil(lines / (LANES[0] * description.gemm.tile.warps[2]))
    return max(1, min(most, wanted // blocks, 128))


def _at_once(description: ConvolutionDescription) -> int:
    """Warps that issue at the same time."""
    return machine(description.target).multiprocessors * _SCHEDULERS
