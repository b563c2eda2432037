"""What `--across` names: words of columns, commas in quotes, and what no column can be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import UsageError
from cutecc.versions.columns import Column, parse_columns

MINE = {"mine": Path("/venv/bin/python"), "4.7.1": Path("/old/bin/python")}


def one(text: str, environments: dict[str, Path] | None = None) -> Column:
    (column,) = parse_columns([text], environments or {})
    return column


def refused(*texts: str, environments: dict[str, Path] | None = None) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_columns(texts, environments or {})
    return caught.value


@pytest.mark.parametrize(
    "text, column",
    [
        ("4.8.1", Column("4.8.1", wheel="4.8.1")),
        ("v4.8.1", Column("v4.8.1", wheel="4.8.1")),
        ("4.8.1[cu13]", Column("4.8.1[cu13]", wheel="4.8.1[cu13]")),
        ("4.9.0.dev0", Column("4.9.0.dev0", wheel="4.9.0.dev0")),
        ("installed", Column("installed")),
        ("mine", Column("mine", environment="mine", python=Path("/venv/bin/python"))),
        ("4.7.1", Column("4.7.1", environment="4.7.1", python=Path("/old/bin/python"))),
        ("git:HEAD~1", Column("git:HEAD~1", revision="HEAD~1")),
        ("git:a/b@{1}", Column("git:a/b@{1}", revision="a/b@{1}")),
        (".", Column(".")),
        ("nvidia", Column("nvidia", options=("--pipeline", "nvidia"))),
        ("llvm", Column("llvm", options=("--backend", "llvm"))),
        ("--opt-level 1", Column("--opt-level 1", options=("--opt-level", "1"))),
        (
            "4.8.1 git:HEAD open nvvm --opt-level=1 --without cse",
            Column(
                "4.8.1 git:HEAD open nvvm --opt-level=1 --without cse",
                wheel="4.8.1",
                revision="HEAD",
                options=("--pipeline", "open", "--backend", "nvvm", "--opt-level=1", "--without", "cse"),
            ),
        ),
        # A word behind an option is its value, whatever else it could be.
        ("--entry open", Column("--entry open", options=("--entry", "open"))),
    ],
)
def test_words_of_every_kind(text: str, column: Column) -> None:
    environments = {} if column.wheel else MINE
    assert parse_columns([text], environments) == [column]


def test_a_file_is_a_pipeline_wherever_sources_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "own.txt"
    file.write_text("cse")
    assert one(str(file)).options == ("--pipeline", str(file))
    monkeypatch.chdir(tmp_path)
    assert one(f"git:HEAD {file.name}").options == ("--pipeline", str(file))


def test_options_may_come_in_several_and_keep_their_order() -> None:
    assert [each.name for each in parse_columns(["open,nvidia", "4.8.1"], {})] == ["open", "nvidia", "4.8.1"]


@pytest.mark.parametrize("quote", ["'", '"'])
def test_commas_in_quotes_are_no_ends(quote: str) -> None:
    columns = parse_columns([f"nvidia,open --arg {quote}x=f32[4,8]{quote},--without {quote}a,b{quote}"], {})
    assert [each.options for each in columns] == [
        ("--pipeline", "nvidia"),
        ("--pipeline", "open", "--arg", "x=f32[4,8]"),
        ("--without", "a,b"),
    ]


@given(st.lists(st.text(alphabet="ab ,'\"[]=-{}", min_size=1), min_size=1, max_size=4, unique=True))
def test_any_value_comes_through_when_it_is_quoted(values: list[str]) -> None:
    quoted = ["'" + each.replace("'", """'"'"'""") + "'" for each in values]
    text = ",".join(f"--arg {each}" for each in quoted)
    assert [each.options for each in parse_columns([text], {})] == [("--arg", each) for each in values]


@given(st.text(alphabet="4.81vgit:open, '\"[]-~=\\", max_size=12))
def test_whatever_is_written_is_columns_or_an_error(text: str) -> None:
    try:
        columns = parse_columns([text], {})
    except UsageError as failure:
        assert failure.message.startswith("--across")
    else:
        assert all(each.name.strip() == each.name != "" for each in columns)


@pytest.mark.parametrize(
    "text, message, hint",
    [
        ("4.8", "--across 4.8: a version has three numbers", "as in 4.8.0"),
        ("4[cu13]", "--across 4[cu13]: a version has three numbers", "as in 4.0.0[cu13]"),
        ("opem", "--across: 'opem' is no version, environment", "did you mean open?"),
        ("instaled", "--across: 'instaled' is no version", "did you mean installed?"),
        ("min", "--across: 'min' is no version", "did you mean mine?"),
        ("git:", "--across: 'git:' is no version", "as in --across 4.7.1"),
        ("open nvidia", "open and nvidia are both pipelines; a column has one", ""),
        ("4.8.1 installed", "4.8.1 and installed are both environments; a column has one", ""),
        (". git:HEAD", ". and git:HEAD are both states of the sources; a column has one", ""),
        ("llvm nvvm", "llvm and nvvm are both code generators; a column has one", ""),
        ("open,,nvidia", "names nothing between two commas, or at an end", ""),
        ("open,", "names nothing between two commas, or at an end", ""),
        ("", "names nothing between two commas, or at an end", ""),
        ("''", "--across: '' is no version", ""),
        ("open,nvidia,open", "--across names open twice", ""),
        ("open 'x", "No closing quotation", ""),
    ],
)
def test_what_no_column_is(text: str, message: str, hint: str) -> None:
    failure = refused(text, environments={"mine": Path("/venv/bin/python")})
    assert message in failure.message
    assert any(each.startswith(hint) for each in failure.hints) or not hint


def test_the_same_name_in_two_options_is_twice() -> None:
    assert refused("open", "nvidia,open").message == "--across names open twice"


@pytest.mark.parametrize("option", ["--target sm_80", "--target=sm_80", "-o x", "--output x", "-j 2", "--jobs=2"])
def test_options_that_all_columns_share_are_refused_in_one(option: str) -> None:
    failure = refused(f"open {option}")
    assert f"{option.partition('=')[0].split()[0]} is for all columns" in failure.message


def test_values_of_options_are_no_options_of_all_columns() -> None:
    assert one("--ptxas-options '--target x'").options == ("--ptxas-options", "--target x")
