"""Convolutions of few channels or filters on Hopper: taps of a line are folded into channels first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from convolution_reference import convolve

from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv2d
from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.epilogue.functions import relu, sum

TILE: dict[str, Any] = {"target": "sm_90a", "tile": "64x32x32:stages=3:warps=1x1x1:cooperative"}
STRIDED = ConvolutionProblem(2, (9, 11), 3, 12, (3, 5), padding=((1, 0), (2, 1)), stride=2)
CHECKED = EmulatorOptions(check=True)


def layer(accum: Any, bias: Any) -> Any:
    D = relu(accum + bias)
    return D, sum(D, axis=0)


def random(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype("f2")


def steps(sizes: ConvolutionProblem) -> dict[str, Any]:
    return {"padding": sizes.padding, "stride": sizes.stride, "dilation": sizes.dilation}


def test_three_channels_with_an_epilogue_side_by_side_and_apart() -> None:
    operands = {"bias": Row("f32"), "sums": Row("f32")}

    def first(accum: Any, bias: Any) -> Any:
        D, sums = layer(accum, bias)
        return {"D": D, "sums": sums}

    op = Conv2d("fprop", "f16:1", d="f32:4", iterator="few_channels", epilogue=first, operands=operands, **TILE)
    assert op.description.is_folded
    weight, bias = random(12, 3, 5, 3), random(12, seed=1).astype("f4")
    # Pixels side by side are copied by vectors, others element by element.
    wide = random(2, 9, 11, 5, seed=2)
    for x in (np.ascontiguousarray(wide[..., :3]), wide[..., :3]):
        d, sums = np.full((2, *STRIDED.output, 12), np.nan, "f4"), np.full(12, np.nan, "f4")
        op.run(x, weight, D=d, bias=bias, sums=sums, **steps(STRIDED), device="cpu", emulator=CHECKED)
        expected = np.maximum(convolve("fprop", STRIDED, x, weight) + bias, 0)
        np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-3)
        np.testing.assert_allclose(sums, expected.sum((0, 1, 2)), rtol=1e-4, atol=1e-2)


@pytest.mark.slow
def test_a_gradient_of_filters_has_every_operand() -> None:
    def update(accum: Any, C: Any, rate: Any) -> Any:
        return C - rate * accum

    parts: dict[str, Any] = {"iterator": "few_channels", "split_k": "parallel", "epilogue": update}
    parts |= TILE | {"tile": "64x48x64:stages=2:warps=1x1x1:cooperative", "operands": {"rate": Column("f32")}}
    op = Conv2d("wgrad", "f16", "f16:1", "f32:1", "f32:1", **parts)
    sizes = ConvolutionProblem(2, (9, 11), 3, 16, (3, 5), padding=((1, 0), (2, 1)), stride=2)
    dy, x = random(2, *sizes.output, 16), random(2, 9, 11, 3, seed=1)
    before, rate = random(16, 3, 5, 3, seed=2).astype("f4"), random(16, seed=3).astype("f4")
    expected = before - rate[:, None, None, None] * convolve("wgrad", sizes, dy, x)
    for slices in (1, 2):
        d = np.full(before.shape, np.nan, "f4")
        op.run(dy, x, before, d, rate=rate, slices=slices, **steps(sizes), device="cpu", emulator=CHECKED)
        np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "code", "k"), [("i8", "i1", 32), ("tf32", "f4", 8)])
def test_other_types_are_folded_too(dtype: str, code: str, k: int) -> None:
    parts: dict[str, Any] = TILE | {"tile": f"64x32x{k}:stages=3:warps=1x1x1:cooperative", "epilogue": "identity"}
    result = {"i8": "i32:1"}.get(dtype, "f32:1")
    op = Conv2d("fprop", f"{dtype}:1", d=result, iterator="few_channels", **parts)
    generator = np.random.default_rng(0)
    x, weight = (generator.integers(-4, 5, shape).astype(code) for shape in ((2, 9, 11, 3), (12, 3, 5, 3)))
    d = np.full((2, *STRIDED.output, 12), -1, {"i32:1": "i4"}.get(result, "f4"))
    op.run(x, weight, D=d, **steps(STRIDED), device="cpu", emulator=CHECKED)
    np.testing.assert_array_equal(d, convolve("fprop", STRIDED, x, weight))


def test_what_is_folded_is_in_the_workspace() -> None:
    op = Conv2d("fprop", "f16:1", d="f16:4", iterator="few_channels", **TILE)
    pixels, filters = 2 * 9 * STRIDED.output[1], 12 * 3
    assert op.workspace_bytes(problem=STRIDED) == (pixels + filters) * 32 * 2
    huge = ConvolutionProblem(1 << 12, (512, 512), 3, 8, 3, padding=1)
    with pytest.raises(ArgumentError, match=r"what is folded takes 2\^31 vectors"):
        op.workspace_bytes(problem=huge)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"kind": "fprop", "iterator": "few_filters"}, "of fprop wgmma has few_channels, not few_filters"),
        ({"kind": "dgrad", "iterator": "few_channels"}, "of dgrad wgmma has few_filters, not few_channels"),
        ({"kind": "dgrad", "iterator": "few_filters", "groups": "many"}, "is for one group"),
        ({"kind": "wgrad", "iterator": "few_channels", "split_k": "none"}, "K is split in parallel"),
        ({"kind": "wgrad", "iterator": "few_filters", "b": "f16:4"}, "aligned to 8 elements, and B is to 4"),
        ({"kind": "dgrad", "iterator": "few_filters", "unit": "tensor_op"}, "few_filters is of wgmma"),
    ],
)
def test_what_is_not_folded_is_refused(parts: dict[str, Any], reason: str) -> None:
    usual: dict[str, Any] = {"a": "f16", "unit": "wgmma", "target": "sm_90a"}
    with pytest.raises(UsageError, match=reason) as caught:
        Conv2d(**usual | parts)
    assert caught.value.hints


def test_what_there_are_few_of_is_folded() -> None:
    def chosen(kind: Any, c: int, k: int, a: str, b: str) -> Any:
        sizes = ConvolutionProblem(64, (56, 56), c, k, 3, padding=1)
        return Conv2d(kind, a, b, "f16:1", target="sm_90a", problem=sizes).description

    assert chosen("dgrad", 128, 3, "f16:1", "f16").iterator == "few_filters"
    assert chosen("wgrad", 128, 3, "f16:1", "f16").iterator == "few_filters"
    assert chosen("wgrad", 3, 64, "f16", "f16:1").iterator == "few_channels"
    # Neither operand is one that TMA reads as it lies.
    assert chosen("wgrad", 3, 5, "f16:1", "f16:1").gemm.family == "sm80"
