"""The header of a reproducer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.errors import RecordError
from cutecc.record import Versions
from cutecc.record.reproducer import MARK, Reproducer, read_reproducer

VERSIONS = Versions("0", "3", "4.8.1", "built in")
anything = st.text(max_size=40)
reproducers = st.builds(
    Reproducer,
    subcommand=st.just("opt"),
    options=st.dictionaries(st.sampled_from(["pipeline", "target"]), anything),
    expected=st.sampled_from(["failed", "aborted"]),
    pass_name=anything,
    message=anything,
    versions=st.builds(Versions, anything, anything, anything, anything, st.none() | anything),
)


@given(reproducers, anything)
def test_round_trip_and_all_comment(reproducer: Reproducer, file: str) -> None:
    header = reproducer.header(file)
    assert read_reproducer(header + "module {}\n") == reproducer
    # MLIR ends a comment at a line feed or carriage return; nothing in a message may get out of it.
    lines = header.removesuffix("\n").replace("\r", "\n").split("\n")
    assert all(line.startswith("//") for line in lines)


def test_the_second_line_is_the_command() -> None:
    reproducer = Reproducer("opt", {"pipeline": "cse{a=b c}"}, "failed", "cse", "no", VERSIONS)
    assert reproducer.header("out/x.mlir").splitlines()[1] == "// cutecc opt out/x.mlir '--pipeline=cse{a=b c}'"


def header_with(**changes: object) -> str:
    first = Reproducer("opt", {}, "failed", "cse", "no", VERSIONS).header("x").partition("\n")[0]
    return MARK + json.dumps({**json.loads(first.removeprefix(MARK)), **changes})


@pytest.mark.parametrize("version", ["1.0", "1.9"])
def test_newer_minor_versions_and_unknown_keys_are_read(version: str) -> None:
    assert read_reproducer(header_with(version=version, novelty=1)).pass_name == "cse"


def test_a_newer_major_version_is_refused() -> None:
    with pytest.raises(RecordError, match=r"has version 2\.0; this cutecc reads up to 1\.x"):
        read_reproducer(header_with(version="2.0"))


@pytest.mark.parametrize("text", ["", "module {}", "\n" + MARK + "{}", "// cutecc-stage: {}"])
def test_no_header(text: str) -> None:
    with pytest.raises(RecordError, match="has no reproducer header"):
        read_reproducer(text)


@pytest.mark.parametrize(
    "text",
    [
        MARK,
        MARK + "{",
        MARK + "[]",
        MARK + "3",
        MARK + "{}",
        MARK + "[" * 100_000,
        header_with(version="x"),
        header_with(version=None),
        header_with(subcommand="rm"),
        header_with(expected="splendid"),
        header_with(options=["--pipeline=x"]),
        header_with(options={"pipeline": [3]}),
    ],
)
def test_damage(text: str) -> None:
    with pytest.raises(RecordError, match="header is damaged"):
        read_reproducer(text)
