"""`make test K=word`: what became of the tests of a part, of lit and of Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT


def made(folder: Path, lit: int, unit: int, part: str = "lower_pointers") -> subprocess.CompletedProcess[str]:
    """What make says when lit and pytest end with these statuses; neither is run."""
    (folder / "stub").write_text('echo "$@"\nexit $1\n')
    tools = [f"{name}=sh {folder}/stub {status}" for name, status in (("LIT", lit), ("PYTEST", unit))]
    command = ["make", "--no-print-directory", "-o", ".venv/bin/.dev", "-o", "bytecode", "test", f"K={part}", *tools]
    # Not as a part of the make that runs the tests, with its jobs.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, env=environment)


@pytest.mark.parametrize(
    ("lit", "unit", "status"),
    [(0, 0, 0), (0, 5, 0), (2, 0, 0), (2, 5, 2), (1, 0, 2), (0, 1, 2), (2, 1, 2), (2, 4, 2)],
    ids=["both", "lit alone", "pytest alone", "none", "lit fails", "a test fails", "alone, and fails", "no expression"],
)
def test_a_part_has_tests_and_they_pass(tmp_path: Path, lit: int, unit: int, status: int) -> None:
    done = made(tmp_path, lit, unit)
    assert done.returncode == status, done.stdout + done.stderr
    assert ("no test matched K=lower_pointers\n" in done.stderr) == ((lit, unit) == (2, 5))


def test_a_part_is_found_by_either_kind_of_name(tmp_path: Path) -> None:
    lit, unit = made(tmp_path, 0, 0).stdout.splitlines()[-2:]
    assert lit == "0 -D slow=too --filter lower[-_]pointers test/lit"
    assert unit == "0 -k lower_pointers"
