"""Swizzles taken apart into strides, and the bit arithmetic that these are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import LayoutError
from cutecc.layout import ComposedLayout, Layout, Swizzle, evaluate, symbol
from cutecc.layout.integers import divisibility, exclusive_or, masked, shifted
from cutecc.layout.swizzled_strides import swizzled_strides
from cutecc.layout.tuples import map_leaves


@dataclass(frozen=True)
class Case:
    """A layout with a swizzle, and an offset, that share no bit that the swizzle flips or flips by."""

    swizzle: Swizzle
    layout: Layout
    finer: Any
    """Its shape with a mode for each bit that takes part in the swizzle."""
    offset: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Each bit of an offset is a mode's, the offset's, or nobody's; of two that flip each other, one is a mode's."""
    bits = draw(st.integers(1, 3))
    base, shift = draw(st.integers(0, 3)), draw(st.integers(bits, 4)) * draw(st.sampled_from([1, -1]))
    width = base + bits + abs(shift) + 2
    pairs = [(base + bit, base + bit + abs(shift)) for bit in range(bits)]
    mine = draw(st.sets(st.integers(0, width - 1), max_size=width))
    for low, high in pairs:
        if low in mine and high in mine:
            mine.remove(draw(st.sampled_from([low, high])))
    touched = {bit for pair in pairs for bit in pair}
    shape, stride, finer = [], [], []
    for bit in sorted(mine):
        if stride and bit - 1 in mine and draw(st.booleans()):
            # One mode with the bit before, of which the finer shape has two.
            shape[-1] *= 2
            finer[-1].append(bit)
        else:
            shape.append(2)
            stride.append(1 << bit)
            finer.append([bit])
    order = draw(st.permutations(range(len(shape))))
    parts: list[Any] = []
    for mode in order:
        is_plain = not touched.intersection(finer[mode])
        parts.append(shape[mode] if is_plain or len(finer[mode]) == 1 else (2,) * len(finer[mode]))
    others = ((1 << width) - 1) & ~sum(1 << bit for bit in mine)
    layout = Layout(tuple(shape[mode] for mode in order), tuple(stride[mode] for mode in order))
    return Case(Swizzle(bits, base, shift), layout, tuple(parts), draw(st.integers(0, (1 << width) - 1)) & others)


@given(cases())
def test_equals_the_swizzled_layout_everywhere(case: Case) -> None:
    swizzled = ComposedLayout(case.swizzle, case.offset, case.layout)
    plain, offset = swizzled_strides(swizzled, case.finer)
    assert plain.shape == case.finer
    for index in range(case.layout.size):
        assert offset + plain(index) == swizzled(index), f"at {index} of {swizzled}, which became {offset} + {plain}"


@given(cases())
def test_offset_of_the_running_kernel(case: Case) -> None:
    plain, offset = swizzled_strides(ComposedLayout(case.swizzle, symbol("o"), case.layout), case.finer)
    known = {"o": case.offset}
    strides = map_leaves(lambda stride: evaluate(stride, known), plain.stride)
    swizzled = ComposedLayout(case.swizzle, case.offset, case.layout)
    for index in range(case.layout.size):
        assert evaluate(offset, known) + Layout(plain.shape, strides)(index) == swizzled(index)


def test_strides_of_a_thread() -> None:
    # Thread 0 of eight that have a row each: its bits 0 to 2 go up. In row 5, two of them go down.
    rows = ComposedLayout(Swizzle(3, 0, 3), symbol("row", divisibility=8), Layout((8,), (1,)))
    plain, offset = swizzled_strides(rows, ((2, 2, 2),))
    assert [evaluate(stride, {"row": 0}) for stride in plain.stride[0]] == [1, 2, 4]
    assert [evaluate(stride, {"row": 40}) for stride in plain.stride[0]] == [-1, 2, -4]
    assert evaluate(offset, {"row": 40}) == 45


def test_shapes_that_do_not_fit() -> None:
    layout = ComposedLayout(Swizzle(2, 0, 2), 0, Layout((4, 4), (1, 4)))
    with pytest.raises(LayoutError, match="is not a finer shape"):
        swizzled_strides(layout, (4, 2, 2))
    with pytest.raises(LayoutError, match="is not swizzled"):
        swizzled_strides(ComposedLayout(Layout(16, 1), 0, Layout(4, 1)), 4)


_MASKS = st.builds(lambda bits, base: ((1 << bits) - 1) << base, st.integers(1, 4), st.integers(0, 6))


@given(st.integers(0, 500), st.sampled_from([1, 2, 4, 6, 8, 64]), _MASKS, st.integers(-4, 6))
def test_bits_of_a_number_of_the_running_kernel(factor: int, divisor: int, mask: int, shift: int) -> None:
    value, number = factor * divisor, symbol("n", divisibility=divisor)
    moved = value & mask
    moved = moved >> shift if shift >= 0 else moved << -shift
    for found, expected in (
        (masked(number, mask), value & mask),
        (shifted(number, shift), value >> shift if shift >= 0 else value << -shift),
        (exclusive_or(number, mask, shift), value ^ moved),
    ):
        assert evaluate(found, {"n": value}) == expected
        assert expected % divisibility(found) == 0, f"{found} is said to be a multiple, but can be {expected}"
    # Of a known number, the same at once.
    assert masked(value, mask) == value & mask
    assert shifted(value, shift) == (value >> shift if shift >= 0 else value << -shift)


@given(st.integers(0, 500), _MASKS, st.integers(0, 6))
def test_flipping_bits_that_are_known_to_be_clear(factor: int, mask: int, shift: int) -> None:
    number = symbol("n", divisibility=2 * (mask + 1) & ~mask)
    if number.divisibility & -number.divisibility > mask:
        assert exclusive_or(number, mask, shift) is number
