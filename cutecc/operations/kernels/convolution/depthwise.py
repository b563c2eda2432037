"""The depthwise convolution: each channel has a filter of its own, so that threads multiply by themselves. No DSL.

| | `fprop`, `dgrad` | `wgrad` |
|---|---|---|
| D | pixels × channels | channels × taps |
| a thread has | some neighbouring pixels, `PATCHES`, of a few channels | lines of the filter of a few channels |
| lanes of a warp | lie along channels, `VECTORS` each, the rest of them along pixels | the same |
| in shared memory | the pixels that a block sees; filters, as accumulators | the pixels of both operands |
| K is split | no | in parallel, always |

A *plane* is an image, in 3-d one of its slices, in 1-d all images as the lines of one. A block has a rectangle of a
plane, `Cut`, and all that it sees is copied to shared memory first, zeros where there is nothing. Then a thread goes
down the lines that it sees. It converts each once, and adds it to the sums of all the lines of D that see it.

That is where lines of the filter have a width of `WIDTHS`, a stride of 1 or 2 along a line, no dilation, and shared
memory has room. All other convolutions load each pixel from global memory for each tap. A strided `dgrad` multiplies
the taps that meet an output; its threads begin at even places of the padded line, so that these are known.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd, prod
from typing import Any, NamedTuple

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.kernels.convolution.signature import Geometry
from cutecc.operations.kernels.family import Refusal
from cutecc.operations.kernels.workspace import ceil_div, round_up
from cutecc.operations.operand import WIDEST_ALIGNMENT, type_bits
from cutecc.target import Target

WARP = 32
VECTORS = {8: 4, 16: 2, 32: 2, 64: 1}
"""The channels of a thread, by the bits of a type."""
CHANNEL_LANES = (4, 8, 16, 32)
"""Of a warp along channels."""
PATCHES = {4: (1, 4), 7: (1, 7), 8: (1, 8), 14: (2, 7), 16: (2, 8), 28: (4, 7), 32: (4, 8)}
"""Lines and columns of the pixels of a thread, by how many it has."""
WIDTHS = (3, 5, 7)
"""Of filters of which a line is unrolled."""
MOST_TAPS = 64
"""That shared memory has the filters of."""
MOST_COLUMNS = 16
"""Of a line of outputs that a thread of `wgrad` takes at a time."""
MULTIPLIED = {"f64": "f64", "f32": "f32", "f16": "f32", "bf16": "f32", "i8": "i32"}
"""What is multiplied, and what it adds up in."""
MOST_SUMS = {"fprop": 64, "dgrad": 64, "wgrad": 98}
"""Registers of a thread for sums."""
MOST_RUNS = 8
"""Of a line that threads of a block have next to each other: more would leave few lines, of which all see others."""
STAGED_BYTES = 72 << 10
"""Of the pixels of both operands of `wgrad` in shared memory."""


TOGETHER = 16
"""Slices of `wgrad` that a thread adds up at a time."""
FOLDING_THREADS = 128
"""Of a block that does."""


_ADDRESSES = 42
"""Registers of a thread besides."""
_MOST_THREADS = 1024
"""Of a multiprocessor at once, by which there are as many as any has."""


class Cut(NamedTuple):
    """How blocks cut a plane. Of the pixels of D, or the outputs of `wgrad`, a thread has a patch."""

    runs: Any
    """Threads next to each other along a line."""
    groups: Any
    """Threads below each other."""
    lines: Any
    """Of a thread."""
    seen: tuple[Any, Any]
    """Lines and columns of pixels that a block sees."""


class Planes(NamedTuple):
    """A geometry as planes of lines: what is along its last two axes, or in 1-d along images and the only one."""

    count: Any
    """Of planes of D, or of outputs."""
    lines: Any
    columns: Any
    """Of D, or outputs."""
    filter: tuple[Any, Any]
    padding: tuple[Any, Any]
    stride: tuple[Any, Any]
    dilation: tuple[Any, Any]


def planes(description: ConvolutionDescription, geometry: Geometry) -> Planes:
    """The planes of a geometry, in Python's or the DSL's numbers."""
    extents = geometry.image if description.kind == "dgrad" else geometry.output
    if description.rank == 1:
        one = (1, geometry.filter[-1]), (0, geometry.padding[-1]), (1, geometry.stride[-1]), (1, geometry.dilation[-1])
        return Planes(1, geometry.images, extents[-1], *one)
    both = (each[-2:] for each in (geometry.filter, geometry.padding, geometry.stride, geometry.dilation))
    return Planes(geometry.images * prod(extents[:-2]), *extents[-2:], *both)


def vector(description: ConvolutionDescription) -> int:
    """The channels of a thread."""
    return VECTORS[type_bits(description.gemm.a.dtype)]


def lanes(description: ConvolutionDescription) -> tuple[int, int]:
    """Of a warp along pixels and along channels."""
    channels = _tile_channels(description) // _channel_warps(description) // vector(description)
    return WARP // max(channels, 1), channels


def run(description: ConvolutionDescription) -> int:
    """The pixels of a thread, or of `wgrad` its taps."""
    m, n, _ = description.gemm.tile.threadblock
    along_m, along_n, _ = description.gemm.tile.warps
    return n // along_n if description.kind == "wgrad" else m // along_m // lanes(description)[0]


def patch(description: ConvolutionDescription) -> tuple[int, int]:
    """Lines and columns of the pixels of D of a thread; of `wgrad` lines vary, and it is one."""
    if description.kind == "wgrad":
        return 1, description.gemm.tile.threadblock[2] // lanes(description)[0] // description.gemm.tile.warps[2]
    return PATCHES[run(description)]


def filter_lines(description: ConvolutionDescription) -> tuple[int, int]:
    """The lines of a filter of a thread of `wgrad`, and their width, of those that are unrolled; else none."""
    taps = run(description)
    width = next((each for each in reversed(WIDTHS) if taps % each == 0), 0)
    return (taps // width, width) if width else (0, 0)


def width(description: ConvolutionDescription, alignment: int) -> int:
    """The channels of one access of a thread to its own."""
    return gcd(vector(description), alignment)


def staged_width(description: ConvolutionDescription, alignment: int) -> int:
    """The channels that are copied to shared memory at a time."""
    bits = type_bits(description.gemm.a.dtype)
    return gcd(_tile_channels(description), alignment, WIDEST_ALIGNMENT * 8 // bits)


def threads(description: ConvolutionDescription) -> int:
    """Of a block."""
    along_m, along_n, along_k = description.gemm.tile.warps
    return WARP * along_m * along_n * along_k


def pixel_threads(description: ConvolutionDescription) -> int:
    """Of a block, those that have other pixels of the same channels."""
    along_m, _, along_k = description.gemm.tile.warps
    return lanes(description)[0] * (along_k if description.kind == "wgrad" else along_m)


def room(description: ConvolutionDescription) -> int:
    """Pixels that shared memory has room for: what a block sees of a stride of 1 and 7×7 taps, or of 2 and 3×3."""
    if description.kind == "wgrad":
        return STAGED_BYTES // (_tile_channels(description) * description.gemm.a.bits // 8)
    at_once, (lines, columns) = pixel_threads(description), patch(description)
    runs = min(at_once, MOST_RUNS)
    both = at_once // runs * lines, runs * columns
    strides = (1, 7), *([(2, 3)] if description.kind == "fprop" and description.stride == "strided" else [])
    return max(prod((each - 1) * stride + taps for each in both) for stride, taps in strides)


def staged_bytes(description: ConvolutionDescription) -> int:
    """Of the pixels in shared memory."""
    return room(description) * _tile_channels(description) * description.gemm.a.bits // 8


def shared_memory_bytes(description: ConvolutionDescription) -> int:
    """Of the pixels and the filters of a block, or of `wgrad` of the pixels, and then the sums of all its warps."""
    item = type_bits(description.gemm.instruction.accumulator) // 8
    if description.kind == "wgrad":
        return max(staged_bytes(description), left_elements(description) * item)
    return staged_bytes(description) + MOST_TAPS * filter_row(description) * item


def registers(description: ConvolutionDescription) -> int:
    """Of a thread, about: its sums, the pixels and taps of a line, and addresses."""
    words = vector(description) * type_bits(description.gemm.instruction.accumulator) // 32
    wide = patch(description)[1] + WIDTHS[-1] - 1
    if description.kind == "wgrad":
        wide += patch(description)[1]
    return round_up(min(words * (run(description) + wide) + _ADDRESSES, 255), 8)


def blocks_per_sm(description: ConvolutionDescription) -> int:
    """That a multiprocessor has room for, by registers and shared memory."""
    limits, own = Target.parse(description.target).limits, threads(description)
    blocks = min(limits.registers_per_sm // (registers(description) * own), _MOST_THREADS // own)
    return max(1, min(blocks, limits.shared_memory_per_sm // _reserved(description)))


def shared_memory_percentage(description: ConvolutionDescription) -> int:
    """Of what a multiprocessor has, for as many blocks."""
    limit = Target.parse(description.target).limits.shared_memory_per_sm
    return min(ceil_div(100 * blocks_per_sm(description) * _reserved(description), limit), 100)


def _reserved(description: ConvolutionDescription) -> int:
    """Bytes of shared memory that a block takes, with those that belong to the system."""
    return shared_memory_bytes(description) + 1024


def filter_row(description: ConvolutionDescription) -> int:
    """Elements of shared memory between taps: few of the threads that store taps of one filter meet in a bank."""
    return _tile_channels(description) + vector(description)


def left_elements(description: ConvolutionDescription) -> int:
    """Sums of all warps of a block of `wgrad`."""
    return vector(description) * run(description) * lanes(description)[1] * (threads(description) // WARP)


def cut(description: ConvolutionDescription, geometry: Geometry, least: Callable[[Any, Any], Any] = min) -> Cut:
    """How blocks cut the planes of a geometry; where `Cut.seen` is more than there is `room` for, pixels stay where
    they are. `least` is the minimum of two of the numbers of the geometry."""
    plane, at_once = planes(description, geometry), pixel_threads(description)
    # Of no images there are no lines in 1-d.
    plane = plane._replace(lines=at_least_one(plane.lines, least))
    (lines, columns), (taps, width), strides = patch(description), plane.filter, plane.stride
    runs = least(ceil_div(plane.columns + shift(description, plane), columns), min(at_once, MOST_RUNS))
    if description.kind == "dgrad":
        # Of a stride, where the first pixel of a block is rounded down, a line more.
        more = 2 if description.stride == "strided" else 1
        across = (runs * columns + width - 2) // strides[1] + 1
        fitting = ((room(description) // across - more) * strides[0] + 2 - taps) // lines
        groups = least(least(at_once // runs, at_least_one(fitting, least)), ceil_div(plane.lines, lines))
        return Cut(runs, groups, lines, ((groups * lines + taps - 2) // strides[0] + more, across))
    across = (runs * columns - 1) * strides[1] + width
    if description.kind == "fprop":
        fitting = (room(description) // across - taps + strides[0]) // (lines * strides[0])
        groups = least(least(at_once // runs, at_least_one(fitting, least)), ceil_div(plane.lines, lines))
    else:
        groups = least(at_once // runs, plane.lines)
        left = room(description) - (taps - strides[0]) * across
        fitting = left // (groups * (strides[0] * across + runs * columns))
        lines = least(at_least_one(fitting, least), ceil_div(plane.lines, groups))
    return Cut(runs, groups, lines, ((groups * lines - 1) * strides[0] + taps, across))


def at_least_one(number: Any, least: Callable[[Any, Any], Any]) -> Any:
    """The number, or 1 for less; `least` is the minimum of two."""
    return -least(-number, -1)


def shift(description: ConvolutionDescription, plane: Planes) -> Any:
    """Columns before D with which a strided `dgrad` begins, so that all threads begin at a multiple of 2 in outputs."""
    is_strided = description.kind == "dgrad" and description.stride == "strided"
    return plane.padding[1] % 2 if is_strided else 0


def tiles(description: ConvolutionDescription, geometry: Geometry, made: Cut) -> tuple[Any, Any, Any]:
    """Into how many rectangles planes are cut: planes, along lines, along columns."""
    plane = planes(description, geometry)
    lines, columns = made.groups * made.lines, made.runs * patch(description)[1]
    width = plane.columns + shift(description, plane)
    return plane.count, (plane.lines + lines - 1) // lines, (width + columns - 1) // columns


def tiled_rows(description: ConvolutionDescription, geometry: Geometry, made: Cut | None = None) -> Any:
    """Of `fprop` and `dgrad` the pixels of D, with those that blocks have beyond its planes.

    They are M for what counts tiles of D, as the parts of reductions in the workspace are.
    """
    return prod(tiles(description, geometry, made or cut(description, geometry))) * description.gemm.tile.threadblock[0]


def is_staged(description: ConvolutionDescription, geometry: Geometry, made: Cut) -> Any:
    """Whether shared memory has what blocks see, as far as it is not in the width of a line of the filter."""
    plane, pixels = planes(description, geometry), made.seen[0] * made.seen[1]
    found = (plane.dilation[0] == 1) & (plane.dilation[1] == 1)
    match description.kind:
        case "fprop":
            found = found & (prod(plane.filter) <= MOST_TAPS)
        case "dgrad":
            found = found & (prod(plane.filter) <= MOST_TAPS)
        case "wgrad":
            pixels = pixels + made.groups * made.lines * made.runs * patch(description)[1]
            if description.rank > 1:
                found = found & (plane.stride[0] == plane.stride[1])
    return found & (pixels <= room(description))


def steps(description: ConvolutionDescription) -> tuple[int, ...]:
    """The strides along a line that are unrolled."""
    is_even = description.kind != "dgrad" or patch(description)[1] % 2 == 0
    return (1, 2) if description.stride == "strided" and is_even else (1,)


def accepts(description: ConvolutionDescription) -> Refusal | None:
    """What is not computed: the types, then the tile."""
    return _product_refusal(description) or _warps_refusal(description) or _threads_refusal(description)


def _product_refusal(description: ConvolutionDescription) -> Refusal | None:
    gemm, instruction = description.gemm, description.gemm.instruction
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
    return None


def _warps_refusal(description: ConvolutionDescription) -> Refusal | None:
    """Why warps and their lanes do not share the tile."""
    (m, n, k), is_wgrad = description.gemm.tile.threadblock, description.kind == "wgrad"
    along_m, along_n, along_k = description.gemm.tile.warps
    channels = _tile_channels(description) / _channel_warps(description)
    known = [each * vector(description) for each in CHANNEL_LANES]
    if channels not in known:
        dtype, words = description.gemm.a.dtype, ", ".join(map(str, known))
        reason = f"a warp has {words} channels of {dtype}, and these are {channels:g}"
        return Refusal(reason, ("tile.m" if is_wgrad else "tile.n", "tile.warps"))
    shares = (n % along_n, k % pixel_threads(description)) if is_wgrad else (m % pixel_threads(description),)
    if any(shares) or (along_m if is_wgrad else along_k) != 1:
        reason = f"{along_m}x{along_n}x{along_k} warps do not share a tile of {m}x{n}x{k}"
        return Refusal(reason, ("tile.m", "tile.n", "tile.k", "tile.warps"))
    return None


def _threads_refusal(description: ConvolutionDescription) -> Refusal | None:
    """Why a thread cannot have its part, or a block its shared memory."""
    is_wgrad = description.kind == "wgrad"
    if is_wgrad and patch(description)[1] > MOST_COLUMNS:
        reason = f"a thread takes {MOST_COLUMNS} outputs of a line at a time, and these are {patch(description)[1]}"
        return Refusal(reason, ("tile.k", "tile.warps"))
    sums = vector(description) * run(description) * type_bits(description.gemm.instruction.accumulator) // 32
    most = MOST_SUMS[description.kind]
    if sums > most:
        return Refusal(f"sums take {sums} registers a thread, of which {most} are for them", ("tile.m", "tile.n"))
    if not is_wgrad and run(description) not in PATCHES:
        reason = f"a thread has {', '.join(map(str, PATCHES))} pixels, and these are {run(description)}"
        return Refusal(reason, ("tile.m", "tile.warps"))
    used, limit = shared_memory_bytes(description), Target.parse(description.target).limits.shared_memory_per_block
    if used > limit:
        reason = f"a threadblock takes {used} bytes of shared memory, and {description.target} has {limit}"
        return Refusal(reason, ("tile.m", "tile.n", "tile.warps", "target"))
    return None


def _tile_channels(description: ConvolutionDescription) -> int:
    return description.gemm.tile.threadblock[0 if description.kind == "wgrad" else 1]


def _channel_warps(description: ConvolutionDescription) -> int:
    return description.gemm.tile.warps[0 if description.kind == "wgrad" else 1]
