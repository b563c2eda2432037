"""Convolutions by `cp.async` on the CPU emulator: kinds, iterators, types and modes, at ragged sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from attacks import attacks
from convolutions import convolve, describe
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.operations.convolution.description import ConvolutionDescription
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import max, sum
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.operand import Operand

F16 = "tensor_op:16x8x16:f16:f16:f32"
BF16 = "tensor_op:16x8x16:bf16:bf16:f32"
TF32 = "tensor_op:16x8x8:tf32:tf32:f32"
FAST_F32 = f"{TF32}:multiply_add_fast_f32"
FAST_F16 = "tensor_op:16x8x16:f32:f32:f32:multiply_add_fast_f16"
FAST_BF16 = "tensor_op:16x8x8:f32:f32:f32:multiply_add_fast_bf16"
F64 = "tensor_op:8x8x4:f64:f64:f64"
I8 = "tensor_op:16x8x32:i8:i8:i32:multiply_add_saturate"
E4M3 = "tensor_op:16x8x32:f8E4M3FN:f8E4M3FN:f32"
SIMT, SIMT_F64 = "simt:1x1x1:f32:f32:f32", "simt:1x1x1:f64:f64:f64"
SMALL, NARROW, BYTES = "32x32x32:stages=3:warps=2x1x1", "32x32x8:stages=3:warps=1x1x1", "32x64x64:stages=2:warps=1x2x1"
EXACT, DOUBLE, SUM, TF32_FACTORS, BF16_FACTORS = 0, 1e-14, 2e-5, 1e-2, 8e-2


def sizes(channels: int, filters: int, **changes: Any) -> ConvolutionProblem:
    """Ragged in everything: stride, dilation and padding differ along the axes, and before and behind."""
    usual: dict[str, Any] = {"padding": ((1, 0), (2, 1)), "stride": (2, 1), "dilation": (1, 2)}
    return ConvolutionProblem(2, (7, 8), channels, filters, (3, 2), **usual | changes)


LINE = ConvolutionProblem(3, (23,), 22, 14, (4,), padding=((2, 3),), stride=3, dilation=2)
VOLUME = ConvolutionProblem(
    *(1, (4, 5, 3), 12, 8, (2, 3, 2)), padding=((1, 1), (0, 2), (1, 0)), stride=(1, 2, 1), dilation=(2, 1, 1)
)

# description, sizes, error, and how it is launched
CASES: dict[str, tuple[ConvolutionDescription, ConvolutionProblem, float, dict[str, Any]]] = {
    "fprop-f16": (describe("fprop", F16, d="f32:row:1"), sizes(40, 48), SUM, {}),
    "fprop-f16-turned": (
        describe("fprop", F16, SMALL, "f16:row:2", "f16:column:4", "f32:row:1", mode="convolution"),
        *(sizes(20, 17), SUM, {}),
    ),
    "fprop-bf16-few": (
        describe("fprop", BF16, SMALL, "bf16:row:4", "bf16:column:2", "f32:row:4", iterator="few_channels", rank=3),
        *(VOLUME, SUM, {}),
    ),
    "fprop-f16-fixed": (
        describe("fprop", F16, SMALL, "f16:row:4", "f16:column:4", "f32:row:1", iterator="fixed_channels"),
        *(sizes(4, 17), SUM, {}),
    ),
    "fprop-i8-groups": (
        describe("fprop", I8, BYTES, "i8:row:4", "i8:column:4", "i8:row:4", groups="many"),
        *(sizes(60, 36, groups=3), EXACT, {}),
    ),
    "fprop-f8-line": (
        describe("fprop", E4M3, BYTES, "f8E4M3FN:row:1", "f8E4M3FN:column:2", "f32:row:1", rank=1, target="sm_89"),
        *(LINE, SUM, {}),
    ),
    "fprop-f64-analytic": (
        describe("fprop", F64, d="f64:row:1", iterator="analytic"),
        *(sizes(20, 17), DOUBLE, {}),
    ),
    "fprop-fast-bf16": (describe("fprop", FAST_BF16, d="f32:row:1"), sizes(20, 36), BF16_FACTORS, {}),
    "wgrad-fast-f16": (describe("wgrad", FAST_F16, d="f32:row:1"), sizes(20, 36), TF32_FACTORS, {}),
    "fprop-split": (
        describe("fprop", F16, d="f32:row:1", product_mode="split_k_serial"),
        *(sizes(40, 24), SUM, {"slices": 5, "launches": 2}),
    ),
    "dgrad-f16-volume": (
        describe("dgrad", F16, SMALL, "f16:row:8", "f16:row:4", "f32:row:4", rank=3),
        *(VOLUME, SUM, {}),
    ),
    "dgrad-tf32-turned-analytic": (
        describe("dgrad", TF32, d="f32:row:1", iterator="analytic", mode="convolution"),
        *(sizes(20, 36), TF32_FACTORS, {}),
    ),
    "dgrad-bf16-unity-groups": (
        describe("dgrad", BF16, d="f32:row:1", stride="unity", groups="many"),
        *(sizes(48, 32, stride=1, groups=2), SUM, {}),
    ),
    "dgrad-i8-split": (
        describe("dgrad", I8, BYTES, d="i32:row:4", product_mode="split_k_parallel"),
        *(sizes(16, 48), EXACT, {"slices": 2}),
    ),
    "dgrad-simt-turned": (
        describe("dgrad", SIMT, NARROW, "f32:row:1", "f32:row:1", "f32:row:1", mode="convolution"),
        *(sizes(13, 9, stride=(3, 4), dilation=(2, 3)), SUM, {}),
    ),
    "wgrad-f16-split": (
        describe("wgrad", F16, d="f32:row:1", product_mode="split_k_parallel"),
        *(sizes(16, 24), SUM, {"slices": 3}),
    ),
    "wgrad-bf16-line": (
        describe("wgrad", BF16, SMALL, "bf16:column:2", "bf16:row:1", "f32:row:1", rank=1, iterator="analytic"),
        *(LINE, SUM, {}),
    ),
    "wgrad-fast-f32-turned": (
        describe("wgrad", FAST_F32, d="f32:row:4", product_mode="split_k_serial", mode="convolution"),
        *(sizes(12, 36), SUM, {"slices": 2}),
    ),
    "wgrad-f8-groups": (
        describe(
            "wgrad", E4M3, BYTES, "f8E4M3FN:column:4", "f8E4M3FN:row:4", "f32:row:1", groups="many", target="sm_89"
        ),
        *(sizes(24, 16, groups=2), SUM, {}),
    ),
    "wgrad-simt-f64-volume": (
        describe("wgrad", SIMT_F64, NARROW, "f64:column:2", "f64:row:1", "f64:row:1", rank=3),
        *(VOLUME, DOUBLE, {}),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_convolution(name: str):
    description, problem, tolerance, launch = CASES[name]
    assert convolve(description, problem, **launch)["D"].error <= tolerance


def _epilogue(accum, C, bias, scale, alpha):
    D = alpha * accum * scale + C + bias
    in_rows, in_columns, largest = sum(D, axis=1), sum(D, axis=0), max(D)
    return D, in_rows, in_columns, largest


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fprop", "wgrad"])
def test_operands_and_reductions_of_each_group(kind: str):
    operands = {
        "C": Full("f16", alignment=2),
        "bias": Row("f32", alignment=1),
        "scale": Column("f32", alignment=1),
        "alpha": Scalar("f32"),
        "D": Full("f16", alignment=4),
        "in_rows": Column("f32", alignment=1),
        "in_columns": Row("f32", alignment=1),
        "largest": Scalar("f32", in_memory=True),
    }
    description = describe(kind, F16, d="f16:row:4", groups="many")
    gemm = replace(description.gemm, c=Operand("f16", "row", 2), epilogue=Epilogue.trace(_epilogue, **operands))
    found = convolve(replace(description, gemm=gemm), sizes(32, 48, groups=2))
    assert all(result.error <= 3e-3 for result in found.values())


def test_operands_of_a_phase_are_those_of_its_pixels():
    def scaled(accum, C, bias, scale):
        D = accum * scale + C + bias
        return {"D": D, "sums": sum(D, axis=1), "of_columns": sum(D, axis=0), "largest": max(D)}

    operands = {
        "C": Full("f32", alignment=1),
        "bias": Row("f32", alignment=1),
        "scale": Column("f32", alignment=1),
        "D": Full("f32", alignment=1),
        "sums": Column("f32", alignment=1),
        "of_columns": Row("f32", alignment=1),
        "largest": Scalar("f32", in_memory=True),
    }
    description = describe("dgrad", SIMT, NARROW, "f32:row:1", "f32:row:1", "f32:row:1")
    gemm = replace(description.gemm, c=Operand("f32", "row", 1), epilogue=Epilogue.trace(scaled, **operands))
    layer = replace(description, gemm=gemm)
    # Of an image of one row and two columns some phases have no pixels.
    for problem in sizes(5, 3), ConvolutionProblem(3, (1, 2), 37, 3, (2, 2), padding=2, stride=(3, 4)):
        assert all(result.error <= SUM for result in convolve(layer, problem).values())


def _geometries(rank: int) -> st.SearchStrategy[ConvolutionProblem]:
    """Any sizes that give outputs."""

    @st.composite
    def drawn(draw: Any) -> ConvolutionProblem:
        groups = draw(st.integers(1, 3))
        of_group = st.integers(1, 5)
        filters = [draw(st.integers(1, 4)) for _ in range(rank)]
        dilation = [draw(st.integers(1, 3)) for _ in range(rank)]
        padding = [(draw(st.integers(0, 4)), draw(st.integers(0, 4))) for _ in range(rank)]
        reach = [each * (taps - 1) + 1 for each, taps in zip(dilation, filters, strict=True)]
        least = [max(all_of - sum(pads), 1) for all_of, pads in zip(reach, padding, strict=True)]
        image = [draw(st.integers(each, each + 5)) for each in least]
        stride = [draw(st.integers(1, 4)) for _ in range(rank)]
        batch, channels, of_filters = draw(st.integers(1, 3)), draw(of_group) * groups, draw(of_group) * groups
        return ConvolutionProblem(
            *(batch, image, channels, of_filters, filters),
            **{"padding": padding, "stride": stride, "dilation": dilation, "groups": groups},
        )

    return drawn()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["fprop", "dgrad", "wgrad"])
@settings(max_examples=attacks(4), deadline=None)
@given(problem=_geometries(2))
def test_any_geometry(kind: str, problem: ConvolutionProblem):
    description = describe(kind, SIMT, NARROW, *("f32:row:1", "f32:row:1", "f32:row:1"), groups="many")
    assert convolve(description, problem)["D"].error <= SUM
