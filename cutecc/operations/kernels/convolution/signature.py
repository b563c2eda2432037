"""What the kernel of a convolution takes: its argument specs, and the sizes of the product that it is. Needs no DSL.

| parameter | argument |
|---|---|
| `problem` | M, N, K and the number of groups L of the product, each `i32`: what `problem` gives |
| `geometry` | a `Geometry` of `i32`s |
| `a`, `b` | two of the three tensors, see below |
| `operands` | those of the epilogue, as for a GEMM of M×N×K, a batch a group |
| `workspace`, `slices`, `multiprocessors`, `stream` | as for a GEMM |

| tensor | modes | contiguous |
|---|---|---|
| activations, or their gradient | (image, D, H, W, channels), in 2-d without D, in 1-d without D, H | channels |
| outputs, or their gradient | (image, Z, P, Q, filters), alike | filters |
| filters | (filter, tap, channel of a group); taps are T·R·S, the last extent the fastest | channels |

`a` and `b` are activations and filters (`fprop`), outputs and filters (`dgrad`), outputs and activations (`wgrad`;
there the outputs are a matrix, N·P·Q pixels at one distance by filters, unless it is depthwise). D is a matrix of the
third, (M, N, L): rows at one distance, groups side by side in a row (`wgrad`: below each other), so that its tensor
must be dense but for the distance of rows. Channels and filters of a group are multiples of the alignments of the
tensors that they are contiguous in.

Interleaved activations are (image, D, H, W, channels / 32, 32), filters (filter, tap, channels / 32, 32), all distances
multiples of 32. Interleaved D and other full operands are (pixel, 32, filters / 32, image).

`depthwise` convolutions have a channel a group, and L = 1: D is (N·P·Q, channels), of `wgrad` (channels, taps). Filters
are (channel, tap, 1), whose taps are contiguous, and promise no alignment.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

from cutecc.operations.convolution.description import ConvolutionDescription, Kind
from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.values import Input, Output
from cutecc.operations.kernels import signature as gemm_signature
from cutecc.operations.kernels.signature import (
    INTERLEAVED,
    divisors,
    full_operand,
    is_persistent,
    mode_spec,
    operand_spec,
)
from cutecc.operations.kernels.workspace import needs_workspace
from cutecc.operations.operand import WIDEST_ALIGNMENT, Operand

PARAMETERS = ("problem", "geometry", *gemm_signature.PARAMETERS[1:])

TENSORS: dict[Kind, tuple[str, str]] = {
    "fprop": ("activations", "filters"),
    "dgrad": ("outputs", "filters"),
    "wgrad": ("outputs", "activations"),
}
"""What A and B are."""
_EXTENTS = {"activations": "DHW", "outputs": "ZPQ"}


class Geometry(NamedTuple):
    """The sizes of a convolution, as Python's or the DSL's numbers; spatial ones are tuples, the fastest last."""

    images: Any
    channels: Any
    """Of the activations, in all groups together."""
    filters: Any
    """In all groups together."""
    image: tuple[Any, ...]
    """D, H, W."""
    filter: tuple[Any, ...]
    """T, R, S."""
    output: tuple[Any, ...]
    """Z, P, Q."""
    padding: tuple[Any, ...]
    """How far the filter reaches before the first element. What it reaches behind the last follows from the others."""
    stride: tuple[Any, ...]
    dilation: tuple[Any, ...]


def specs(description: ConvolutionDescription) -> dict[str, str]:
    """The argument spec of each parameter, in their order: what `cutecc.compile` takes, and `Job.args`."""
    gemm, rank = product(description), description.rank
    sizes = {name: mode_spec(name, divisor) for name, divisor in divisors(gemm).items()}
    operands = [_interleaved(gemm, each) or operand_spec(gemm, each, sizes) for each in gemm.epilogue.operands]
    extents = f"({', '.join(['i32'] * rank)},)"
    takes_workspace = description.is_folded or needs_workspace(gemm)
    a, b = (
        _tensor(description, name, operand)
        for name, operand in zip(TENSORS[description.kind], (description.gemm.a, description.gemm.b), strict=True)
    )
    return {
        "problem": "(i32, i32, i32, i32)",
        "geometry": f"(i32, i32, i32, {', '.join([extents] * 6)})",
        "a": a,
        "b": b,
        "operands": f"({', '.join(operands)},)",
        "workspace": f"u8[?] align={WIDEST_ALIGNMENT}" if takes_workspace else "none",
        "slices": "i32" if gemm.mode in ("split_k_serial", "split_k_parallel") else "none",
        "multiprocessors": "i32" if is_persistent(gemm) else "none",
        "stream": "stream",
    }


def product(description: ConvolutionDescription) -> GemmDescription:
    """The product of a description as epilogues see it: what is contiguous promises no more than there is."""
    gemm = description.gemm
    # Of depthwise convolutions B never has channels along a contiguous extent of the product.
    return replace(gemm, b=replace(gemm.b, alignment=1)) if description.groups == "depthwise" else gemm


def problem(description: ConvolutionDescription, geometry: Geometry, groups: Any) -> tuple[Any, Any, Any, Any]:
    """M, N, K and L of the product of each group, as the kernel takes them."""
    channels, filters = geometry.channels // groups, geometry.filters // groups
    taps = prod(geometry.filter)
    outputs = geometry.images * prod(geometry.output)
    is_depthwise = description.groups == "depthwise"
    if is_depthwise:
        channels, filters, groups = geometry.channels, geometry.channels, 1
    of_channel = taps if is_depthwise else taps * channels
    match description.kind:
        case "fprop":
            return outputs, filters, of_channel, groups
        case "dgrad":
            return geometry.images * prod(geometry.image), channels, taps if is_depthwise else taps * filters, groups
        case "wgrad":
            return filters, of_channel, outputs, groups


def _tensor(description: ConvolutionDescription, name: str, operand: Operand) -> str:
    align, stride = operand.alignment_bytes, mode_spec("", operand.alignment, bits=64)
    channels = [mode_spec("", operand.alignment)]
    if operand.is_interleaved:
        stride, channels = mode_spec("", INTERLEAVED, bits=64), ["?", str(INTERLEAVED)]
    if name == "filters":
        if description.groups == "depthwise":
            return f"{operand.dtype}[?filters, ?taps, 1]:(?{{i64}}, 1, 1)"
        modes = ["?filters", "?taps", *channels]
    elif (description.kind, name) == ("wgrad", "outputs") and description.groups != "depthwise":
        modes = ["?K", *channels]
    else:
        modes = ["?images", *(f"?{letter}" for letter in _EXTENTS[name][-description.rank :]), *channels]
    strides = [*[stride] * (len(modes) - 1), "1"]
    return f"{operand.dtype}[{', '.join(modes)}]:({', '.join(strides)}) align={align}"


def _interleaved(gemm: GemmDescription, operand: Input | Output) -> str | None:
    """A full operand of the epilogue with 32 channels together; `None` for all others."""
    full = full_operand(gemm, operand)
    if full is None or not full.is_interleaved:
        return None
    stride = mode_spec("", INTERLEAVED, bits=64)
    return f"{full.dtype}[?, {INTERLEAVED}, ?, ?]:({stride}, 1, {stride}, {stride}) align={full.alignment_bytes}"
