"""Vectors that two layouts have in common, over random layouts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.layout import Layout, Symbolic, leaves, symbol
from cutecc.layout.integers import evaluate
from cutecc.passes.transforms.vectors import common_modes, in_vectors

SIZES = st.sampled_from([1, 2, 3, 4, 6, 8])
STRIDES = st.one_of(
    st.sampled_from([0, 1, 1, 2, 3, 4, 8, 12, 16, -4]),
    st.sampled_from([1, 2, 4, 8]).map(lambda known: symbol("s", width=64, divisibility=known)),
)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Layout, Layout]:
    """Two layouts of one size, some of whose modes are joined in one and split in the other."""
    shape = tuple(draw(st.lists(SIZES, min_size=1, max_size=4)))
    first = Layout(shape, tuple(draw(STRIDES) for _ in shape))
    if draw(st.booleans()):
        return first, Layout(math.prod(shape), draw(STRIDES))
    if draw(st.booleans()):
        # What a fragment has: the same modes, compact, the mode of stride 1 first.
        order = sorted(range(len(shape)), key=lambda mode: first.stride[mode] != 1)
        strides = [0] * len(shape)
        size = 1
        for mode in order:
            strides[mode] = size
            size *= shape[mode]
        return first, Layout(shape, tuple(strides))
    return first, Layout(shape, tuple(draw(STRIDES) for _ in shape))


def offset(layout: Layout, number: int, value: int) -> int:
    """Where an element is when all that is not known of the strides is `value` times what divides it."""
    found = layout(number)
    return found if isinstance(found, int) else evaluate(found, {"s": value})


def dividing(layout: Layout, length: int) -> int:
    """A number for the layout's unknown stride that says no more than its divisibility does."""
    known = [stride.divisibility for stride in leaves(layout.stride) if isinstance(stride, Symbolic)]
    return math.lcm(*known) * 5 if known else 5


@given(pairs(), st.sampled_from([2, 4, 8, 16]))
def test_vectors_are_adjacent_and_aligned_and_hold_every_element_once(pair: tuple[Layout, Layout], length: int) -> None:
    order = in_vectors(length, *pair)
    if order is None:
        return
    size = pair[0].size
    assert isinstance(size, int)
    assert sorted(order(index) for index in range(size)) == list(range(size))
    for layout in pair:
        value = dividing(layout, length)
        for begin in range(0, size, length):
            places = [offset(layout, order(begin + index), value) for index in range(length)]
            assert places == list(range(places[0], places[0] + length))
            assert places[0] % length == 0


@given(pairs(), st.sampled_from([2, 4]))
def test_what_is_written_last_to_a_place_stays_so(pair: tuple[Layout, Layout], length: int) -> None:
    order = in_vectors(length, *pair)
    if order is None:
        return
    layout = pair[1]
    value = dividing(layout, length)
    numbers = range(int(str(layout.size)))
    plainly = {offset(layout, number, value): number for number in numbers}
    in_order = {offset(layout, order(index), value): order(index) for index in numbers}
    assert plainly == in_order


@pytest.mark.slow
@given(pairs())
def test_common_modes_are_both_layouts(pair: tuple[Layout, Layout]) -> None:
    modes = common_modes(*pair)
    if not modes:
        return
    shape = tuple(mode.size for mode in modes)
    for side, layout in enumerate(pair):
        together = Layout(shape, tuple(mode.strides[side] for mode in modes))
        value = dividing(layout, 1)
        assert all(
            offset(together, number, value) == offset(layout, number, value) for number in range(math.prod(shape))
        )


@pytest.mark.parametrize(
    ("first", "second", "length", "order"),
    [
        ("(1,(4,4)):(0,(1,?{i64 div=4}))", "(1,(4,4)):(0,(1,4))", 4, "((4),(4)):((1),(4))"),
        ("(1,(4,4)):(0,(1,?{i64 div=4}))", "(1,(4,4)):(0,(1,4))", 8, None),
        ("(1,(4,4)):(0,(1,?{i64 div=2}))", "(1,(4,4)):(0,(1,4))", 4, None),
        ("(1,(4,4)):(0,(1,?{i64 div=2}))", "(1,(4,4)):(0,(1,4))", 2, "((2),(2,4)):((1),(2,4))"),
        # Two modes that go on from each other are one, of whatever sizes.
        ("(3,2):(1,3)", "6:1", 2, "((2),(3)):((1),(2))"),
        ("(2,2,4):(1,2,8)", "(4,4):(1,4)", 4, "((4),(4)):((1),(4))"),
        # A vector can be made of modes that are not neighbours.
        ("(2,3,2):(1,4,2)", "(2,3,2):(1,4,2)", 4, "((2,2),(3)):((1,6),(2))"),
        ("8:1", "8:1", 8, "((8),(1)):((1),(0))"),
        ("8:-1", "8:-1", 2, None),
        ("(4,4):(4,1)", "(4,4):(1,4)", 2, None),
    ],
)
def test_of_these(first: str, second: str, length: int, order: str | None) -> None:
    found = in_vectors(length, Layout.parse(first), Layout.parse(second))
    assert (found and str(found)) == order


def test_a_third_layout_keeps_modes_apart() -> None:
    pair = Layout((3, 2), (1, 3)), Layout(6, 1)
    assert in_vectors(2, *pair) and not in_vectors(2, *pair, Layout((3, 2), (2, 1)))
