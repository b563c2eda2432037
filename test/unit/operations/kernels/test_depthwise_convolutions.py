"""Depthwise convolutions on the CPU emulator: kinds, types and filters, at ragged sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from convolutions import convolve, describe

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import sum
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.kernels.convolution import depthwise

F16, BF16, F32 = "simt:1x1x1:f16:f16:f32", "simt:1x1x1:bf16:bf16:f32", "simt:1x1x1:f32:f32:f32"
F64, I8 = "simt:1x1x1:f64:f64:f64", "simt:1x1x1:i8:i8:i32"
WIDE, NARROW = "32x32x1:stages=2:warps=2x1x1", "32x16x1:stages=2:warps=1x1x1"
EXACT, DOUBLE, SUM = 0, 1e-14, 2e-5


def depth(kind: str, instruction: str, tile: str, a: str = "", d: str = "f32:row:1", b: str = "", **parts: Any):
    mode = "split_k_parallel" if kind == "wgrad" else "gemm"
    return describe(kind, instruction, tile, a, b, d, groups="depthwise", product_mode=mode, **parts)


def sizes(channels: int, filter: tuple[int, ...], **changes: Any) -> ConvolutionProblem:
    """A stride of 2 and a dilation of 2 along an axis each, or what `changes` say."""
    usual: dict[str, Any] = {"padding": ((1, 0), (2, 1)), "stride": (2, 1), "dilation": (1, 2)}
    return ConvolutionProblem(2, (7, 9), channels, channels, filter, groups=channels, **usual | changes)


PLAIN: dict[str, Any] = {"stride": 1, "dilation": 1}
LINE = ConvolutionProblem(3, (23,), 12, 12, (4,), padding=((2, 3),), stride=3, dilation=2, groups=12)
LINES = ConvolutionProblem(5, (19,), 12, 12, (5,), padding=((2, 1),), stride=2, groups=12)
VOLUME = ConvolutionProblem(1, (4, 5, 6), 24, 24, (2, 3, 3), padding=1, groups=24)
WIDE_IMAGE = ConvolutionProblem(1, (5, 77), 22, 22, (3, 3), padding=((0, 1), (1, 2)), groups=22)
SMALL = "28x16x1:stages=2:warps=1x1x1"

CASES: dict[str, tuple[ConvolutionDescription, ConvolutionProblem, float]] = {
    "fprop-f32": (depth("fprop", F32, NARROW), sizes(20, (3, 2)), SUM),
    "fprop-f16-7": (depth("fprop", F16, "56x32x1:stages=2:warps=1x1x1"), sizes(40, (7, 7), padding=3, **PLAIN), SUM),
    "fprop-bf16-5-turned": (
        depth("fprop", BF16, WIDE, "bf16:row:2", mode="convolution"),
        *(sizes(22, (5, 5), padding=2, **PLAIN), SUM),
    ),
    "fprop-f16-3-by-element": (depth("fprop", F16, SMALL, "f16:row:1", stride="unity"), WIDE_IMAGE, SUM),
    "fprop-f16-3-strided": (depth("fprop", F16, WIDE), sizes(24, (3, 3), stride=(3, 2), dilation=1), SUM),
    "fprop-f32-5-line": (depth("fprop", F32, "56x8x1:stages=2:warps=1x1x1", rank=1), LINES, SUM),
    "fprop-i8-many-taps": (depth("fprop", I8, WIDE, "i8:row:4", "i32:row:1"), sizes(20, (9, 9), padding=6), EXACT),
    "fprop-i8-3": (depth("fprop", I8, WIDE, "i8:row:4", "i32:row:1"), sizes(20, (3, 3), **PLAIN), EXACT),
    "fprop-f64-line": (depth("fprop", F64, "32x8x1:stages=2:warps=1x1x1", d="f64:row:1", rank=1), LINE, DOUBLE),
    "dgrad-f32": (depth("dgrad", F32, NARROW), sizes(20, (3, 3)), SUM),
    "dgrad-f16-3-strided": (
        depth("dgrad", F16, "64x32x1:stages=2:warps=1x1x1"),
        *(sizes(40, (5, 3), padding=((1, 2), (1, 1)), stride=(3, 2), dilation=1), SUM),
    ),
    "dgrad-f16-3-volume": (depth("dgrad", F16, WIDE, stride="unity", rank=3), VOLUME, SUM),
    "dgrad-f16-7-turned": (
        depth("dgrad", F16, "112x16x1:stages=2:warps=1x1x1", stride="unity", mode="convolution"),
        *(sizes(40, (7, 7), padding=3, **PLAIN), SUM),
    ),
    "wgrad-f32": (depth("wgrad", F32, "16x4x16:stages=2:warps=1x2x2"), sizes(20, (3, 2)), SUM),
    "wgrad-f32-3-strided": (
        depth("wgrad", F32, "16x9x16:stages=2:warps=1x1x2"),
        *(sizes(20, (3, 3), stride=2, dilation=1), SUM),
    ),
    "wgrad-f16-7-turned": (
        depth("wgrad", F16, "32x49x14:stages=2:warps=1x7x1", mode="convolution"),
        *(sizes(40, (7, 7), padding=3, **PLAIN), SUM),
    ),
    "wgrad-f16-by-element": (
        depth("wgrad", F16, "16x9x28:stages=2:warps=1x3x1", "f16:column:1", b="f16:row:2"),
        WIDE_IMAGE,
        SUM,
    ),
    "wgrad-f64-line": (depth("wgrad", F64, "8x3x8:stages=2:warps=1x1x1", d="f64:row:1", rank=1), LINE, DOUBLE),
    "wgrad-bf16-5-line": (
        depth("wgrad", BF16, "16x5x8:stages=2:warps=1x1x1", "bf16:column:4", b="bf16:row:4", rank=1),
        LINES,
        SUM,
    ),
    "wgrad-f16-3-volume": (
        depth("wgrad", F16, "32x18x8:stages=2:warps=1x3x1", rank=3, mode="convolution"),
        VOLUME,
        SUM,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_depthwise(name: str):
    description, problem, tolerance = CASES[name]
    assert depthwise.accepts(description) is None
    slices = 2 if description.kind == "wgrad" else None
    assert convolve(description, problem, slices=slices)["D"].error <= tolerance


def test_operands_are_those_of_channels_and_pixels():
    def epilogue(accum, C, bias, scale):
        D = accum * scale + C + bias
        return {"D": D, "sums": sum(D, axis=1), "of_channels": sum(D, axis=0), "of_all": sum(D)}

    operands = {
        "C": Full("f16", alignment=4),
        "bias": Row("f32", alignment=1),
        "scale": Column("f32", alignment=1),
        "D": Full("f16", alignment=8),
        "sums": Column("f32", alignment=1),
        "of_channels": Row("f32", alignment=1),
        "of_all": Scalar("f32"),
    }
    description = depth("fprop", F16, WIDE, d="f16:row:8")
    c = replace(description.gemm.d, alignment=4)
    gemm = replace(description.gemm, c=c, epilogue=Epilogue.trace(epilogue, **operands))
    found = convolve(replace(description, gemm=gemm), sizes(40, (3, 3), **PLAIN))
    assert all(result.error <= 3e-3 for result in found.values())


@pytest.mark.parametrize(
    ("kind", "instruction", "tile", "reason"),
    [
        ("fprop", "simt:1x1x1:f16:f16:f16", WIDE, "threads multiply f16 into f32"),
        ("fprop", F16, "32x48x1:stages=2:warps=1x1x1", "a warp has 8, 16, 32, 64 channels of f16, and these are 48"),
        ("fprop", F16, "48x32x1:stages=2:warps=1x1x1", "a thread has 4, 7, 8, 14, 16, 28, 32 pixels, and these are 24"),
        ("dgrad", F32, "30x16x1:stages=2:warps=1x1x1", "1x1x1 warps do not share a tile of 30x16"),
        ("fprop", F16, "512x32x1:stages=2:warps=1x1x1", "sums take 512 registers a thread, of which 64 are for them"),
        ("wgrad", F16, "32x9x8:stages=2:warps=2x1x1", "2x1x1 warps do not share a tile of 32x9"),
    ],
)
def test_what_is_not_computed_is_said(kind: str, instruction: str, tile: str, reason: str):
    refused = depthwise.accepts(depth(kind, instruction, tile))
    assert refused is not None and reason in refused.reason
