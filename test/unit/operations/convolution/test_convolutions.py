"""Convolutions from their arguments to their results, on the CPU emulator with all its checks, against float64."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from convolution_reference import convolve
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import ArgumentError
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv1d, Conv2d, Conv3d, Convolution
from cutecc.operations.epilogue.declarations import Row
from cutecc.operations.epilogue.functions import relu, sum
from cutecc.operations.loading import load

SMALL: dict[str, Any] = {"target": "sm_80", "tile": "64x32x32:stages=3:warps=2x1x1", "d": "f32"}
HOPPER: dict[str, Any] = {"target": "sm_90a", "tile": "64x32x64:stages=2:warps=1x1x1:cooperative", "d": "f32"}
FOLDED: dict[str, Any] = HOPPER | {"d": "f32:1"}
DEPTHWISE: dict[str, Any] = {"target": "sm_90a", "tile": "32x32x1:warps=2x1x1", "d": "f32:4"}
SIMT: dict[str, Any] = {"target": "sm_80", "tile": "32x32x8:stages=2:warps=1x1x1", "d": "f32:1"}


def activated(accum: Any, bias: Any, C: Any) -> Any:
    D = relu(accum + bias + C)
    sums = sum(D, axis=0)
    return D, sums


DESCRIBED: dict[str, Any] = {
    "fprop": lambda: Conv2d("fprop", "f16", **SMALL),
    "turned": lambda: Conv2d("fprop", "f16", mode="convolution", **SMALL),
    "analytic": lambda: Conv2d("fprop", "f16:2", iterator="analytic", **SMALL),
    "few": lambda: Conv2d("fprop", "f16:2", iterator="few_channels", **SMALL),
    "dgrad": lambda: Conv2d("dgrad", "f16", **SMALL),
    "unity": lambda: Conv3d("dgrad", "f16", stride="unity", **SMALL),
    "wgrad": lambda: Conv2d("wgrad", "f16", split_k="serial", **SMALL),
    "groups": lambda: Conv1d("fprop", "f32:1", groups="many", **SIMT),
    "activated": lambda: Conv2d(
        "fprop", "f16", "f16", "f16", "f16", **{each: SMALL[each] for each in ("target", "tile")},
        epilogue=activated, operands={"bias": Row("f32"), "sums": Row("f32")},
    ),
    "depthwise": lambda: Conv2d("fprop", "f16", groups="depthwise", **DEPTHWISE),
    "depthwise wgrad": lambda: Conv2d("wgrad", "f32:1", d="f32:1", groups="depthwise", target="sm_80", tile="16x9x32"),
    "hopper fprop": lambda: Conv2d("fprop", "f16", **HOPPER),
    "hopper dgrad": lambda: Conv2d("dgrad", "f16", **HOPPER),
    "hopper wgrad": lambda: Conv2d("wgrad", "f16", split_k="parallel", **HOPPER),
    "folded fprop": lambda: Conv2d(
        "fprop", "f16:1", iterator="few_channels", **FOLDED | {"tile": "64x32x32:stages=3:warps=1x1x1:cooperative"}
    ),
    "folded dgrad": lambda: Conv3d("dgrad", "f16:1", iterator="few_filters", mode="convolution", **FOLDED),
    "folded wgrad": lambda: Conv2d("wgrad", "f16", "f16:1", iterator="few_channels", split_k="parallel", **FOLDED),
    "folded wgrad of filters": lambda: Conv1d(
        "wgrad", "f16:1", "f16", iterator="few_filters", split_k="parallel", mode="convolution", **FOLDED
    ),
}  # fmt: skip
CHECKED = EmulatorOptions(check=True)


@cache
def operation(name: str) -> Any:
    """An operation, compiled when a test first asks for it."""
    return DESCRIBED[name]()


@st.composite
def problems(draw: st.DrawFn, op: Convolution) -> ConvolutionProblem:
    """Small ragged sizes that an operation takes."""
    rank, description = op.rank, op.description
    extents = st.tuples(*[st.integers(1, 8 if rank < 3 else 4)] * rank)
    ones = st.just((1,) * rank)
    is_depthwise, groups = description.groups == "depthwise", 1
    if description.groups == "many":
        groups = draw(st.integers(1, 3))
    a, b = description.gemm.a.alignment, description.gemm.b.alignment
    # D is of f32 with an alignment of 4. Of a Hopper wgrad the channels are those of whole boxes.
    multiple = 1 if a == 1 else max(a, b, 4)
    is_few = description.iterator == "few_channels"
    is_boxed = (description.kind, description.gemm.family) == ("wgrad", "sm90") and not is_few
    of_channels = min(multiple, description.gemm.b.alignment) if is_few else multiple
    c = draw(st.integers(1, 2)) * 32 if is_boxed else draw(st.integers(1, 5)) * of_channels * groups
    k = c if is_depthwise else draw(st.integers(1, 5)) * multiple * groups
    if is_depthwise:
        c = k = groups = max(c, 2)
    taps = draw(st.tuples(*[st.integers(1, 3)] * rank))
    dilation = draw(st.tuples(*[st.integers(1, 3)] * rank))
    padding = draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * rank))
    image = draw(extents)
    reach = [
        max(0, gap * (count - 1) + 1 - sum(both)) for gap, count, both in zip(dilation, taps, padding, strict=True)
    ]
    return ConvolutionProblem(
        draw(st.integers(1, 3)),
        tuple(map(max, image, reach)),
        c,
        k,
        taps,
        padding=padding,
        stride=draw(ones if description.stride == "unity" else st.tuples(*[st.integers(1, 3)] * rank)),
        dilation=dilation,
        groups=groups,
    )


def tensors(op: Convolution, sizes: ConvolutionProblem, seed: int = 0) -> tuple[Any, Any, Any]:
    """A and B with random elements, and what they give."""
    generator, gemm = np.random.default_rng(seed), op.description.gemm
    shapes = {
        "x": (sizes.batch, *sizes.image, sizes.channels),
        "y": (sizes.batch, *sizes.output, sizes.filters),
        "w": (sizes.filters, *sizes.filter, sizes.channels_of_group),
    }
    kind = op.description.kind
    a, b = (
        generator.standard_normal(shapes[name]).astype({"f16": "f2", "f32": "f4"}[gemm.a.dtype])
        for name in {"fprop": "xw", "dgrad": "yw", "wgrad": "yx"}[kind]
    )
    expected = convolve(kind, sizes, a, b, turned=op.description.mode == "convolution")
    return a, b, expected


def steps(sizes: ConvolutionProblem) -> dict[str, Any]:
    return {
        "padding": sizes.padding,
        "stride": sizes.stride,
        "dilation": sizes.dilation,
        "groups": sizes.groups,
    }


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[pytest.mark.slow] * (each not in ("fprop", "dgrad", "wgrad", "hopper fprop")))
        for each in DESCRIBED
        if each != "activated"
    ],
)
@settings(max_examples=attacks(1), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_results_are_those_of_the_definition(name: str, data: st.DataObject) -> None:
    op = operation(name)
    sizes = data.draw(problems(op))
    a, b, expected = tensors(op, sizes)
    d = np.full(expected.shape, np.nan, "f4")
    op.run(a, b, D=d, **steps(sizes), device="cpu", emulator=CHECKED)
    np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-3)


def test_an_epilogue_has_bias_residual_and_sums_of_channels() -> None:
    op: Any = operation("activated")
    sizes = ConvolutionProblem(2, (5, 6), 16, 24, (3, 2), padding=((1, 0), (1, 1)), stride=(2, 1))
    a, b, product = tensors(op, sizes)
    generator = np.random.default_rng(1)
    bias, residual = generator.standard_normal(24).astype("f4"), generator.standard_normal(product.shape).astype("f2")
    # Between the channels of D lie others, which stay.
    memory = np.full((*product.shape[:-1], 48), 7, "f2")
    d, sums = memory[..., :24], np.full(24, np.nan, "f4")
    op.run(a, b, residual, d, bias=bias, sums=sums, **steps(sizes), device="cpu", emulator=CHECKED)
    expected = np.maximum(product + bias + residual, 0)
    np.testing.assert_allclose(d, expected, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(sums, expected.sum((0, 1, 2)), rtol=1e-3, atol=1e-2)
    assert (memory[..., 24:] == 7).all()


def test_slices_of_k_add_up() -> None:
    op: Any = operation("wgrad")
    sizes = ConvolutionProblem(3, (9, 7), 8, 16, 3, padding=1)
    a, b, expected = tensors(op, sizes)
    for slices in (1, 3):
        d = np.full(expected.shape, np.nan, "f4")
        op.run(a, b, D=d, **steps(sizes), slices=slices, device="cpu", emulator=CHECKED)
        np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-3)
    with pytest.raises(ArgumentError, match="cannot be split into 190 slices"):
        op.run(a, b, D=d, **steps(sizes), slices=190, device="cpu")


def test_a_batch_of_none_gives_nothing_and_gradients_of_nothing_are_zeros() -> None:
    sizes = ConvolutionProblem(0, (5, 5), 8, 16, 3)
    for name in ("fprop", "dgrad"):
        a, b, expected = tensors(operation(name), sizes)
        operation(name).run(a, b, D=np.empty(expected.shape, "f4"), **steps(sizes), device="cpu")
    a, b, expected = tensors(operation("wgrad"), sizes)
    d = np.full(expected.shape, np.nan, "f4")
    operation("wgrad").run(a, b, D=d, **steps(sizes), device="cpu", emulator=CHECKED)
    assert not d.any()


def test_a_bundle_is_loaded_as_what_it_was(tmp_path: Any) -> None:
    operation("unity").bundle(tmp_path / "dgrad.operation")
    op = load(tmp_path / "dgrad.operation")
    assert type(op) is Conv3d and op.description == operation("unity").description
    sizes = ConvolutionProblem(1, (3, 2, 4), 8, 16, (1, 2, 3), padding=1)
    a, b, expected = tensors(op, sizes)
    d = np.full(expected.shape, np.nan, "f4")
    op.run(a, b, D=d, **steps(sizes), device="cpu")
    np.testing.assert_allclose(d, expected, rtol=1e-4, atol=1e-3)
    with pytest.raises(Exception, match="is no Conv2d: it holds conv3d_dgrad"):
        Conv2d.load(tmp_path / "dgrad.operation")
