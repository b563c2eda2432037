"""Every bug that is planted in PTX is found, as what it is and at its line; nothing is found in its clean twin."""

from __future__ import annotations

from pathlib import Path

import marks
import planted_ptx
import pytest

NAMES = [f"{path.parent.name}/{path.stem}" for path in planted_ptx.FILES]
SCHEDULES = ["round-robin", "random", "adversarial"]


def path_of(name: str) -> Path:
    return Path(__file__).parent / "ptx" / f"{name}.ptx"


def test_there_are_enough_in_ptx() -> None:
    """Each says what mends it."""
    assert len(planted_ptx.FILES) >= 54
    assert all(marks.Marks.read(path).mend is not None for path in planted_ptx.FILES)


@pytest.mark.parametrize("name", NAMES)
def test_bug_in_ptx(name: str) -> None:
    path = path_of(name)
    findings = planted_ptx.run(path, bug=True, schedule="round-robin")
    problems = marks.Marks.read(path).problems(path, findings)
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", NAMES)
def test_clean_twin_in_ptx(name: str) -> None:
    for schedule in SCHEDULES:
        told = [marks.describe(each) for each in planted_ptx.run(path_of(name), bug=False, schedule=schedule, seed=1)]
        assert not told, "\n".join([schedule, *told])
