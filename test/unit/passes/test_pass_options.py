"""Pass options as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sample_passes import Everything

from cutecc.errors import UsageError
from cutecc.passes.options import convert_options, option_text, parse_options, print_options, split_list

names = st.from_regex(r"[a-z][a-z0-9-]{0,12}", fullmatch=True)
# What pass options are made of, brackets and quotes among it, but only balanced: MLIR has no escapes.
plain = st.text("abcXYZ019_-+.:/=,; \t<>*#%@!?|~^&$", max_size=12)


@st.composite
def balanced(draw: st.DrawFn, depth: int = 2) -> str:
    text = draw(plain)
    if depth:
        for _ in range(draw(st.integers(0, 2))):
            opening, closing = draw(st.sampled_from(["{}", "[]", "()", '""']))
            inner = draw(plain if opening == '"' else balanced(depth=depth - 1))
            text += opening + inner + closing + draw(plain)
    return text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("  ", []),
        ("a=1", [("a", "1")]),
        ("a=1 b=two", [("a", "1"), ("b", "two")]),
        ("a=1\n\tb=2", [("a", "1"), ("b", "2")]),
        ("flag", [("flag", "true")]),
        ("empty=", [("empty", "")]),
        ("a={x y}", [("a", "x y")]),
        ("a='x y'", [("a", "x y")]),
        ('a="x y"', [("a", "x y")]),
        ("a={} b=1", [("a", ""), ("b", "1")]),
        ("a={{x} {y}}", [("a", "{x} {y}")]),
        ("a=x=y", [("a", "x=y")]),
        ("a={--maxrregcount=32 -v}", [("a", "--maxrregcount=32 -v")]),
        ("a=[1,2 3]", [("a", "[1,2 3]")]),
        ("a='}'", [("a", "}")]),
    ],
)
def test_parse(text: str, expected: list[tuple[str, str]]) -> None:
    assert parse_options(text) == expected


@pytest.mark.parametrize("text", ["a={x", "a='x", "a=[x", "a=(x", "a={x]}", "a=}", "a=)", "=1", "a=1 =2"])
def test_wrong_syntax(text: str) -> None:
    with pytest.raises(UsageError):
        parse_options(text)


@given(st.lists(st.tuples(names, balanced()), max_size=4))
def test_print_then_parse(options: list[tuple[str, str]]) -> None:
    text = print_options(options)
    assert bool(text) == bool(options)
    assert parse_options(text[1:-1]) == options


@given(st.lists(balanced().map(str.strip).filter(lambda part: part and "," not in part), max_size=5))
def test_split_list_is_the_inverse_of_joining(parts: list[str]) -> None:
    assert split_list(",".join(parts)) == parts


def test_split_list_leaves_commas_in_brackets_alone() -> None:
    assert split_list("a{x=1,2}, b(c,d) ,'e,f'") == ["a{x=1,2}", "b(c,d)", "'e,f'"]


words = st.text("abcXYZ019_-.", min_size=1, max_size=8)
everything = st.builds(
    Everything,
    count=st.integers(),
    ratio=st.floats(allow_nan=False),
    enabled=st.booleans(),
    label=st.text("abc XYZ019_-.=,", max_size=8),
    mode=st.sampled_from(["fast", "safe"]),
    sizes=st.lists(st.integers(), max_size=3).map(tuple),
    words=st.lists(words, max_size=3).map(tuple),
    limit=st.none() | st.integers(),
    with_dash=words,
)


@given(everything)
def test_fields_survive_text(pass_: Everything) -> None:
    text = str(pass_)
    name, brace, options = text.partition("{")
    assert name == "test-everything"
    assert Everything(**convert_options(Everything, parse_options(options[:-1] if brace else ""))) == pass_


def test_defaults_are_not_printed() -> None:
    assert str(Everything()) == "test-everything"
    assert str(Everything(count=5, with_dash="y")) == "test-everything{count=5 with-dash=y}"


@pytest.mark.parametrize(
    ("value", "text"),
    [(True, "true"), (False, "false"), (None, ""), (3, "3"), (0.5, "0.5"), ((1, 2), "1,2"), ((), ""), ("x", "x")],
)
def test_option_text(value: object, text: str) -> None:
    assert option_text(value) == text


@pytest.mark.parametrize("text", ["true", "True", "1", "TRUE"])
def test_true(text: str) -> None:
    assert convert_options(Everything, [("enabled", text)]) == {"enabled": True}


@pytest.mark.parametrize("text", ["false", "False", "0"])
def test_false(text: str) -> None:
    assert convert_options(Everything, [("enabled", text)]) == {"enabled": False}


@pytest.mark.parametrize(
    ("option", "text", "expected"),
    [
        ("count", "many", "a whole number, not 'many'"),
        ("count", "1.5", "a whole number, not '1.5'"),
        ("ratio", "x", "a number, not 'x'"),
        ("enabled", "maybe", "true or false, not 'maybe'"),
        ("mode", "slow", "'fast' or 'safe', not 'slow'"),
        ("sizes", "1,x", "a whole number, not 'x'"),
        ("limit", "x", "a whole number, not 'x'"),
    ],
)
def test_wrong_value(option: str, text: str, expected: str) -> None:
    with pytest.raises(UsageError) as caught:
        convert_options(Everything, [(option, text)])
    assert caught.value.message == f"pass test-everything: option '{option}' takes {expected}"


def test_unknown_option_lists_those_there_are() -> None:
    with pytest.raises(UsageError) as caught:
        convert_options(Everything, [("coutn", "1")])
    assert caught.value.message == "pass test-everything has no option 'coutn'"
    assert caught.value.hints[0] == "did you mean count?"
    assert "with-dash" in caught.value.hints[1]
