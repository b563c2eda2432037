"""Modules that nobody means well with, through every command that reads one."""

from __future__ import annotations

from pathlib import Path

import pytest
from acceptable_ends import BEFORE, check, check_file, check_record
from chosen_pairs import Command, pairs
from limited_runs import run
from malformed_modules import MODULES
from real_inputs import RealInputs, make_inputs


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


_ALL = [*MODULES]
_PASSES = "--pipeline=canonicalize,cse"
COMMANDS = {
    "opt": Command(["opt", "FILE", _PASSES, "-o", "out.mlir"], _ALL),
    "compile": Command(["compile", "FILE", "--target=sm_80", "-o", "record", "--quiet"], _ALL, 6),
    "bisect": Command(["bisect", "FILE", _PASSES, "--target=sm_80", "-o", "steps", "--json"], _ALL, 12),
    "reduce": Command(["reduce", "FILE", _PASSES, "--timeout=5", "-j1", "-o", "out.mlir", "--json"], _ALL, 12),
}


@pytest.mark.slow
@pytest.mark.parametrize(("command", "name"), pairs(COMMANDS))
def test_a_module_gives_a_result_or_one_message(
    command: str, name: str, real: RealInputs, templates, tmp_path: Path
) -> None:
    data = MODULES[name](real.module)
    (tmp_path / "input.mlir").write_bytes(data)
    (tmp_path / "out.mlir").write_bytes(BEFORE)
    words = ["input.mlir" if word == "FILE" else word for word in COMMANDS[command].line]
    ok = check(run(words, tmp_path, templates), as_json="--json" in words)
    check_file(tmp_path / "out.mlir", written=ok and "out.mlir" in words)
    check_record(tmp_path / "record", written=ok and "record" in words)
    assert (tmp_path / "input.mlir").read_bytes() == data
