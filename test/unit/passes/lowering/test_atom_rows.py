"""Where rows of atoms come from: cutecc's own files, all of them, and one row for each kind."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cutecc.errors import Error, UsageError
from cutecc.passes.lowering.atoms.registry import copies, copy_rows, holds, mma_rows, multiplies, prefetches
from cutecc.passes.plugins import load_file

FILE = """
from cutecc.passes.lowering.atoms.registry import copies, multiplies, prefetches

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
    assert "cute.gemm" in str(raised.value.hints) and "before lower-atom-fields" in str(raised.value.hints)
    assert all(row.lower.__name__ != "mine" for row in (*copy_rows().values(), *mma_rows().values()))


@pytest.mark.parametrize(
    ("decorator", "kind"), [(copies, "universal_copy"), (prefetches, "tma_load"), (multiplies, "sm90.mma")]
)
def test_a_second_row_of_a_kind_is_an_error(decorator: Callable[..., Any], kind: str) -> None:
    before = dict(copy_rows()), dict(mma_rows())

    def mine(use: Any) -> None:
        raise AssertionError

    mine.__module__ = "cutecc.passes.lowering.atoms.mine"
    with pytest.raises(Error, match=f"the atoms called {kind} have two rows: .*mine"):
        decorator(kind)(mine)
    assert (copy_rows(), mma_rows()) == before


def test_what_atoms_of_a_kind_carry_is_said_once() -> None:
    copy_rows()
    with pytest.raises(Error, match="the atoms called non_exec_tiled_tma_load have two rows"):
        holds("non_exec_tiled_tma_load", state=())


def test_a_new_file_of_atoms_needs_no_list(tmp_path: Path) -> None:
    (tmp_path / "sm999.py").write_text(FILE.format(decorator="copies", kind="sm999.copy"))
    found = (
        f"from cutecc.passes.lowering import atoms; atoms.__path__.append({str(tmp_path)!r}); "
        "from cutecc.passes.lowering.atoms.registry import copy_rows; print(copy_rows()['sm999.copy'].lower.__name__)"
    )
    ran = subprocess.run([sys.executable, "-c", found], capture_output=True, text=True, check=True)
    assert ran.stdout == "mine\n"
