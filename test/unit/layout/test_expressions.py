"""Layout expressions: what they evaluate to, and where their errors point."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cutecc.layout
from cutecc.errors import LayoutError
from cutecc.layout.expressions import evaluate_expression, show_value
from cutecc.layout.functions import FUNCTIONS
from cutecc.layout.layout import Layout

NINE = "(9,(4,8)):(59,(13,1))"
TILER = "<3:3,(2,4):(1,8)>"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("(4,8):(8,1)", "(4,8):(8,1)"),
        ("(_4,_8):(_8,_1)", "(4,8):(8,1)"),
        (" ( 4 , 8 ) ", "(4,8)"),
        ("(4)", "(4)"),
        ("((4,8):(8,1))", "(4,8):(8,1)"),
        ("(?,?{i64 div=8}):(1,?)", "(?,?{i64 div=8}):(1,?)"),
        ("(4,5):(1@0,1@1)", "(4,5):(1@0,1@1)"),
        ("(2,4) o (4,5):(1@0,1@1)", "(2,4) o (4,5):(1@0,1@1)"),
        ("S<3,4,3> o 0 o (8,64):(64,1)", "S<3,4,3> o 0 o (8,64):(64,1)"),
        ("S<3,4,3> o (8,64):(64,1)", "S<3,4,3> o 0 o (8,64):(64,1)"),
        ("S<3,4,3>", "S<3,4,3>"),
        (TILER, "[3:3;(2,4):(1,8)]"),
        ("[3:3;(2,4):(1,8)]", "[3:3;(2,4):(1,8)]"),
        ("(4,8):(8,1) o (2,4):(1,4)", "(2,4):(8,1)"),
        (f"logical_divide({NINE}, {TILER})", "((3,3),((2,4),(2,2))):((177,59),((13,2),(26,1)))"),
        (f"zipped_divide({NINE}, {TILER})", "((3,(2,4)),(3,(2,2))):((177,(13,2)),(59,(26,1)))"),
        (f"flat_divide({NINE}, {TILER})", "(3,(2,4),3,(2,2)):(177,(13,2),59,(26,1))"),
        ("make_layout_tv((4,32):(32,1), (4,4):(4,1))", "((32,4),(4,4)):((64,4),(16,1))"),
        ("composition((8,8):(8,1), make_layout((size((2,2)), 2), (1, 4)))", "(4,2):(8,32)"),
        ("complement(4:2, 24)", "(2,3):(1,8)"),
        ("coalesce((2,(1,6)):(1,(6,2)))", "12:1"),
        ("cute.coalesce((2,6))", "12:1"),
        ("right_inverse((4,8):(8,1))", "(8,4):(4,1)"),
        ("recast_layout(16, 32, (8,4):(4,1))", "(8,8):(8,1)"),
        ("slice((4,8):(8,1), (_,3))", "3 o (4):(8)"),
        ("slice(slice((4,8,2):(8,1,32), (_,3,_)), (1,_))", "11 o (2):(32)"),
        ("layout(slice((4,8):(8,1), (_,3)))", "(4):(8)"),
        ("flatten(slice((4,(2,4)), (1,_)))", "1 o (2,4):(4,8)"),
        ("local_tile(make_identity_tensor((8,8)), (4,4), (1,0))", "(4,0) o (4,4):(1@0,1@1)"),
        ("crd2idx((1,2), (4,8):(8,1))", "10"),
        ("crd2idx(1, slice((4,8):(8,1), (_,3)))", "11"),
        ("idx2crd(5, (4,8))", "(1,1)"),
        ("get(zipped_divide((8,8), <2,4>), 0, 1)", "4:8"),
        ("select((4,8,2), (0,2))", "(4,2):(1,32)"),
        ("ceil_div((9,7), (4,2))", "(3,4)"),
        ("ceil_div((9,7,5), <(2,2):(1,4),3:1>)", "((2,2),3,5)"),
        ("ceil_div((9,7), (2,2):(1,2))", "16"),
        ("complement(4:1, (8,2):(1,8))", "4:4"),
        ("size((4,?))", "?{div=4}"),
        ("filter((4,8):(0,1))", "8:1"),
        ("tile_to_shape(2:1, ((3,4)))", "((2,(6))):((1,(2)))"),
        ("flatten(S<3,4,3> o 0 o (4,(8,2)):(1,(4,32)))", "S<3,4,3> o 0 o (4,8,2):(1,4,32)"),
        ("get(S<3,4,3> o 0 o (4,(8,2)):(1,(4,32)), 1, 0)", "S<3,4,3> o 0 o 8:4"),
        ("dice(S<3,4,3> o 0 o (4,8):(1,4), (_,1))", "S<3,4,3> o 0 o (8):(4)"),
        ("recast_layout(64, 32, 16:8 o 6 o (8,4):(4,2))", "16:4 o 3 o (8,4):(2,1)"),
        ("?@0", "?@0"),
        ("(4,8):(?{i64 div=4}@1@0,_2@1)", "(4,8):(?{i64 div=4}@1@0,2@1)"),
        ("(8,(2,4)):(1/2@0,(3/2@1,2/4@0@1))", "(8,(2,4)):(1/2@0,(3/2@1,2/4@0@1))"),
        ("make_ordered_layout((4,8), order=(1,0))", "(4,8):(8,1)"),
        ("cute.make_layout((4, 8), stride=(8, 1))", "(4,8):(8,1)"),
        ("tile_to_shape(8:1, trg_shape=(8,4), order=(1,0))", "((8,1),(1,4)):((1,0),(0,8))"),
        ("cute.local_tile((8,8), tiler=(4,4), coord=(1,None), proj=(1,1))", "4 o (4,4,2):(1,8,32)"),
        ("cute.size((4,8):(8,1), mode=[1])", "8"),
        ("cute.select((4,8,2), mode=[0, 2])", "(4,2):(1,32)"),
        ("zipped_divide(make_identity_tensor((8,8)), (2,4))", "(0,0) o ((2,4),(4,2)):((1@0,1@1),(2@0,4@1))"),
        ("group_modes(slice((4,8,2), (1,_,_)), 0, 2)", "1 o ((8,2)):((4,32))"),
        ("crd2idx(((_,_),?), ((2,3),4):((1,2),6))", "?{div=6}"),
        ("crd2idx((_,2), S<2,0,3> o 0 o (4,8):(1,4))", "9"),
    ],
)
def test_value(text: str, result: str) -> None:
    assert show_value(evaluate_expression(text)) == result


@pytest.mark.parametrize(
    ("text", "message", "caret"),
    [
        ("(4,8):(8", "expected ',' or ')'", "        ^"),
        ("4 + 3", "unexpected '+'", "  ^"),
        ("4 3", "expected the end", "  ^"),
        ("make_layout((4,1@0))", "make_layout: 'shape' has to be a shape, not the tuple (4,1@0)", " " * 12 + "^" * 7),
        ("shape_div(?@0, 1)", "shape_div: 'left' has to be a shape, not ?@0", " " * 10 + "^" * 3),
        ("slice((4,8), 1@0)", "slice: 'coord' has to be a coordinate, not 1@0", " " * 13 + "^" * 3),
        ("idx2crd(_, (4,8))", "idx2crd: 'index' has to be a shape, not '_'", " " * 8 + "^"),
        ("local_partition(8, 4, (1,2))", "local_partition: 'index' has to be an integer, not", " " * 22 + "^" * 5),
        ("local_partition(8, (2,2):(1@0,1@1), 1)", "2:1@0 leads to coordinates, not to indices", "^" * 38),
        ("composition(((),1), 8:?@0)", "composition: stride ?@0 names a mode with nothing in it", "^" * 26),
        ("crd2idx(3, (2,_))", "shape (2,_): '_' is not a size", "^" * 17),
        ("crd2idx(3, <2:1,4>)", "shape (2:1,4): '2:1' is not a size", "^" * 19),
        (
            "complement(4:1, (2,_))",
            "complement: 'cotarget' has to be a layout, not the tuple (2,_)",
            " " * 16 + "^" * 5,
        ),
        ("complement(4:1, S<3,4,3>)", "complement: 'cotarget' has to be a layout", " " * 16 + "^" * 8),
        ("ceil_div((9,7), <2:1,3:1,4:1>)", "ceil_div: [2:1;3:1;4:1] has more modes than (9,7)", "^" * 30),
        ("compositon(4, 5)", "there is no function 'compositon'", "^^^^^^^^^^"),
        (
            "size(S<3,4,3>)",
            "size: 'value' has to be a layout or an int tuple, not the swizzle S<3,4,3>",
            "     ^^^^^^^^",
        ),
        ("complement(4:2)", "complement: 'cotarget' is missing", "              ^"),
        ("size(4, 5)", "size takes no more arguments", "        ^"),
        ("size(4, modes=0)", "size has no parameter 'modes'", "        ^^^^^"),
        ("make_layout(4, shape=4)", "make_layout: 'shape' is given twice", "               ^^^^^^^"),
        ("make_layout(stride=1, 4)", "expected a name", "                      ^"),
        ("local_tile(8, 4, proj=1)", "local_tile: 'coord' is missing", "                       ^"),
        ("8:1/0@0", "division by 0", "    ^"),
        ("8:1@-1", "modes are counted from 0", "    ^^"),
        ("8:1/2", "expected '@' and the number of a mode", "     ^"),
        ("crd2idx((3,1), (4,8):(1/2@0,1@1))", "(4,8):(1/2@0,1@1) at (3,1) is (3/2,1), between", "^" * 33),
        ("rank(coalesce((4,8), (1,1,1)))", "coalesce: profile (1,1,1) has more modes", "     ^^^^^^^^^^^^^^^^^^^^^^^^"),
        ("(4,8):(8,1,2)", "shape (4,8) and stride (8,1,2) do not nest alike", "^^^^^^^^^^^^^"),
        ("(4,2:1):(1,4)", "a shape is made of integers", "^^^^^^^"),
        (
            "coalesce(slice((4,8),(_,3)))",
            "coalesce: 'layout' is a layout that begins at 12",
            "         ^^^^^^^^^^^^^^^^^^",
        ),
        ("(4,_) o 4:1", "'o' composes layouts, and this is the tuple (4,_)", "^^^^^"),
        ("(1,2) o 3 o S<1,0,1>", "'o' composes layouts, and this is the swizzle", "            ^^^^^^^^"),
        ("1 o (4,8):(1@0,1@1)", "the number 1 cannot be added to a coordinate", "^" * 19),
        ("append_to_rank(4, 1000000000000)", "a layout has at most 1,000 modes, not 1,000,000,000,000", "^" * 32),
        ("get((4,8), 2)", "get: there is no mode 2 in (4,8)", "^^^^^^^^^^^^^"),
        ("", "expected a number", "^"),
    ],
)
def test_an_error_points_at_its_place(text: str, message: str, caret: str) -> None:
    with pytest.raises(LayoutError) as raised:
        evaluate_expression(text)
    assert raised.value.message.startswith(message)
    assert raised.value.location is not None
    assert raised.value.location.excerpt().splitlines()[1][2:] == caret


def test_the_place_in_several_lines() -> None:
    with pytest.raises(LayoutError) as raised:
        evaluate_expression("composition(\n  (4,8),\n  oops)")
    location = raised.value.location
    assert location is not None and (location.line, location.column, location.text) == (3, 3, "  oops)")


def test_deep_nesting_is_an_error() -> None:
    with pytest.raises(LayoutError, match="levels of nesting"):
        evaluate_expression("(" * 5000)


def test_a_misspelled_name_has_a_hint() -> None:
    with pytest.raises(LayoutError) as raised:
        evaluate_expression("ziped_divide((8,8), <2,4>)")
    assert raised.value.hints == ["did you mean zipped_divide(layout, tiler)?"]


def test_every_operation_of_the_library_can_be_called() -> None:
    places = {
        f"cutecc.layout.{name}" for name in ("algebra", "divide", "make", "modes", "partition", "product", "recast")
    }
    operations = {name for name in cutecc.layout.__all__ if name[0].islower()}
    operations = {name for name in operations if getattr(cutecc.layout, name).__module__ in places}
    operations -= {"show_tile", "flat_coordinate"}
    assert {"composition", "zipped_divide", "make_layout_tv"} <= operations
    renamed = {"filter_layout": "filter", "flatten_layout": "flatten", "slice_layout": "slice"}
    assert {renamed.get(name, name) for name in operations} <= set(FUNCTIONS)


SHAPES = st.recursive(st.integers(1, 9), lambda inner: st.lists(inner, min_size=1, max_size=3).map(tuple), max_leaves=5)


@given(SHAPES, st.data())
def test_what_is_printed_is_read_again(shape: object, data: st.DataObject) -> None:
    def strides(part: object) -> object:
        return tuple(map(strides, part)) if isinstance(part, tuple) else data.draw(st.integers(-9, 99))

    layout = Layout(shape, strides(shape))
    assert evaluate_expression(str(layout)) == layout
    assert evaluate_expression(str(layout)) == Layout.parse(str(layout))
