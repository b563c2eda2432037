"""What is not defined is an error that says which size, stride or mode is to blame."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import parse, parse_layout, parse_tile
from cutecc.layout.text import parse_any_layout

L = parse_layout

CASES: list[tuple[Callable[[], Any], str, list[str]]] = [
    (
        lambda: cl.composition(L("(4,8):(8,1)"), L("6:1")),
        "composition: size 6 is not a multiple of the 4 elements left in 4:8",
        ["in composition((4,8):(8,1), 6:1)"],
    ),
    (
        lambda: cl.composition(L("(6,4):(1,7)"), L("2:8")),
        "composition: stride 8 is neither a multiple of size 6 nor smaller than it",
        ["in composition((6,4):(1,7), 2:8)"],
    ),
    (
        lambda: cl.composition(L("(4,8):(8,1)"), parse_tile("[2:1;2:1;2:1]")),
        "composition: the tile [2:1;2:1;2:1] has 3 modes, the layout (4,8):(8,1) has 2",
        [],
    ),
    (
        lambda: cl.logical_divide(L("(4,8):(8,1)"), parse_tile("6:1")),
        "composition: size 6 is not a multiple of the 4 elements left in 4:8",
        ["in composition((4,8):(8,1), (6,4):(1,6))", "to divide (4,8):(8,1) by 6:1"],
    ),
    (
        lambda: cl.zipped_divide(L("(4,8):(8,1)"), (2, 4, 2)),
        "the tiler [2:1;4:1;2:1] has 3 modes, the layout (4,8):(8,1) has 2",
        [],
    ),
    (
        lambda: cl.zipped_divide(L("(4,8):(8,1)"), (None, 4)),
        "'_' leaves 4:8 as it is, which is not a pair of a tile and a rest",
        [],
    ),
    (
        lambda: cl.logical_product(L("4:2"), L("3:1")),
        "composition: size 3 is not a multiple of the 2 elements left in 2:1",
        ["in composition((2,2):(1,8), 3:1)", "to repeat 4:2 by 3:1"],
    ),
    (
        lambda: cl.complement(L("(4,2):(1,2)"), 16),
        "complement of (4,2):(1,2): it is not injective: mode 2:2 begins inside the modes before it",
        [],
    ),
    (
        lambda: cl.complement(L("(4,2):(?,1)"), 16),
        "complement of (4,2):(?,1): with several modes, strides have to be known",
        [],
    ),
    (
        lambda: cl.left_inverse(L("(2,2):(2,3)")),
        "left_inverse of (2,2):(2,3): stride 3 is not a multiple of stride 2",
        [],
    ),
    (lambda: cl.shape_div(6, 4), "shape_div: neither of 6 and 4 divides the other", []),
    (lambda: cl.shape_div((4, 6), (2, 3, 1)), "shape_div: (4,6) has 2 modes, (2,3,1) has 3", []),
    (
        lambda: cl.recast_layout(32, 16, L("(8,4):(3,1)")),
        "recast: neither of stride 3 and 2 elements divides the other",
        [],
    ),
    (
        lambda: cl.recast_layout(16, 8, parse("S<3,0,3> o 0 o (8,64):(64,1)")),
        "recast: S<3,0,3> moves bits within one of the new elements",
        [],
    ),
    (lambda: L("(4,_)"), "shape (4,_): '_' is not a size", []),
    (lambda: cl.make_layout((4, (None, 2))), "shape (4,(_,2)): '_' is not a size", []),
    (lambda: cl.Swizzle(3, 4, 2), "S<3,4,2> is not a permutation", []),
    (lambda: L("(4,8)")((1, 2, 3)), "coordinate (1,2,3) has 3 modes, (4,8) has 2 modes", []),
    (lambda: L("(4,8)")((1, (2, 3))), "coordinate (2,3) has 2 modes, 8 has no modes", []),
    (lambda: L("(4,8)")((None, 3)), "a coordinate with '_' names many elements", []),
    (lambda: cl.slice_layout((None, 1), L("((2,3),4,5)")), "coordinate (_,1) has 2 modes, ((2,3),4,5) has 3 modes", []),
    (lambda: cl.get(L("(4,8)"), 2), "get: there is no mode 2 in (4,8):(1,4)", []),
    (lambda: cl.select(L("(4,8)"), 0, 3), "select: there is no mode 3 in (4,8):(1,4)", []),
    (lambda: cl.group_modes(L("(4,8)"), 1, 3), "group_modes: there are no modes from 1 up to 3 in (4,8):(1,4)", []),
    (lambda: cl.Layout((4, 8), (1,)), "shape (4,8) and stride (1) do not nest alike", []),
    (lambda: cl.Layout((4, 0), (1, 4)), "shape (4,0): sizes are at least 1", []),
    (
        lambda: cl.make_ordered_layout((4, 8), (1, 2, 3)),
        "make_ordered_layout: order (1,2,3) does not fit shape (4,8)",
        [],
    ),
    (
        lambda: cl.tile_to_shape(L("(8,64):(64,1)"), 128),
        "tile_to_shape: the block (8,64):(64,1) has more modes than the shape 128",
        [],
    ),
]


@pytest.mark.parametrize(("attempt", "message", "notes"), CASES, ids=[message for _, message, _ in CASES])
def test_message(attempt: Callable[[], Any], message: str, notes: list[str]) -> None:
    with pytest.raises(LayoutError) as caught:
        attempt()
    assert caught.value.message == message
    assert caught.value.notes == notes


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("(4,8):(8,1", "expected ',' or ')' in the tuple", 11),
        ("(4,8:1)", "expected ',' or ')' in the tuple", 5),
        ("(4,x)", "unexpected 'x'", 4),
        ("(4,8):(8,1))", "expected the end", 12),
        ("(4,8):(1,2,3)", "shape (4,8) and stride (1,2,3) do not nest alike", 1),
        ("?{div=x}", "'div=x' says nothing about a '?'; expected i64 or div=NUMBER", 1),
        ("4:1@", "expected the number of a mode after '@'", 5),
        ("(" * 100 + "4" + ")" * 100, "nested more than 64 deep", 65),
        ("", "expected a number, '?' or '('", 1),
    ],
)
@pytest.mark.parametrize("read", [parse_layout, parse_any_layout])
def test_text_that_is_no_layout(read: Callable[[str], Any], text: str, message: str, column: int) -> None:
    with pytest.raises(LayoutError) as caught:
        read(text)
    location = caught.value.location
    assert caught.value.message == message
    assert location is not None
    assert (location.column, location.text) == (column, text)


def test_half_of_a_composed_layout() -> None:
    with pytest.raises(LayoutError, match=r"expected .o. and a layout after the offset") as caught:
        parse_any_layout("4:1 o 2")
    assert caught.value.location is not None
    assert caught.value.location.column == 8


@pytest.mark.parametrize("text", ["S<3,4,3>", "S<3,4,3> o 0 o 8:1", "8:1 o 0 o 8:1"])
def test_a_composed_layout_is_not_a_plain_one(text: str) -> None:
    with pytest.raises(LayoutError, match="is not a plain layout"):
        parse_layout(text)
