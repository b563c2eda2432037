"""The matrix of a convolution as TMA loads it: which pixel, which channel and which tap of the filter an element is.

For images of pixels `(W, H, D, N)` and channels `C` it is the composed layout

    ((Q, P, Z, N), (C, S, R, T)) : ((1@0@1, 1@1@1, 1@2@1, 1@2), (1@0, 1@0@3, 1@1@3, 1@2@3))
    o (0, (0, 0, 0, 0)) o (Q*P*Z*N, (C, S, R, T))

from an element to a coordinate `(channel, (w, h, d), image, (s, r, t))`. The steps from pixel to pixel are the strides
of the convolution, those from tap to tap its dilation. Beside the images there are one to three modes of pixels.
"""

from __future__ import annotations

from dataclasses import dataclass

from cutecc.errors import LayoutError
from cutecc.layout.basis import ArithmeticTuple, Basis
from cutecc.layout.integers import Integer, add, divide, minimum, multiply, sign, subtract
from cutecc.layout.layout import Layout, join
from cutecc.layout.make import make_identity_layout
from cutecc.layout.swizzle import ComposedLayout
from cutecc.layout.tuples import product


@dataclass(frozen=True)
class Window:
    """Which pixels a convolution's filter is laid on, by mode of pixels, the innermost first."""

    lower_corner: tuple[Integer, ...]
    """The first pixel."""
    upper_corner: tuple[Integer, ...]
    """The last one, from that of the image on."""
    lower_padding: tuple[Integer, ...]
    upper_padding: tuple[Integer, ...]
    """Pixels around the image; with the corners they say how many taps the filter has."""
    stride: tuple[Integer, ...]
    first_tap: tuple[Integer, ...]
    """How far from the pixel the first tap is."""
    tap_stride: tuple[Integer, ...]
    """And how far the next, which may be before it."""

    @classmethod
    def of_one_tap(cls, rank: int) -> Window:
        """Every pixel of the image itself, of `rank` modes of pixels."""
        zeros, ones = (0,) * rank, (1,) * rank
        return cls(zeros, zeros, zeros, zeros, ones, zeros, ones)


@dataclass(frozen=True)
class Im2col:
    """The tensor of coordinates of a convolution's matrix."""

    layout: ComposedLayout
    offset: ArithmeticTuple
    """Of the first pixel and its first tap."""
    taps: tuple[Integer, ...]
    """How many the filter has, by mode of pixels."""


def im2col(pixels: tuple[Integer, ...], channels: Integer, window: Window, *, pixels_first: bool) -> Im2col:
    """The matrix of images of so many pixels, the images last, and channels; its rows pixels, or its columns.

    Raises `LayoutError` where the window has other modes.
    """
    *sizes, images = pixels
    rank = len(sizes)
    if len(window.stride) != rank:
        raise LayoutError(f"a window of {len(window.stride)} modes does not fit images of {rank}")
    counts = (*(_count(size, window, mode) for mode, size in enumerate(sizes)), images)
    taps = tuple(_taps(window, mode) for mode in range(rank))
    steps = (*(Basis(step, (1, mode)) for mode, step in enumerate(window.stride)), Basis(1, (2,)))
    tap_steps = (Basis(1, (0,)), *(Basis(step, (3, mode)) for mode, step in enumerate(window.tap_stride)))
    rows = (Layout(counts, steps), product(counts), 0)
    columns = (Layout((channels, *taps), tap_steps), (channels, *taps), (0,) * (rank + 1))
    (first, *flat), (second, *other) = (rows, columns) if pixels_first else (columns, rows)
    shape, start = zip(flat, other, strict=True)
    return Im2col(
        ComposedLayout(join(first, second), start, make_identity_layout(shape)),
        (0, window.lower_corner, 0, window.first_tap),
        taps,
    )


def _count(size: Integer, window: Window, mode: int) -> Integer:
    """Pixels along a mode that the filter is laid on."""
    reach = subtract(add(size, window.upper_corner[mode]), window.lower_corner[mode])
    return add(divide(subtract(reach, 1), window.stride[mode]), 1)


def _taps(window: Window, mode: int) -> Integer:
    """Taps along a mode: one more than steps of them lead from the corner to the end of the padding."""
    step = window.tap_stride[mode]
    forward = subtract(window.upper_padding[mode], window.upper_corner[mode])
    backward = subtract(window.lower_corner[mode], window.lower_padding[mode])
    if isinstance(step, int):
        reach = forward if step > 0 else backward
    else:
        # 1 where the step leads on, 0 where it leads back.
        leads_on = minimum(add(sign(step), 1), 1)
        reach = add(backward, multiply(leads_on, subtract(forward, backward)))
    return add(divide(reach, step), 1)
