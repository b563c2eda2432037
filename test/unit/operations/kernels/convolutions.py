"""Convolutions of the operations' kernels on the CPU emulator, held against loops in float64."""

from __future__ import annotations

from typing import Any

from products import describe as describe_gemm

from cutecc.operations.convolution.description import LAYOUTS, ConvolutionDescription


def describe(
    kind: Any,
    instruction: str,
    tile: str = "32x32x32:stages=3:warps=2x1x1",
    a: str = "",
    b: str = "",
    d: str = "",
    *,
    iterator: Any = "optimized",
    stride: Any = "strided",
    rank: int = 2,
    groups: Any = "single",
    mode: Any = "cross_correlation",
    product_mode: Any = "gemm",
    **gemm: Any,
) -> ConvolutionDescription:
    """The convolution that stores its sums as they are, from the texts of its parts; most aligned where not said."""
    multiplied = {"tf32": "f32"}.get(dtype := instruction.split(":")[2], dtype)
    a, b = (given or f"{multiplied}:{layout}" for given, layout in zip((a, b), LAYOUTS[kind], strict=True))
    product = describe_gemm(instruction, tile, a, b, d or f"{multiplied}:row", mode=product_mode, **gemm)
    return ConvolutionDescription(kind, product, iterator, stride, rank, groups, mode)
