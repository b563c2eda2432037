"""`cutecc check`: its output, its forms and its status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import EXAMPLES, ROOT, Run

from cutecc.cli.findings import Finding, annotation, checked, finding_lines, summary_line
from cutecc.record import Analysis, Compilation, Remark, Versions
from cutecc.record.folder import RecordFolder

ADD = EXAMPLES / "elementwise_add.py"
WIDTH = "--only=check-access-width"
BARRIER = """
gpu.module @kernels {
  func.func @f(%n: i32) {
    %tid = nvvm.read.ptx.sreg.tid.x : i32
    %some = arith.cmpi slt, %tid, %n : i32
    scf.if %some {
      nvvm.barrier
    }
    return
  }
}
"""


@pytest.fixture(autouse=True)
def no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the terminal that the tests run in."""
    monkeypatch.delenv("COLUMNS", raising=False)


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(ADD.read_text().splitlines(), 1) if text in line)


def test_findings_come_by_line_with_their_numbers(cutecc: Run) -> None:
    lines = cutecc("check", ADD, WIDTH, "--error-on=warning").stdout.splitlines()
    places = [line_of(f"cute.copy(element, thread_{each}") for each in "ab"] + [line_of("fragment_c, thread_c")]
    assert len(lines) == 2 * len(places) + 1
    for place, line, numbers in zip(places, lines[::2], lines[1::2], strict=False):
        assert line.startswith(f"{ADD}:{place}:5: remark: copy of f32 in global memory moves 32 bits at a time")
        assert line.endswith(" [check-access-width]")
        assert numbers == "    bits 32, possible bits 128, reason predicate"
    assert lines[-1] == "elementwise_add for sm_80: 3 remarks; 1 of 1 checks ran"


def test_files_below_the_folder_are_named_from_there(cutecc: Run, tmp_path: Path) -> None:
    (tmp_path / "add.py").write_text(ADD.read_text())
    assert cutecc("check", "add.py", WIDTH).stdout.startswith("add.py:")


def test_the_width_of_the_terminal_is_kept_to(cutecc: Run, tmp_path: Path) -> None:
    (tmp_path / "barrier.mlir").write_text(BARRIER)
    options = ("--target=sm_80", "--pipeline=canonicalize", "--only=check-divergent-barriers")
    for columns in (80, 140):
        lines = cutecc("check", "barrier.mlir", *options, env={"COLUMNS": str(columns)}).stdout.splitlines()
        assert all(len(line) <= columns or " " not in line for line in lines)
        assert any(len(line) > columns * 2 // 3 for line in lines)
        assert lines[1].startswith("  ")


def test_status_says_what_was_asked_for(cutecc: Run, tmp_path: Path) -> None:
    (tmp_path / "barrier.mlir").write_text(BARRIER)
    only = "--only=check-divergent-barriers"
    target = ("--target", "sm_80", "--pipeline=canonicalize")
    assert "barrier.mlir:7:7: warning: a barrier inside a branch (line 6)" in (
        cutecc("check", "barrier.mlir", *target, only).stdout
    )
    for error_on in ("remark", "warning,check-divergent-barriers"):
        cutecc("check", "barrier.mlir", *target, only, f"--error-on={error_on}", status=1)


def test_annotations_of_github_actions(cutecc: Run, tmp_path: Path) -> None:
    (tmp_path / "barrier.mlir").write_text(BARRIER)
    options = ("--target", "sm_80", "--pipeline=canonicalize", "--only=check-divergent-barriers")
    for more, environment in ((["--format=github"], {}), ([], {"GITHUB_ACTIONS": "true"})):
        first = cutecc("check", "barrier.mlir", *options, *more, env=environment).stdout.splitlines()[0]
        assert first.startswith("::warning file=barrier.mlir,line=7,col=7,title=check-divergent-barriers::a barrier")
    text = cutecc("check", "barrier.mlir", *options, "--format=text", env={"GITHUB_ACTIONS": "true"}).stdout
    assert text.startswith("barrier.mlir:7:7: warning: ")


def test_json_has_everything(cutecc: Run, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("import nothing_of_this_name\n")
    done = cutecc("check", ADD, "wrong.py", WIDTH, "--target", "sm_80", "--json", status=2)
    data = json.loads(done.stdout)
    good, bad = data["results"]
    assert not data["ok"]
    assert (good["kernel"], good["target"], good["file"]) == ("elementwise_add", "sm_80", str(ADD))
    assert [run["name"] for run in good["analyses"]] == ["check-access-width"]
    first = good["findings"][0]
    assert first["line"] == line_of("cute.copy(element, thread_a")
    assert first["numbers"] == {"bits": 32, "possible bits": 128, "reason": "predicate"}
    assert (first["severity"], first["analysis"], first["count"]) == ("remark", "check-access-width", 1)
    assert "nothing_of_this_name" in bad["error"]["message"]
    assert "wrong.py" in done.stderr


@pytest.mark.slow
def test_spills_at_their_lines(cutecc: Run, tmp_path: Path) -> None:
    source = ROOT / "test" / "kernels" / "device_print.py"
    lines = cutecc("check", source, "--only=check-spills").stdout.splitlines()
    assert lines[0].startswith(f"{source}:")
    assert "of local memory, for an array that is not in registers" in lines[0]


@pytest.mark.slow
def test_what_no_launch_can_start(cutecc: Run, tmp_path: Path) -> None:
    """What `compile` warns of with status 0 is a finding, with its numbers, and told once in a report."""
    (tmp_path / "wide.py").write_text(
        "from cutlass import cute\n\n"
        "@cute.kernel\ndef wide_kernel(x: cute.Tensor):\n    x[0] = x[1]\n\n"
        "@cute.jit\ndef wide(x: cute.Tensor):\n"
        "    wide_kernel(x).launch(grid=[1, 1, 1], block=[32, 1, 1], smem=400000)\n"
    )
    of = ("wide.py", "--arg", "x=f32[32]", "--target=sm_90a")
    said = (
        "cannot be launched on sm_90a: 400000 bytes of shared memory a block, of at most 232448; take 167552 bytes away"
    )
    assert said in cutecc("compile", *of, "-o", "out", "--report", "r.html").stderr
    assert cutecc("check", "out", "--only=check-launch", "--error-on=warning", status=1).stdout.count(said) == 1
    for only in ([], ["--only=check-launch"]):
        lines = cutecc("check", *of, *only, "--error-on=warning", status=1).stdout.splitlines()
        assert said in lines[0]
        assert lines[1] == "    shared bytes 400000, most shared bytes 232448"
    assert cutecc("explain", "out", "wide.py:3").stdout.count("take 167552 bytes away") == 1


def test_what_cannot_be_checked_is_status_2(cutecc: Run, tmp_path: Path) -> None:
    assert "there is no analysis 'check-width'" in cutecc("check", ADD, "--only=check-width", status=2).stderr
    assert "there is no analysis 'warnings'" in cutecc("check", ADD, "--error-on=warnings", status=2).stderr
    assert "name the files to check" in cutecc("check", status=2).stderr
    assert "there is no file missing.py" in cutecc("check", "missing.py", status=2).stderr
    (tmp_path / "torn.mlir").write_text("func.func @f(")
    cutecc("check", "torn.mlir", "--target", "sm_80", WIDTH, status=2)


@pytest.mark.slow
def test_a_record_shows_what_was_found_when_it_was_made(cutecc: Run, tmp_path: Path) -> None:
    cutecc("compile", ADD, "--target", "sm_80", "-o", "out", "--report", "r.html", "--bundle", "add.cutecc")
    compiled = cutecc("check", ADD, "--target", "sm_80").stdout
    assert cutecc("check", "out").stdout == cutecc("check", "add.cutecc").stdout == compiled
    cutecc("check", "out", "--error-on=check-access-width", status=1)
    only = json.loads(cutecc("check", "out", WIDTH, "--json").stdout)["results"][0]
    assert {each["analysis"] for each in only["findings"]} == {"check-access-width"}
    refused = cutecc("check", "out", "--opt-level=0", status=2).stderr
    assert "a record is compiled already: --opt-level is for Python files and modules" in refused
    cutecc("compile", ADD, "--target", "sm_80", "-o", "bare", "--stop-after=cse#1")
    refused = cutecc("check", "bare", status=2).stderr
    assert "the record of elementwise_add for sm_80 in bare holds no results of analyses" in refused
    assert f"cutecc check {ADD} --target sm_80" in refused
    cutecc("compile", ADD, "--target=sm_80", "-o", "bare", "--arg", "a=f32[?M,?N]", "--entry=elementwise_add", "-q")
    refused = cutecc("check", "bare", status=2).stderr
    assert f"cutecc check {ADD} --arg 'a=f32[?M,?N]' --entry elementwise_add --target sm_80" in refused


def test_what_does_not_run_cannot_be_an_error(cutecc: Run) -> None:
    refused = cutecc("check", ADD, "--only=check-coalescing", "--error-on=check-spills", status=2).stderr
    assert "--error-on=check-spills: --only leaves it out" in refused
    refused = cutecc("check", ADD, "--error-on=warnin", status=2).stderr
    assert "did you mean warning?" in refused


@pytest.mark.slow
def test_the_open_pipeline_is_checked_as_the_wheels(cutecc: Run) -> None:
    both = [cutecc("check", ADD, "--pipeline", name).stdout.splitlines() for name in ("nvidia", "open")]
    assert both[1][-1] == "elementwise_add for sm_80: 6 remarks; 20 of 20 checks ran"
    # What LLVM could not do is told where LLVM generates the code.
    assert both[0][-1] == "elementwise_add for sm_80: 6 remarks; 19 of 19 checks ran"
    assert both[0][:-1] == both[1][:-1]


def test_each_check_says_how_much_it_knows(cutecc: Run) -> None:
    options = (ROOT / "test" / "kernels" / "tma_copy.py", "--only=check-barrier-bytes,check-tensor-memory")
    assert cutecc("check", *options, "--verbose").stdout.splitlines() == [
        "check-barrier-bytes: of 2 mbarriers with bytes, 2 right",
        "tma_copy for sm_90a: nothing found; 2 of 2 checks ran",
    ]
    (result,) = json.loads(cutecc("check", *options, "--json").stdout)["results"]
    judged = {each["name"]: each["judged"] for each in result["analyses"]}
    assert judged["check-barrier-bytes"] == {"what": "mbarriers with bytes", "right": 2, "wrong": 0, "cannot tell": {}}
    assert judged["check-tensor-memory"]["right"] == 0


def test_where_no_check_ran_nothing_is_known(cutecc: Run) -> None:
    done = cutecc("check", ADD, "--pipeline=cse", "--only=check-coalescing", status=2)
    assert done.stdout == "elementwise_add for sm_80: nothing found; 0 of 1 checks ran\n"


def test_the_list_names_each(cutecc: Run) -> None:
    lines = cutecc("check", "--list").stdout.splitlines()
    names = [line.split()[0] for line in lines]
    assert names == sorted(names)
    own = {"check-access-width", "check-divergent-barriers", "check-integer-division", "check-spills"}
    assert own <= set(names)


@pytest.mark.slow
def test_a_dump_goes_on_from_its_pass(cutecc: Run, tmp_path: Path) -> None:
    cutecc("compile", ADD, "--dump-after=cse", "--stop-after=cse#1", "-o", "out")
    (dump,) = (tmp_path / "out").glob("*-cse.mlir")
    done = cutecc("check", dump, "--only=check-access-width,check-integer-division")
    assert "note: check-access-width: not run: the input is not the traced module" in done.stderr
    assert done.stdout == "elementwise_add for sm_80: nothing found; 1 of 2 checks ran\n"


def record(*remarks: Remark, failure: str | None = None) -> Compilation:
    found = Compilation("k", "sm_80", "", Versions("1", "3.11", "4.8.1", "wheel"))
    found.analyses.append(Analysis("check-x", 0, remarks=list(remarks), failure=failure))
    return found


def test_a_record_of_somebody_elses_does_nothing_to_the_terminal(cutecc: Run, tmp_path: Path) -> None:
    folder = RecordFolder(tmp_path / "out")
    folder.save(record(Remark("warning", "slow \x1b]0;title\x07", "k\x1b[2J.py:9:5", "check-x")))
    folder.close()
    shown = cutecc("check", "out").stdout
    assert "\x1b" not in shown
    assert "k\\x1b[2J.py:9:5: warning: slow \\x1b]0;title\\x07" in shown


def test_the_same_at_one_place_is_one_with_a_count() -> None:
    unrolled = Remark("warning", "slow", "/src/k.py:9:5", "check-x", {"ratio": 1 / 3, "bits": 32})
    other = Remark("remark", "slow", "/src/k.py:3:5", "check-x")
    result = checked("k.py", record(unrolled, other, unrolled, unrolled))
    assert [(each.line, each.count) for each in result.findings] == [(3, 1), (9, 3)]
    assert "".join(finding_lines(result.findings[1])).count("(3 times) [check-x]") == 1
    assert summary_line(result) == "k for sm_80: 1 warning and 1 remark; 1 of 1 checks ran"


def test_an_analysis_that_came_to_no_end_is_told_from_one_that_had_nothing_to_do() -> None:
    assert checked("k.py", record(failure="pass check-x failed")).crashed
    assert not checked("k.py", record(failure="not run: the pipeline has no cse#1")).crashed


def test_annotations_are_escaped() -> None:
    finding = Finding("a,b:c.py", 3, None, "remark", "100 %\nslow: x", "check-x", {})
    assert annotation(finding) == "::notice file=a%2Cb%3Ac.py,line=3,title=check-x::100 %25%0Aslow: x"
