"""What observers put into the record: steps, counts, dumps."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from sample_passes import ADD, Broken, OnFunctions, Rename

from cutecc.compilation.events import PassFinished, PassStarted
from cutecc.compilation.planning import current_versions
from cutecc.errors import PassError
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes import manager
from cutecc.passes.debug_counter import LimitedPass
from cutecc.passes.dumps import STAGE_MARK, DumpChoice, Stage, read_stage
from cutecc.passes.instrumentation import Announcer, SnapshotRecorder, StepRecorder, VerifyEach
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Compilation
from cutecc.record.folder import RecordFolder


def record() -> Compilation:
    return Compilation("twice", "sm_80", "cse", current_versions())


def observe(pipeline: Pipeline, folder: Path, dumps: DumpChoice, **settings) -> Compilation:
    compilation = record()
    output = RecordFolder(folder)
    snapshots = SnapshotRecorder(compilation, dumps=dumps, folder=output, **settings)
    with fresh_context():
        module = parse(ADD)
        try:
            manager.run(pipeline, module, [StepRecorder(compilation), snapshots], offset=settings.get("offset", 0))
        finally:
            snapshots.finish()
            output.close()
    return compilation


def dumps_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.mlir"))


CSE_TWICE = Pipeline((*Pipeline.parse("cse,canonicalize,cse").passes, Rename()))


def stage_of(dump: Path) -> Stage:
    """What the first line of a dump says."""
    stage = read_stage(dump.read_text())
    assert stage is not None
    return stage


def test_a_pass_on_functions_is_one_step_with_one_dump(tmp_path: Path) -> None:
    pipeline = Pipeline((OnFunctions().nested("func.func"), LimitedPass(OnFunctions(), 3), Rename()))
    compilation = observe(pipeline, tmp_path, DumpChoice(after=["test-on-functions"], unchanged=True))
    assert [(step.name, step.pass_text, step.provider, step.changed) for step in compilation.steps] == [
        ("test-on-functions", "func.func(test-on-functions)", "plugin", False),
        ("test-on-functions", "test-on-functions{max-rewrites=3}", "plugin", False),
        ("test-rename", "test-rename", "plugin", True),
    ]
    assert dumps_in(tmp_path) == ["00-traced.mlir", "01-test-on-functions.mlir", "02-test-on-functions.mlir"]


def test_a_step_for_each_pass() -> None:
    compilation, events = record(), []
    with fresh_context():
        manager.run(CSE_TWICE, parse(ADD), [StepRecorder(compilation, events.append), Announcer(events.append)])
    assert [step.name for step in compilation.steps] == ["cse", "canonicalize", "cse", "test-rename"]
    assert [step.index for step in compilation.steps] == [1, 2, 3, 4]
    assert [step.provider for step in compilation.steps] == ["wheel", "wheel", "wheel", "plugin"]
    assert all(step.status == "ok" and step.seconds > 0 and step.changed is None for step in compilation.steps)
    assert [type(event) for event in events] == [PassStarted, PassFinished] * 4
    assert events[-1].step is compilation.steps[-1]


@pytest.mark.parametrize(("how", "verify"), [("exception", False), ("invalid-module", True)])
def test_the_failed_step_is_the_last_and_recorded_once(how, verify) -> None:
    compilation = record()
    pipeline = Pipeline((Rename(), Broken(how), Rename()))
    observers = [*([VerifyEach()] if verify else []), StepRecorder(compilation)]
    with fresh_context(), pytest.raises(PassError):
        manager.run(pipeline, parse(ADD), observers)
    assert [(step.index, step.status) for step in compilation.steps] == [(1, "ok"), (2, "failed")]


def test_a_step_that_a_later_observer_finds_wrong_is_not_recorded_twice() -> None:
    compilation = record()
    with fresh_context(), pytest.raises(PassError):
        manager.run(Pipeline((Broken("invalid-module"),)), parse(ADD), [StepRecorder(compilation), VerifyEach()])
    assert [(step.index, step.status) for step in compilation.steps] == [(1, "failed")]


def test_changes_and_counts(tmp_path: Path) -> None:
    steps = observe(CSE_TWICE, tmp_path, DumpChoice()).steps
    assert [step.changed for step in steps] == [True, False, False, True]
    assert steps[0].operations_before == {"builtin": 1, "func": 2, "arith": 2}
    assert steps[0].operations_after == {"builtin": 1, "func": 2, "arith": 1}
    assert steps[2].operations_before == steps[2].operations_after == steps[0].operations_after
    assert dumps_in(tmp_path) == []


def test_dump_after_all_writes_what_changed(tmp_path: Path) -> None:
    compilation = observe(CSE_TWICE, tmp_path, DumpChoice(after=("all",)))
    assert dumps_in(tmp_path) == ["00-traced.mlir", "01-cse.mlir", "04-test-rename.mlir"]
    assert compilation.traced == "00-traced.mlir"
    assert [step.dump for step in compilation.steps] == ["01-cse.mlir", None, None, "04-test-rename.mlir"]
    assert (tmp_path / "00-traced.mlir").read_text().count("arith.addi") == 2
    assert (tmp_path / "01-cse.mlir").read_text().count("arith.addi") == 1
    assert "@twice_renamed" in (tmp_path / "04-test-rename.mlir").read_text()


def test_unchanged_passes_on_demand(tmp_path: Path) -> None:
    compilation = observe(CSE_TWICE, tmp_path, DumpChoice(after=("all",), unchanged=True))
    assert dumps_in(tmp_path) == [
        *("00-traced.mlir", "01-cse.mlir", "02-canonicalize.mlir", "03-cse.mlir", "04-test-rename.mlir")
    ]
    assert [step.changed for step in compilation.steps] == [True, False, False, True]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (("cse",), ["00-traced.mlir", "01-cse.mlir", "03-cse.mlir"]),
        (("cse#2",), ["00-traced.mlir", "03-cse.mlir"]),
        (("cse#2", "test-rename"), ["00-traced.mlir", "03-cse.mlir", "04-test-rename.mlir"]),
    ],
)
def test_dumps_of_chosen_passes(tmp_path: Path, after, expected) -> None:
    selectors = CSE_TWICE.selectors()
    observe(CSE_TWICE, tmp_path, DumpChoice(after=after, unchanged=True), selectors=selectors)
    assert dumps_in(tmp_path) == expected


def test_dumps_before(tmp_path: Path) -> None:
    compilation = observe(
        CSE_TWICE, tmp_path, DumpChoice(before=("cse#1", "test-rename")), selectors=CSE_TWICE.selectors()
    )
    assert dumps_in(tmp_path) == ["00-traced.mlir", "01-cse.before.mlir", "04-test-rename.before.mlir"]
    assert [step.dump_before for step in compilation.steps] == [
        "01-cse.before.mlir",
        None,
        None,
        "04-test-rename.before.mlir",
    ]
    assert (tmp_path / "01-cse.before.mlir").read_text().count("arith.addi") == 2
    assert "@twice(" in (tmp_path / "04-test-rename.before.mlir").read_text()


def test_a_pass_that_is_dumped_and_then_fails_keeps_the_dumps(tmp_path: Path) -> None:
    pipeline = Pipeline((Rename(), Broken()))
    with pytest.raises(PassError):
        observe(pipeline, tmp_path, DumpChoice(after=("all",), before=("all",)))
    assert dumps_in(tmp_path) == [
        *("00-traced.mlir", "01-test-rename.before.mlir", "01-test-rename.mlir", "02-test-broken.before.mlir")
    ]


def test_numbers_have_as_many_digits_as_the_last(tmp_path: Path) -> None:
    observe(CSE_TWICE, tmp_path, DumpChoice(after=("all",)), offset=97)
    assert dumps_in(tmp_path) == ["097-input.mlir", "098-cse.mlir", "101-test-rename.mlir"]


def test_the_first_line_says_how_to_go_on(tmp_path: Path) -> None:
    stage = Stage("sm_90a", "twice", "x,y", after="symbol-dce", options={"opt-level": 2})
    observe(
        CSE_TWICE,
        tmp_path,
        DumpChoice(after=("all",), before=("test-rename",)),
        selectors=CSE_TWICE.selectors(),
        stage=stage,
    )
    after = {name: stage_of(tmp_path / name).after for name in dumps_in(tmp_path)}
    assert after == {
        "00-traced.mlir": "symbol-dce",
        "01-cse.mlir": "cse#1",
        "04-test-rename.before.mlir": "cse#2",
        "04-test-rename.mlir": "test-rename",
    }
    assert stage_of(tmp_path / "01-cse.mlir") == replace(stage, after="cse#1")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "module {}",
        STAGE_MARK,
        f"{STAGE_MARK}[1]",
        f"{STAGE_MARK}{{",
        f"\n{STAGE_MARK}{{}}",
        STAGE_MARK + "[" * 100_000,
    ],
)
def test_other_first_lines_say_nothing(text: str) -> None:
    assert read_stage(text) is None
