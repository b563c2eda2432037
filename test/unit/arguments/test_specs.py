"""The grammar of argument specs: canonical spelling, round trips, and where errors point."""

import math
import subprocess
import sys

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from cutecc.arguments.dtypes import find_numeric_type, numeric_types
from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.specs import (
    SPACES,
    ConstSpec,
    Dynamic,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
)
from cutecc.arguments.specs import (
    leaves as sizes_in,
)
from cutecc.errors import SourceLocation, SpecError

CANONICAL = [
    (
        "f32[?M=1000, ?N{div=4}=2048]:(?{i64 div=4}, 1)@gmem align=16",
        "f32[?M=1000,?N{div=4}=2048]:(?{i64 div=4},1) align=16",
    ),
    ("f16[?,?{div=8}]:(?{div=8},1)@gmem align=16", "f16[?,?{div=8}]:(?{div=8},1) align=16"),
    ("F32 [ ? , 4 ]", "f32[?,4]"),
    ("f32[?{div=4 i64}]", "f32[?{i64 div=4}]"),
    ("f32[?{i32}, ?{div=1}]", "f32[?,?]"),
    ("f32[]", "f32[]"),
    ("f32[2,3,4] order=(0,1,2)", "f32[2,3,4] order=(0,1,2)"),
    ("f32[2,3] order=(1,0)", "f32[2,3]"),
    ("f32[2,3] align=4", "f32[2,3]"),
    ("f32[4]:(-1)@smem align=8", "f32[4]:(-1)@smem align=8"),
    ("f8e4m3fn[(2,?),4]:((1,?),8)", "f8E4M3FN[(2,?),4]:((1,?),8)"),
    ("float16[?]", "f16[?]"),
    ("Int32", "i32"),
    ("half=1", "f16=1.0"),
    ("bool=true", "bool=True"),
    ("f32=-inf", "f32=-inf"),
    ("f32=1e-5", "f32=1e-05"),
    ("i8=-128", "i8=-128"),
    ("i32 = N", "i32=N"),
    ("const( (1.0, -0.5, 'a(b') )", "const((1.0, -0.5, 'a(b'))"),
    ("const(Float32)", "const(f32)"),
    ("const({'tile': [128, 64], 'type': bfloat16})", "const({'tile': [128, 64], 'type': bf16})"),
    ('const("it\'s")', 'const("it\'s")'),
    ("ptr<half>@smem align=16", "ptr<f16>@smem align=16"),
    ("ptr<f16> align=2", "ptr<f16>"),
    ("ptr<f16> = 1024 @gmem align = 16", "ptr<f16>=1024 align=16"),
    ("STREAM", "stream"),
    ("None", "none"),
    ("(f32[?], (i32=3,), ())", "(f32[?], (i32=3,), ())"),
]


@pytest.mark.parametrize(("text", "canonical"), CANONICAL)
def test_canonical_spelling(text: str, canonical: str) -> None:
    spec = parse_spec(text)
    assert str(spec) == canonical
    assert parse_spec(canonical) == spec


# Text, column and length of what the caret underlines, and a part of the message.
REJECTED = [
    ("", 1, 1, "expected an argument spec"),
    ("f33[?]", 1, 3, "unknown numeric type 'f33'"),
    ("f32[?", 6, 1, "expected ',' or ']'"),
    ("f32[?,0]", 7, 1, "a static size is at least 1"),
    ("f32[?,-2]", 7, 2, "a static size is at least 1"),
    ("f32[?]:(1,2)", 8, 5, "do not match the shape"),
    ("f32[(2,3)]:(1)", 12, 3, "do not match the shape"),
    ("f32[4]:1", 8, 1, "expected '(' before the strides"),
    ("f32[?{div=0}]", 5, 8, "at least 1"),
    ("f32[4294967296,4294967296]", 1, 26, "a tensor of more than 2^48 elements, which no memory holds"),
    ("f32[4294967296,4294967296]:(0,0)", 1, 26, "a tensor of more than 2^48 elements"),
    ("f32[?M,9223372036854775808]", 1, 27, "a tensor of more than 2^48 elements"),
    ("f32[4,4]:(9223372036854775807,1)", 10, 23, "strides over more than 2^48 elements"),
    ("f32[4,4]:(-9223372036854775807,1)", 10, 24, "strides over more than 2^48 elements"),
    ("f32[1]:(9223372036854775807)", 8, 21, "strides over more than 2^48 elements"),
    ("f32[65536,4]:(68719476736,1)", 14, 15, "strides over more than 2^48 elements"),
    ("f32[?{div=9223372036854775808}]", 5, 26, "9223372036854775808 is more than 2^48"),
    ("f32[?=9223372036854775808]", 5, 21, "9223372036854775808 is more than 2^48"),
    ("ptr<f32>=9223372036854775808", 10, 19, "more than 2^48 elements behind a pointer"),
    ("f32[?] align=18446744073709551616", 14, 20, "an alignment of 18446744073709551616 bytes; it is at most"),
    (f"f32[{','.join('1' * 50_000)}]", 1, 100_004, "a tensor of 50000 modes; it has at most 64"),
    ("f32[?N{div=4}=7]", 5, 11, "not divisible by 4"),
    ("f32[?=-4]", 5, 4, "negative"),
    ("f32[?{foo}]", 7, 3, "expected i64, i32, div="),
    ("f32[?{div=2 div=4}]", 13, 3, "expected i64, i32, div="),
    ("f32[a]", 5, 1, "expected a mode"),
    ("f32[4] align=3", 14, 1, "power of two"),
    ("f32[4] align=", 14, 1, "expected an alignment"),
    ("f32[4] align 4", 14, 1, "expected '=' after 'align'"),
    ("f32[4]@foo", 8, 3, "expected an address space"),
    ("f32[4] alig=3", 8, 4, "unknown option 'alig'"),
    ("f32[4] align=8 align=8", 16, 5, "a second align"),
    ("f32[4] order=(1,0)", 14, 5, "names each of 0 once"),
    ("f32[2,3]:(1,2) order=(0,1)", 22, 5, "not both"),
    ("ptr<f16> order=(0)", 10, 5, "unknown option 'order'"),
    ("ptr f32", 5, 1, "expected '<'"),
    ("ptr<f33>", 5, 3, "unknown numeric type"),
    ("ptr<f16>=many", 10, 1, "expected how many elements lie behind it"),
    ("ptr<f16>=-1", 10, 2, "-1 elements behind a pointer"),
    ("i8=200", 4, 3, "does not fit i8"),
    ("u8=-1", 4, 2, "does not fit u8"),
    ("i32=1.5", 5, 3, "not an integer"),
    ("bool=2", 6, 1, "not a bool"),
    ("f32=abc", 5, 3, "not a number"),
    ("i32=4N", 5, 2, "not a number"),
    ("f32=", 5, 1, "expected a value"),
    ("f8E4M3FN", 1, 8, "cannot be passed as a number"),
    ("i128=1", 1, 4, "cannot be passed as a number"),
    ("const(foo)", 7, 3, "'foo' is not a literal"),
    ("const((1, bar))", 11, 3, "'bar' is not a literal"),
    ("const(1+2)", 7, 3, "not a literal"),
    ("const(f(1))", 7, 4, "not a literal"),
    ("const(__import__('os'))", 7, 16, "not a literal"),
    ("const({1: x})", 11, 1, "not a literal"),
    ("const({[1]: 2})", 8, 3, "not a literal"),
    ("const('abc", 11, 1, "expected ')'"),
    ("const(1,,2)", 9, 1, "not a Python literal"),
    ("(f32[?], i31)", 10, 3, "unknown numeric type"),
    ("(f32[?]; i32)", 8, 1, "expected ','"),
    ("none none", 6, 1, "unexpected text"),
]


@pytest.mark.parametrize(("text", "column", "length", "message"), REJECTED)
def test_rejected_text_is_underlined(text: str, column: int, length: int, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        parse_spec(text)
    location = caught.value.location
    assert location is not None
    assert (location.column, location.length) == (column, length)
    assert message in caught.value.message


def test_error_points_into_the_line_that_holds_the_spec() -> None:
    line = '# cutecc: args.a = "f32[?]@nowhere"'
    source = SourceLocation("kernel.py", 7, line.index("f32") + 1, line)
    with pytest.raises(SpecError) as caught:
        parse_spec("f32[?]@nowhere", source)
    message = str(caught.value).splitlines()
    assert message[0] == "kernel.py:7:28: expected an address space"
    assert message[2].index("^") == 2 + line.index("nowhere")
    assert message[-1] == "hint: address spaces: gmem, smem, rmem, tmem, generic, dsmem, cmem"


def test_misspelled_types_are_guessed() -> None:
    with pytest.raises(SpecError, match="did you mean bf16"):
        parse_spec("bf61[?]")


def test_constants_that_compile_differently_are_different() -> None:
    assert len({ConstSpec("1"), ConstSpec("1.0"), ConstSpec("True"), ConstSpec("'1'")}) == 4


def test_constant_values() -> None:
    f16 = find_numeric_type("f16")
    value = (1, -2.5, float("-inf"), "relu", None, True, [f16, {"k": (f16,)}])
    assert ConstSpec.of(value).value == value
    with pytest.raises(SpecError, match="no literal"):
        ConstSpec.of(object())


def test_every_numeric_type_has_a_tensor() -> None:
    for dtype in numeric_types():
        assert parse_spec(f"{dtype}[?]") == TensorSpec(dtype, (Dynamic(),))
        assert parse_spec(f"{dtype.dsl_name.upper()}[?]") == TensorSpec(dtype, (Dynamic(),))


def test_alignment_defaults_to_the_element() -> None:
    spec = parse_spec("f64[?]")
    assert isinstance(spec, TensorSpec)
    assert spec.alignment == 8
    narrow = parse_spec("f4E2M1FN[?]")
    assert isinstance(narrow, TensorSpec)
    assert narrow.alignment == 1


def test_import_needs_no_dsl() -> None:
    code = "import sys, cutecc.arguments.specs, cutecc.frontend.header, cutecc.frontend.traced\n"
    code += "print({'cutlass', 'numpy', 'torch'} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"


names = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
types = st.sampled_from(numeric_types())


@st.composite
def dynamics(draw: st.DrawFn) -> Dynamic:
    divisibility = draw(st.integers(1, 64))
    value = draw(st.none() | st.integers(0, 100).map(lambda factor: factor * divisibility))
    return Dynamic(draw(st.none() | names), divisibility, draw(st.sampled_from([32, 64])), value)


sizes = st.integers(1, 10_000) | dynamics()
steps = st.integers(-100, 100_000) | dynamics()
shapes = st.recursive(sizes, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=6)


def strides_like(draw: st.DrawFn, shape: object) -> object:
    return tuple(strides_like(draw, mode) for mode in shape) if isinstance(shape, tuple) else draw(steps)


@st.composite
def tensors(draw: st.DrawFn) -> TensorSpec:
    shape = tuple(draw(st.lists(shapes, max_size=4)))
    assume(math.prod(size for size in sizes_in(shape) if isinstance(size, int)) <= 1 << 48)
    stride = strides_like(draw, shape) if draw(st.booleans()) else None
    order = tuple(draw(st.permutations(range(len(shape))))) if stride is None and draw(st.booleans()) else None
    align = draw(st.none() | st.integers(0, 10).map(lambda power: 1 << power))
    return TensorSpec(draw(types), shape, stride, draw(st.sampled_from(SPACES)), align, order)


@st.composite
def scalars(draw: st.DrawFn) -> ScalarSpec:
    dtype = draw(types.filter(lambda dtype: dtype.is_scalar))
    match dtype.kind:
        case "bool":
            values = st.booleans()
        case "float":
            values = st.floats(allow_nan=False)
        case "signed":
            values = st.integers(-(1 << dtype.width - 1), (1 << dtype.width - 1) - 1)
        case _:
            values = st.integers(0, (1 << dtype.width) - 1)
    if dtype.is_integer and draw(st.booleans()):
        return ScalarSpec(dtype, size=draw(names))
    return ScalarSpec(dtype, draw(st.none() | values))


literals = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | types,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
    ),
    max_leaves=8,
)
leaves = (
    tensors()
    | scalars()
    | literals.map(ConstSpec.of)
    | st.builds(
        PointerSpec,
        types,
        st.sampled_from(SPACES),
        st.sampled_from([None, 1, 2, 4, 8, 16, 128]),
        st.none() | st.integers(0, 10_000),
    )
    | st.just(StreamSpec())
    | st.just(NoneSpec())
)
specs = st.recursive(leaves, lambda inner: st.lists(inner, max_size=3).map(tuple).map(TupleSpec), max_leaves=6)


@given(specs)
def test_round_trip(spec: object) -> None:
    again = parse_spec(str(spec))
    assert again == spec
    assert str(again) == str(spec)


@given(literals)
def test_constants_keep_their_value(value: object) -> None:
    assert repr(ConstSpec.of(value).value) == repr(value)


@given(st.text(alphabet="f32i[]?(){}=,:@ alignordeMNconst'\"<>ptr0489", max_size=30))
def test_any_text_is_a_spec_or_a_spec_error(text: str) -> None:
    try:
        spec = parse_spec(text)
    except SpecError as error:
        location = error.location
    else:
        assert parse_spec(str(spec)) == spec
        return
    assert location is not None
    assert location.column in range(1, len(text) + 2)
