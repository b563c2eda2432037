"""Variants of a kernel side by side: the search for a pass, what counts as a difference, and plans."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from fake_cuda import FakeCuda

from cutecc.arguments.grammar import parse_spec
from cutecc.cli.diff_failure import wrong_lines
from cutecc.cli.diff_table import Report, as_dict, effect_lines, problem_lines
from cutecc.compilation.request import Edit
from cutecc.errors import DeadlockError, LaunchError, RecordError, SourceLocation, UsageError
from cutecc.harness.arguments import make_arguments
from cutecc.harness.on_device import HostMemory
from cutecc.harness.points import ragged_points
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Parameter, Signature, Workload
from cutecc.runtime.workspace import Workspace
from cutecc.support import capacity, isolation
from cutecc.workbench import running
from cutecc.workbench.bisecting import Bisection
from cutecc.workbench.host_memory import Needs, check_memory
from cutecc.workbench.inserted import inserted
from cutecc.workbench.plan import Code, Plan, PlannedKernel, Point, Variant, inputs_checksum, read_plan, write_plan
from cutecc.workbench.preparing import expected_of
from cutecc.workbench.running import KernelResult, Run, Settings, run_kernel
from cutecc.workbench.splice import points, search, splice
from cutecc.workbench.variants import Choice

OPEN = open_pipeline("sm_80")
NVIDIA = nvidia_pipeline("sm_80")

# Where a pass is looked for.


@pytest.mark.parametrize("culprit", range(6))
def test_the_first_pass_that_makes_the_difference_is_found(culprit: int) -> None:
    counts = [1, 2, 4, 7, 9]
    found = search(OPEN, counts, lambda count: "bad" if count >= [*counts, 99][culprit] else "good")
    selectors = OPEN.selectors()
    assert found.first_bad == (selectors[counts[culprit] - 1] if culprit < 5 else "code generation")
    assert found.last_good == (selectors[counts[culprit - 1] - 1] if culprit else None)
    assert found.unknown == ()
    assert found.tried <= 3


def test_passes_of_which_it_cannot_be_told_are_named_too() -> None:
    counts = [1, 2, 3, 4, 5, 6, 7]

    def state(count: int) -> Any:
        return "unknown" if count in (3, 4, 5) else "bad" if count > 5 else "good"

    found = search(OPEN, counts, state)
    names = OPEN.selectors()
    assert (found.last_good, found.unknown, found.first_bad) == (names[1], tuple(names[2:5]), names[5])
    assert found.passes == tuple(names[2:6])
    assert search(OPEN, [], state).first_bad == "code generation"


def test_nvidia_goes_on_from_a_module_that_open_has_begun() -> None:
    count = OPEN.position("unfold-layouts") + 1
    joined = splice(OPEN, count, NVIDIA)
    assert joined.passes[:count] == OPEN.passes[:count]
    rest = joined.passes[count:]
    assert tuple(pass_ for pass_ in rest if pass_.name != "join-casts") == NVIDIA.passes
    names = [pass_.name for pass_ in rest]
    assert names[names.index("convert-cute-to-core") + 1] == "join-casts"
    assert Pipeline.parse(str(joined)) == joined


def test_an_edited_nvidia_pipeline_goes_on_behind_what_it_has_run() -> None:
    edited = NVIDIA.insert_after("cute-expand-ops", *Pipeline.parse("cse"))
    count = edited.position("cute-expand-ops") + 2
    joined = splice(edited, count, NVIDIA)
    assert [pass_.name for pass_ in joined if pass_.name != "join-casts"] == [pass_.name for pass_ in edited]
    # What both begin with, and what is behind code generation, tells nothing.
    assert points(edited, NVIDIA, range(len(edited)))[0] == count
    last = edited.passes[points(edited, NVIDIA, range(len(edited)))[-1] - 1]
    assert last == edited.passes[edited.position("cuda-to-binary") - 1]
    assert points(OPEN, NVIDIA, [2, 5]) == [3, 6]


def test_edits_are_of_all_pipelines_but_the_first() -> None:
    choice = Choice(edits=["edit"], pipelines=("nvidia", "open"))  # pyright: ignore[reportArgumentType]
    assert choice.options_for("nvidia", "nvvm").edits == ()
    assert choice.options_for("open", "llvm").edits == ("edit",)
    assert choice.options_for("open", "llvm").backend == "llvm"


def check(**choice: Any) -> None:
    isolation.call("cutecc.workbench.variants:check_pipelines", Choice(**choice), ["sm_80", "sm_90a"])


def test_pipelines_are_checked_before_there_is_a_kernel() -> None:
    check()
    check(edits=[Edit("insert-after", "expand-copies", "vectorize-predicated-copies"), Edit("without", "cse#1")])
    # It is in the pipelines of the experimental API alone.
    check(edits=[Edit("insert-before", "lir-circular-buffer-pipeline-to-pipeline", "cse")])
    with pytest.raises(UsageError, match="no pass is called 'no-such-pass'") as error:
        check(edits=[Edit("replace", "expand-copies", "no-such-pass")])
    assert error.value.notes == ["the pipeline open for sm_80"]
    with pytest.raises(UsageError, match="no pass 'expand-gems' in the pipeline"):
        check(edits=[Edit("without", "expand-gems")])


def test_passes_that_are_put_in_are_told_from_others_of_their_name() -> None:
    edits = [Edit("insert-after", "b#2", "cse"), Edit("without", "c"), Edit("replace", "e", "canonicalize{top-down=0}")]
    passes = "cse,b,cse,b,cse,canonicalize{top-down=0}"
    variant = Variant("open", "nvvm", "0.cutecc", passes=passes, changing=[0, 1, 4])
    assert inserted(variant, edits) == {"cse#3": True, "canonicalize": False}
    # Where no neighbour tells, all of them.
    assert inserted(variant, [Edit("insert-before", "d", "cse")]) == {"cse#1": True, "cse#2": False, "cse#3": True}
    assert inserted(Variant("open", "nvvm", failure="why"), edits) == {}


def test_what_passes_did_is_a_line_for_each() -> None:
    edits = [Edit("insert-after", "b", "cse")]
    variants = [
        Variant("nvidia", "nvvm", "0", passes="b,cse", changing=[1]),
        Variant("open", "nvvm", "1", passes="b,cse", changing=[]),
        Variant("open", "llvm", "2", passes="b,cse", changing=[0]),
        Variant("mine", "llvm", "3", passes="b,cse", changing=[1]),
    ]
    assert effect_lines(variants, edits) == [
        "cse changed nothing in open/nvvm, open/llvm",
        "cse changed the kernel in mine/llvm",
    ]
    assert effect_lines(variants, ()) == []


# What counts as a difference.


class Written:
    """A kernel that writes what it is told to into `y`; `None` is a fault, and an error is that."""

    def __init__(self, values: Any, printed: str = "", cuda: FakeCuda | None = None, microseconds: float = 1.0) -> None:
        signature = Signature("kernel", [Parameter("x", "f32[4]"), Parameter("y", "f32[4]")])
        workload = Workload(outputs=["y"], tolerance=1e-3)
        self.compilation = SimpleNamespace(name="kernel", target="sm_90a", workload=workload)
        self.signature = signature
        self.emulator = self
        self._values = values
        self._printed = printed
        self._cuda = cuda
        self._cost = microseconds

    def emulate(self, args: Any, by_name: dict[str, Any], options: Any) -> Any:
        if self._values is None:
            raise LaunchError("a fault\nwith details")
        if isinstance(self._values, LaunchError):
            raise self._values
        self._write(by_name["y"])
        findings = (
            [SimpleNamespace(kind="race", message="two threads write\nwithout a barrier")] if options.check else []
        )
        return SimpleNamespace(printed=self._printed, findings=findings)

    def _write(self, y: Any) -> None:
        import ctypes

        data = np.asarray(self._values, "f4").tobytes()
        ctypes.memmove(y.data_ptr(), data, len(data))

    def __call__(self, *, x: Any, y: Any, stream: int) -> None:
        assert self._cuda is not None
        self._cuda.array(y.data_ptr(), 16)[:] = np.frombuffer(np.asarray(self._values, "f4").tobytes(), "u1")

    def prepare(self, *, x: Any, y: Any, stream: int) -> Any:
        cuda = self._cuda
        assert cuda is not None
        return lambda: cuda.work("kernel", self._cost)


def planned(names: list[str], expected: str | None) -> PlannedKernel:
    specs = {"x": parse_spec("f32[4]"), "y": parse_spec("f32[4]")}
    arguments = make_arguments(specs, ["y"] if expected else [])
    arguments.randomize(0)
    variants = [Variant(*name.split("/"), bundle=f"{index}.cutecc") for index, name in enumerate(names)]  # pyright: ignore[reportArgumentType]
    return PlannedKernel(
        "kernel", "kernel.py", "sm_90a", variants, [Point({}, 0, inputs_checksum(arguments), expected)]
    )


class Bench:
    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch

    def __call__(
        self,
        kernels: dict[str, Written],
        expected: Any = None,
        device: Any = None,
        settings: Settings = Settings(),
        points: int = 1,
    ) -> Any:
        if expected is not None:
            np.savez(self.folder / "expected.npz", output0=np.asarray(expected, "f8"))
        kernel = planned(list(kernels), None if expected is None else "expected.npz")
        kernel = msgspec.structs.replace(kernel, points=kernel.points * points)
        self._monkeypatch.setattr(running, "load_variant", lambda _, variant: kernels[variant.name])
        return run_kernel(kernel, self.folder, device or HostMemory(), settings)


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    return Bench(tmp_path, monkeypatch)


NUMBERS = [1.0, 2.0, 3.0, 4.0]
NEAR = [1.0, 2.0, 3.0001, 4.0]
FAR = [1.0, 2.0, 3.5, 4.0]


def verdicts(result: Any) -> list[str]:
    return [result.verdict(variant) for variant in result.kernel.variants]


def test_bits_are_compared_through_the_same_code_generator(bench: Bench) -> None:
    kernels = {
        "nvidia/nvvm": Written(NUMBERS),
        "nvidia/llvm": Written(NEAR),
        "open/nvvm": Written(NUMBERS),
        "open/llvm": Written(NEAR),
    }
    result = bench(kernels, NUMBERS)
    assert verdicts(result) == ["reference", "in bounds", "same bits", "same bits"]
    assert result.ok
    assert result.runs[3].alike == "nvidia/llvm"
    assert result.runs[1].error == pytest.approx(1e-4 / (3 + np.sqrt(7.5)), rel=1e-2)


def test_what_is_out_of_bounds_differs(bench: Bench) -> None:
    result = bench({"nvidia/nvvm": Written(NUMBERS), "open/nvvm": Written(FAR)}, NUMBERS)
    assert verdicts(result) == ["reference", "differs"]
    assert not result.ok
    assert result.wrong[0].problems[1] == "the first at y[2]: 3.5, expected 3.0"


def test_without_a_reference_the_first_pipeline_is_one(bench: Bench) -> None:
    kernels = {"nvidia/nvvm": Written(NUMBERS), "open/nvvm": Written(NEAR), "open/llvm": Written(FAR)}
    assert verdicts(bench(kernels)) == ["reference", "in bounds", "differs"]


@pytest.mark.parametrize("expected", [NUMBERS, None])
def test_a_folder_that_sets_no_bar_is_refused(bench: Bench, expected: Any) -> None:
    """Whoever compiled it says what is expected, and how far from that."""
    kernels = {"nvidia/nvvm": Written(FAR), "open/nvvm": Written(NUMBERS)}
    for each in kernels.values():
        each.compilation.workload = Workload(outputs=["y"], tolerance=1e308)
    with pytest.raises(UsageError, match=r"a tolerance of 1e\+308 bounds nothing"):
        bench(kernels, expected)


def test_a_folder_with_another_number_of_results_than_outputs(bench: Bench) -> None:
    kernel = Written(NUMBERS)
    kernel.compilation.workload = Workload(tolerance=1e-3)
    planned_without = make_arguments({"x": parse_spec("f32[4]"), "y": parse_spec("f32[4]")}, [])
    planned_without.randomize(0)
    np.savez(bench.folder / "expected.npz", output0=np.asarray(NUMBERS))
    point = Point({}, 0, inputs_checksum(planned_without), "expected.npz")
    with pytest.raises(RecordError, match=r"expected\.npz holds 1 arrays, and kernel has 0 outputs"):
        running.run_point({"nvidia/nvvm": kernel}, point, bench.folder, HostMemory(), Settings())  # pyright: ignore


def test_what_all_have_wrong_is_alike(bench: Bench) -> None:
    result = bench({"nvidia/nvvm": Written(FAR), "open/nvvm": Written(FAR)}, NUMBERS)
    assert verdicts(result) == ["differs", "differs"]
    assert [run.alike for run in result.wrong] == [None, "nvidia/nvvm"]
    # What both have wrong is told once.
    assert problem_lines(result) == [
        "nvidia/nvvm differs, in 1 of 1 run; seed 0:",
        "  1 of 4 elements of y differs",
        "  the first at y[2]: 3.5, expected 3.0",
        "open/nvvm differs, as nvidia/nvvm, in 1 of 1 run; seed 0",
    ]
    first, _ = wrong_lines(result, result.wrong_alike, None)
    assert first == "nvidia/nvvm, which the others are compared with, is wrong itself, as they are; with seed 0"


def test_a_fault_and_other_text_are_differences(bench: Bench) -> None:
    kernels = {
        "nvidia/nvvm": Written(NUMBERS, "one\ntwo\n"),
        "open/nvvm": Written(None),
        "other/nvvm": Written(NUMBERS, "two\none\n"),
        "more/nvvm": Written(NUMBERS, "two\n"),
    }
    result = bench(kernels, NUMBERS)
    assert verdicts(result) == ["reference", "fails", "same bits", "differs"]
    assert [run.problems for run in result.wrong] == [("a fault",), ("it prints other text than nvidia/nvvm",)]


def test_what_fails_in_every_variant_is_not_compared(bench: Bench) -> None:
    stuck = DeadlockError("deadlock\nwith details", SourceLocation("kernel.py", 3, 5), ["warps wait"], ["a hint"])
    kernels = {"nvidia/nvvm": Written(stuck), "open/nvvm": Written(None)}
    result = bench(kernels, NUMBERS, points=3)
    # At the first of three points: no other would tell more.
    assert [run.verdict for run in result.runs] == ["fails", "fails"]
    run = result.incomparable
    assert (run.variant, run.problems, run.location) == ("nvidia/nvvm", ("deadlock",), "kernel.py:3:5")
    assert (run.notes, run.hints, run.in_kernel) == (("warps wait",), ("a hint",), True)
    assert not result.runs[1].in_kernel
    assert not result.ok


def test_what_fails_in_some_variants_is_a_difference(bench: Bench) -> None:
    for kernels in (
        {"nvidia/nvvm": Written(None), "nvidia/llvm": Written(NUMBERS)},
        {"nvidia/nvvm": Written(NUMBERS), "nvidia/llvm": Written(None)},
    ):
        result = bench(kernels, NUMBERS)
        assert (result.incomparable, result.wrong_alike, result.ok) == (None, None, False)
    # None of them is right, and they can be compared.
    result = bench({"nvidia/nvvm": Written(None), "nvidia/llvm": Written(FAR)}, NUMBERS)
    assert result.incomparable is None
    assert result.wrong_alike.variant == "nvidia/nvvm"


def blames_of(result: Any, bench: Bench) -> list[Any]:
    """What a bisection says that compiles nothing."""
    nothing: Any = None
    return Bisection(nothing, result, bench.folder, Choice(), HostMemory(), Settings(), nothing).blames()


def test_where_nothing_is_right_no_pass_and_no_level_is_searched_for(bench: Bench) -> None:
    names = ("nvidia/nvvm", "nvidia/llvm", "open/nvvm", "open/llvm")
    assert blames_of(bench({name: Written(None) for name in names}, NUMBERS), bench) == []
    others = [FAR, [9.0, 9.0, 9.0, 9.0], [8.0] * 4, [7.0] * 4]
    wrong = bench({name: Written(each) for name, each in zip(names, others, strict=True)}, NUMBERS)
    assert wrong.wrong_alike.variant == "nvidia/nvvm"
    assert blames_of(wrong, bench) == []


def test_what_the_emulator_finds_is_a_difference(bench: Bench) -> None:
    result = bench({"open/nvvm": Written(NUMBERS)}, NUMBERS, settings=Settings(check="races"))
    assert [run.problems for run in result.wrong] == [("race: two threads write",)]


def test_other_inputs_than_those_of_the_plan_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "inputs_checksum", lambda arguments: 1)
    with pytest.raises(RecordError, match="numpy makes other inputs here"):
        Bench(tmp_path, monkeypatch)({"nvidia/nvvm": Written(NUMBERS)})


def test_on_a_gpu_variants_are_timed_in_turn(bench: Bench) -> None:
    cuda = FakeCuda(launch_cost=0.0)
    kernels = {
        "nvidia/nvvm": Written(NUMBERS, cuda=cuda, microseconds=40.0),
        "open/nvvm": Written(NUMBERS, cuda=cuda, microseconds=30.0),
        "open/llvm": Written(FAR, cuda=cuda),
    }
    with Workspace(driver=cuda) as device:
        result = bench(kernels, NUMBERS, device)
    assert verdicts(result) == ["reference", "same bits", "differs"]
    # What is wrong is not timed.
    assert result.microseconds == {"nvidia/nvvm": pytest.approx(40.0), "open/nvvm": pytest.approx(30.0)}


# Memory.

GIB = 1 << 30


@pytest.mark.parametrize(
    ("needs", "outputs", "bytes_an_element"),
    [
        # Two tensors twice, each value as float64 four times, and once as it is.
        (Needs(reference=True), ["y"], 2 * 4 + 2 * 4 + 4 * 2 * 8),
        # Four times two tensors; what four variants write, and the expected values in float64.
        (Needs(variants=4, on_cpu=True), ["y"], 4 * 2 * 4 + 4 * 4 + 8),
        (Needs(variants=4, on_cpu=True), [], 4 * 2 * 4 + 4 * 2 * 4 + 2 * 8),
        (Needs(variants=4), ["y"], 2 * 2 * 4 + 4 * 4 + 8),
        (Needs(), ["y"], 2 * 2 * 4),
    ],
)
def test_more_than_memory_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch, needs: Needs, outputs: list[str], bytes_an_element: int
) -> None:
    specs = {"x": parse_spec("f32[?N=4]"), "y": parse_spec("f32[?N]")}
    needed = bytes_an_element * GIB
    monkeypatch.setattr(capacity, "available_bytes", lambda: needed + GIB)
    check_memory("add", specs, {"N": GIB}, outputs, needs)
    monkeypatch.setattr(capacity, "available_bytes", lambda: needed - 1)
    with pytest.raises(UsageError, match=r"add with N=1073741824: .* cannot hold: it has [0-9,]+ left") as error:
        check_memory("add", specs, {"N": GIB}, outputs, needs)
    assert error.value.hints == ["give smaller sizes"]


def test_a_shape_without_names_is_told_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacity, "available_bytes", lambda: 1 << 20)
    with pytest.raises(UsageError, match=r"^add with x f32\[1000000\], y i8\[4,5\]: "):
        check_memory("add", {"x": parse_spec("f32[1000000]"), "y": parse_spec("i8[4,5]")}, {}, [], Needs())


def test_where_memory_is_too_small_nothing_runs(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    # Enough to make the arguments.
    monkeypatch.setattr(capacity, "available_bytes", lambda: 5000)
    result = bench({"nvidia/nvvm": Written(None)})
    assert result.kernel.failure.startswith("kernel with x f32[4], y f32[4]: ")
    assert result.kernel.failure.endswith("hint: give smaller sizes")
    assert (result.runs, result.ok) == ([], False)


# What it is compared with, and at which sizes.


def test_a_reference_is_asked_in_float64_where_that_makes_sense() -> None:
    specs = {"x": parse_spec("f32[64]"), "y": parse_spec("f32[64]"), "z": parse_spec("i32[64]")}
    arguments = make_arguments(specs, ["y", "z"])
    arguments.randomize(3)

    def ask(reference: Any) -> tuple[list[Any], list[bool]]:
        return expected_of(arguments, Workload(tolerance=1e-5), lambda values: list(reference(**values)))

    def sums(x: Any, y: Any, z: Any) -> Any:
        return np.cumsum(x), np.arange(64)

    found, wide = ask(sums)
    assert (found[0].dtype, wide) == (np.float64, [True, False])

    def bits(x: Any, y: Any, z: Any) -> Any:
        return x.view("i4")[:64].astype("f4"), np.arange(64)

    found, wide = ask(bits)
    assert (found[0].dtype, wide) == (np.float32, [False, False])

    def untouched(x: Any, y: Any, z: Any) -> Any:
        return y, np.arange(64)

    assert ask(untouched)[1] == [False, False]

    def particular(x: Any, y: Any, z: Any) -> Any:
        assert x.dtype == np.float32
        return x, np.arange(64)

    assert ask(particular)[1] == [False, False]


def test_points_are_ragged_and_small_enough() -> None:
    specs = {"a": parse_spec("f32[?M=1000, ?N{div=8}=4096]"), "b": parse_spec("f32[?N{div=8}]")}
    assert ragged_points(specs) == [
        {"M": 1000, "N": 4096},
        {"M": 1, "N": 8},
        {"M": 3, "N": 24},
        {"M": 371, "N": 1520},
        {"M": 1711, "N": 7008},
    ]
    small = ragged_points(specs, 1 << 16)
    assert len(small) == 5
    assert all(4 * point["N"] * (point["M"] + 1) <= 1 << 16 and point["N"] % 8 == 0 for point in small)
    assert ragged_points({"x": parse_spec("f32[16]")}) == [{}]


# What the command ends with.


def report(*named: str) -> Report:
    return Report(quiet=True, named={(file, "sm_80") for file in named})


def test_a_kernel_that_is_left_out_is_wrong_where_it_was_named(capsys: pytest.CaptureFixture[str]) -> None:
    results = [
        KernelResult(PlannedKernel("good", "good.py", "sm_80", [])),
        KernelResult(PlannedKernel("bad", "bad.py", "sm_80", [], note="no reason")),
    ]
    assert report("good.py").end(results, "here") == 0
    assert report("bad.py").end(results, "here") == 1
    assert capsys.readouterr().out.splitlines() == [
        "1 kernel on here: 1 agree; 1 left out",
        "1 kernel on here: 1 agree; 1 left out, and named: bad",
    ]
    assert as_dict(results, {}, "here", ok=report("bad.py").ok(results))["ok"] is False
    assert report().compiled(Plan([each.kernel for each in results]), Path("folder"))
    assert not report("bad.py").compiled(Plan([each.kernel for each in results]), Path("folder"))
    assert "bad for sm_80: left out: no reason" in capsys.readouterr().out


def test_the_status_says_what_could_not_be_compared() -> None:
    def failed(*verdicts: Any) -> KernelResult:
        kernel = PlannedKernel("stuck", "stuck.py", "sm_80", [Variant("nvidia", "nvvm"), Variant("open", "nvvm")])
        names = ("nvidia/nvvm", "open/nvvm")
        return KernelResult(kernel, [Run(name, {}, 0, each) for name, each in zip(names, verdicts, strict=True)])

    every, some = failed("fails", "fails"), failed("reference", "fails")
    assert report().end([every], "here") == 2
    assert report().end([some], "here") == 1
    assert report().end([every, some], "here") == 1
    assert [each["comparable"] for each in as_dict([every, some], {}, "here", ok=False)["kernels"]] == [False, True]


# Plans.


def test_a_plan_is_what_was_written(tmp_path: Path) -> None:
    kernel = planned(["nvidia/nvvm", "open/llvm"], None)
    code = Code(32, 0, 1024, {"move": 3})
    variant = Variant("open", "nvvm", "0.cutecc", code, None, "cse", [0])
    plan = Plan([kernel, PlannedKernel("other", "other.py", "sm_80", [variant], note="no reason")])
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "holds no kernels to run"),
        ("{", "cannot be read"),
        ('{"kernels": [], "version": 2}', "is of another version of cutecc"),
    ],
)
def test_a_damaged_plan_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    if text is not None:
        (tmp_path / "plan.json").write_text(text)
    with pytest.raises(RecordError, match=message):
        read_plan(tmp_path)


def test_a_plan_names_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    variant = Variant("open", "nvvm", "../other.cutecc")
    with pytest.raises(RecordError, match="its plan names a file"):
        run_kernel(PlannedKernel("kernel", "kernel.py", "sm_80", [variant]), tmp_path, HostMemory(), Settings())
