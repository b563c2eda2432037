"""The depthwise convolution: each channel has a filter of its own, so that threads multiply by themselves. No DSL.

| | `fprop`, `dgrad` | `wgrad` |
|---|---|---|
| D | pixels × channels | channels × taps |
| a thread has | some neighbouring pixels of a row × a vector of channels | a vector of channels × some taps |
| a warp | 8 × 4 threads along pixels and channels | 4 threads along channels, 8 that share the rows of pixels |
| filters | in shared memory, as accumulators, up to `MOST_TAPS` at a time | |
| K is split | no | in parallel, always |

Where the last axis has no stride, no dilation and a width of `WIDTHS`, what neighbouring pixels see is loaded once.
`wgrad` does so where a thread's taps are a row of the filter.
"""

from __future__ import annotations

from math import gcd, prod
from typing import Any

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.family import Refusal
from cutecc.operations.kernels.workspace import round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits

WARP = 32
LANES = (8, 4)
"""Threads of a warp along pixels and along channels."""
WIDTHS = (3, 5, 7)
"""Of filters of which a row is unrolled."""
MOST_TAPS = 64
"""That shared memory has the filters of."""
MULTIPLIED = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "i8": "i32"}
"""What is multiplied, and what it adds up in."""
MOST_SUMS = 64
"""Registers of a thread for sums."""


def vector(description: ConvolutionDescription) -> int:
    """The channels of a thread."""
    m, n, _ = description.gemm.tile.threadblock
    if description.kind == "wgrad":
        return m // LANES[1]
    return n // description.gemm.tile.warps[1] // LANES[1]


def run(description: ConvolutionDescription) -> int:
    """The pixels of a thread, or of `wgrad` its taps."""
    m, n, _ = description.gemm.tile.threadblock
    along_m, along_n, _ = description.gemm.tile.warps
    return n // along_n if description.kind == "wgrad" else m // along_m // LANES[0]


def width(description: ConvolutionDescription, alignment: int) -> int:
    """The channels of one access."""
    bits = type_bits(description.gemm.a.dtype)
    return gcd(vector(description), alignment, WIDEST_ALIGNMENT * 8 // bits)


def threads(description: ConvolutionDescription) -> int:
    """Of a block."""
    along_m, along_n, along_k = description.gemm.tile.warps
    return WARP * along_m * along_n * along_k


def shared_memory_bytes(description: ConvolutionDescription) -> int:
    """Of the filters of a block, or of `wgrad` the sums of all its warps."""
    gemm = description.gemm
    _, n, _ = gemm.tile.threadblock
    sums = vector(description) * run(description) * LANES[1] * (threads(description) // WARP)
    elements = sums if description.kind == "wgrad" else MOST_TAPS * n
    return elements * type_bits(gemm.instruction.accumulator) // 8


def tiled_rows(description: ConvolutionDescription, geometry: Geometry) -> Any:
    """Of `fprop` and `dgrad` the pixels of D, whose lines are filled up to whole runs."""
    *outer, line = geometry.output if description.kind == "fprop" else geometry.image
    return geometry.images * prod(outer) * round_up(line, run(description))


def accepts(description: ConvolutionDescription) -> Refusal | None:
    """What is not computed: the types, then the tile."""
    gemm = description.gemm
    instruction, (m, n, _) = gemm.instruction, gemm.tile.threadblock
    along_m, along_n, along_k = gemm.tile.warps
    multiplied = MULTIPLIED.get(gemm.a.dtype)
    if multiplied is None or gemm.b.dtype != gemm.a.dtype:
        reason = f"threads multiply {', '.join(MULTIPLIED)} by the same, not {gemm.a.dtype} by {gemm.b.dtype}"
        return Refusal(reason, ("a.dtype", "b.dtype"))
    given = instruction.unit, instruction.shape, instruction.a, instruction.b, instruction.accumulator
    if given != ("simt", (1, 1, 1), gemm.a.dtype, gemm.b.dtype, multiplied):
        reason = f"threads multiply {gemm.a.dtype} into {multiplied}, as simt of 1x1x1, and this is {instruction}"
        return Refusal(reason, ("instruction", "accumulator"))
    is_wgrad = description.kind == "wgrad"
    if gemm.mode != ("split_k_parallel" if is_wgrad else "gemm"):
        known = "split in parallel" if is_wgrad else "not split"
        return Refusal(f"K of a depthwise {description.kind} is {known}", ("mode",))
    step_m, step_n = (LANES[1], along_n) if is_wgrad else (along_m * LANES[0], along_n * LANES[1])
    if m % step_m or n % step_n or (along_m if is_wgrad else along_k) != 1:
        reason = f"{along_m}x{along_n}x{along_k} warps do not share a tile of {m}x{n}"
        return Refusal(reason, ("tile.m", "tile.n", "tile.warps"))
    size, length = vector(description), vector(description) * gemm.a.bits // 8
    if size & (size - 1) or length > WIDEST_ALIGNMENT:
        reason = f"a thread has a power of two of channels up to {WIDEST_ALIGNMENT} bytes, and these are {size}"
        return Refusal(reason, ("tile.m" if is_wgrad else "tile.n", "tile.warps"))
    sums = size * run(description) * type_bits(instruction.accumulator) // 32
    if sums > MOST_SUMS:
        return Refusal(f"sums take {sums} registers a thread, of which {MOST_SUMS} are for them", ("tile.m", "tile.n"))
    for output in gemm.epilogue.outputs:
        if not is_wgrad and output.reduction != "none" and output.kind != "column":
            reason = f"columns of a depthwise {description.kind} are not reduced, as '{output.name}' is"
            return Refusal(reason, ("epilogue",))
    return None
