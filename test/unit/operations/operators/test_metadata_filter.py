"""Filters over metadata as text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.operations.metadata_filter import MetadataFilter

FACTS = {"name": "x.Sm90_ttt", "tile": "128x64x32", "tile.m": 128, "stages": None, "epilogue": False, "a.dtype": "f16"}


@pytest.mark.parametrize(
    "text",
    [
        "tile.m=128",
        "tile.m = 64|128",
        "tile.m>=128,tile.m<129",
        "tile.m>127,tile.m<=128",
        "tile.m!=64|32",
        "tile=128x64x32",
        "name~SM90",
        "a.dtype=f16",
        "a.dtype=half|bf16",
        "stages=none",
        "epilogue=false",
        "a.dtype!=f32, name~ttt",
    ],
)
def test_what_holds(text: str) -> None:
    assert MetadataFilter.parse(text).failing(FACTS) is None


@pytest.mark.parametrize(
    ("text", "failing"),
    [
        ("tile.m=64", "tile.m=64"),
        ("tile.m=128,tile.m>128", "tile.m>128"),
        ("stages>=1", "stages>=1"),
        ("stages=4", "stages=4"),
        ("epilogue=true", "epilogue=true"),
        ("a.dtype!=half", "a.dtype!=half"),
        ("cluster.n=1", "cluster.n=1"),
        ("cluster.n!=1", "cluster.n!=1"),
        ("name~Sm80", "name~Sm80"),
    ],
)
def test_what_does_not(text: str, failing: str) -> None:
    assert str(MetadataFilter.parse(text).failing(FACTS)) == failing


@pytest.mark.parametrize(("fact", "text"), [("1x1x1", "1x1"), ("1x1", "1x1x1"), ("2x1x1", "2x1"), ("16x8", "16x8x1")])
def test_a_trailing_one_makes_no_difference(fact: str, text: str) -> None:
    facts = {"cluster": fact}
    assert MetadataFilter.parse(f"cluster={text}").failing(facts) is None
    assert MetadataFilter.parse(f"cluster=4x4|{text}").failing(facts) is None
    assert MetadataFilter.parse(f"cluster!={text}").failing(facts) is not None


@pytest.mark.parametrize(
    ("fact", "text"), [("1x2", "1"), ("2x1", "1x2"), ("1x1x2", "1x1"), ("16x8x1", "16x81"), ("a_16x1", "a_16")]
)
def test_other_sizes_do(fact: str, text: str) -> None:
    facts = {"cluster": fact}
    assert MetadataFilter.parse(f"cluster={text}").failing(facts) is not None
    assert MetadataFilter.parse(f"cluster!={text}").failing(facts) is None


def test_no_conditions_let_everything_through() -> None:
    assert MetadataFilter().failing({}) is None


@pytest.mark.parametrize(
    "text", ["", "tile.m", "=3", "tile.m==3", "tile.m=>3", "tile.m=3,", "m in (1,2)", "f()=1", "a[0]=1"]
)
def test_what_is_no_filter(text: str) -> None:
    with pytest.raises(UsageError, match="is no condition on metadata"):
        MetadataFilter.parse(text)


def test_words_have_no_order() -> None:
    with pytest.raises(UsageError, match="'tile>3' compares '128x64x32', which is no whole number"):
        MetadataFilter.parse("tile>3").failing(FACTS)
    with pytest.raises(UsageError, match=r"'tile\.m<f16' compares 'f16'"):
        MetadataFilter.parse("tile.m<f16").failing(FACTS)


def test_unknown_keys_have_close_ones() -> None:
    with pytest.raises(UsageError, match=r"no metadata is called 'tile.q'") as caught:
        MetadataFilter.parse("tile.q=3").check_keys(set(FACTS))
    assert caught.value.hints[0] == "did you mean tile.m?"


@given(st.text(max_size=40))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        parsed = MetadataFilter.parse(text)
    except UsageError:
        return
    assert MetadataFilter.parse(str(parsed)) == parsed
