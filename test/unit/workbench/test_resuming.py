"""Going on from a stage of a record: what runs, what counts as an edit, what the new record says, what is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock

from cutecc.compilation.request import Edit
from cutecc.errors import Error, ParseError, RecordError, UsageError
from cutecc.kernel import Kernel
from cutecc.record import Resumed, manifest
from cutecc.record.folder import MANIFEST, is_being_written, read_folder
from cutecc.record.stages import stages_of
from cutecc.report.stage_text import choose, positions
from cutecc.workbench.edited_stage import EditedStage, RecordedStage, read
from cutecc.workbench.resuming import EVERYTHING, prepare, resume

CSE = "14-cse.mlir"
BEHIND_HOST_FORM = "34-convert-scf-to-cf.mlir"
KERNEL = Path("test/kernels/scalar_args.py")

OF_MINE = """
from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.passes import ModulePass


@cutecc.register
@dataclass(frozen=True)
class OfMine(ModulePass):
    name: ClassVar[str] = "of-mine"
    word: str = ""

    def run(self, module):
        pass
"""


@pytest.fixture(scope="module")
def made(cutecc_in, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The record of a small kernel with all dumps, which no test changes."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copy(Path(__file__).parents[3] / KERNEL, folder)
    cutecc_in(folder, "compile", KERNEL.name, "--dump-after=all", "-o", "record", "-q")
    return folder / "record"


@pytest.fixture
def record(made: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(made, tmp_path / "record"))


def edit(file: Path, *changes: tuple[str, str]) -> None:
    text = file.read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    file.write_text(text)


def changed(folder: Path, **values: object) -> None:
    """Have the manifest say something else."""
    body = json.loads((folder / MANIFEST).read_bytes())
    (folder / MANIFEST).write_text(json.dumps(body | values))


# What runs.


@pytest.mark.slow
@pytest.mark.parametrize("after", ["traced", "software-pipeline", "cse#2"])
def test_without_an_edit_the_code_is_the_same(made: Path, tmp_path: Path, after: str) -> None:
    old = read_folder(made)
    new = resume(made, after, tmp_path / "new").compilation
    for kind in ("ptx", "cubin", "host-program"):
        assert new.artifact(kind) == old.artifact(kind)
    assert (new.resources, new.signature, new.workload) == (old.resources, old.signature, old.workload)
    assert new.resumed is not None
    assert (new.resumed.edited, new.warnings, new.status) == (False, [], "ok")
    # Also where operations come from, which the dump does not say.
    before, afterwards = stages_of(old), stages_of(read_folder(tmp_path / "new"))
    for index in afterwards.indices[:-4]:
        stage, again = before.after(index), afterwards.after(index)
        assert again.text == stage.text
        assert [afterwards.places[each] if each >= 0 else None for each in again.places] == [
            before.places[each] if each >= 0 else None for each in stage.places
        ]


def test_an_edit_is_in_the_code_and_the_record_says_so(record: Path, tmp_path: Path) -> None:
    edit(record / CSE, ("arith.negf %21 : f32", "arith.mulf %21, %21 : f32"))
    kernel = resume(record, "14", tmp_path / "new")
    assert "neg.f32" in (read_folder(record).artifact("ptx") or b"").decode()
    assert "neg.f32" not in kernel.ptx
    resumed = Resumed(str(record), "cse#1", CSE, edited=True, lines_removed=1, lines_added=1)
    stored = read_folder(tmp_path / "new")
    assert stored.resumed == kernel.compilation.resumed == resumed
    assert str(resumed) == f"resumed from {record} after cse#1, edited by hand (-1 +1 lines)"
    assert stored.steps[0].index == 15
    assert stored.whole_pipeline == read_folder(record).pipeline
    assert stored.pipeline == ",".join(step.pass_text for step in stored.steps)
    assert isinstance(kernel, Kernel)
    assert kernel.host_program is not None


def test_what_is_not_edited_comes_from_the_same_line_of_python(record: Path, tmp_path: Path) -> None:
    edit(record / CSE, ("arith.negf %21 : f32", "arith.mulf %21, %21 : f32"))
    request = prepare(record, "cse#1", tmp_path / "new").request
    assert request.lines is not None
    assert sorted(Path(file).name for file in request.lines.sources) == [CSE, KERNEL.name]
    resume(record, "cse#1", tmp_path / "new", options=replace(EVERYTHING, stop_after="nvgpu-optimization"))
    stages = stages_of(read_folder(tmp_path / "new"))
    stage = stages.after(14)
    lines = stage.text.splitlines()
    places = {line.strip(): stages.places[place] for line, place in zip(lines, stage.places, strict=True) if place >= 0}
    (added,) = (place for line, place in places.items() if "arith.addf %15" in line)
    assert (Path(added[-1].file).name, added[-1].line, added[-1].column) == (KERNEL.name, 49, 17)
    (own,) = (place for line, place in places.items() if "arith.mulf %21, %21" in line)
    number = 1 + (record / CSE).read_text().splitlines().index("        %22 = arith.mulf %21, %21 : f32")
    assert own == ((str(record / CSE), number, 15),)


@pytest.mark.slow
def test_a_stopped_run_goes_on_to_the_end(made: Path, tmp_path: Path) -> None:
    options = replace(EVERYTHING, stop_after="nvgpu-optimization")
    stopped = resume(made, "cse#1", tmp_path / "stopped", options=options).compilation
    assert (stopped.status, len(stopped.steps)) == ("stopped", 2)
    whole = resume(tmp_path / "stopped", "nvgpu-optimization", tmp_path / "whole")
    assert whole.ptx.encode() == read_folder(made).artifact("ptx")
    assert whole.compilation.steps[0].index == 17


@pytest.mark.slow
def test_passes_have_the_names_of_the_whole_pipeline(made: Path, tmp_path: Path) -> None:
    resume(made, "cse#1", tmp_path / "first", options=replace(EVERYTHING, stop_after="cse#2"))
    shutil.move(tmp_path / "first", tmp_path / "moved")
    moved = read_folder(tmp_path / "moved")
    stages = stages_of(moved)
    names = [each.name for each in positions(moved, stages)]
    assert (names[0], names[1], names[-1]) == ("input", "eliminate-unnecessary-sync", "cse#2")
    assert choose(moved, stages, "cse#1").index == choose(moved, stages, "input").index == 14
    assert choose(moved, stages, "cse").name == "cse#2"
    again = resume(tmp_path / "moved", "cse#1", options=replace(EVERYTHING, stop_after="arith-expand")).compilation
    assert again.resumed is not None
    assert (again.resumed.after, again.resumed.dump) == ("cse#1", "14-input.mlir")
    assert (tmp_path / "moved-from-cse-1" / MANIFEST).exists()


@pytest.mark.slow
def test_the_pipeline_can_be_edited(made: Path, tmp_path: Path) -> None:
    edits = (Edit("without", "cse#2"), Edit("insert-after", "canonicalize#2", "cse"))
    new = resume(made, "cse#1", tmp_path / "new", options=replace(EVERYTHING, edits=edits)).compilation
    names = [step.name for step in new.steps]
    assert names[names.index("canonicalize") + 1] == "cse"
    assert names.count("cse") == 1
    with pytest.raises(UsageError, match="the edits take away cse#1, after which the input was made"):
        resume(made, "cse#1", tmp_path / "none", options=replace(EVERYTHING, edits=(Edit("without", "cse#1"),)))
    assert not (tmp_path / "none").exists()
    with pytest.raises(UsageError, match="nothing to run between cuda-error-handling and the end of the pipeline"):
        resume(made, "last", tmp_path / "none")


def test_settings_are_those_of_the_record(made: Path, record: Path, tmp_path: Path) -> None:
    changed(record, options={"preserve-line-info": True, "opt-level": 2, "fast-math": "yes", "backend": "nvvm"})
    options = prepare(record, "cse#1").request.options
    assert (options.wheel.opt_level, options.wheel.fast_math, options.backend) == (2, False, "nvvm")
    assert options.line_info
    assert options.dumps.locations
    assert options.start_after == "cse#1"
    # A report is of what the record's pipeline does, which has no source lines in the code.
    options = prepare(made, "cse#1", options=replace(EVERYTHING, report=True)).request.options
    assert (options.report, options.line_info, options.analyses) == (False, False, ("all",))
    assert options.keeps_stages


# What is launched.


def behind_host_form(record: Path, *changes: tuple[str, str], after: str = "convert-scf-to-cf") -> object:
    edit(record / BEHIND_HOST_FORM, *changes)
    return prepare(record, after).request.host


def test_the_old_host_program_holds_while_its_part_is_not_edited(record: Path) -> None:
    old = read_folder(record).host_program
    assert behind_host_form(record) == old
    assert behind_host_form(record, ("arith.negf %21 : f32", "arith.mulf %21, %21 : f32")) == old
    # Before that form it is made anew.
    assert prepare(record, "cse#1").request.host is None


def test_where_its_part_was_edited_there_is_none(record: Path) -> None:
    host = behind_host_form(record, ("arith.divsi %0, %c128_i32", "arith.divui %0, %c128_i32"))
    message = getattr(host, "message", "")
    assert message.startswith("cutecc cannot launch this kernel: the host part of the module was edited")
    assert "resume from before core-to-llvm-prepare" in message


def test_a_kernel_that_takes_something_else_than_it_is_launched_with_is_a_wrong_edit(record: Path) -> None:
    changes = ("%arg7: i1)", "%arg7: i8)"), ("arith.select %arg7, %22, %21", "arith.addf %22, %21")
    with pytest.raises(ParseError, match="callee must have the same type of inputs as the kernel"):
        behind_host_form(record, *changes)


def test_a_record_without_a_host_program_gives_none(record: Path) -> None:
    body = json.loads((record / MANIFEST).read_bytes())
    changed(record, artifacts=[each for each in body["artifacts"] if each["kind"] != "host-program"])
    host = prepare(record, "cse#2").request.host
    assert "has no host program" in getattr(host, "message", "")
    changed(record, artifacts=body["artifacts"])
    (record / "scalar_args.host.json").unlink()
    assert "lacks its file" in getattr(prepare(record, "cse#2").request.host, "message", "")


def test_where_the_arguments_were_edited_the_signature_does_not_hold(record: Path) -> None:
    text = (record / BEHIND_HOST_FORM).read_text()
    head = next(line for line in text.splitlines() if "func.func @cutlass_scalar_args" in line)
    edit(record / BEHIND_HOST_FORM, (head, head.replace("%arg0:", "%unused: i64, %arg0:", 1)))
    request = prepare(record, "convert-scf-to-cf").request
    assert request.signature is None
    assert "what the host function takes was edited" in request.warnings[0].message


# What counts as an edit.

MODULE = """\
module {
  func.func @f(%arg0: i32) -> i32 {
    %c1_i32 = arith.constant 1 : i32
    %0 = arith.addi %arg0, %c1_i32 : i32
    return %0 : i32
  }
}
"""


def look_at(text: str | bytes) -> EditedStage:
    data = text.encode() if isinstance(text, str) else text
    return read(data, "dump.mlir", RecordedStage(MODULE, [None] * MODULE.count("\n")))


@pytest.mark.parametrize(
    "text",
    [
        MODULE,
        f'// cutecc-stage: {{"target":"sm_80"}}\n{MODULE}',
        MODULE.replace("%c1_i32", "%one").replace("%arg0", "%x"),
        MODULE.replace("    %0", "\n  // the sum\n\n\t%0").replace("\n", "\r\n"),
        MODULE.replace(" : i32\n    return", ' : i32 loc("a.py":1:2)\n    return'),
    ],
)
def test_white_space_comments_names_and_locations_are_no_edit(text: str) -> None:
    found = look_at(text)
    assert (found.removed, found.added) == (0, 0)
    assert not (found.host_edited or found.arguments_edited)


def test_everything_else_is_one() -> None:
    found = look_at(MODULE.replace("arith.addi", "arith.muli"))
    assert (found.removed, found.added, found.has_own_lines) == (1, 1, True)
    assert (found.host_edited, found.arguments_edited) == (True, False)
    found = look_at(MODULE.replace("%arg0: i32)", "%arg0: i32, %arg1: i64)"))
    assert (found.host_edited, found.arguments_edited) == (True, True)


def test_bytecode_in_the_place_of_text_is_read_too() -> None:
    from cutecc.ir.modules import fresh_context, parse, to_bytecode

    with fresh_context():
        data = to_bytecode(parse(MODULE.encode()))
    assert look_at(data).removed == 0


# Which dump.


def test_a_pass_that_changed_nothing_goes_on_from_the_dump_before_it(made: Path) -> None:
    resumption = prepare(made, "cute-remove-static-args")
    assert resumption.notes == [
        f"cute-remove-static-args changed nothing: going on from the dump after traced, {made}/00-traced.mlir",
        f"{made}/00-traced.mlir is as the record has it: nothing was edited",
    ]
    assert resumption.request.options.start_after == "cute-remove-static-args"
    assert resumption.request.resumed == Resumed(str(made), "cute-remove-static-args", "00-traced.mlir", edited=False)
    assert resumption.output == made.with_name("record-from-cute-remove-static-args")


def test_where_there_is_no_dump_it_says_which_there_are_and_one_can_be_made(record: Path, cutecc_in) -> None:
    for name in (CSE, "16-nvgpu-optimization.mlir"):
        (record / name).unlink()
    with pytest.raises(UsageError, match="has no dump of the module after eliminate-unnecessary-sync") as caught:
        prepare(record, "eliminate-unnecessary-sync")
    (note,) = caught.value.notes
    assert note.startswith("it has those after traced, cute-desugar, ")
    assert "cse#1" not in note
    (hint,) = caught.value.hints
    assert hint == f"make one, and edit that: cutecc show {record} --after cse#1 --no-fold > {record}/{CSE}"
    shown = cutecc_in(record.parent, "show", "record", "--after", "cse#1", "--no-fold").stdout
    (record / CSE).write_text(shown)
    assert not prepare(record, "eliminate-unnecessary-sync").notes[-1].startswith("differs")


def test_a_name_in_the_manifest_leads_nowhere_else(record: Path) -> None:
    body = json.loads((record / MANIFEST).read_bytes())
    secret = record.parent / "secret.mlir"
    secret.write_text("module {}")
    for step in body["steps"]:
        step["dump"] = "../secret.mlir" if step["index"] == 14 else step["dump"]
    changed(record, steps=body["steps"])
    # The file of the usual name is there all the same.
    assert prepare(record, "cse#1").notes == [f"{record}/{CSE} is as the record has it: nothing was edited"]


# What is refused.


def test_a_wrong_edit_is_an_error_at_its_line(record: Path) -> None:
    edit(record / CSE, ("arith.negf %21", "arith.negf %nothing"))
    with pytest.raises(ParseError, match="use of undeclared SSA value name") as caught:
        prepare(record, "cse#1")
    assert caught.value.location is not None
    number = 1 + next(index for index, line in enumerate((record / CSE).read_text().splitlines()) if "%nothing" in line)
    assert (caught.value.location.file, caught.value.location.line) == (str(record / CSE), number)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "neither MLIR bytecode nor UTF-8 text"),
        (b"module {", "expected|custom op"),
        (b"", "0 lines|differs|"),
    ],
)
def test_a_file_that_is_no_module(record: Path, content: bytes, message: str) -> None:
    (record / CSE).write_bytes(content)
    if not content:
        # An empty module is one.
        assert "differs from the record" in prepare(record, "cse#1").notes[0]
        return
    with pytest.raises(ParseError, match=message):
        prepare(record, "cse#1")


def test_a_module_that_aborts_the_bindings_is_an_error(record: Path) -> None:
    shutil.copy(Path(__file__).parents[2] / "inputs" / "aborts-while-parsing.mlir", record / CSE)
    with pytest.raises(ParseError, match="reading the module aborted: "):
        prepare(record, "cse#1")


@pytest.mark.parametrize(
    ("spoil", "kind", "message"),
    [
        (lambda folder: (folder / MANIFEST).write_text("{"), RecordError, "manifest.json is not JSON"),
        (lambda folder: changed(folder, resumed={"record": 3}), RecordError, "manifest.json is damaged"),
        (lambda folder: changed(folder, version="2.0"), RecordError, "reads versions up to 1.x"),
        (lambda folder: (folder / MANIFEST).unlink(), RecordError, "no record in"),
        (lambda folder: (folder / "scalar_args.stages").unlink(), RecordError, "lacks its file scalar_args.stages"),
        (
            lambda folder: (folder / "scalar_args.stages").write_bytes(b"x"),
            RecordError,
            "stages are of another version",
        ),
        (lambda folder: (folder / "scalar_args.stages").write_bytes(b"cutecc stages 1\n"), RecordError, "no module"),
        (lambda folder: changed(folder, options={"ptxas": "/bin/sh"}), UsageError, "a record does not choose what is"),
        (lambda folder: changed(folder, options={"link-libraries": "a.bc"}), UsageError, "does not choose what is rea"),
        (lambda folder: changed(folder, pipeline="no(", whole_pipeline=None), UsageError, r"'no\(': '\)' is missing"),
        (lambda folder: changed(folder, pipeline="cse", whole_pipeline=None), RecordError, "an earlier cutecc made it"),
        (
            lambda folder: changed(folder, pipeline="x{dump-ptx-path=/tmp/x}", whole_pipeline=None),
            UsageError,
            "names a path",
        ),
    ],
)
def test_a_record_that_cannot_be_gone_on_from(
    record: Path, spoil: Callable[[Path], object], kind: type[Error], message: str
) -> None:
    spoil(record)
    with pytest.raises(kind, match=message):
        prepare(record, "cse#1")


def test_a_pass_of_a_file_has_to_be_loaded(record: Path) -> None:
    body = json.loads((record / MANIFEST).read_bytes())
    pipeline = body["pipeline"].replace("nvgpu-optimization", "of-mine")
    for step in body["steps"]:
        if step["name"] == "nvgpu-optimization":
            step |= {"name": "of-mine", "pass_text": "of-mine", "provider": "plugin"}
    changed(record, steps=body["steps"], pipeline=pipeline)
    with pytest.raises(UsageError, match="has the pass of-mine of a file or another package") as caught:
        prepare(record, "cse#1")
    assert caught.value.hints == ["name the file that registers it: --load FILE.py"]
    # What has run already need not be known.
    prepare(record, "arith-expand")


@pytest.mark.slow
def test_a_pass_of_a_file_that_does_not_run_again_need_not_be_loaded(record: Path, cutecc_in) -> None:
    folder = record.parent
    (folder / "mine.py").write_text(OF_MINE)
    shutil.copy(Path(__file__).parents[3] / KERNEL, folder)
    loading = ("--load=mine.py", "--insert-after=canonicalize#1=of-mine{word=kept}")
    cutecc_in(folder, "compile", KERNEL.name, *loading, "--dump-after=all", "-o", "marked", "-q")
    # It is behind the stage, edited away, or after the end.
    for after, *others in (
        ("cse#1",),
        ("cse#1", "--backend=llvm"),
        ("canonicalize#1", "--without=of-mine"),
        ("traced", "--stop-after=canonicalize#1"),
    ):
        cutecc_in(folder, "resume", "marked", f"--from={after}", *others, "-o", "again", "-q")
        done = read_folder(folder / "again")
        assert "of-mine" not in [step.name for step in done.steps]
    whole = read_folder(folder / "again").whole_pipeline
    assert whole is not None and "of-mine{word=kept}" in whole
    cutecc_in(folder, "compile", "marked/15-cse.mlir", "-o", "again", "-q")
    refused = cutecc_in(folder, "resume", "marked", "--from=traced", "-o", "again", "-q", status=2).stderr
    assert "has the pass of-mine of a file or another package" in refused


def test_a_record_that_is_being_written_is_left_alone(record: Path) -> None:
    changed(record, status="running")
    assert not is_being_written(record)
    prepare(record, "cse#1")
    with FileLock(record / ".cutecc-lock"):
        assert is_being_written(record)
        with pytest.raises(UsageError, match="another cutecc is writing to"):
            prepare(record, "cse#1")
    assert not is_being_written(record.parent)


@pytest.mark.slow
def test_the_old_record_and_what_is_no_record_stay(
    record: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {each.name: each.read_bytes() for each in record.iterdir()}
    (tmp_path / "link").symlink_to(record)
    for output in (record, tmp_path / "link", record / ".." / "record"):
        with pytest.raises(UsageError, match="is that of the record to go on from"):
            resume(record, "cse#1", output)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("")
    with pytest.raises(UsageError, match="holds files that are not cutecc's"):
        resume(record, "cse#1", tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot create the output folder"):
        resume(record, "cse#1", tmp_path / "file" / "new")
    monkeypatch.chdir(record)
    assert prepare(".", "cse#1").output == tmp_path / "record-from-cse-1"
    assert {each.name: each.read_bytes() for each in record.iterdir()} == before


def test_of_one_of_several_targets_the_default_folder_is_beside_them_all(made: Path, tmp_path: Path) -> None:
    shutil.copytree(made, tmp_path / "out" / "sm_80")
    assert prepare(tmp_path / "out" / "sm_80", "cse#1").output == tmp_path / "out-sm_80-from-cse-1"


def test_what_the_manifest_says_can_be_read_by_others(record: Path, tmp_path: Path) -> None:
    new = resume(record, "cse#1", tmp_path / "new", options=replace(EVERYTHING, stop_after="nvgpu-optimization"))
    body = json.loads((tmp_path / "new" / MANIFEST).read_bytes())
    assert body["resumed"]["after"] == "cse#1"
    assert manifest.decode(json.dumps(body).encode()).resumed == new.compilation.resumed
    # One of before knows nothing of it.
    del body["resumed"], body["whole_pipeline"]
    assert manifest.decode(json.dumps(body | {"version": "1.3"}).encode()).resumed is None


# The command.


@pytest.mark.slow
def test_the_command_prints_the_folder_and_its_notes(record: Path, cutecc_in) -> None:
    edit(record / CSE, ("arith.negf %21 : f32", "arith.mulf %21, %21 : f32"))
    done = cutecc_in(record.parent, "resume", "record", "--from", "cse#1")
    assert done.stdout == "record-from-cse-1\n"
    assert done.stderr == "note: record/14-cse.mlir differs from the record: -1 +1 lines\n"
    shown = cutecc_in(record.parent, "show", "record-from-cse-1").stdout.splitlines()
    assert shown[0] == "resumed from record after cse#1, edited by hand (-1 +1 lines)"
    assert shown[1].split() == ["14", "input", "81", "lines"]
    # It can be launched, and its report says what it is.
    assert (
        "ran; nothing was compared"
        in cutecc_in(record.parent, "run", "record-from-cse-1", "--device", "cpu", "--size", "N=33").stdout
    )
    cutecc_in(record.parent, "report", "record-from-cse-1", "-o", "page.html")
    assert "<li>resumed from record after cse#1, edited by hand" in (record.parent / "page.html").read_text()


@pytest.mark.slow
def test_the_command_takes_the_options_of_a_compilation(record: Path, cutecc_in) -> None:
    arguments = ["--from", "cse#1", "-o", "new", "--stop-after", "arith-expand", "--without", "nvgpu-optimization"]
    done = cutecc_in(record.parent, "resume", "record", *arguments, "--json", "-q", "--dump-after", "arith-expand")
    body = json.loads(done.stdout)
    assert (body["status"], body["resumed"]["edited"], done.stderr) == ("stopped", False, "")
    assert [step["dump"] for step in body["steps"] if step["dump"]] == ["18-arith-expand.mlir"]
    done = cutecc_in(record.parent, "resume", "record", "--from", "cse#1", "-o", "new", "--report", "new.html", "-v")
    assert "wrote new.html: a report" in done.stdout
    refused = cutecc_in(
        record.parent, "resume", "record", "--from", "cse#1", "--report", "record/14-cse.mlir", status=2
    )
    assert "error: cannot write the report record/14-cse.mlir" in refused.stderr


@pytest.mark.slow
def test_what_the_command_refuses(record: Path, cutecc_in) -> None:
    def says(*arguments: object) -> str:
        return cutecc_in(record.parent, "resume", *arguments, status=2).stderr

    assert "Missing option '--from'" in says("record")
    assert "error: cse ran 2 times: cse#1 (14), cse#2 (40)" in says("record", "--from", "cse")
    assert "there is no folder and no bundle nothing" in says("nothing", "--from", "1")
    assert "holds no record for sm_90a; it has sm_80" in says("record", "--from", "1", "--target", "sm_90a")
    shutil.copy(Path(__file__).parents[3] / KERNEL, record.parent)
    assert "is not a bundle of cutecc" in says(KERNEL.name, "--from", "1")
    done = cutecc_in(record.parent, "resume", "record", "--from", "cse#1", "-o", "/dev/full/x", status=2)
    assert "cannot create the output folder /dev/full/x" in done.stderr
