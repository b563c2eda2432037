"""`cutecc profile --timeline`, where there is no GPU."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import Run

from cutecc.cli import iket
from cutecc.cli.profile import sampled
from cutecc.compilation.request import CompileOptions, Edit, marking_timeline, recording_timeline
from cutecc.errors import ProfilingError, UsageError
from cutecc.profiling.profile import Profile

FILE = Path(__file__).parent / "kernels" / "meeting.py"


@pytest.mark.slow
def test_the_emulator_s_timeline_is_written_and_summed_up(cutecc: Run, tmp_path: Path) -> None:
    ran = cutecc("profile", str(FILE), "--device", "cpu", "--timeline", "m.json", "--json", "p.json", "--blocks", "1")
    assert "timeline of 1 block, 4 warps, " in ran.stdout and ": m.json\n" in ran.stdout
    assert "in instructions of a warp" in ran.stdout
    assert "hangs on\n" in ran.stdout and "meeting.py:" in ran.stdout
    events = json.loads((tmp_path / "m.json").read_text())["traceEvents"]
    lines = FILE.read_text().splitlines()
    waits = {int(each["args"]["line"].rpartition(":")[2]) for each in events if "line" in each.get("args", {})}
    assert any("mbarrier_wait" in lines[line - 1] for line in waits)
    (profile,) = json.loads((tmp_path / "p.json").read_text())
    assert profile["timeline"]["unit"] == "instructions" and profile["kernels"] == []
    assert [each["block"] for each in profile["timeline"]["blocks"]] == [1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--blocks", "3"], "--blocks: of a timeline, and --timeline FILE is not given"),
        (["--timeline", "a.json", "--blocks", "5-3"], "--blocks takes numbers as 0 or 0-3"),
        (["--timeline", "a.json", "--warps", "1,40"], "--warps takes numbers as 0 or 0-3, below 32, not '40'"),
        (["--timeline", "a.txt"], "a.txt: a timeline is written to a file that ends in .pftrace or .json"),
        (["--timeline", "no/a.json"], "no"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_runs(cutecc: Run, options: list[str], said: str) -> None:
    ran = cutecc("profile", str(FILE), "--device", "cpu", *options, status=2)
    assert said in ran.stderr


SAMPLING = "--period 9 --top 3 --instructions --roofline r.svg"
IKET = "not with --timeline iket, which samples nothing"


@pytest.mark.parametrize(
    ("options", "refused", "why"),
    [
        ("--blocks 1 --warps 0 --sites all --launches 1", "--blocks, --warps, --sites, --launches", "of a timeline"),
        (f"--device cpu --timeline a.json {SAMPLING}", "--period, --top, --instructions, --roofline", "for a GPU: the"),
        ("--device cpu --timeline a.json --sites waits --launches 2", "--sites, --launches", "for a GPU: the emulator"),
        (f"--timeline iket {SAMPLING}", "--period, --top, --instructions, --roofline", IKET),
        ("--timeline iket --json j --blocks 1 --warps 0 --launches 2", "--blocks, --warps, --launches, --json", IKET),
    ],
)
def test_what_would_be_ignored_is_refused(cutecc: Run, options: str, refused: str, why: str) -> None:
    assert f"{refused}: {why}" in cutecc("profile", str(FILE), *options.split(), status=2).stderr


@pytest.mark.parametrize("timeline", ["iket", "a.json"])
def test_of_a_record_what_is_for_a_python_file_is_refused(cutecc: Run, tmp_path: Path, timeline: str) -> None:
    (tmp_path / "k.cutecc").touch()
    given = ("--entry", "f", "--target", "sm_90a", "--sites", "all", "--no-cache")
    ran = cutecc("profile", "k.cutecc", "--timeline", timeline, *given, status=2)
    assert "--entry, --target, --sites, --no-cache: for Python files, and a record is compiled already" in ran.stderr


def test_the_pass_is_the_first_on_the_trace() -> None:
    for pipeline, first in (("nvidia", "cute-remove-static-args"), ("open", "number-fragments")):
        options = recording_timeline(CompileOptions(pipeline=pipeline), "waits")
        assert options.edits == (Edit("insert-before", first, "record-timeline{sites=waits}"),)
        assert options.wants_locations
        assert recording_timeline(options, "all") == options
    with pytest.raises(UsageError, match="the pipeline has no record-timeline"):
        recording_timeline(CompileOptions(pipeline="cse"), "all")


def test_marks_are_not_stripped() -> None:
    options = marking_timeline(CompileOptions(), "waits")
    assert [each.kind for each in options.edits] == ["insert-before", "without"]
    with pytest.raises(UsageError, match="for the pipeline nvidia"):
        marking_timeline(CompileOptions(pipeline="open"), "waits")


def test_the_wheel_s_profiler_runs_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiler = tmp_path / "run-iket"
    profiler.write_text(
        f"#!{sys.executable}\nimport sys, pathlib\npathlib.Path('ran').write_text(' '.join(sys.argv[1:]))\n"
    )
    profiler.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(iket, "_profiler", lambda: str(profiler))
    values = {"sizes": ("M=8",), "args": ("alpha=f32=2",), "seed": 3, "device": "cuda:1", "sites": "waits"}
    assert iket.record_by_iket("marked.cutecc", values, None) == 0
    ran = (tmp_path / "ran").read_text()
    assert ran == (
        f"--output-dir marked-iket profile -- {sys.executable} -m cutecc run marked.cutecc --device cuda:1 --quiet "
        "--arg alpha=f32=2 --size M=8 --seed 3"
    )
    os.mkdir("marked-iket")
    with pytest.raises(UsageError, match="marked-iket is there already"):
        iket.record_by_iket("marked.cutecc", values, None)


def test_a_timeline_needs_no_samples(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(self: Profile) -> None:
        raise ProfilingError("the driver keeps sampling to administrators")

    class Device:
        name, compute_capability = "a GPU", (9, 0)

    monkeypatch.setattr(Profile, "__enter__", refuse)
    device: Any = Device()
    samples, kernels = sampled(lambda: None, 3, device, 11, is_needed=False)
    assert samples.total == 0 and samples.device == "a GPU" and not kernels
    assert capsys.readouterr().err == "note: nothing is sampled: the driver keeps sampling to administrators\n"
    with pytest.raises(ProfilingError):
        sampled(lambda: None, 3, device, 11, is_needed=True)


def test_one_file_is_not_written_twice(cutecc: Run) -> None:
    ran = cutecc("profile", str(FILE), "--device", "cpu", "--timeline", "a.json", "--json", "./a.json", status=2)
    assert "--timeline and --json name the same file, a.json" in ran.stderr


def test_run_iket_has_no_emulator(cutecc: Run) -> None:
    assert (
        "run-iket is for GPUs" in cutecc("profile", str(FILE), "--device", "cpu", "--timeline", "iket", status=2).stderr
    )
