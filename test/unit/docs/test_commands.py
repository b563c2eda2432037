"""Every console block in the README and the docs is run, and its output excerpt has to be what comes out."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import ROOT, follow, matches, prepare
from warm_client import kind_of

# Tests of their own follow these.
APART = ("writing-passes.md", "writing-atoms.md", "caching.md", "serving.md")
# Here a command goes on from what another has left in the cache.
WITH_CACHE = ("README.md", "inspecting.md")
NEED_TORCH = ("operations.md", "operators.md")
PAGES = [path for path in sorted((ROOT / "docs").glob("*.md")) if path.name not in APART]


@pytest.mark.each_time
@pytest.mark.slow
@pytest.mark.parametrize(
    "document",
    [
        pytest.param(path, id=path.name, marks=[pytest.mark.torch] * (path.name in NEED_TORCH))
        for path in [ROOT / "README.md", *PAGES]
    ],
)
def test_commands_do_what_the_document_shows(
    document: Path, tmp_path: Path, command: Path, commands_folder: Path | None, request: pytest.FixtureRequest
) -> None:
    """`cutecc` is started with its imports done; as a reader starts it, in `test_writing_passes`."""
    page = document.read_text()
    if document.name in WITH_CACHE:
        request.getfixturevalue("cache_dir")
    for line in page.splitlines() if commands_folder else ():
        if line.startswith("$ cutecc "):
            request.getfixturevalue("templates").address(kind_of(line.split()[2:]))
    follow(page, prepare(tmp_path), command.parent)


def test_an_excerpt_that_is_not_there_is_found_out() -> None:
    assert matches(["a … c", "…", "z"], ["a b c", "d", "z"])
    assert not matches(["a", "z"], ["a", "d", "z"])
    assert not matches(["a"], ["a", "b"])
