"""What a block gives to TMA: boxes in the order of shared memory, and coordinates with the hierarchy of a layout."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.layout import ComposedLayout, Layout, Swizzle, evaluate, make_identity_layout, parse_layout, show, symbol
from cutecc.layout.partition import hierarchical_coordinate
from cutecc.layout.tma import Part, tma_partition
from cutecc.layout.tuples import leaves, modes

ALONE = Layout(1, 0)


def shown(part: Part) -> tuple[str, str]:
    return str(part.layout), show(part.offset)


def test_a_tile_that_is_one_box() -> None:
    # 32 rows of 64, which follow each other in shared memory: TMA steps along the columns first, then the rows.
    tensors = [parse_layout("((32,64)):((64,1))"), parse_layout("((32,64)):((1@1,1@0))")]
    shared, tile = tma_partition(tensors, 2048, 0, ALONE)
    assert shown(shared) == ("((2048,1)):((1,0))", "0")
    assert shown(tile) == ("(((64,32),1)):(((1@0,1@1),0))", "(0,0)")


def test_modes_behind_the_tile_stay() -> None:
    tensors = [parse_layout("((32,64),3):((64,1),2048)"), parse_layout("((32,64),5):((1@1,1@0),64@0)")]
    shared, tiles = tma_partition(tensors, 2048, 0, ALONE)
    assert shown(shared) == ("((2048,1),3):((1,0),2048)", "0")
    assert shown(tiles) == ("(((64,32),1),5):(((1@0,1@1),0),64@0)", "(0,0)")


def test_a_tile_of_two_boxes_with_a_swizzle() -> None:
    # Rows of 128 elements lie as two halves of 64, one below the other: the second box begins 64 columns further.
    shared, tile = tma_partition(
        [
            ComposedLayout(Swizzle(3, 4, 3), 0, parse_layout("(((8,4),(64,2))):(((64,512),(1,2048)))")),
            parse_layout("((32,128)):((1@1,1@0))"),
        ],
        2048,
        0,
        ALONE,
    )
    assert str(shared.layout) == "S<3,4,3> o 0 o ((2048,2)):((1,2048))"
    assert shown(tile) == ("(((64,32),2)):(((1@0,1@1),64@0))", "(0,0)")


@pytest.mark.parametrize(("block", "place", "first"), [(0, 0, (0, 0)), (1, 512, (0, 8)), (3, 1536, (0, 24))])
def test_each_of_four_blocks_begins_at_its_share(block: int, place: int, first: tuple[int, int]) -> None:
    tensors = [parse_layout("((32,64)):((64,1))"), parse_layout("((32,64)):((1@1,1@0))")]
    shared, tile = tma_partition(tensors, 2048, block, Layout(4, 1))
    assert (shared.offset, tile.offset) == (place, first)


def test_the_number_of_a_block_follows_its_layout() -> None:
    # Of a cluster of 2 x 2, blocks (?, 1) share a box: the first mode's stride is 0.
    tensors = [parse_layout("((32,64)):((64,1))"), parse_layout("((32,64)):((1@1,1@0))")]
    shared, _ = tma_partition(tensors, 2048, symbol("block"), Layout((2, 2), (0, 1)))
    offset: Any = shared.offset
    assert [evaluate(offset, {"block": block}) for block in range(4)] == [0, 0, 1024, 1024]


@st.composite
def compact(draw: st.DrawFn) -> Layout:
    """A tile of one to three modes whose elements fill memory, in any order of modes; boxes divide powers of two."""
    shape = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3))
    strides = [0] * len(shape)
    step = 1
    for mode in draw(st.permutations(range(len(shape)))):
        strides[mode] = step
        step *= shape[mode]
    return Layout(tuple(shape), tuple(strides))


@given(compact(), st.data())
@settings(deadline=None)
def test_every_element_is_in_one_box_in_the_order_of_memory(tile: Layout, data: st.DataObject) -> None:
    size = tile.size
    assert isinstance(size, int)
    box = data.draw(st.sampled_from([count for count in range(1, size + 1) if size % count == 0]))
    # Of each tensor the tile is the first mode.
    tensors = [Layout((each.shape,), (each.stride,)) for each in (tile, make_identity_layout(tile.shape))]
    shared, coordinates = tma_partition(tensors, box, 0, ALONE)
    places: list[Any] = []
    found: list[Any] = []
    for number, inside in itertools.product(range(size // box), range(box)):
        at = ((inside, number),)
        places.append(shared.layout(at))
        found.append(coordinates.layout(at))
    # Box by box, and element by element, through memory.
    assert places == list(range(size))
    assert len({*map(str, found)}) == size
    # What lies there is the element of that coordinate.
    for place, coordinate in zip(places, found, strict=True):
        numbers = [*leaves(coordinate)]
        # Behind modes of one element nothing follows.
        assert tile((*numbers, *(0,) * (len(tile) - len(numbers)))) == place


@pytest.mark.parametrize(
    ("layout", "index", "coordinate"),
    [
        ("(4,(2,8)):(1,(4,8))", 29, (1, (1, 3))),
        ("(1,(4,2)):(0,(2,1))", 5, (0, (2, 1))),
        ("((2,2),4):((1,8),2)", 11, ((1, 1), 1)),
        ("8:1", 5, 5),
        # Beyond the layout it begins again.
        ("(4,(2,8)):(1,(4,8))", 64 + 29, (1, (1, 3))),
        # Where several coordinates lead to a number, the first.
        ("(2,4):(0,1)", 3, (0, 3)),
    ],
)
def test_hierarchical_coordinates(layout: str, index: int, coordinate: Any) -> None:
    assert hierarchical_coordinate(parse_layout(layout), index) == coordinate


@given(compact(), compact(), st.data())
def test_a_hierarchical_coordinate_inverts_a_compact_layout(inner: Layout, outer: Layout, data: st.DataObject) -> None:
    size = inner.size
    count = math.prod(leaves((inner.shape, outer.shape)))
    layout = Layout((inner.shape, outer.shape), (inner.stride, tuple(stride * size for stride in modes(outer.stride))))
    index = data.draw(st.integers(0, count - 1))
    coordinate = hierarchical_coordinate(layout, index)
    assert layout(coordinate) == index
    assert [len(mode) for mode in coordinate] == [len(inner), len(outer)]
