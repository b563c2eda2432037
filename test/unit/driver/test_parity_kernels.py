"""Every kernel of `test/kernels` and `examples`: the same PTX as the wheel's single run, byte for byte."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from conftest import KERNEL_NAMES

from cutecc import driver
from cutecc.compilation.request import CompileRequest
from cutecc.record import Compilation
from cutecc.workbench.parity import ParityRow, ParityTask, compare, compare_all

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_there_are_kernels_for_every_generation(traced_kernels) -> None:
    assert len(traced_kernels) >= 50
    assert {kernel.target for kernel in traced_kernels.values()} >= {"sm_80", "sm_90a", "sm_100a", "sm_120a"}


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNEL_NAMES)
def test_the_same_ptx_as_the_single_run(traced_kernels, name: str) -> None:
    kernel = traced_kernels[name]
    # With line info, which runs one pass more, or without; of targets that have one kernel, both.
    settings = (False, True) if kernel.target in ("sm_100a", "sm_120a") else (len(name) % 2 == 0,)
    for row in [compare(ParityTask(str(kernel.module), kernel.target, lines)) for lines in settings]:
        assert row.result in ("identical", "composite"), (
            f"line info {row.line_info}: {row.function} {row.diff} {row.message}"
        )


def test_a_difference_is_found(traced_kernels, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parity compares: with another pipeline on our side, the row says which function differs and how."""
    lower = driver.lower

    def lower_otherwise(request: CompileRequest) -> Compilation:
        wheel = replace(request.options.wheel, nvvm_options="-opt=0")
        return lower(replace(request, options=replace(request.options, wheel=wheel)))

    kernel = traced_kernels["elementwise_add"]
    monkeypatch.setattr(driver, "lower", lower_otherwise)
    row = compare(ParityTask(str(kernel.module), kernel.target, False))
    assert row.result == "different"
    assert row.function is not None
    assert "add_kernel" in row.function
    assert row.diff is not None
    assert row.diff.startswith("--- single run")


def test_a_process_that_dies_dies_on_one_side(small_kernel) -> None:
    entered: list[str] = []
    compare(ParityTask(str(small_kernel.module), small_kernel.target, False), entered.append)
    assert entered == ["reading the module", "the wheel's single run", "the nvidia pipeline"]


def test_aborts_and_failures_are_rows(small_kernel, tmp_path: Path) -> None:
    aborts = ROOT / "test" / "inputs" / "aborts-while-parsing.mlir"
    (tmp_path / "broken.mlir").write_text("not mlir")
    files = [str(small_kernel.module), str(aborts), str(tmp_path / "broken.mlir"), str(small_kernel.module)]
    tasks = [
        ParityTask(file, target, False)
        for file, target in zip(files, ["sm_80", "sm_80", "sm_80", "sm_90a"], strict=True)
    ]
    seen: list[ParityRow] = []
    rows = compare_all(tasks, jobs=2, on_row=seen.append)
    assert [row.result for row in rows] == ["identical", "failed", "failed", "identical"]
    assert (rows[1].message or "").startswith("reading the module: the compiler process was ended by SIGABRT")
    assert [row.file for row in rows] == files
    assert sorted(row.file for row in seen) == sorted(files)
