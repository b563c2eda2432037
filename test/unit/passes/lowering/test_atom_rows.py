"""Rows of atoms from outside."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.errors import UsageError
from cutecc.passes.lowering.atoms.table import copy_rows, mma_rows
from cutecc.passes.plugins import load_file

FILE = """
from cutecc.passes.lowering.atoms.table import copies, multiplies, prefetches

@{decorator}("{kind}")
def mine(use):
    raise AssertionError
"""


@pytest.mark.parametrize(
    ("decorator", "kind"), [("copies", "universal_copy"), ("prefetches", "tma_load"), ("multiplies", "sm90.mma")]
)
def test_a_file_is_told_that_it_cannot_bring_rows(decorator: str, kind: str, tmp_path: Path) -> None:
    """A built-in row would take the place of its row, or the cache give what another row was used for."""
    file = tmp_path / "rows.py"
    file.write_text(FILE.format(decorator=decorator, kind=kind))
    with pytest.raises(UsageError, match="mine: rows of atoms are cutecc's own") as raised:
        load_file(file)
    assert raised.value.location is not None and raised.value.location.line == 4
    assert "before lower-atoms" in str(raised.value.hints)
    assert all(row.lower.__name__ != "mine" for row in (*copy_rows().values(), *mma_rows().values()))
