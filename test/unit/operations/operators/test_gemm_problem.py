"""Products as a command line names them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.operations.gemm_problem import GemmProblem, parse_layouts, parse_types

TYPES = st.sampled_from(["f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2", "i8", "u8", "i32"])
LAYOUTS = st.sampled_from(["row", "column"])
SIZES = st.integers(1, 10**9 - 1)


@given(
    st.tuples(SIZES, SIZES, SIZES),
    st.none() | SIZES,
    st.tuples(TYPES, TYPES, TYPES),
    st.none() | TYPES,
    st.none() | st.tuples(LAYOUTS, LAYOUTS, LAYOUTS),
)
def test_text_and_value_are_the_same(sizes, batches, types, accumulator, layouts) -> None:
    problem = GemmProblem(sizes, batches, types, accumulator, layouts or (None, None, None))
    assert GemmProblem.parse(str(problem)) == problem


def test_other_spellings() -> None:
    problem = GemmProblem.parse("128×64*32:half:tnt")
    assert problem == GemmProblem((128, 64, 32), None, ("f16", "f16", None), None, ("row", "column", "row"))
    assert str(problem) == "128x64x32:f16:row,column,row"
    assert GemmProblem.parse("8x8x8:e4m3").types == ("f8E4M3FN", "f8E4M3FN", None)
    assert parse_types("f16,f16,f32") == (("f16", "f16", "f32"), None)
    assert parse_types("f16, f16, f16, f32") == (("f16", "f16", "f16"), "f32")
    assert parse_layouts("nnt") == parse_layouts("column, column, row")


@pytest.mark.parametrize(
    ("text", "completed"),
    [
        ("8x8x8:f16", "8x8x8:f16,f16,f16,f32:row,row,row"),
        ("8x8x8:f64", "8x8x8:f64,f64,f64,f64:row,row,row"),
        ("8x8x8:i8", "8x8x8:i8,i8,i32,i32:row,column,row"),
        ("8x8x8:f8E5M2", "8x8x8:f8E5M2,f8E5M2,f16,f32:row,column,row"),
        ("8x8x8:f16,f16,f32,f16:nnn", "8x8x8:f16,f16,f32,f16:column,column,column"),
    ],
)
def test_open_parts_are_completed(text: str, completed: str) -> None:
    assert str(GemmProblem.parse(text).complete()) == completed


def test_specs() -> None:
    assert GemmProblem.parse("2x3x4:f16,f16,f32,f32:tnt").specs() == (
        "f16[2,4] order=(1,0)",
        "f16[4,3] order=(0,1)",
        "f32[2,3] order=(1,0)",
    )
    assert GemmProblem.parse("2x3x4x5:f16,f16,f16,f32:ntn").specs()[0] == "f16[5,2,4] order=(2,0,1)"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("4096", "'4096' is not MxNxK:TYPES:LAYOUTS"),
        ("4096x4096:f16", "is not MxNxK"),
        ("1x2x3x4x5:f16", "is not MxNxK"),
        ("8x8x0:f16", "a size of a product is a whole number of at least 1, not '0'"),
        ("8x8x1e3:f16", "a size of a product"),
        ("8x8x8:f16:ttt:more", "is not MxNxK"),
        ("8x8x8::ttt", "is not MxNxK"),
        ("8x8x8:float61", "unknown type 'float61'"),
        ("8x8x8:f16,f16", "'f16,f16' names 2 types"),
        ("8x8x8:f16:tn", "'tn' is not the layouts"),
        ("8x8x8:f16:txt", "'txt' is not the layouts"),
        ("8x8x8:f16:row,colum,row", "unknown layout 'colum'"),
    ],
)
def test_what_is_none(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        GemmProblem.parse(text)
    assert message in caught.value.message
    assert caught.value.hints or "a size of a product" in message


def test_nothing_says_a_type() -> None:
    with pytest.raises(UsageError, match="has no element types"):
        GemmProblem.parse("8x8x8").complete()
