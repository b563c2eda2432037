"""What TMA copies of a tile: worked examples, and that boxes take each element once, in the order of shared memory."""

from __future__ import annotations

import itertools
from typing import Any

import layout_strategies as layouts
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cutecc.layout import (
    ComposedLayout,
    Layout,
    Swizzle,
    add_coordinates,
    evaluate,
    parse_int_tuple,
    parse_layout,
    symbol,
)
from cutecc.layout.basis import Basis
from cutecc.layout.layout import idx2crd
from cutecc.layout.partition import flat_coordinate, hierarchical_coordinate
from cutecc.layout.tma import tma_partition
from cutecc.layout.tuples import leaves, map_leaves, nested_as, prefix_products

ALONE = Layout(1, 0)


@pytest.mark.parametrize(
    ("shared", "box", "parts"),
    [
        # Rows of 64 side by side: one box, whose first mode is the tensor's second.
        ("((32,64)):((64,1))", 2048, ("((2048,1)):((1,0))", "(((64,32),1)):(((1@1,1@0),0))")),
        # Columns side by side: the box counts as the tensor does.
        ("((32,64)):((1,32))", 2048, ("((2048,1)):((1,0))", "(((32,64),1)):(((1@0,1@1),0))")),
        # Half as large a box: two of them, 16 rows apart.
        ("((32,64)):((64,1))", 1024, ("((1024,2)):((1,1024))", "(((64,16),2)):(((1@1,1@0),16@0))")),
        # Columns in two groups of 32, as a swizzle has them: two boxes of 32 rows and 32 columns.
        ("((32,(32,2))):((32,(1,1024)))", 1024, ("((1024,2)):((1,1024))", "(((32,32),2)):(((1@1,1@0),32@1))")),
        # All other modes stay: stages of shared memory, tiles of the tensor.
        ("((32,64),3):((64,1),2048)", 2048, ("((2048,1),3):((1,0),2048)", "(((64,32),1),3):(((1@1,1@0),0),1@2)")),
    ],
)
def test_parts(shared: str, box: int, parts: tuple[str, str]) -> None:
    tile = parse_layout(shared)
    tensor = _coordinates(tile)
    found = tma_partition([tile, tensor], box, 0, ALONE)
    assert tuple(str(part.layout) for part in found) == parts
    assert all(not any(leaves(part.offset)) for part in found)


def test_swizzled() -> None:
    """A swizzle stays where it is: what TMA is told of it is in the descriptor."""
    tile = parse_layout("((8,64)):((64,1))")
    swizzled = ComposedLayout(Swizzle(3, 4, 3), 0, tile)
    shared, tensor = tma_partition([swizzled, _coordinates(tile)], 512, 0, ALONE)
    assert isinstance(shared.layout, ComposedLayout)
    assert str(shared.layout) == "S<3,4,3> o 0 o ((512,1)):((1,0))"
    assert str(tensor.layout) == "(((64,8),1)):(((1@1,1@0),0))"


def test_cluster() -> None:
    """Each of four blocks begins at a quarter of the box: 8 of 32 rows, 512 of 2048 elements."""
    tile = parse_layout("((32,64)):((64,1))")
    shared, tensor = tma_partition([tile, _coordinates(tile)], 2048, symbol("block"), Layout(4, 1))
    assert [_at_block(shared.offset, block) for block in range(4)] == [0, 512, 1024, 1536]
    assert [_padded(_at_block(tensor.offset, block)) for block in range(4)] == [(0, 0), (8, 0), (16, 0), (24, 0)]


def test_order_of_blocks() -> None:
    """The layout of blocks says which share a block has, here the last of two coordinates alone."""
    tile = parse_layout("((32,64)):((64,1))")
    shared, tensor = tma_partition([tile, _coordinates(tile)], 2048, 3, parse_layout("(2,2):(0,1)"))
    assert shared.offset == 1024
    assert _padded(tensor.offset) == (16, 0)


@st.composite
def tiles(draw: st.DrawFn) -> tuple[Layout, int]:
    """A tile that lies in memory without gaps, in any order, and how many elements a box has."""
    sizes = draw(st.lists(st.sampled_from([2, 3, 4, 8]), min_size=1, max_size=4))
    order = draw(st.permutations(range(len(sizes))))
    strides = [0] * len(sizes)
    step = 1
    for mode in order:
        strides[mode] = step
        step *= sizes[mode]
    whole = draw(st.integers(1, len(sizes)))
    box = 1
    for mode in order[:whole]:
        box *= sizes[mode]
    return Layout((tuple(sizes),), (tuple(strides),)), box


@given(tiles())
def test_each_element_is_in_one_box(tile_and_box: tuple[Layout, int]) -> None:
    tile, box = tile_and_box
    shared, tensor = tma_partition([tile, _coordinates(tile)], box, 0, ALONE)
    size = tile.size
    assert isinstance(size, int)
    places = list(itertools.product(range(size // box), range(box)))
    # Box after box, and in each element after element, is memory from its beginning to its end.
    assert [shared.layout(((inside, which),)) for which, inside in places] == list(range(size))
    reached = [_padded(tensor.layout(((inside, which),)), len(tile[0])) for which, inside in places]
    assert len(set(reached)) == size
    # What lies there in shared memory is the element at that coordinate of the tile.
    assert [tile((coordinate,)) for coordinate in reached] == list(range(size))


@given(tiles(), st.sampled_from([1, 2, 4]))
def test_blocks_share_each_box(tile_and_box: tuple[Layout, int], blocks: int) -> None:
    """What blocks load begins where the one before ends, in memory and in the tensor."""
    tile, box = tile_and_box
    assume(box % blocks == 0)
    share = box // blocks
    for block in range(blocks):
        shared, tensor = tma_partition([tile, _coordinates(tile)], box, block, Layout(blocks, 1))
        assert shared.offset == block * share
        begin = _padded(tensor.offset, len(tile[0]))
        assert tile((begin,)) == block * share


@pytest.mark.parametrize(
    ("layout", "index", "coordinate"),
    [
        ("(5,(4,3),2):(1,(5,20),60)", 117, "(2,(3,2),1)"),
        ("((2,2),4):((1,8),2)", 11, "((1,1),1)"),
        # A mode of stride 0, or of one element, has no say.
        ("(4,8):(0,4)", 13, "(0,3)"),
        ("(1,(8,1)):(7,(1,3))", 5, "(0,(5,0))"),
        # Beyond the layout it begins again.
        ("(4,2):(1,4)", 9, "(1,0)"),
        ("8:1", 5, "5"),
    ],
)
def test_hierarchical_coordinate(layout: str, index: int, coordinate: str) -> None:
    assert hierarchical_coordinate(parse_layout(layout), index) == parse_int_tuple(coordinate)


@given(st.data())
def test_hierarchical_coordinate_inverts(data: st.DataObject) -> None:
    shape = data.draw(layouts.shapes())
    sizes = list(leaves(shape))
    order = data.draw(st.permutations(range(len(sizes))))
    strides = [0] * len(sizes)
    step = 1
    for leaf in order:
        strides[leaf] = step
        step *= sizes[leaf]
    layout = Layout(shape, nested_as(shape, strides))
    index = data.draw(st.integers(0, step - 1))
    coordinate = hierarchical_coordinate(layout, index)
    assert layout(coordinate) == index
    # The flat coordinate is the same with each mode at the top counted through.
    if isinstance(shape, tuple):
        flat = flat_coordinate(layout, index)
        assert [idx2crd(number, size) for number, size in zip(flat, shape, strict=True)] == list(coordinate)


def _coordinates(tile: Any) -> Layout:
    """A tensor of coordinates of the same shape; each mode of the tile, nested or not, is one mode of them."""
    inside, *rest = tile.shape
    strides = [_steps(shape, number) for number, shape in enumerate(inside)]
    return Layout(tile.shape, (tuple(strides), *(Basis(1, (len(inside) + number,)) for number, _ in enumerate(rest))))


def _steps(shape: Any, mode: int) -> Any:
    return nested_as(shape, [step * Basis(1, (mode,)) for step in leaves(prefix_products(shape))])


def _padded(coordinate: Any, count: int = 2) -> tuple[int, ...]:
    return add_coordinates(coordinate, (0,) * count)  # pyright: ignore[reportReturnType]


def _at_block(offset: Any, block: int) -> Any:
    return map_leaves(lambda each: evaluate(each, {"block": block}), offset)
