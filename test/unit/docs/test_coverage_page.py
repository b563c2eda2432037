"""The table of docs/coverage.md says what the passes and the rows of atoms say today.

How often the kernels use something is not counted again here: `python tools/coverage_table.py --write` does that.
"""

from __future__ import annotations

import re
from pathlib import Path

from cutecc.passes.lowering.atoms.registry import all_rows
from cutecc.workbench.coverage import lowered_by, operations_of_dialects

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "coverage.md").read_text()
ROW = re.compile(r"^\| (copy atom |matrix product atom )?`([^`]+)` \| (\d*) \| (\d*) \| (.*) \|$", re.MULTILINE)


def test_every_operation_has_a_row_with_the_passes_that_lower_it() -> None:
    found = {name: by for kind, name, _, _, by in ROW.findall(PAGE) if not kind}
    expected = {name: ", ".join(lowered_by().get(name, ())) or "**no**" for name in operations_of_dialects()}
    assert found == expected, "python tools/coverage_table.py --write"


def test_atoms_are_lowered_that_have_a_row() -> None:
    rows = {(f"{what} ", kind) for what, kind, _ in all_rows()}
    atoms = [(kind, name.split()[0], by) for kind, name, _, _, by in ROW.findall(PAGE) if kind]
    assert len(atoms) > 10
    for kind, name, by in atoms:
        assert (by == "lower-atoms") == ((kind, name) in rows), name


def test_kernels_that_are_not_lowered_are_there() -> None:
    for name in re.findall(r"^\| ((?:examples|test/kernels)/\w+\.py) \|", PAGE, re.MULTILINE):
        assert (ROOT / name).is_file()
