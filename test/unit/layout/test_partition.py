"""Local tiles and partitions: which coordinates the wheel gives to a block and to a thread, and which cutecc."""

from __future__ import annotations

from typing import Any

import pytest
import wheel_oracle as wheel

from cutecc.layout import (
    Coordinate,
    CoordinateTensor,
    Layout,
    Symbolic,
    add_coordinates,
    evaluate,
    local_partition,
    make_identity_tensor,
    parse_int_tuple,
    parse_layout,
    parse_tile,
    show,
    symbol,
)
from cutecc.layout.tuples import leaves, map_leaves

THREADS = [
    *("(4,8):(8,1)", "(4,8):(1,4)", "(2,4):(8,1)", "(4,3):(6,1)"),
    *("(4,8):(0,4)", "((2,2),4):((1,8),2)", "8:1", "(1,8):(0,1)"),
]


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("shape", ["(64,64)", "(16,48)"])
def test_partition(threads: str, shape: str) -> None:
    case = wheel.expression("local_partition", coordinates(shape), threads, "?")
    indices = [0, 1, 3, 5, 9, 17, 26, 31, 40]
    (type_text,) = wheel.results(case)
    layout, offset = local_partition(
        make_identity_tensor(parse_int_tuple(shape)).layout, parse_layout(threads), symbol("i")
    )
    assert str(layout) == type_text.split('"')[3]
    assert [valued(offset, i=index) for index in indices] == wheel.values((case, (index,)) for index in indices)


@pytest.mark.parametrize(
    ("tiler", "coordinate", "projection"),
    [
        ("(16,8)", "(?,?)", None),
        ("(16,8)", "(?,_)", None),
        ("(16,8)", "(_,?)", None),
        ("[16:2;8:1]", "(?,?)", None),
        ("(16,8,4)", "(?,_,_)", "(1,_,1)"),
        ("(16,8,4)", "(?,?,_)", "(_,1,1)"),
    ],
)
def test_tile(tiler: str, coordinate: str, projection: str | None) -> None:
    named = {"proj": f'#cute.coord<"{projection}">'} if projection else {}
    case = wheel.expression("local_tile", coordinates("(64,64)"), tiler, coordinate, **named)
    (type_text,) = wheel.results(case)
    tile = parse_int_tuple(tiler) if tiler.startswith("(") else parse_tile(tiler)
    names = iter("ij")
    at: Coordinate = map_leaves(
        lambda leaf: symbol(next(names)) if isinstance(leaf, Symbolic) else leaf, parse_int_tuple(coordinate)
    )
    chosen = parse_int_tuple(projection) if projection else None
    tensor = make_identity_tensor((64, 64)).tile(tile, at, chosen)
    assert f"{show(tensor.offset)}|{tensor.layout}" == "|".join(type_text.split('"')[1:4:2])
    count = coordinate.count("?")
    for values in ((1, 2), (3, 0), (2, 3)):
        # Only what is not known is among the wheel's values.
        expected = [
            valued(leaf, i=values[0], j=values[1])[0] for leaf in leaves(tensor.offset) if isinstance(leaf, Symbolic)
        ]
        assert wheel.values([(case, values[:count])]) == [tuple(expected)]


def coordinates(shape: str) -> str:
    return f'!cute.coord_tensor<"(0,0)", "{shape}:(1@0,1@1)">'


def valued(value: Any, **values: int) -> tuple[int, ...]:
    """The values of the leaves that are not known, which are those that the wheel gives."""
    return tuple(evaluate(leaf, values) for leaf in leaves(value) if isinstance(leaf, Symbolic))


def test_an_offset_moves_a_coordinate_tensor() -> None:
    tensor = make_identity_tensor((8, 8))
    moved = CoordinateTensor(add_coordinates(tensor.offset, (2, 3)), tensor.layout)
    assert moved((1, 1)) == (3, 4)
    assert str(moved) == "(2,3) o (8,8):(1@0,1@1)"


def test_a_thread_has_its_place_in_a_layout_with_gaps() -> None:
    layout, offset = local_partition(parse_layout("(64,64)"), parse_layout("(2,4):(8,1)"), 9)
    assert (str(layout), offset) == ("(32,16):(2,256)", 65)
    assert isinstance(layout, Layout)
