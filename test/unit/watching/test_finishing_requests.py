"""What a watch has its recorded kernels compiled for: the same facts, with a report page and without."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.compilation.request import CompileRequest
from cutecc.driver import lower
from cutecc.record import Compilation
from cutecc.watching import finishing
from cutecc.watching.finishing import Finisher, Outcome
from cutecc.watching.index import index_data
from cutecc.watching.journal import Journal
from cutecc.watching.recording import Recording, read

KEY = "0" * 32
MODULE = b"""
module attributes {gpu.container_module} {
  gpu.module @kernels {
    cuda.kernel @kernel(%x: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 32, 1, 1>} {
      %thread = nvvm.read.ptx.sreg.tid.x : i32
      %address = llvm.getelementptr %x[%thread] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i32
      llvm.store %thread, %address : i32, !llvm.ptr<1>
      return
    }
  }
}
"""


def recorded(folder: Path, seconds: float | None) -> Recording:
    """A watch of one kernel, which took `seconds` to trace; `None` when the program ended before it was traced."""
    journal = Journal(str(folder))
    journal.keep(f"{KEY}.mlirbc", MODULE)
    site = {"frames": [{"file": "train.py", "line": 3, "function": "step"}], "users": 0}
    journal.write(
        "kernel",
        key=KEY,
        name="numbers",
        function="numbers",
        symbol="host",
        kernels=["kernel"],
        parameters=[],
        target="sm_90a",
        options="opt-level=3",
        locations=False,
        called_from=site,
    )
    if seconds is not None:
        journal.write("traced", key=KEY, seconds=seconds)
    return read(folder)


def finished(folder: Path, recording: Recording) -> Outcome:
    finisher = Finisher(folder, targets=[], reports=False, workers=1, command=["cutecc"])
    finisher.add(recording)
    (outcome,) = finisher.outcomes(recording)
    return outcome


def test_a_record_without_a_page_has_the_registers_for_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(finishing, "lower_in_worker", lower)
    recording = recorded(tmp_path, 0.25)
    outcome = finished(tmp_path, recording)
    assert outcome.error is None and outcome.compilation is not None and not outcome.has_report
    (resources,) = outcome.compilation.resources
    assert resources.registers > 0
    assert outcome.compilation.seconds["trace"] == 0.25
    (kernel,) = index_data(recording, [outcome])["kernels"]
    assert [each["registers"] for each in kernel["resources"]] == [resources.registers]


@pytest.mark.parametrize(("seconds", "expected"), [(0.25, 0.25), (None, 0.0)])
def test_the_time_that_the_program_traced_is_taken_over(
    seconds: float | None, expected: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests: list[CompileRequest] = []

    def take(request: CompileRequest) -> Compilation:
        requests.append(request)
        raise OSError("no process")

    monkeypatch.setattr(finishing, "lower_in_worker", take)
    assert finished(tmp_path, recorded(tmp_path, seconds)).error == "no process"
    (request,) = requests
    assert request.trace_seconds == expected
    assert request.module == MODULE


@pytest.mark.parametrize("name", ["seen", "seen/kernels", "seen/kernels/numbers-sm_90a"])
@pytest.mark.parametrize("before", [True, False])
def test_what_takes_the_place_of_a_folder_meanwhile_gets_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, before: bool
) -> None:
    """The program still runs, and puts a link there before a kernel is compiled, or before its report is written."""
    elsewhere, aside = tmp_path / "elsewhere", tmp_path / "aside"
    elsewhere.mkdir()

    def swap() -> None:
        (tmp_path / name).rename(aside)
        (tmp_path / name).symlink_to(elsewhere)

    def compile_meanwhile(request: CompileRequest) -> None:
        if before:
            swap()
        lower(request)
        if not before:
            swap()

    monkeypatch.setattr(finishing, "lower_in_worker", compile_meanwhile)
    recording = recorded(tmp_path / "seen", 0.25)
    finisher = Finisher(tmp_path / "seen", targets=[], reports=True, workers=1, command=["cutecc"])
    finisher.add(recording)
    (outcome,) = finisher.outcomes(recording)
    assert outcome.error is None and outcome.compilation is not None and outcome.has_report
    assert list(elsewhere.iterdir()) == []
    (manifest,) = aside.rglob("manifest.json")
    assert {"numbers.ptx", "numbers.stages", "report.html"} <= {path.name for path in manifest.parent.iterdir()}
