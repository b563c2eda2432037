"""A few of the malformed inputs through `cutecc` as users start it: an interpreter of its own, and its own workers."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from acceptable_ends import check
from limited_runs import run
from malformed_bundles import BUNDLES
from malformed_kernels import place
from malformed_modules import MODULES
from malformed_records import RECORDS
from real_inputs import RUN_SIZE, RealInputs, make_inputs

pytestmark = pytest.mark.slow

ABORTS = Path(__file__).parents[2] / "inputs" / "aborts-while-parsing.mlir"


@pytest.fixture(scope="session")
def real(shared_folder: Path, cutecc_in) -> RealInputs:
    return make_inputs(shared_folder, cutecc_in)


@pytest.mark.parametrize("name", ["text-cut-at-50%", "errors-in-3-functions"])
def test_a_module(name: str, real: RealInputs, tmp_path: Path) -> None:
    (tmp_path / "input.mlir").write_bytes(MODULES[name](real.module))
    check(run(["opt", "input.mlir", "--pipeline=canonicalize"], tmp_path, None))


def test_an_abort_is_one_message(tmp_path: Path) -> None:
    shutil.copy(ABORTS, tmp_path / "input.mlir")
    done = run(["opt", "input.mlir", "--pipeline=cse"], tmp_path, None)
    assert not check(done)
    assert done.errors.startswith("error: input.mlir: reading the module aborted: ")


def test_a_record(real: RealInputs, tmp_path: Path) -> None:
    shutil.copytree(real.record, tmp_path / "record")
    RECORDS["stages-text-hostile"](tmp_path / "record")
    check(run(["show", "record", "--after=traced"], tmp_path, None))


def test_a_bundle(real: RealInputs, tmp_path: Path) -> None:
    (tmp_path / "input.cutecc").write_bytes(BUNDLES["host-program-that-loops-for-ever"](real.bundle.read_bytes()))
    done = run(["run", "input.cutecc", "--device=cpu", RUN_SIZE], tmp_path, None)
    assert not check(done)
    assert "does not end within" in done.errors


def test_a_kernel(tmp_path: Path) -> None:
    place(tmp_path, "changes-modules")
    check(run(["compile", "input.py", "--target=sm_80", "-o", "record"], tmp_path, None))
