"""The checks of synchronisation on the repository's kernels, which are right: no warning, and as the page has it."""

from __future__ import annotations

import pytest
from static_checks_table import FILES, MARKS, PAGE, ROOT, rows_of, table

IN_BOTH = ("test/kernels/gemm_pingpong.py", "test/kernels/blackwell/gemm_2cta_multicast.py", "examples/gemm.py")


@pytest.mark.slow
def test_no_warning_and_the_table() -> None:
    """`python tools/static_checks_table.py --write` makes the table anew."""
    rows = rows_of(FILES)
    assert [each for row in rows for each in row.problems] == []
    begin, end = MARKS
    assert PAGE.read_text().partition(begin)[2].partition(end)[0].strip() == table(rows)


@pytest.mark.slow
def test_the_open_pipeline() -> None:
    """It lowers otherwise, and nearly the same is known."""
    files = [ROOT / each for each in IN_BOTH]
    for one, other in zip(rows_of(files), rows_of(files, "open"), strict=True):
        assert other.problems == []
        same = {name: cell for name, cell in one.cells.items() if name != "check-proxy-fences"}
        assert {name: cell for name, cell in other.cells.items() if name != "check-proxy-fences"} == same
