"""Two records side by side: passes that belong together, modules, code, resources, instructions, results, times."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from fake_cuda import FakeCuda

from cutecc.arguments.grammar import parse_spec
from cutecc.cli.compare_table import show, summary_lines
from cutecc.errors import LaunchError, RecordError, UsageError
from cutecc.harness.on_device import HostMemory
from cutecc.record import (
    Artifact,
    Compilation,
    Failure,
    KernelResources,
    Occupancy,
    Parameter,
    Resumed,
    Signature,
    Step,
    Versions,
    Workload,
)
from cutecc.record.folder import read_folder
from cutecc.record.stages import StageWriter, create
from cutecc.report.pair import (
    Code,
    Lines,
    OutputPair,
    Pair,
    Results,
    RunPair,
    Times,
    compare_ptx,
    counterpart,
    pair_of,
)
from cutecc.runtime.workspace import Workspace
from cutecc.workbench import compared
from cutecc.workbench.compared import Trial, compare
from cutecc.workbench.running import Output, Run

NAMES = ("before", "after")
KERNEL = Path(__file__).parents[3] / "test" / "kernels" / "scalar_args.py"


def made(
    pipeline: str, stages: dict[int, str], folder: Path, *, ran: Sequence[int] | None = None, **fields: Any
) -> Compilation:
    """A record that has run the passes of these numbers, with the module after each that changed it."""
    names = pipeline.split(",")
    ran = range(1, len(names) + 1) if ran is None else ran
    steps = [
        Step(index, names[index - 1].partition("{")[0], names[index - 1], "wheel", changed=index in stages)
        for index in ran
    ]
    whole = None if len(ran) == len(names) else pipeline
    compilation = Compilation(
        "k", "sm_80", pipeline, Versions("0", "3", "4", "own"), "ok", steps=steps, whole_pipeline=whole, **fields
    )
    path = folder / "k.stages"
    create(path)
    writer = StageWriter(path)
    for index, text in stages.items():
        writer.add_stage(index, text, [None] * text.count("\n"))
    compilation.artifacts.append(Artifact("stages", "k.stages"))
    compilation.files["k.stages"] = path.read_bytes()
    return compilation


def with_file(compilation: Compilation, kind: Any, name: str, data: str) -> Compilation:
    compilation.artifacts.append(Artifact(kind, name))
    compilation.files[name] = data.encode()
    return compilation


def rows(pair: Pair) -> list[tuple[str | None, str | None, tuple[int, int] | None]]:
    return [
        (
            each.a and f"{each.a.selector} {each.a.state}",
            each.b and f"{each.b.selector} {each.b.state}",
            None if each.lines is None else (each.lines.a, each.lines.b),
        )
        for each in pair.passes
    ]


# Passes and modules.


def test_passes_of_one_name_belong_together(tmp_path: Path) -> None:
    a = made("x,cse,y", {0: "a\n", 1: "b\n", 3: "c\nd\n"}, tmp_path)
    b = made("x,z,cse,cse", {0: "a\n", 2: "c\nd\n", 3: "c\n"}, tmp_path)
    pair = pair_of(a, b, NAMES)
    assert rows(pair) == [
        ("traced input", "traced input", (0, 0)),
        ("x changed", "x unchanged", (1, 1)),
        (None, "z changed", None),
        ("cse unchanged", "cse#1 changed", (1, 1)),
        ("y changed", None, None),
        (None, "cse#2 unchanged", None),
    ]
    assert pair.first_difference == 1
    assert pair.differs
    assert [counterpart(a, b, index) for index in range(4)] == [0, 1, 3, None]


def test_a_record_and_what_went_on_from_it(tmp_path: Path) -> None:
    whole = "x,cse,y,cse"
    a = made(whole, {0: "a\n", 2: "b\n", 4: "c\n"}, tmp_path, ran=[1, 2, 3, 4])
    resumed = Resumed("before", "cse#1", "02-cse.mlir", edited=True, lines_removed=1, lines_added=1)
    b = made(whole, {2: "B\n", 4: "c\n"}, tmp_path, ran=[3, 4], resumed=resumed)
    pair = pair_of(a, b, NAMES)
    assert rows(pair) == [
        ("traced input", "traced before", None),
        ("x unchanged", "x before", None),
        ("cse#1 changed", "cse#1 input", (1, 1)),
        ("y unchanged", "y unchanged", (1, 1)),
        ("cse#2 changed", "cse#2 changed", (0, 0)),
    ]
    assert (pair.a.passes, pair.b.passes, pair.b.resumed) == (4, 2, resumed)
    assert next(iter(summary_lines(pair))) == (
        "modules: the first that differ are those after cse#1, -1 +1 lines; --stage cse#1 shows them"
    )


def test_runs_that_ended_early(tmp_path: Path) -> None:
    a = made("x,y,z", {0: "a\n", 1: "b\n"}, tmp_path, ran=[1, 2])
    a.steps[1].status = "failed"
    a.failure = Failure("y", "it broke")
    b = made("x,y,z", {0: "a\n", 1: "b\n"}, tmp_path)
    b.steps[2].changed = None
    pair = pair_of(a, b, NAMES)
    assert rows(pair)[2:] == [("y failed", "y unchanged", None), ("z not run", "z unknown", None)]
    assert pair.a.failure == "y: it broke"
    assert not pair.differs


def test_other_options_are_a_difference(tmp_path: Path) -> None:
    pair = pair_of(made("x{a=1}", {0: "a\n"}, tmp_path), made("x{a=2}", {0: "a\n"}, tmp_path), NAMES)
    assert not pair.passes[1].same_options
    assert pair.differs


def test_numbers_of_values_and_the_assemblers_time_are_no_difference(tmp_path: Path) -> None:
    first = '%0 = a.b {log = "Compile time = 12.5 ms"}\na.c %0\n'
    again = '%7 = a.b {log = "Compile time = 3 ms"}\na.c %7\n'
    pair = pair_of(made("x", {0: first}, tmp_path), made("x", {0: again}, tmp_path), NAMES)
    assert [each.lines for each in pair.passes] == [Lines(0, 0), Lines(0, 0)]
    assert not pair.differs
    assert list(summary_lines(pair)) == ["modules: the same wherever both have one"]


def test_a_record_without_modules_is_compared_in_the_rest(tmp_path: Path) -> None:
    a, b = made("x", {0: "a\n"}, tmp_path), made("x", {0: "b\n"}, tmp_path)
    a.artifacts = []
    pair = pair_of(a, b, NAMES)
    assert {each.lines for each in pair.passes} == {None}
    assert pair.notes == ["before has no modules to compare: compile with --dump-after=all or --report"]
    del b.files["k.stages"]
    with pytest.raises(RecordError, match=r"lacks its file k\.stages"):
        pair_of(a, b, NAMES)


def test_a_record_that_somebody_has_made_up_takes_no_time(tmp_path: Path) -> None:
    a = made("x", {0: "a\n"}, tmp_path)
    for wrong in (replace(a, pipeline="x," * 100_000), replace(a, steps=[Step(10**15, "x", "x", "wheel")])):
        wrong.files = a.files
        with pytest.raises(RecordError, match="more than 2,000 passes"):
            pair_of(a, wrong, NAMES)


# Code.

PTX = """\
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<9>;
	.loc 1 7 3
	mov.u32 %r1, %tid.x;
	add.s32 %r2, %r1, 1; // one more
	ret;
}
"""


def coded(folder: Path, ptx: str, *more: tuple[str, str]) -> Compilation:
    compilation = with_file(made("x", {0: "a\n"}, folder), "ptx", "k.ptx", ptx)
    for kind, data in more:
        with_file(compilation, kind, f"k.{kind}", data)
    return compilation


@pytest.mark.parametrize(
    ("changes", "same", "lines", "said"),
    [
        ((), True, Lines(0, 0), "PTX: the same, 10 lines"),
        ((("%r2", "%r5"), (".loc 1 7 3", ".loc 1 9 3")), False, Lines(0, 0), "PTX: differs in line information and"),
        ((("add.s32", "sub.s32"),), False, Lines(1, 1), "PTX: differs: 1 of 10 lines in A alone, 1 of 10 in B alone"),
        ((("\tret;", "\tbar.sync 0;\n\tret;"),), False, Lines(0, 1), "PTX: differs: 0 of 10 lines in A alone, 1 of 11"),
    ],
)
def test_ptx(tmp_path: Path, changes: Sequence[tuple[str, str]], same: bool, lines: Lines, said: str) -> None:
    text = PTX
    for old, new in changes:
        text = text.replace(old, new)
    pair = pair_of(coded(tmp_path, PTX), coded(tmp_path, text), NAMES)
    assert pair.ptx is not None
    assert (pair.ptx.same, pair.ptx.lines) == (same, lines)
    assert any(line.startswith(said) for line in summary_lines(pair))
    assert pair.differs is not same


def test_instructions_are_of_ptx_where_one_has_no_sass(tmp_path: Path) -> None:
    a = coded(tmp_path, PTX, ("sass", "\t.section\t.text.k,\n"))
    b = coded(tmp_path, PTX.replace("add.s32", "ld.global.b32"))
    pair = pair_of(a, b, NAMES)
    assert pair.instructions_of == "PTX"
    (mix,) = pair.instructions
    assert (mix.a, mix.b) == ({"mov": 1, "add": 1, "ret": 1}, {"mov": 1, "ld.global": 1, "ret": 1})
    broken = pair_of(a, coded(tmp_path, "no PTX"), NAMES)
    assert broken.instructions_of is None
    assert broken.notes[0].startswith("the PTX cannot be read: ")
    assert pair_of(a, made("x", {0: "a\n"}, tmp_path), NAMES).ptx is None


def resources(kernel: str, registers: int, fraction: float = 0.5) -> KernelResources:
    occupancy = Occupancy(128, 4, 16, fraction, ["registers"])
    return KernelResources(kernel, registers, 0, 0, 0, 0, 0, 400, 1, occupancy)


@pytest.mark.parametrize(("text", "same"), [("f1 f1_param_0 f10", False), ("g1 g1_param_0 f", True)])
def test_ptx_whatever_kernels_are_called(tmp_path: Path, text: str, same: bool) -> None:
    a, b = coded(tmp_path, "f f_param_0 f1\n"), coded(tmp_path, f"{text}\n")
    a.resources = [resources("f", 1), resources("f1", 1)]
    b.resources = [resources(name, 1) for name in ("f", "f1", "g1")]
    code = compare_ptx(a, b, names=False)
    assert code is not None and (code.lines == Lines(0, 0)) is same
    assert compare_ptx(a, b) == Code(False, Lines(1, 1), 1, 1)


def test_kernels_belong_together_by_symbol_and_else_by_name(tmp_path: Path) -> None:
    a, b = made("x", {0: "a\n"}, tmp_path), made("x", {0: "a\n"}, tmp_path)
    a.resources = [resources("kernel_cutlass_f_tensorptrf32_0", 10), resources("g", 20), resources("h", 30)]
    b.resources = [resources("new", 1), resources("g", 21), resources("kernel_cutlass_f_tensorptrf16_0", 12)]
    found = [
        (each.kernel, each.a and each.a.registers, each.b and each.b.registers)
        for each in pair_of(a, b, NAMES).resources
    ]
    assert found == [("f", 10, 12), ("g", 20, 21), ("h", 30, None), ("new", None, 1)]


# Results and times.


class Device(HostMemory):
    name = "here"


def runnable(outputs: Sequence[str] = ("y",), spec: str = "f32[4]") -> Compilation:
    signature = Signature("k", [Parameter("x", spec), Parameter("y", "f32[4]"), Parameter("n", "i32")])
    compilation = Compilation("k", "sm_80", "", Versions("0", "3", "4", "own"), "ok", signature=signature)
    return replace(compilation, workload=Workload([*outputs]))


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Stands in for launches; the calls, and what to answer is put in front."""
    calls: list[Any] = []

    def run_point(kernels: Any, point: Any, folder: Path, device: Any, settings: Any) -> list[Run]:
        calls.append((kernels, point, device))
        output = Output(
            "y",
            "f32",
            (4,),
            same_bits=False,
            absolute_error=0.5,
            relative_error=0.1,
            tolerance=1e-4,
            allowed="0.0001",
            in_bounds=False,
        )
        problems = ("4 of 4 elements of y differ",)
        return [
            Run("A", point.sizes, point.seed, "reference"),
            Run("B", point.sizes, point.seed, "differs", problems, outputs=(output,)),
        ]

    monkeypatch.setattr(compared, "run_point", run_point)
    monkeypatch.setattr(Compilation, "host_program", property(lambda self: self.options.get("host", "one")))
    return calls


VALUES = {"n": parse_spec("i32=3")}


def test_both_run_on_the_same_inputs(launched: list[Any]) -> None:
    pair = compare(runnable(), runnable(), names=NAMES, trial=Trial(Device(), seed=7, values=VALUES))
    assert pair.results is not None
    (run,) = pair.results.runs
    assert run.outputs == [OutputPair("y", "f32", [4], False, 0.5, 0.1, 1e-4, "0.0001", False)]
    assert (run.seed, run.a_problems, run.b_problems) == (7, [], ["4 of 4 elements of y differ"])
    assert (pair.results.device, pair.results.microseconds, pair.differs) == ("here", None, True)
    kernels, point, _ = launched[0]
    assert [each.signature.parameters[2].spec for each in kernels.values()] == ["i32=3", "i32=3"]
    assert point.expected is None


def test_who_says_how_far_results_may_be_apart(launched: list[Any]) -> None:
    def said(workload: Workload | None, tolerance: float | None = None) -> str:
        trial = Trial(Device(), values=VALUES, tolerance=tolerance)
        results = compare(replace(runnable(), workload=workload), runnable(), trial=trial).results
        assert results is not None
        return results.tolerance_from

    assert [said(each) for each in (None, Workload(["y"]), Workload(tolerance=0.0), Workload(ulp=1))] == [
        "by type",
        "by type",
        "A",
        "A",
    ]
    for workload in (None, Workload(["y"], 0.5), Workload(["y"], ulp=7)):
        assert said(workload, 0.25) == "as given"
        used = launched[-1][0]["A"].compilation.workload
        assert (used.tolerance, used.ulp, used.outputs) == (0.25, None, workload.outputs if workload else [])
    ran = len(launched)
    for bar in ({"tolerance": 1.0}, {"workload": Workload(tolerance=1e308)}):
        with pytest.raises(UsageError, match="bounds nothing"):
            said(bar.get("workload"), bar.get("tolerance"))  # pyright: ignore[reportArgumentType]
    assert len(launched) == ran


@pytest.mark.slow
def test_the_users_tolerance_counts_before_that_of_the_record(records: Path, cutecc_in) -> None:
    arguments = ["before", "after", "--run", "--device", "cpu", "--size", "N=33", "--tolerance", "0.25"]
    results = json.loads(cutecc_in(records, "compare", *arguments, "--json").stdout)["results"]
    assert results["tolerance_from"] == "as given"
    assert {each["tolerance"] for each in results["runs"][0]["outputs"]} == {0.25}


def test_what_cannot_be_run_beside_each_other_is_refused(launched: list[Any]) -> None:
    def refused(a: Compilation, b: Compilation, values: Any = VALUES) -> UsageError:
        with pytest.raises(UsageError) as caught:
            compare(a, b, names=NAMES, trial=Trial(Device(), values=values))
        return caught.value

    good = runnable()
    assert refused(good, runnable(spec="f16[4]")).message.startswith("before and after take other arguments")
    assert refused(replace(good, signature=None), good).message == (
        "before does not say what arguments the kernel takes"
    )
    nothing = replace(good, options={"host": None})
    assert refused(good, nothing).message == "after cannot be launched: it has no host program"
    assert refused(good, good, {"m": VALUES["n"]}).message == "before has no parameter 'm'"
    assert launched == []


def test_what_nobody_gives_is_chosen_for_both(launched: list[Any]) -> None:
    pair = compare(runnable(), runnable(), names=NAMES, trial=Trial(Device()))
    kernels, _, _ = launched[0]
    assert [each.signature.parameters[2].spec for each in kernels.values()] == ["i32=1", "i32=1"]
    assert pair.results.chosen == "n=1: chosen, for neither --size nor a spec gives it"


def test_a_fault_on_a_gpu_says_where_it_can_be_looked_at(launched: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: Any) -> Any:
        raise LaunchError("illegal address")

    monkeypatch.setattr(compared, "run_point", fault)
    with pytest.raises(LaunchError) as caught:
        compare(runnable(), runnable(), trial=Trial(Device(), values=VALUES))
    assert caught.value.hints == ["on the CPU a fault ends one run only: --device cpu"]


def test_on_a_gpu_both_are_timed_also_where_they_differ(launched: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compared, "median_times", lambda kernels, *_: {"A": 10.0, "B": 12.5})
    with Workspace(driver=FakeCuda(launch_cost=0.0)) as device:
        pair = compare(runnable(), runnable(), trial=Trial(device, values=VALUES))
    assert pair.results is not None
    assert pair.results.microseconds == Times(10.0, 12.5)


def test_numbers_that_json_has_none_of_are_null() -> None:
    output = OutputPair("y", "f32", [4], False, float("inf"), float("inf"), 1e-4, "0.0001", False)
    assert json.loads(msgspec.json.encode(output))["max_absolute_error"] is None


# What is printed.


@pytest.fixture(scope="module")
def records(cutecc_in, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the record of a kernel, `before`, and one that went on from an edited stage, `after`."""
    folder = tmp_path_factory.mktemp("records")
    shutil.copy(KERNEL, folder)
    cutecc_in(folder, "compile", KERNEL.name, "--dump-after=all", "-o", "before", "-q")
    dump = folder / "before" / "14-cse.mlir"
    original = dump.read_text()
    dump.write_text(original.replace("arith.negf %21 : f32", "arith.mulf %21, %21 : f32"))
    cutecc_in(folder, "resume", "before", "--from", "cse#1", "-o", "after", "-q")
    dump.write_text(original)
    return folder


@pytest.mark.parametrize("columns", [80, 200])
def test_the_tables_fit_and_say_it_all(records: Path, cutecc_in, columns: int) -> None:
    arguments = ["before", "after", "--run", "--device", "cpu", "--size", "N=33"]
    lines = cutecc_in(records, "compare", *arguments, env={"COLUMNS": str(columns)}).stdout.splitlines()
    assert max(map(len, lines)) <= columns
    words = [" ".join(line.split()) for line in lines]
    for expected in (
        "record before after",
        "kernel scalar_args for sm_80 the same",
        "pipeline 45 passes 31 passes",
        "0-13 0-13 traced, 13 passes ● 8 changed before",
        "14 14 cse#1 ● changed input -1 +1",
        "cubin: differs",
        "axpby_kernel A B change",
        "occupancy 100% 100%",
    ):
        assert expected in words
    assert any(line.startswith("SASS instructions ") for line in words)
    assert any(line.startswith("z f32 33 ") and line.endswith(" differs") for line in words)
    assert "B against A on the CPU emulator: N=33; seed 0; tolerance: A" in words
    # Inputs that stay as they are say nothing.
    assert not any(line.startswith("x f32") for line in words)
    if columns == 200:
        assert "resumed from before after cse#1, edited by hand (-1 +1 lines)" in words


def test_json_has_everything(records: Path, cutecc_in) -> None:
    body = json.loads(cutecc_in(records, "compare", "before", "after", "--json").stdout)
    assert (body["differs"], body["first_difference"], body["results"]) == (True, 14, None)
    assert body["passes"][14]["lines"] == {"a": 1, "b": 1}
    assert body["b"]["resumed"]["edited"] is True
    pair = msgspec.convert({name: body[name] for name in Pair.__struct_fields__}, Pair)
    assert pair == pair_of(read_folder(records / "before"), read_folder(records / "after"), ("before", "after"))


def test_the_status_says_whether_there_are_differences_if_asked(records: Path, cutecc_in) -> None:
    cutecc_in(records, "compare", "before", "after")
    cutecc_in(records, "compare", "before", "after", "--exit-code", status=1)
    same = cutecc_in(records, "compare", "before", "before", "--exit-code", "-v").stdout
    assert "modules: the same wherever both have one" in same
    # Every pass, and every class of instructions.
    assert "45   45   cuda-error-handling" in same
    assert "  float 32" in same


def test_a_stage_of_both(records: Path, cutecc_in) -> None:
    done = cutecc_in(records, "compare", "before", "after", "--stage", "cse#1", "-U0", "--exit-code", status=1)
    lines = done.stdout.splitlines()
    assert lines[:2] == ["--- before 14 cse#1", "+++ after 14 input"]
    assert [line.strip() for line in lines[3:]] == [
        "-        %22 = arith.negf %21 : f32",
        "+        %22 = arith.mulf %21, %21 : f32",
    ]
    assert "axpby_kernel" in lines[2]
    last = cutecc_in(records, "compare", "before", "before", "--stage", "last", "--exit-code")
    assert last.stdout == ""
    assert "in after" in cutecc_in(records, "compare", "before", "after", "--stage", "traced", status=2).stderr


def test_what_the_command_refuses(records: Path, cutecc_in) -> None:
    def says(*arguments: str) -> str:
        return cutecc_in(records, "compare", "before", *arguments, status=2).stderr

    assert "--function is for --stage" in says("after", "--function", "f")
    assert "--size is for --run" in says("after", "--size", "N=1")
    assert "--tolerance is for --run" in says("after", "--tolerance", "0")
    assert "--stage prints a difference, and --json something else" in says("after", "--stage", "1", "--json")
    assert "there is no folder and no bundle nothing" in says("nothing")
    assert "no pass 'csee' ran" in says("after", "--stage", "csee")
    assert "no size is called 'K'" in says("after", "--run", "--device", "cpu", "--size", "K=1")


def test_wheels_have_their_flavour_beside_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a, b = (made("x", {0: "a\n"}, tmp_path) for _ in range(2))

    def row() -> list[str]:
        show(pair_of(a, b, NAMES))
        lines = capsys.readouterr().out.splitlines()
        assert not [line for line in lines if line.startswith("flavour")]
        return next((line.split("  ") for line in lines if line.startswith("nvidia-cutlass-dsl")), [])

    def cells() -> list[str]:
        return [cell.strip() for cell in row() if cell]

    assert not cells()
    a.versions = Versions("0", "3", "4", "own", flavour="cu12")
    assert cells() == ["nvidia-cutlass-dsl", "4 cu12", "4"]
    b.versions = Versions("0", "3", "5", "own", flavour="cu12")
    assert cells() == ["nvidia-cutlass-dsl", "4 cu12", "5 cu12"]


def test_a_long_list_of_problems_and_odd_names_are_shown_as_they_are(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    a, b = (made("x", {0: "a\n"}, tmp_path) for _ in range(2))
    pair = pair_of(a, b, ("[bold]a", "b\x1b[31m"))
    runs = [RunPair({"M": size}, 0, [], ["[red]a race"], []) for size in (1, 2)]
    show(msgspec.structs.replace(pair, results=Results("here", runs, Times(1.0, 2.0))))
    out = capsys.readouterr().out
    assert "[bold]a" in out
    assert "\x1b" not in out
    assert "with M=2: A: [red]a race" in out
    assert "time: A 1.00 µs, B 2.00 µs, 2.00 times as long (medians, taking turns)" in out
