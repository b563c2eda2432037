"""The sizes that a kernel is tried with."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.arguments.grammar import parse_spec
from cutecc.arguments.sizes import named_values
from cutecc.errors import UsageError
from cutecc.harness.sizes import parse_sizes, sizes_of_arrays, with_sizes
from cutecc.harness.tensors import place


def specs(**texts: str):
    return {name: parse_spec(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("texts", "points"),
    [
        ([], [{}]),
        (["M=100,N=7"], [{"M": 100, "N": 7}]),
        (["M=100", " N = 7 "], [{"M": 100, "N": 7}]),
        (["M=N=K=64"], [{"M": 64, "N": 64, "K": 64}]),
        (["N=1024,2048,4096"], [{"N": 1024}, {"N": 2048}, {"N": 4096}]),
        (["M=N=1,2,K=5"], [{"M": 1, "N": 1, "K": 5}, {"M": 2, "N": 2, "K": 5}]),
        (["M=1,2", "N=3,4"], [{"M": 1, "N": 3}, {"M": 2, "N": 4}]),
    ],
)
def test_sizes_on_the_command_line(texts: list[str], points: list[dict[str, int]]) -> None:
    assert parse_sizes(texts) == points


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("100", "--size takes NAME=NUMBER, not '100'"),
        (f"N={'9' * 5000}", "--size takes NAME=NUMBER, not 'N=999"),
        ("M=", "not 'M='"),
        ("M=-1", "size 'M' is -1; sizes are 0 or more"),
        ("M=1,N", "not 'N'"),
        ("M=1,M=2", "'M' twice"),
        ("M=1,2,N=3,4,5", "2 for M, 3 for N"),
        ("2M=1", "not '2M=1'"),
    ],
)
def test_sizes_that_are_none(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parse_sizes([text])


def test_sizes_of_arrays() -> None:
    """Those of the user stay; what fits no tensor is for `Arguments.assign` to tell."""
    given = specs(a="f32[?M=1000, ?N{div=4}=2044]", b="(f32[?N, ?=3], f32[4])")
    assert sizes_of_arrays(given, {"a": (5, 8), "b[0]": (8, 3), "b[1]": (5,), "c": (1,)}, {}) == {"M": 5, "N": 8}
    assert sizes_of_arrays(given, {"a": (5, 8, 1)}, {"M": 7}) == {"M": 7}
    with pytest.raises(UsageError, match=r"'a' has shape \(5, 8\), in which size 'N' is 8; --size has 12") as caught:
        sizes_of_arrays(given, {"a": (5, 8)}, {"N": 12})
    assert caught.value.hints == ["without --size, sizes are those of the arrays"]
    with pytest.raises(UsageError, match=r"'b\[0\]' has shape \(4, 3\), in which size 'N' is 4; 'a' has 8"):
        sizes_of_arrays(given, {"a": (5, 8), "b[0]": (4, 3)}, {})


def test_a_size_of_the_user_wins_over_that_of_the_spec() -> None:
    given = specs(a="f32[?M=1000, ?N{div=4}=2044]", b="f32[?N]")
    found = with_sizes(given, {"N": 8})
    assert named_values(found) == {"M": 1000, "N": 8}
    assert str(found["b"]) == "f32[?N{div=4}=8]"


def test_a_number_is_a_size_whatever_that_is() -> None:
    given = specs(problem="(i32=M, i32=N, i32=LD, i32=3)", a="f32[?M=1000, ?N=2044]:(?LD{i64}, 1)")
    assert str(with_sizes(given, {})["problem"]) == "(i32=1000, i32=2044, i32=2044, i32=3)"
    assert str(with_sizes(given, {"M": 8, "N": 5, "LD": 6})["problem"]) == "(i32=8, i32=5, i32=6, i32=3)"


@pytest.mark.parametrize(
    ("text", "sizes", "message"),
    [
        ("f32[?M=4]", {"N": 1}, "no size is called 'N'"),
        ("f32[?M{div=4}=4]", {"M": 6}, "size 'M' is 6, but the kernel is compiled for multiples of 4"),
        ("f32[?M]", {}, "size 'M' of argument 'a' has no value to run with\nhint: --size M=1024"),
        ("f32[?{div=8}, 4]", {}, "size of mode 0 of argument 'a' has no value"),
        ("f32[(4, ?=2), 4]", {}, "nested modes"),
        ("ptr<f16>", {}, r"bare pointer.*\nhint: say it in the spec: --arg a='ptr<f16>=1024'"),
    ],
)
def test_sizes_that_do_not_fit(text: str, sizes: dict[str, int], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_sizes(specs(a=text), sizes)
    import re

    assert re.search(message, str(caught.value))


def test_a_stride_without_a_value_is_the_smallest_that_fits() -> None:
    found = with_sizes(specs(a="f32[?M=5, ?N=10]:(?{i64 div=4}, 1)", b="f32[?M, ?N, 3]:(?, ?, 1)"), {})
    assert place(found["a"]).stride == (12, 1)
    assert place(found["b"]).stride == (30, 3, 1)


def test_one_named_stride_is_one_stride() -> None:
    found = with_sizes(specs(a="f32[?M=5, 100]:(?LD{i64}, 1)", b="f32[?M, 3]:(?LD{i64}, 1)"), {})
    assert place(found["a"]).stride == place(found["b"]).stride == (100, 1)


@given(modes=st.lists(st.tuples(st.integers(1, 6), st.sampled_from([1, 2, 8])), min_size=1, max_size=4))
def test_filled_in_strides_never_overlap(modes: list[tuple[int, int]]) -> None:
    shape = ", ".join(str(length) for length, _ in modes)
    stride = ", ".join(f"?{{div={divisibility}}}" for _, divisibility in modes)
    placement = place(with_sizes(specs(a=f"f32[{shape}]:({stride})"), {})["a"])
    assert not placement.overlaps
    assert all(step % divisibility == 0 for step, (_, divisibility) in zip(placement.stride, modes, strict=True))
