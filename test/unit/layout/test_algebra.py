"""What each operation promises, checked by evaluating layouts as functions."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from attacks import attacks
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from layout_strategies import layouts, shapes, static_layouts, tiles

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import Layout, parse, parse_layout, parse_tile
from cutecc.layout.tuples import leaves, nested_as

pytestmark = pytest.mark.slow

many = settings(max_examples=attacks(40), deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

LIMIT = 512
"""Layouts of more elements are not walked."""


def offsets(layout: Any) -> list[int]:
    """The offset of every index."""
    if layout.size > LIMIT:
        assume(False)
    return [layout(index) for index in range(layout.size)]


@many
@given(static_layouts())
def test_coalesce_keeps_the_function(text: str) -> None:
    layout = parse_layout(text)
    merged = cl.coalesce(layout)
    assert offsets(merged) == offsets(layout)
    assert merged.depth <= 1
    assert merged.rank <= len(list(leaves(layout.shape)))


@many
@given(static_layouts())
def test_filter_visits_the_same_offsets(text: str) -> None:
    layout = parse_layout(text)
    assert set(offsets(cl.filter_layout(layout))) == set(offsets(layout))


@st.composite
def layouts_of_powers(draw: st.DrawFn, *, apart: bool) -> Layout:
    """Sizes and strides of powers of two divide one another, as composition needs; `apart`: no offset twice."""
    shape = draw(shapes())
    count = len(list(leaves(shape)))
    sizes = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=count, max_size=count))
    strides = draw(st.lists(st.sampled_from([1, 2, 4, 8, 16]), min_size=count, max_size=count))
    if apart:
        current = 1
        for position in sorted(range(count), key=lambda i: strides[i]):
            strides[position], current = current, current * sizes[position]
    return Layout(nested_as(shape, sizes), nested_as(shape, strides))


@many
@given(layouts_of_powers(apart=False), layouts_of_powers(apart=True))
def test_composition_applies_right_then_left(left: Layout, right: Layout) -> None:
    # Beyond its end the left layout goes on along its last leaf.
    flat = cl.flatten_layout(left)
    assert offsets(cl.composition(left, right)) == [flat(index) for index in offsets(right)]


@many
@given(static_layouts(injective=True), st.sampled_from([1, 8, 24, 64, 256]))
def test_complement_fills_what_is_left_out(text: str, target: int) -> None:
    layout = parse_layout(text)
    rest = cl.complement(layout, target)
    both = cl.join(layout, rest)
    assume(both.size <= LIMIT)
    found = offsets(both)
    assert len(set(found)) == len(found)
    assert both.cosize >= target
    assert offsets(rest) == sorted(offsets(rest))


@many
@given(static_layouts(injective=True))
def test_left_inverse_leads_back(text: str) -> None:
    layout = parse_layout(text)
    assume(cl.filter_layout(layout).size == layout.size)
    try:
        inverse = cl.left_inverse(layout)
    except LayoutError as error:
        # Only a gap that is no multiple of the stride before it is refused.
        assert "is not a multiple of stride" in error.message
        return
    assert [inverse(offset) for offset in offsets(layout)] == list(range(layout.size))


@many
@given(static_layouts())
def test_right_inverse_leads_there(text: str) -> None:
    layout = parse_layout(text)
    inverse = cl.right_inverse(layout)
    assert [layout(index) for index in offsets(inverse)] == list(range(inverse.size))


@many
@given(static_layouts(), tiles)
def test_the_forms_of_a_division_visit_the_same(text: str, tile_text: str) -> None:
    layout, tile = parse_layout(text), parse_tile(tile_text)
    try:
        forms = [divide(layout, tile) for divide in (cl.logical_divide, cl.zipped_divide, cl.tiled_divide)]
    except LayoutError:
        assume(False)
    assume(all(form.is_static for form in forms))
    expected = sorted(offsets(forms[0]))
    assert all(sorted(offsets(form)) == expected for form in forms)


@many
@given(layouts_of_powers(apart=True), layouts_of_powers(apart=True))
def test_dividing_only_rearranges(layout: Layout, tile: Layout) -> None:
    assume(tile.size <= layout.size and cl.filter_layout(tile).size == tile.size)
    divided = cl.logical_divide(layout, tile)
    assert sorted(offsets(divided)) == sorted(offsets(layout))
    assert [divided((index, 0)) for index in range(divided[0].size)] == [
        cl.flatten_layout(layout)(tile(index)) for index in range(tile.size)
    ]


@many
@given(static_layouts(injective=True), static_layouts(injective=True))
def test_products_repeat_the_block(block_text: str, tiler_text: str) -> None:
    block, tiler = parse_layout(block_text), parse_layout(tiler_text)
    assume(cl.filter_layout(block).size == block.size and cl.filter_layout(tiler).size == tiler.size)
    try:
        product = cl.logical_product(block, tiler)
    except LayoutError:
        assume(False)
    assert product[0] == block
    found = offsets(product)
    assert len(set(found)) == len(found)
    for form in (cl.blocked_product(block, tiler), cl.raked_product(block, tiler)):
        assert sorted(offsets(form)) == sorted(found)


@many
@given(shapes(), st.integers(0, LIMIT))
def test_indices_and_coordinates_lead_to_each_other(shape: Any, index: int) -> None:
    index %= cl.product(shape)
    assert cl.crd2idx(cl.idx2crd(index, shape), shape) == index


@many
@given(static_layouts())
def test_coordinates_of_any_depth_mean_the_same(text: str) -> None:
    layout = parse_layout(text)
    for index in range(min(layout.size, 64)):
        assert layout(cl.idx2crd(index, layout.shape)) == layout(index)


@many
@given(layouts())
def test_text_and_back(text: str) -> None:
    layout = parse_layout(text)
    assert str(layout) == text
    assert parse_layout(str(layout)) == layout


@many
@given(st.integers(0, 4), st.integers(0, 5), st.integers(-5, 5))
def test_swizzles_are_their_own_inverse(bits: int, base: int, shift: int) -> None:
    assume(abs(shift) >= bits)
    swizzle = cl.Swizzle(bits, base, shift)
    period = 1 << (base + bits + abs(shift))
    found = [swizzle(offset) for offset in range(period)]
    assert sorted(found) == list(range(period))
    assert [swizzle(offset) for offset in found] == list(range(period))


@many
@given(static_layouts(injective=True), static_layouts(injective=True))
def test_thread_value_layouts_cover_the_tile_once(threads_text: str, values_text: str) -> None:
    threads, values = (cl.make_layout(parse_layout(text).shape) for text in (threads_text, values_text))
    tile, layout = cl.make_layout_tv(threads, values)
    assume(layout.size <= LIMIT)
    assert sorted(offsets(layout)) == list(range(cl.product(tile)))
    assert (layout[0].size, layout[1].size) == (threads.size, values.size)


@many
@given(static_layouts(injective=True), st.sampled_from([(8, 16), (16, 8), (16, 32), (32, 8), (8, 32)]))
def test_recasting_keeps_the_bits(text: str, widths: tuple[int, int]) -> None:
    old, new = widths
    layout = parse_layout(text)
    # Narrower elements take the place of one only along the mode whose elements lie side by side.
    pairs = list(zip(leaves(layout.shape), leaves(layout.stride), strict=True))
    assume(all(size > 1 for size, _ in pairs) and any(stride == 1 for _, stride in pairs))
    try:
        recast = cl.recast_layout(new, old, layout)
    except LayoutError as error:
        assert "divides" in error.message
        return
    assume(max(layout.size, recast.size) * max(old, new) <= 8 * LIMIT)

    def bytes_of(each: Any, bits: int) -> set[int]:
        return {offset * bits // 8 + byte for offset in offsets(each) for byte in range(bits // 8)}

    assume(new < old or len(bytes_of(layout, old)) == recast.size * new // 8)
    assert bytes_of(recast, new) == bytes_of(layout, old)


@many
@given(shapes())
def test_a_coordinate_tensor_holds_its_coordinates(shape: Any) -> None:
    tensor = cl.make_identity_tensor(shape)
    assume(cl.product(shape) <= LIMIT)
    coordinates = [cl.idx2crd(index, shape) for index in range(cl.product(shape))]
    assert [tensor(coordinate) for coordinate in coordinates] == coordinates


@pytest.mark.parametrize("text", ["(4,8):(8,1)", "(9,(4,8)):(59,(13,1))"])
def test_local_tiles_partition(text: str) -> None:
    layout = parse_layout(text)
    tiler = (2, 4) if text.startswith("(4") else (3, (2, 4))
    divided = cl.zipped_divide(layout, tiler)
    found: list[int] = []
    for coordinate in itertools.product(*(range(cl.product(mode)) for mode in divided.shape[1])):
        tile, offset = cl.local_tile(layout, tiler, coordinate)
        found += [offset + each for each in offsets(tile)]
    assert sorted(found) == sorted(offsets(layout))


def test_local_partition_gives_each_thread_its_own() -> None:
    layout, threads = parse_layout("(8,16):(16,1)"), parse_layout("(2,4):(4,1)")
    found: list[int] = []
    for thread in range(8):
        part, offset = cl.local_partition(layout, threads, thread)
        assert str(part) == "(4,4):(32,4)"
        found += [offset + each for each in offsets(part)]
    assert sorted(found) == list(range(128))


def test_slicing_a_swizzled_layout_moves_its_offset() -> None:
    layout = parse("S<3,4,3> o 0 o (8,64):(64,1)")
    row, offset = cl.slice_layout((3, None), layout)
    assert (str(row), offset) == ("S<3,4,3> o 192 o (64):(1)", 0)
    assert [row((column,)) for column in range(64)] == [layout((3, column)) for column in range(64)]
