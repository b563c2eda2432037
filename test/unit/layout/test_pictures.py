"""What is in the cells of pictures, and how SVG and terminal show it."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.errors import LayoutError
from cutecc.layout import ComposedLayout, Layout, Swizzle, parse_tile
from cutecc.layout.expressions import evaluate_expression
from cutecc.layout.facts import facts_of, offsets
from cutecc.layout.integers import symbol
from cutecc.layout.pictures import (
    Banks,
    Cell,
    Picture,
    picture_of,
    picture_of_threads,
    picture_of_tiles,
    svg,
    terminal,
)
from cutecc.layout.pictures.colours import (
    HUES,
    INK,
    SCALE,
    bank_colour,
    channels,
    group_colour,
    scale_colour,
)
from cutecc.layout.pictures.grid import axis_of, kept_of, left_out

SVG = "{http://www.w3.org/2000/svg}"
NINE = Layout.parse("(9,(4,8)):(59,(13,1))")
TILER = parse_tile("<3:3,(2,4):(1,8)>")
TV = Layout.parse("((32,4),(4,4)):((64,4),(16,1))")
VOLTA = Layout.parse("((2,2,2),(2,2,2)):((1,16,4),(8,2,32))")


def cells(picture: Picture) -> list[list[Cell]]:
    panel = picture.panels[0][0]
    return [[panel.cell(row, column) for column in range(panel.columns.size)] for row in range(panel.rows.size)]


def labels(picture: Picture) -> list[list[str]]:
    return [[" ".join(cell.label) for cell in row] for row in cells(picture)]


def texts(document: str) -> Counter[str]:
    return Counter(element.text or "" for element in ElementTree.fromstring(document).iter(f"{SVG}text"))


SIZES = st.recursive(st.integers(1, 5), lambda inner: st.lists(inner, min_size=1, max_size=2).map(tuple), max_leaves=3)


@given(SIZES, SIZES, st.data())
def test_each_label_is_the_layouts_value(first: object, second: object, data: st.DataObject) -> None:
    def strides(part: object) -> object:
        return tuple(map(strides, part)) if isinstance(part, tuple) else data.draw(st.integers(0, 40))

    shape = (first, second)
    plain = Layout(shape, strides(shape))
    for layout in (plain, ComposedLayout(Swizzle(2, 1, 3), 0, plain)):
        assert labels(picture_of(layout)) == [
            [
                str(layout((row, column)))
                for column in range(layout.outer[1].size if layout is not plain else plain[1].size)
            ]
            for row in range(plain[0].size)
        ]
        assert offsets(layout) == [layout(index) for index in range(plain.size)]


@given(st.integers(1, 12), st.integers(1, 12), st.integers(1, 5), st.integers(1, 5))
@settings(max_examples=50)
def test_tiles_in_place(rows: int, columns: int, tile_rows: int, tile_columns: int) -> None:
    picture = picture_of_tiles(Layout((rows, columns), (columns, 1)), (tile_rows, tile_columns))
    across = -(-rows // tile_rows)
    for row, line in enumerate(cells(picture)):
        for column, cell in enumerate(line):
            assert cell.group == row // tile_rows + across * (column // tile_columns)
            assert cell.colour == group_colour(cell.group)
            assert cell.label == (str(row * columns + column),)


def test_offsets_of_the_worked_example_by_tile() -> None:
    zipped = cells(picture_of_tiles(NINE, TILER, form="zipped"))
    # A column for each of 12 tiles, a row for each of 24 places.
    assert (len(zipped), len(zipped[0])) == (24, 12)
    assert all({line[tile].group for line in zipped} == {tile} for tile in range(12))
    assert [line[0].label[0] for line in zipped[:6]] == ["0", "177", "354", "13", "190", "367"]
    in_place = picture_of_tiles(NINE, TILER)
    by_group = Counter(cell.group for line in cells(in_place) for cell in line)
    assert by_group == dict.fromkeys(range(12), 24)
    tiles = {cell.label[0]: cell.group for picture in (in_place,) for line in cells(picture) for cell in line}
    assert all(tiles[cell.label[0]] == cell.group for line in zipped for cell in line)


@pytest.mark.parametrize("form", ["logical", "zipped", "tiled", "flat"])
def test_a_tile_that_is_not_full(form: str) -> None:
    picture = picture_of_tiles(Layout.parse("(5,7):(7,1)"), (2, 4), form=form)  # pyright: ignore[reportArgumentType]
    found = [
        panel.cell(row, column)
        for line in picture.panels
        for panel in line
        for row in range(panel.rows.size)
        for column in range(panel.columns.size)
    ]
    assert sorted(int(cell.label[0]) for cell in found if not cell.faint) == list(range(35))
    assert sum(cell.faint for cell in found) == 6 * 8 - 35
    assert [entry.text for entry in picture.legend] == ["beyond the layout"]


def test_a_tile_over_the_whole_layout() -> None:
    picture = picture_of_tiles(Layout.parse("(4,2):(1,4)"), Layout.parse("4:2"))
    assert labels(picture) == [["0 0:0", "4 0:2"], ["1 1:0", "5 1:2"], ["2 0:1", "6 0:3"], ["3 1:1", "7 1:3"]]


def test_threads_of_volta() -> None:
    found = labels(picture_of_threads(VOLTA, (8, 8)))
    assert found[0] == ["T0 V0", "T0 V1", "T2 V0", "T2 V1", "T0 V4", "T0 V5", "T2 V4", "T2 V5"]
    assert found[7] == ["T5 V2", "T5 V3", "T7 V2", "T7 V3", "T5 V6", "T5 V7", "T7 V6", "T7 V7"]


def test_threads_of_a_tile() -> None:
    grid = cells(picture_of_threads(TV, (16, 128)))
    for row in range(16):
        for column in range(128):
            thread, value = row // 4 * 32 + column // 4, row % 4 * 4 + column % 4
            assert grid[row][column].label == (f"T{thread}", f"V{value}")
            assert grid[row][column].colour == group_colour(thread)


def test_elements_of_several_threads_and_of_none() -> None:
    picture = picture_of_threads(Layout.parse("(4,2):(0,1)"), (2, 2))
    assert labels(picture) == [["T0 V0 +3", ""], ["T0 V1 +3", ""]]
    assert picture.notes == (
        "2 elements of the tile belong to no thread",
        "+n: n more threads or values have the same element",
    )


def test_banks() -> None:
    layout = evaluate_expression("S<3,3,3> o 0 o (8,64):(64,1)")
    grid = cells(picture_of(layout, banks=Banks(16)))
    # The first 16 bytes of each row are in banks of their own.
    assert [line[0].label[0] for line in grid] == ["0", "4", "8", "12", "16", "20", "24", "28"]
    assert len({cell.colour for line in grid for cell in line}) == 32
    assert Counter(cell.label[0] for line in grid for cell in line) == {str(bank): 16 for bank in range(32)}
    assert labels(picture_of(Layout.parse("(1,9):(0,1)"), banks=Banks(128)))[0][7:] == ["28-31", "0-3"]


def test_coordinates_and_begin() -> None:
    assert labels(picture_of(Layout.parse("(2,2):(1@0,1@1)"), begin=(4, 0))) == [["(4,0)", "(4,1)"], ["(5,0)", "(5,1)"]]
    assert labels(picture_of(Layout.parse("(2,(1,2)):(2,(0,1))"), lines=("index", "coordinate"))) == [
        ["0 (0,(0,0))", "2 (0,(0,1))"],
        ["1 (1,(0,0))", "3 (1,(0,1))"],
    ]


def test_one_coordinate_alone() -> None:
    assert labels(picture_of(Layout.parse("():()"), begin=(1, 2))) == [["(1,2)"]]


def test_modes_beyond_the_second_are_panels() -> None:
    picture = picture_of(Layout.parse("(2,2,2,3):(1,2,4,8)"))
    captions = [[panel.caption for panel in line] for line in picture.panels]
    assert captions == [[f"(_,_,{down},{across})" for across in range(3)] for down in range(2)]
    assert picture.panels[1][2].cell(1, 1).label == (str(1 + 2 + 4 + 16),)


def test_an_axis_of_modes() -> None:
    axis = axis_of((2, (1, 3)))
    assert [span.text for span in axis.spans(0, range(6))] == ["0", "1"] * 3
    assert [(span.start, span.length, span.text) for span in axis.spans(1, range(6))] == [
        (0, 2, "0"),
        (2, 2, "1"),
        (4, 2, "2"),
    ]
    assert axis.borders(range(6)) == [0, 1, 0, 1, 0, 0]


@given(st.integers(1, 300), st.integers(2, 100))
def test_what_is_left_out_is_in_the_middle(size: int, limit: int) -> None:
    kept = kept_of(size, limit)
    drawn = [at for at in kept if at is not None]
    assert drawn[0] == 0 and drawn[-1] == size - 1 and drawn == sorted(set(drawn)) and len(drawn) <= limit
    if size > limit:
        first, last = map(int, left_out(kept).split("–"))
        assert sorted([*drawn, *range(first, last + 1)]) == list(range(size))
    else:
        assert drawn == list(range(size)) and not left_out(kept)


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: picture_of(Layout.parse("(4,(2,?)):(1,(4,8))")), r"mode 1\.1 of the shape"),
        (lambda: picture_of(Layout.parse("(4,4):(1,?)")), "mode 1 of the stride"),
        (
            lambda: picture_of(Layout.parse("16:32"), begin=symbol()),
            r"'\?', the beginning of \? o 16:32, is known only",
        ),
        (lambda: picture_of(Layout.parse("(4096,4096)")), "16777216 coordinates"),
        (lambda: picture_of_threads(TV, (16, 64)), "thread 16 has value 0 at index 1024; a tile \\(16,64\\) has 1024"),
        (lambda: picture_of_threads(Layout.parse("(4,2,2)"), (4, 4)), "is no thread-value layout"),
        (lambda: picture_of(Layout.parse("():()"), begin=(1, 2), banks=Banks(16)), "leads to coordinates"),
        (lambda: picture_of(Layout.parse("(2,2):(1@0,1@1)"), banks=Banks(16)), "leads to coordinates"),
        (lambda: picture_of_tiles(Layout.parse("(4,4)"), (2, 2, 2)), "has 3 modes, the layout"),
    ],
)
def test_what_cannot_be_drawn(draw: object, message: str) -> None:
    assert callable(draw)
    with pytest.raises(LayoutError, match=message):
        draw()


# Colours


def luminance(colour: str) -> float:
    """The relative luminance of a colour, 0 to 1, as WCAG 2 defines it."""

    def linear(channel: int) -> float:
        value = channel / 255
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = map(linear, channels(colour))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """The contrast of two colours, 1 to 21, as WCAG 2 defines it."""
    low, high = sorted((luminance(colour), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_text_can_be_read_on_every_colour() -> None:
    colours = [group_colour(n) for n in range(256)] + [bank_colour(n) for n in range(32)]
    colours += [scale_colour(n / 100) for n in range(101)]
    assert min(contrast(INK, colour) for colour in colours) >= 4.5


def test_neighbours_have_different_colours() -> None:
    for step in (1, 2, 4, 8, 12, 16, 32, 64):
        assert all(group_colour(group) != group_colour(group + step) for group in range(256))
    assert len({bank_colour(bank) for bank in range(32)}) == 32
    assert len(set(HUES)) == 8


def test_the_scale_falls_in_lightness() -> None:
    steps = [luminance(scale_colour(n / 50)) for n in range(51)]
    assert steps == sorted(steps, reverse=True)
    assert (scale_colour(0), scale_colour(1)) == (SCALE[0], SCALE[2])


# SVG


def test_svg_has_each_label() -> None:
    document = svg(picture_of(Layout.parse("(4,8):(8,1)")))
    expected = Counter(map(str, range(32))) + Counter(map(str, range(8))) + Counter(map(str, range(4)))
    assert texts(document) == expected + Counter(["(4,8):(8,1)"])


def test_svg_of_threads_says_what_is_left_out() -> None:
    found = texts(svg(picture_of_threads(TV, (16, 128))))
    assert found["left out: columns 32–119 of 128"] == 1
    assert found["T0"] == 16 and found["T127"] == 16 and found["T8"] == 0
    whole = texts(svg(picture_of_threads(TV, (16, 128)), columns=128))
    assert all(whole[f"T{thread}"] == 16 for thread in range(128))


def test_svg_escapes_and_repeats() -> None:
    layout = evaluate_expression("S<3,4,3> o 0 o (8,64):(64,1)")
    document = svg(picture_of(layout))
    assert "S&lt;3,4,3&gt;" in document and "S<" not in document
    assert texts(document)["S<3,4,3> o 0 o (8,64):(64,1)"] == 1
    assert svg(picture_of(layout)) == document


def test_svg_refuses_too_many_cells() -> None:
    with pytest.raises(LayoutError, match="a picture of 1048576 cells"):
        svg(picture_of(Layout.parse("(1024,1024)")), rows=1024, columns=1024)


# Terminal


def test_terminal_grid() -> None:
    assert terminal(picture_of(Layout.parse("((2,2),(2,2)):((1,4),(2,8))"))) == (
        "      ╌╌0╌╌   ╌╌1╌╌\n"
        "       0  1    0  1\n"
        " 0 0│  0  2 │  8 10\n"
        "   1│  1  3 │  9 11\n"
        "    ┼───────┼───────\n"
        " 1 0│  4  6 │ 12 14\n"
        "   1│  5  7 │ 13 15\n"
    )


@pytest.mark.parametrize("width", [40, 80, 200])
def test_terminal_fits_the_width(width: int) -> None:
    for picture in (picture_of_tiles(NINE, TILER), picture_of_threads(TV, (16, 128)), picture_of(TV)):
        assert max(map(len, terminal(picture, width=width).splitlines())) <= width


def test_terminal_goes_on_below_at_a_multiple_of_eight() -> None:
    text = terminal(picture_of(Layout.parse("(2,32):(32,1)")), width=40)
    heads = [line.split() for line in text.splitlines() if "│" not in line and line]
    assert heads == [[str(at) for at in range(start, start + 8)] for start in (0, 8, 16, 24)]


def test_terminal_colours() -> None:
    picture = picture_of(Layout.parse("(1,2):(2,1)"))
    assert "\x1b[38;2;22;25;29;48;2;255;248;220m 0\x1b[0m" in terminal(picture, colour="true")
    assert "\x1b[38;5;16;48;5;230m 0\x1b[0m" in terminal(picture, colour="256")
    assert "\x1b" not in terminal(picture)


# Facts


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("(4,8):(1,4)", (32, True, True, True)),
        ("(4,8):(8,1)", (32, True, True, False)),
        ("(4,8):(16,1)", (56, True, False, False)),
        ("(4,8):(0,1)", (8, False, False, False)),
        ("S<3,4,3> o 0 o (8,64):(64,1)", (512, True, True, False)),
        ("S<1,0,1> o 0 o (2,2):(1@0,1@1)", (None, None, None, None)),
        ("(4,8):(8,1) o (0,0) o (2,2):(1@0,1@1)", (10, True, False, False)),
        ("(4,?):(1,4)", ("?{div=4}", None, None, None)),
    ],
)
def test_facts(text: str, facts: tuple[object, ...]) -> None:
    found = facts_of(evaluate_expression(text))
    cosize = found.cosize if isinstance(found.cosize, int) else str(found.cosize)
    if found.injective is None:
        assert (found.injective, found.compact, found.in_order) == (None, None, None)
    else:
        assert (cosize, found.injective, found.compact, found.in_order) == facts
