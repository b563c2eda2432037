"""The sizes of convolutions, against loops over what a filter covers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.errors import ArgumentError
from cutecc.operations.convolution.description import ConvolutionDescription, Kind
from cutecc.operations.convolution.geometry import ConvolutionProblem, paddings, spatial
from cutecc.operations.convolution.operation import Conv1d, Conv2d
from cutecc.operations.convolution.rules import check_sizes
from cutecc.operations.kernels.convolution import depthwise
from cutecc.operations.kernels.convolution.multistage import tiled_rows


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_outputs_are_the_places_where_a_filter_fits(data: st.DataObject) -> None:
    draw, sizes = data.draw, st.integers(1, 6)
    rank = draw(st.integers(1, 3))
    image, taps, stride, dilation = (draw(st.tuples(*[sizes] * rank)) for _ in range(4))
    padding = draw(st.tuples(*[st.tuples(st.integers(0, 3), st.integers(0, 3))] * rank))
    expected = [
        sum(
            start * stride[mode] + dilation[mode] * (taps[mode] - 1) < image[mode] + sum(padding[mode])
            for start in range(20)
        )
        for mode in range(rank)
    ]
    groups = draw(st.integers(1, 3))
    options: dict[str, Any] = {"padding": padding, "stride": stride, "dilation": dilation, "groups": groups}
    if 0 in expected:
        with pytest.raises(ArgumentError, match=r"there are no outputs: along [DHW] a filter reaches over"):
            ConvolutionProblem(2, image, 2 * groups, groups, taps, **options)
        return
    problem = ConvolutionProblem(2, image, 2 * groups, groups, taps, **options)
    assert problem.output == tuple(expected)


def test_hints_have_as_many_pairs_as_there_are_modes() -> None:
    for rank, pairs in (1, "((left, right),)"), (3, "((front, back), (top, bottom), (left, right))"):
        with pytest.raises(ArgumentError) as refused:
            paddings((1,) * 4, rank)
        assert refused.value.hints == [f"what differs before and behind: a pair for each, {pairs}"]


def test_numbers_stand_for_all_modes() -> None:
    assert spatial(2, 3, "stride") == (2, 2, 2)
    assert spatial([2], 2, "stride") == (2, 2)
    assert paddings(1, 2) == ((1, 1), (1, 1))
    assert paddings((1, 2), 2) == ((1, 1), (2, 2))
    assert paddings(((1, 0), (2, 3)), 2) == ((1, 0), (2, 3))
    problem = ConvolutionProblem(8, (56, 56), 64, 128, 3, padding=((1, 0), (1, 1)), stride=2)
    assert str(problem) == "8x56x56x64 by 128x3x3, padding 1+0x1, stride 2x2"
    assert problem.geometry == (8, 64, 128, (56, 56), (3, 3), (28, 28), (1, 1), (2, 2), (1, 1))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"stride": 0}, "a stride is at least 1 in each mode"),
        ({"padding": -1}, "a padding is no less than 0"),
        ({"padding": "same"}, "a number of zeros"),
        ({"padding": (1, 2, 3)}, r"2 for H, W, not \(1, 2, 3\)"),
        ({"dilation": (1, 2, 3)}, r"2, for H, W, not \(1, 2, 3\)"),
        ({"groups": 3}, "8 channels do not divide into 3 groups"),
        ({"groups": 0}, "at least 1 of its groups"),
        ({"channels": 0}, "at least 1 of its channels"),
        ({"filter": (7, 3)}, "along H a filter reaches over 7, and activations with padding have 5"),
        ({"batch": 1 << 30}, r"2\^31"),
        ({"image": (1, 2, 3, 4)}, "1 to 3 spatial extents, not the 4"),
        ({"image": "5x5"}, "extents are whole numbers"),
    ],
)
def test_sizes_that_do_not_go_together(sizes: dict[str, Any], message: str) -> None:
    usual: dict[str, Any] = {"batch": 2, "image": (5, 5), "channels": 8, "filters": 8, "filter": (3, 3)}
    with pytest.raises(ArgumentError, match=message):
        ConvolutionProblem(**(usual | sizes))


def test_a_batch_of_none_is_a_convolution() -> None:
    assert ConvolutionProblem(0, 5, 8, 8, 3).output == (3,)


def described(kind: Kind, tile: str, **parts: Any) -> ConvolutionDescription:
    return Conv2d(kind, "f16", target="sm_80", tile=tile, **parts).description


def test_rows_that_kernels_fill_up_are_counted() -> None:
    # Each of the four phases of a strided dgrad has as many rows as the largest, 2 by 2 pixels of the 3 by 3.
    strided = {"padding": 1, "stride": 2}
    phases = described("dgrad", "128x64x32", iterator="optimized", stride="strided")
    assert tiled_rows(phases, ConvolutionProblem(100, (3, 3), 8, 8, 3, **strided).geometry) == 4 * 512
    many = ConvolutionProblem(150_000_000, (3, 3), 8, 8, 3, **strided)
    with pytest.raises(ArgumentError, match=r"fill up the rows of .* to 2400000000, and no extent .* 2\^31"):
        check_sizes(phases, many)
    check_sizes(described("dgrad", "128x64x32", iterator="analytic", stride="strided"), many)
    # The last tile, of which only some rows are in D.
    last = ConvolutionProblem((1 << 31) - 1, (1, 1), 8, 8, 1)
    with pytest.raises(ArgumentError, match=r"to 2147483648"):
        check_sizes(described("fprop", "128x64x32"), last)
    # Rectangles of pixels.
    lines = ConvolutionProblem(1_000_000_000, (1, 1), 8, 8, 1, groups=8)
    op = Conv2d("fprop", "f16", groups="depthwise", target="sm_80")
    rows, _, _ = op.description.gemm.tile.threadblock
    with pytest.raises(ArgumentError, match=f"to {rows * lines.batch}"):
        check_sizes(op.description, lines)


@pytest.mark.parametrize("kind", ["fprop", "dgrad", "wgrad"])
def test_no_images_of_one_extent_are_cut_into_nothing(kind: Kind) -> None:
    op = Conv1d(kind, "f32:1", d="f32:1", groups="depthwise", target="sm_80")
    none = ConvolutionProblem(0, (9,), 8, 8, 3, padding=1, groups=8)
    made = depthwise.cut(op.description, none.geometry)
    assert math.prod(depthwise.tiles(op.description, none.geometry, made)) == 0
    assert op.workspace_bytes(problem=none) >= 0
