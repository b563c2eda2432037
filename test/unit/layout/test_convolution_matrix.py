"""A convolution's matrix as a layout: the ones that CuTe makes, and what an element of one is."""

from __future__ import annotations

import itertools
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cutecc.errors import LayoutError
from cutecc.layout import add_coordinates, evaluate, show, symbol
from cutecc.layout.im2col import Window, im2col
from cutecc.layout.tuples import leaves


def window(**given: tuple[int, ...]) -> Window:
    """A window of one tap, but for what is given."""
    modes = len(next(iter(given.values())))
    usual = Window.of_one_tap(modes)
    return Window(**{each.name: given.get(each.name, getattr(usual, each.name)) for each in fields(usual)})


PADDED = window(lower_corner=(-1, -1), upper_corner=(-1, -1), lower_padding=(1, 1), upper_padding=(1, 1))
BACKWARD = window(
    lower_corner=(-1, -1), upper_corner=(-1, -1), lower_padding=(1, 1), first_tap=(2, 2), tap_stride=(-1, -1)
)


@pytest.mark.parametrize(
    ("pixels", "channels", "laid", "pixels_first", "layout", "offset"),
    [
        # What make_im2col_tma_atom of nvidia-cutlass-dsl 4.8.1 prints.
        (
            *((11, 9, 2), 16, PADDED, True),
            "((11,9,2),(16,3,3)):((1@0@1,1@1@1,1@2),(1@0,1@0@3,1@1@3)) o (0,(0,0,0)) "
            "o (198,(16,3,3)):(1@0,(1@0@1,1@1@1,1@2@1))",
            "(0,(-1,-1),0,(0,0))",
        ),
        (
            *((7, 2), 96, window(lower_corner=(-1,)), True),
            "((8,2),(96,1)):((1@0@1,1@2),(1@0,1@0@3)) o (0,(0,0)) o (16,(96,1)):(1@0,(1@0@1,1@1@1))",
            "(0,(-1),0,(0))",
        ),
        (
            *((4, 4, 2), 8, BACKWARD, True),
            "((4,4,2),(8,3,3)):((1@0@1,1@1@1,1@2),(1@0,-1@0@3,-1@1@3)) o (0,(0,0,0)) "
            "o (32,(8,3,3)):(1@0,(1@0@1,1@1@1,1@2@1))",
            "(0,(-1,-1),0,(2,2))",
        ),
        (
            *((4, 4, 2), 8, PADDED, False),
            "((8,3,3),(4,4,2)):((1@0,1@0@3,1@1@3),(1@0@1,1@1@1,1@2)) o ((0,0,0),0) "
            "o ((8,3,3),32):((1@0@0,1@1@0,1@2@0),1@1)",
            "(0,(-1,-1),0,(0,0))",
        ),
    ],
)
def test_the_layout_is_the_wheels(
    pixels: tuple[int, ...], channels: int, laid: Window, pixels_first: bool, layout: str, offset: str
) -> None:
    found = im2col(pixels, channels, laid, pixels_first=pixels_first)
    assert (str(found.layout), show(found.offset)) == (layout, offset)


def test_every_element_is_a_pixel_a_tap_and_a_channel() -> None:
    """In the order of the result: channels before taps, width before height before images."""
    laid = window(
        lower_corner=(-1, 0), upper_corner=(-1, 0), lower_padding=(1, 0), upper_padding=(3, 0), stride=(2, 1),
        tap_stride=(2, 1),
    )  # fmt: skip
    found = im2col((5, 2, 3), 2, laid, pixels_first=True)
    expected = [
        (channel, (-1 + 2 * column, row), image, (2 * tap, 0))
        for image, row, column, tap, channel in itertools.product(range(3), range(2), range(3), range(3), range(2))
    ]
    layout: Any = found.layout
    elements = itertools.product(range(18), range(3), range(2))
    coordinates = [layout((pixel, (channel, tap, 0))) for pixel, tap, channel in elements]
    assert [tuple(leaves(add_coordinates(found.offset, each))) for each in coordinates] == [
        (*leaves(each),) for each in expected
    ]


@given(st.integers(1, 9), st.integers(-4, 4), st.integers(-4, 4), st.integers(0, 4), st.integers(0, 4),
       st.integers(1, 8), st.sampled_from([-3, -2, -1, 1, 2, 3]))  # fmt: skip
def test_numbers_that_are_not_known_count_alike(
    size: int, lower: int, upper: int, before: int, behind: int, stride: int, tap_stride: int
) -> None:
    numbers = {
        "lower_corner": lower, "upper_corner": upper, "lower_padding": before, "upper_padding": behind,
        "stride": stride, "first_tap": 0, "tap_stride": tap_stride,
    }  # fmt: skip
    assume(size + upper - lower >= 1)
    reach = behind - upper if tap_stride > 0 else lower - before
    assume(reach * tap_stride >= 0)
    known = im2col((size, 2), 8, Window(*((number,) for number in numbers.values())), pixels_first=True)
    unknown = im2col((symbol("size"), 2), 8, Window(*((symbol(name),) for name in numbers)), pixels_first=True)
    values = {**numbers, "size": size}
    for known_numbers, others in (
        (known.layout.shape, unknown.layout.shape),
        (known.taps, unknown.taps),
        (known.offset, unknown.offset),
    ):
        assert [evaluate(each, values) for each in leaves(others)] == list(leaves(known_numbers))


def test_a_window_of_other_modes_does_not_fit() -> None:
    with pytest.raises(LayoutError, match="a window of 2 modes does not fit images of 1"):
        im2col((7, 2), 8, PADDED, pixels_first=True)
