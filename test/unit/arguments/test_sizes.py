"""Named sizes across the specs of one kernel."""

import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import named_values, size_names, unify_sizes
from cutecc.arguments.specs import Spec
from cutecc.errors import SourceLocation, SpecError


def parsed(**texts: str) -> dict[str, Spec]:
    return {name: parse_spec(text) for name, text in texts.items()}


def unified(**texts: str) -> dict[str, str]:
    return {name: str(spec) for name, spec in unify_sizes(parsed(**texts)).items()}


def test_one_value_serves_all_mentions() -> None:
    assert unified(a="f32[?M=100,?N]", b="f32[?N=8]", c="(f32[?M], i32)") == {
        "a": "f32[?M=100,?N=8]",
        "b": "f32[?N=8]",
        "c": "(f32[?M=100], i32)",
    }


def test_promises_add_up() -> None:
    assert unified(a="f32[?N{div=4}]", b="f32[?N{div=6}=24]") == {
        "a": "f32[?N{div=12}=24]",
        "b": "f32[?N{div=12}=24]",
    }


def test_a_size_may_be_a_stride_of_another_width() -> None:
    assert unified(a="f32[?M,?N=12]:(?N{i64},1)") == {"a": "f32[?M,?N=12]:(?N{i64}=12,1)"}


def test_unnamed_sizes_are_left_alone() -> None:
    assert unified(a="f32[?=3,?=4]", b="i32=3", c="none") == {"a": "f32[?=3,?=4]", "b": "i32=3", "c": "none"}


def test_a_number_is_a_size_of_a_tensor() -> None:
    assert unified(n="(i32=N, i64=M)", a="f32[?M,?N=4]") == {"n": "(i32=N, i64=M)", "a": "f32[?M,?N=4]"}
    with pytest.raises(SpecError, match="'n' is the size 'L', which no tensor has") as caught:
        unify_sizes(parsed(n="(i32=N, i32=L)", a="f32[?M,?N=4]"))
    assert caught.value.hints == ["named sizes: M, N"]


def test_names_and_values() -> None:
    specs = unify_sizes(parsed(a="f32[?M,?N=8]", b="f32[?N,?K]"))
    assert size_names(specs) == ["M", "N", "K"]
    assert named_values(specs) == {"N": 8}


def test_two_values_are_a_conflict() -> None:
    with pytest.raises(SpecError) as caught:
        unify_sizes(parsed(a="f32[?M=3]", b="f32[4,?M=4]"))
    assert caught.value.message == "size 'M' is 4 here and 3 in 'a'"
    assert caught.value.location == SourceLocation("argument 'b'", None, 7, "f32[4,?M=4]", 2)


def test_a_value_keeps_every_promise() -> None:
    line = '# cutecc: args.b = "f32[?M{div=8}]"'
    sources = {"b": SourceLocation("k.py", 3, line.index("f32") + 1, line)}
    with pytest.raises(SpecError) as caught:
        unify_sizes(parsed(a="f32[?M=12]", b="f32[?M{div=8}]"), sources)
    assert "not divisible by 8" in caught.value.message
    assert caught.value.location == SourceLocation("k.py", 3, line.index("?M") + 1, line, 2)
