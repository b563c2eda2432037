"""Several modules in one file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.ir.split import MARK, split_input


@pytest.mark.parametrize(
    ("text", "chunks"),
    [
        ("", [""]),
        ("a\nb\n", ["a\nb\n"]),
        ("a\n// -----\nb\n", ["a", "\n\nb\n"]),
        ("a\n// -----  \nb", ["a", "\n\nb"]),
        ("// -----\na", ["", "\na"]),
        ("a\n// -----\n", ["a", "\n\n"]),
        ("a // -----\n // -----\n// ------\n//-----", ["a // -----\n // -----\n// ------\n//-----"]),
    ],
)
def test_a_mark_stands_alone_on_its_line(text: str, chunks: list[str]) -> None:
    assert split_input(text) == chunks


@given(st.lists(st.sampled_from([MARK, "module {", "}", "", "// -----x"])))
def test_lines_keep_their_numbers(lines: list[str]) -> None:
    chunks = split_input("\n".join(lines))
    assert len(chunks) == 1 + lines.count(MARK)
    found = {number: line for chunk in chunks for number, line in enumerate(chunk.split("\n"), start=1) if line}
    assert found == {number: line for number, line in enumerate(lines, start=1) if line and line != MARK}
