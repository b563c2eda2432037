"""Convolutions of tensors with 32 channels together, against loops over taps; which of them there are, and are not."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc import EmulatorOptions
from cutecc.errors import UsageError
from cutecc.operations import Conv1d, Conv2d, Conv3d, ConvolutionProblem, Full, Row, torch_operator
from cutecc.operations.convolution.description import Kind
from cutecc.operations.epilogue.functions import sum
from cutecc.operations.operand import Layout

sys.path.append(str(Path(__file__).parents[1] / "convolution"))
from convolution_reference import convolve

BYTES = "i8:interleaved32"
SMALL: dict[str, Any] = {"tile": "32x32x64:stages=2:warps=1x1x1", "target": "sm_80"}
CHECKED = EmulatorOptions(check=True)


def of_pixels(x: Any) -> Any:
    """(N, H, W, C) as (N, C/32, H, W, 32)."""
    return np.stack([x[..., first : first + 32] for first in range(0, x.shape[-1], 32)], axis=1)


def of_filters(w: Any) -> Any:
    """(K, R, S, C) as (C/32, R, S, K, 32)."""
    groups = [np.moveaxis(w[..., first : first + 32], 0, -2) for first in range(0, w.shape[-1], 32)]
    return np.stack(groups)


def numbers(generator: np.random.Generator, *shape: int) -> Any:
    return generator.integers(-8, 9, shape).astype(np.int8)


def stored(values: Any) -> Any:
    return np.clip(np.rint(values), -128, 127).astype(np.int8)


def _layer(accum: Any, C: Any, bias: Any, alpha: float = 1.0) -> Any:
    return alpha * accum - 1.5 * C + bias


@cache
def layer() -> Conv2d:
    return Conv2d("fprop", BYTES, d=BYTES, c=BYTES, epilogue=_layer, operands={"bias": Row("f32")}, **SMALL)


@st.composite
def geometries(draw: Any) -> ConvolutionProblem:
    taps, dilation, stride = (draw(st.tuples(st.integers(1, 3), st.integers(1, 2))) for _ in range(3))
    padding = draw(st.tuples(*[st.tuples(st.integers(0, 2), st.integers(0, 2))] * 2))
    image = tuple(
        max(gap * (count - 1) + 1 - sum(zeros), 1) + draw(st.integers(0, 2))
        for count, gap, zeros in zip(taps, dilation, padding, strict=True)
    )
    channels, filters = 32 * draw(st.sampled_from((1, 3))), 32 * draw(st.integers(1, 2))
    return ConvolutionProblem(
        *(draw(st.integers(1, 2)), image, channels, filters, taps),
        **{"padding": padding, "stride": stride, "dilation": dilation},
    )


@pytest.mark.slow
@settings(max_examples=attacks(2), deadline=None)
@given(sizes=geometries(), seed=st.integers(0, 99))
def test_any_geometry(sizes: ConvolutionProblem, seed: int) -> None:
    generator = np.random.default_rng(seed)
    x = numbers(generator, sizes.batch, *sizes.image, sizes.channels)
    w = numbers(generator, sizes.filters, *sizes.filter, sizes.channels)
    C = numbers(generator, sizes.batch, *sizes.output, sizes.filters)
    bias = generator.standard_normal(sizes.filters).astype("f4")
    # A part of larger images.
    larger = np.full((sizes.batch, sizes.channels // 32, sizes.image[0] + 2, sizes.image[1] + 1, 32), 77, np.int8)
    part = larger[:, :, 1:-1, :-1]
    part[...] = of_pixels(x)
    D = np.full_like(of_pixels(C), 99)
    steps = {name: getattr(sizes, name) for name in ("padding", "stride", "dilation")}
    given: dict[str, Any] = {"bias": bias, "alpha": 0.25, "device": "cpu", "emulator": CHECKED}
    layer().run(part, of_filters(w), of_pixels(C), D, **steps, **given)
    expected = 0.25 * convolve("fprop", sizes, x, w) - 1.5 * C + bias.astype(np.float64)
    np.testing.assert_array_equal(D, of_pixels(stored(expected)))


def _sums(accum: Any, scale: float = 0.125) -> Any:
    return {"D": accum * scale, "sums": sum(accum, axis=0), "other": accum * scale}


FORMS: dict[str, tuple[type[Any], dict[str, Any], ConvolutionProblem]] = {
    "D-as-rows": (
        Conv1d,
        {"d": "i8", "split_k": "parallel", "mode": "convolution"},
        ConvolutionProblem(2, (21,), 96, 32, (3,), padding=((1, 2),), stride=2),
    ),
    "A-as-rows": (
        Conv3d,
        {"a": "i8", "d": BYTES, "iterator": "analytic", "split_k": "serial"},
        ConvolutionProblem(1, (3, 4, 5), 64, 64, (2, 1, 3), padding=((1, 0), (0, 0), (1, 1))),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMS)
def test_what_is_not_interleaved_and_split_k(name: str) -> None:
    form, parts, sizes = FORMS[name]
    others = {"sums": Row("f32"), "other": Full("i8", layout="column_interleaved32")}
    op = form("fprop", **{"a": BYTES, "epilogue": _sums, "operands": others, **SMALL, **parts})
    generator = np.random.default_rng(0)
    x = numbers(generator, sizes.batch, *sizes.image, sizes.channels)
    w = numbers(generator, sizes.filters, *sizes.filter, sizes.channels)
    accumulated = convolve("fprop", sizes, x, w, turned="mode" in parts)
    expected = stored(accumulated * 0.125)
    D = np.full_like(expected if parts["d"] == "i8" else of_pixels(expected), 99)
    other, sums = np.full_like(of_pixels(expected), 99), np.empty(sizes.filters, "f4")
    A, B = (x, w) if "a" in parts else (of_pixels(x), of_filters(w))
    steps = {name: getattr(sizes, name) for name in ("padding", "stride", "dilation")}
    op.run(A, B, D=D, other=other, sums=sums, slices=2, device="cpu", emulator=CHECKED, **steps)
    np.testing.assert_array_equal(D, expected if parts["d"] == "i8" else of_pixels(expected))
    np.testing.assert_array_equal(other, of_pixels(expected))
    np.testing.assert_array_equal(sums, accumulated.reshape(-1, sizes.filters).sum(axis=0))


@pytest.mark.parametrize(
    ("parts", "reason", "hint"),
    [
        ({"b": "i8"}, "A and B are interleaved alike, and A keeps 32", "a.layout row, not column_interleaved32"),
        ({"kind": "dgrad"}, "32 channels are kept together of fprop, and A of dgrad", "a.layout row"),
        ({"groups": "many"}, "together of a single group", "groups single, not many"),
        ({"iterator": "few_channels"}, "not for 32 at a time", "iterator optimized, not few_channels"),
        ({"unit": "wgmma"}, "wgmma does not read or write column_interleaved32, which A is", "tensor_op 16x8x32"),
        ({"a": "f16:interleaved32"}, "is a layout of i8, and A is f16", "a.layout row"),
        ({"d": BYTES, "c": "i8"}, "C and D are interleaved alike", "d.layout row"),
        ({"tile": "64x64x48"}, "K of 48 is", "tile 64x64x64"),
    ],
)
def test_what_there_is_not(parts: dict[str, Any], reason: str, hint: str) -> None:
    with pytest.raises(UsageError, match=reason) as refused:
        Conv2d(**{"kind": "fprop", "a": BYTES, "target": "sm_90a" if "unit" in parts else "sm_80", **parts})
    assert hint in refused.value.hints[0]


def test_other_results_lie_as_kernels_write_them() -> None:
    wrong: tuple[tuple[Kind, Layout], ...] = (("fprop", "column"), ("dgrad", "column_interleaved32"))
    for kind, layout in wrong:
        with pytest.raises(UsageError, match=f"'other' of the epilogue is {layout}, and of {kind}"):
            others = {"sums": Row("f32"), "other": Full("i8", layout=layout)}
            Conv2d(kind, "i8", d="i8", epilogue=_sums, operands=others, target="sm_80")


def test_shapes_of_arguments() -> None:
    x, w, d = np.zeros((2, 7, 8, 96), "i1"), np.zeros((64, 3, 2, 96), "i1"), np.zeros((2, 5, 7, 64), "i1")
    A, B, D = of_pixels(x), of_filters(w), of_pixels(d)
    op = Conv2d.for_arguments("fprop", A, B, D=D, **SMALL)
    assert [each.layout for each in (op.description.gemm.a, op.description.gemm.b, op.description.gemm.d)] == [
        "column_interleaved32", "row_interleaved32", "column_interleaved32",
    ]  # fmt: skip
    assert op.supports(A, B, D=D)
    assert "with 32 channels together activations are (N, C/32, H, W, 32)" in str(op.supports(x, w, D=D))
    assert "x.reshape(K, R, S, C // 32, 32).transpose(3, 1, 2, 0, 4).copy()" in str(op.supports(A, w, D=D))
    assert "D is (2, 2, 5, 7, 32)" in str(op.supports(A, B, D=D[:, :, 1:]))
    assert "whose 40 channels are no multiple of 32" in str(op.supports(A, B[:, :, :, :40], D=D))
    between = np.lib.stride_tricks.as_strided(np.zeros(9999, "i1"), A.shape, (48 * 56 * 3, 48 * 56, 48 * 8, 48, 1))
    assert "the distance 48 of its rows is not a multiple of 32 elements" in str(op.supports(between, B, D=D))


def test_tensors_of_torch(torch: Any) -> None:
    shapes = (2, 3, 7, 8, 32), (3, 3, 2, 64, 32), (2, 2, 5, 7, 32)
    A, B, D = (torch.zeros(shape, dtype=torch.int8) for shape in shapes)
    op = Conv2d.for_arguments("fprop", A, B, D=D, **SMALL)
    assert op.description.gemm.a.is_interleaved
    assert op.supports(A, B, D=D)
    status = op.supports(torch.zeros(2, 7, 8, 96, dtype=torch.int8), B, D=D)
    with pytest.raises(UsageError, match="in torch's order, and this operation interleaved ones"):
        torch_operator("cutecc_tests::interleaved", op)
    assert "x.reshape(N, H, W, C // 32, 32).permute(0, 3, 1, 2, 4).contiguous()" in str(status)
