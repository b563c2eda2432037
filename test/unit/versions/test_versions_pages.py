"""The page of a comparison: a row for each kernel, a link for each two records that differ."""

from __future__ import annotations

import html
import re
from pathlib import Path

import msgspec
import pytest
from versions_made import cell, comparison

from cutecc.errors import UsageError
from cutecc.record import Compilation, Versions
from cutecc.versions import pages
from cutecc.versions.changes import Change
from cutecc.versions.comparison import Cell, ColumnFacts, Comparison, Filled
from cutecc.versions.pages import write_pages
from cutecc.versions.recording import Recorded


@pytest.fixture(autouse=True)
def _no_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of two records say only which they are of; they have tests of their own."""

    def write(a: Compilation, b: Compilation, path: Path, *, names: tuple[str, str]) -> None:
        path.write_text(f"{a.pipeline} {b.pipeline} {names}")

    monkeypatch.setattr(pages, "write_pair_report", write)


def made(names: list[str], *rows: list[Cell | None], differing: list[str]) -> tuple[list[Filled], Comparison]:
    """Columns that differ, all of their kernels with records of their own."""
    found = comparison(names, *rows)
    for number, row in enumerate(found.rows):
        changes = [Change(name, None, None, [], None, True) for name in differing]
        found.rows[number] = msgspec.structs.replace(row, changes=changes)

    def record(text: str) -> Compilation:
        return Compilation("k", "sm_80", text, Versions("0", "3", "4", "own"), "ok")

    filled = [
        Filled(ColumnFacts(name), Recorded({f"{row}": record(f"{name}:{row}") for row in range(len(rows))}))
        for name in names
    ]
    return filled, found


def texts_of(files: list[Path]) -> dict[str, str]:
    return {each.name: each.read_text() for each in files}


def test_every_two_that_differ_have_a_page_of_their_own(tmp_path: Path) -> None:
    names = ["a", "open --opt-level 1", "open --opt-level=1"]
    cells: list[Cell | None] = [cell(), cell(registers=40), cell()]
    files = write_pages(*made(names, cells, cells, differing=names[1:]), tmp_path / "pages")
    texts = texts_of(files)
    assert files[0].name == "index.html"
    assert len(texts) == 5
    links = re.findall(r'href="([^"]+)"', texts["index.html"])
    assert len({*links}) == 4
    assert [texts[link] for link in links] == [
        f"a:{row} {name}:{row} {('a', name)}" for row in (0, 1) for name in names[1:]
    ]


def test_what_others_wrote_is_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    filled, found = made(["a", hostile], [cell(), cell(failure=hostile)], differing=[])
    found.rows[0] = msgspec.structs.replace(found.rows[0], kernel=hostile, source=hostile)
    (index,) = write_pages(filled, found, tmp_path)
    text = index.read_text()
    assert "<script" not in text
    assert html.escape(hostile) in text
    assert "default-src 'none'" in text


def test_kernels_that_a_column_lacks(tmp_path: Path) -> None:
    filled, found = made(["a", "b"], [cell(), None], differing=[])
    found.columns[1] = ColumnFacts("b", failure="the process ended with SIGSEGV")
    text = write_pages(filled, found, tmp_path)[0].read_text()
    assert "<strong>✗ not there</strong>" in text
    assert '<div class="error">the process ended with SIGSEGV</div>' in text


def test_what_is_not_compared_and_what_is_wrong(tmp_path: Path) -> None:
    wrong = cell(results="differs", problems=["N=3: y is <off>", "N=4: y too"])
    filled, found = made(["a", "b"], [cell(results="reference"), wrong], differing=[])
    found.rows[0] = msgspec.structs.replace(found.rows[0], notes=["not run: no <room>"])
    text = write_pages(filled, found, tmp_path)[0].read_text()
    assert '<div class="place">note: not run: no &lt;room&gt;</div>' in text
    assert '<div class="error">N=3: y is &lt;off&gt;</div><div class="error">N=4: y too</div>' in text


@pytest.mark.parametrize("place", ["file", "file/below"])
def test_a_folder_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    filled, found = made(["a", "b"], [cell(), cell()], differing=[])
    with pytest.raises(UsageError, match="cannot be made: "):
        write_pages(filled, found, tmp_path / place)
