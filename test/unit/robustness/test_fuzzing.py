"""Inputs made at random are taken or refused, with one of cutecc's own errors; and those that once got through are.

`make fuzz` makes others each time, for as long as one likes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import fuzz
import pytest
from attacks import attacks
from fuzzing.subjects import NAMES, checked_with, kept_inputs
from real_inputs import RealInputs, make_inputs

from cutecc.errors import Error, InternalError

KEPT = [(name, path) for name in NAMES for path in kept_inputs(fuzz.CORPUS, name)]
CASES = {"ptx": 100, "bundles": 30, "specs": 100, "headers": 100, "manifests": 30}


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_gets_through(name: str, real: RealInputs, tmp_path: Path) -> None:
    command = [sys.executable, fuzz.__file__, name, f"--cases={attacks(CASES[name])}", "--start=0", "--seconds=3600"]
    limits = [f"--bundle={real.bundle}", f"--corpus={tmp_path / 'corpus'}"]
    run = subprocess.run([*command, *limits], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{attacks(CASES[name]):,} cases" in run.stdout
    # Inputs that are all refused for one reason would test nothing.
    assert "refused" in run.stdout and ("accepted" in run.stdout or name == "manifests")


@pytest.mark.parametrize(("name", "path"), KEPT, ids=lambda value: getattr(value, "name", value))
def test_what_once_got_through_is_taken_or_refused(name: str, path: Path) -> None:
    try:
        checked_with(name).check(path.read_bytes())
    except InternalError:
        raise
    except Error as error:
        assert error.message


def test_inputs_are_kept() -> None:
    assert len(KEPT) > 10
