"""The tutorial runs as printed, and leaves its reader with the example package."""

from __future__ import annotations

from pathlib import Path

import pytest
from following import FILE, ROOT, follow, prepare, run

pytestmark = pytest.mark.slow

PACKAGE = ROOT / "examples" / "passes"
FILES = ["copy_widths.py", "pyproject.toml", "tests/lit.cfg.py", "tests/check-copies.mlir", "tests/widen-copies.mlir"]


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory, command: Path) -> Path:
    """The folder of a reader at the end, the package installed.

    From there on, `cutecc` is started as a reader starts it: with its imports done, it would not find the package.
    """
    folder = prepare(tmp_path_factory.mktemp("reader"))
    before, install, after = (ROOT / "docs" / "writing-passes.md").read_text().partition("```console\n$ pip install")
    assert install
    follow(before, folder, command.parent)
    follow(install + after, folder)
    return folder


@pytest.mark.each_time
@pytest.mark.parametrize("name", FILES)
def test_the_reader_has_written_the_package(work: Path, name: str) -> None:
    written = (work / name).read_text()
    header = FILE.match(written)
    assert header and header[1] == name
    assert written.removeprefix(header[0]) == (PACKAGE / name).read_text()


def test_the_package_passes_its_own_tests(work: Path) -> None:
    output = run(f"lit {work}/examples/passes/tests", work)
    assert "Total Discovered Tests: 3" in output
    assert "  Passed: 3 (100.00%)" in output


def test_check_lines_are_what_the_tool_writes(work: Path) -> None:
    tests = PACKAGE / "tests"
    assert run(f"cutecc update-checks --check {tests}/widen-copies.mlir", work) == []
