"""`cutecc repro`, and what is saved of failures: passes that fail or abort, and mistakes of cutecc's own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from cutecc import compile_module
from cutecc.compilation.request import CompileOptions, Edit
from cutecc.compilation.versions import current_versions
from cutecc.errors import InternalError, RecordError
from cutecc.ir.version import installed_version, installed_wheel
from cutecc.passes.manager import Observer
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.pipeline import Pipeline
from cutecc.record import Versions
from cutecc.record.folder import read_folder
from cutecc.record.reproducer import MARK, OPTIONS, Reproducer, read_reproducer
from cutecc.workbench.reproduction import reproduce, subject_of

MODULE = "func.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  return %0 : i32\n}\n"
PASSES = '''
import os
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes import ModulePass, error, register, walk


@register
@dataclass(frozen=True)
class Refuse(ModulePass):
    """Refuse sums."""

    name: ClassVar[str] = "test-refuse"

    def run(self, module: ir.Module) -> None:
        for op in walk(module, "arith.addi"):
            raise error(op, "a sum of 2 operands")


@register
@dataclass(frozen=True)
class Die(ModulePass):
    """End the process."""

    name: ClassVar[str] = "test-die"

    def run(self, module: ir.Module) -> None:
        for op in walk(module, "arith.addi"):
            os.abort()
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "passes.py").write_text(PASSES)
    (tmp_path / "f.mlir").write_text(MODULE)
    return tmp_path


def saved(done) -> str:
    """The reproducer that a command names."""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("reproducer: ")]
    return line.removeprefix("reproducer: ")


LOAD = "--load=passes.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "message"),
    [("test-refuse", "still happens: a sum of 2 operands"), ("test-die", "still happens: pass test-die aborted")],
)
def test_a_failing_pass_is_saved_and_still_happens(cutecc, folder: Path, name: str, message: str) -> None:
    file = saved(cutecc("compile", "f.mlir", "--target=sm_80", f"--pipeline=cse,{name}", LOAD, "-o", "out", status=1))
    assert file.startswith("out/reproducer-02-")
    assert cutecc("repro", file, LOAD).stdout.splitlines() == [message]
    # Of a smaller module that fails for the same reason, too, though its numbers are others.
    text = (folder / file).read_text().replace("2 operands", "3 operands")
    (folder / "other.mlir").write_text(text)
    assert cutecc("repro", "other.mlir", LOAD).stdout.splitlines() == [message]
    header = read_reproducer(text)
    assert "passes.py" not in text
    assert (header.subcommand, header.options["pipeline"]) == ("opt", name)


@pytest.mark.slow
def test_what_happens_no_more_or_otherwise(cutecc, folder: Path) -> None:
    file = saved(cutecc("compile", "f.mlir", "--target=sm_80", "--pipeline=test-refuse", LOAD, "-o", "out", status=1))
    text = (folder / file).read_text()
    (folder / "mended.mlir").write_text(text.replace("arith.addi", "arith.muli"))
    done = cutecc("repro", "mended.mlir", LOAD, status=1)
    assert done.stdout.splitlines() == [
        "happens no more: nothing fails",
        "before: pass test-refuse: a sum of 2 operands",
    ]
    (folder / "passes.py").write_text(PASSES.replace("a sum of", "too much:"))
    other = cutecc("repro", file, LOAD, "--json", status=1)
    found = json.loads(other.stdout)
    assert (found["ok"], found["result"], found["found"]) == (False, "fails otherwise", "too much: 2 operands")
    assert found["expected"] == {"how": "failed", "pass": "test-refuse", "message": "a sum of 2 operands"}
    assert found["command"] == ["opt", {"pipeline": "test-refuse"}]


def test_other_versions_are_named(cutecc, folder: Path) -> None:
    versions = Versions("0.0.1", "3.9.0", "4.0.0", "x")
    header = Reproducer("opt", {"pipeline": "cse"}, "failed", "cse", "no", versions).header("x.mlir")
    (folder / "x.mlir").write_text(header + MODULE)
    lines = cutecc("repro", "x.mlir", status=1).stdout.splitlines()
    assert lines[:2] == ["happens no more: nothing fails", "before: pass cse: no"]
    assert re.fullmatch(r"cutecc was 0\.0\.1 then, and is .* here", lines[2])
    assert [line.split()[0] for line in lines[2:]] == ["cutecc", "nvidia-cutlass-dsl", "python"]
    assert re.fullmatch(r"nvidia-cutlass-dsl was 4\.0\.0 then, and is [\d.]+ here", lines[3])


def test_another_flavour_is_named(cutecc, folder: Path) -> None:
    versions = replace(current_versions(), flavour="cu11")
    header = Reproducer("opt", {"pipeline": "cse"}, "failed", "cse", "no", versions).header("x.mlir")
    (folder / "x.mlir").write_text(header + MODULE)
    lines = cutecc("repro", "x.mlir", status=1).stdout.splitlines()
    wheel = installed_version()
    assert lines[2:] == [f"nvidia-cutlass-dsl was {wheel} cu11 then, and is {installed_wheel()} here"]


def header(**changes: object) -> str:
    plain = Reproducer("opt", {"pipeline": "cse"}, "failed", "cse", "no", Versions("0", "3", "4", "x")).header("x")
    return MARK + json.dumps({**json.loads(plain.partition("\n")[0].removeprefix(MARK)), **changes}) + "\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        (MODULE, "this file has no reproducer header"),
        (
            header(options={"pipeline": "cse", "load": "/tmp/evil.py"}),
            "has the option 'load', which a reproducer may not",
        ),
        (header(options={"ptxas": "/tmp/evil"}), "has the option 'ptxas'"),
        (header(options={"check": "rm -rf ."}), "has the option 'check'"),
        (header(options={"output": "/tmp/x"}), "has the option 'output'"),
        (header(options={"link-libraries": "/tmp/x.bc"}), "has the option 'link-libraries'"),
        (header(subcommand="bench"), "header is damaged"),
        (header(subcommand="compile", options={"ptxas-options": "-v"}), "has the option 'ptxas-options'"),
        (header(subcommand="compile", options={}), "its pipeline or target is no text"),
        (header(options={"pipeline": True}), "its pipeline or target is no text"),
        (header(options={"pipeline": "cse", "target": 3}), "its pipeline or target is no text"),
        (header(options={"pipeline": "cse", "target": "../x"}), "'../x'"),
        (header(options={"pipeline": "cse", "backend": "sh"}), "names the backend 'sh'"),
        (header(subcommand="compile", options={"pipeline": "cse", "opt-level": 9}), "the optimisation level 9"),
        (header(options={"pipeline": "pipeline.txt"}), "no pass is called 'pipeline.txt'"),
        (header(options={"pipeline": "cuda-to-binary{dump-ptx-path=/tmp/x}"}), "names a path"),
        # A pipeline inside an option of a pass is parsed by the wheel alone.
        (
            header(options={"pipeline": "composite-fixed-point-pass{name=x pipeline=cuda-to-binary{ptx-options=-v}}"}),
            "option 'ptx-options' names a path or a tool's options",
        ),
        (
            header(options={"pipeline": "inline{default-pipeline=cuda-to-binary{nvvm-options=-v}}"}),
            "option 'nvvm-options' names a path or a tool's options",
        ),
        (
            header(options={"pipeline": "nvvm-attach-target{ptxas-cmd-options=-v}"}),
            "option 'ptxas-cmd-options' names a path or a tool's options",
        ),
        (header(options={"pipeline": "cse", "verify-each": "yes"}), "whether it verifies is no truth value"),
        (MARK + "[]\n", "header is damaged: it is no object"),
        (MARK + "[" * 5000 + "\n", "header is damaged: it is nested too deeply"),
        (header(options={"pipeline": "test-refuse"}), "no pass is called 'test-refuse'"),
        (header(version="9.0"), "has version 9.0"),
    ],
)
def test_what_a_header_may_not_say(cutecc, folder: Path, text: str, message: str) -> None:
    # A pipeline file would be read if the header's word were taken for the user's.
    (folder / "pipeline.txt").write_text("canonicalize")
    (folder / "x.mlir").write_text(text + MODULE)
    done = cutecc("repro", "x.mlir", status=2)
    assert message in done.stderr
    assert done.stderr.count("error: ") == 1
    assert done.stdout == ""


@pytest.mark.parametrize("says", ['link = ["/tmp/x.bc"]', 'flags = {"ptxas-cmd-options" = "--options-file=x"}'])
@pytest.mark.parametrize("pipeline", ["gpu-module-to-binary", "composite-fixed-point-pass{pipeline=cuda-to-binary}"])
def test_what_a_modules_gpu_target_may_not_say(cutecc, folder: Path, says: str, pipeline: str) -> None:
    module = f'gpu.module @k [#nvvm.target<chip = "sm_90a", {says}>] {{}}\n'
    (folder / "x.mlir").write_text(header(options={"pipeline": pipeline}) + module)
    done = cutecc("repro", "x.mlir", status=1)
    assert "the module's GPU target names link libraries or tool options" in done.stdout


def test_no_option_of_a_reproducer_names_a_file_or_a_program() -> None:
    from cutecc.cli.compile import compile as compile_command
    from cutecc.cli.opt import opt as opt_command

    commands = {"opt": opt_command, "compile": compile_command}
    for name, options in OPTIONS.items():
        known = {flag.removeprefix("--") for each in commands[name].params for flag in each.opts}
        assert {*options} <= known
        for option in options:
            assert not any(word in option for word in ("load", "file", "path", "ptxas", "librar", "check", "output"))


def test_the_file_is_the_module() -> None:
    text = header() + MODULE
    subject = subject_of(read_reproducer(text), text.encode(), "x.mlir")
    assert subject.module == text.encode()
    with pytest.raises(RecordError, match="no reproducer header"):
        reproduce(MODULE.encode(), "x.mlir")


# Mistakes of cutecc's own.


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> None:
    """Collecting artifacts fails."""
    monkeypatch.setattr("cutecc.compilation.artifacts.ArtifactCollector.finish", lambda *_: [][1])


@pytest.mark.slow
def test_a_mistake_of_cutecc_in_a_library_call_is_saved(broken, small_kernel) -> None:
    with pytest.raises(InternalError) as caught:
        compile_module(small_kernel.bytecode, "sm_80")
    error = caught.value
    assert error.message == "internal error: IndexError: list index out of range"
    file = Path(error.reproducer or "")
    assert error.command == f"cutecc compile {file} --target=sm_80 --pipeline=nvidia"
    found = read_reproducer(file.read_text())
    assert (found.subcommand, found.expected, found.pass_name) == ("compile", "failed", "")
    assert "cuda.kernel" in file.read_text()
    # The mistake is in this process alone.
    assert reproduce(file.read_bytes(), str(file)).result == "happens no more"


def test_it_is_saved_with_what_was_asked_for(broken, small_kernel, tmp_path: Path) -> None:
    (tmp_path / "pipe.txt").write_text("cse,canonicalize")
    edits = (Edit("insert-after", "cse", "canonicalize"),)
    options = CompileOptions(edits=edits, wheel=WheelOptions(opt_level=1))
    with pytest.raises(InternalError) as caught:
        compile_module(small_kernel.bytecode, "sm_80", str(tmp_path / "pipe.txt"), options=options)
    found = read_reproducer(Path(caught.value.reproducer or "").read_text())
    asked = found.options["pipeline"]
    assert isinstance(asked, str)
    assert [pass_.name for pass_ in Pipeline.parse(asked)] == ["cse", "canonicalize", "canonicalize"]
    assert found.options["opt-level"] == 1


def test_what_an_observer_raises_is_no_mistake_of_cutecc(small_kernel) -> None:
    class Careless(Observer):
        def after(self, position, module, seconds) -> None:
            raise IndexError("mine")

    class Handler:
        def __call__(self, event: object) -> None:
            raise IndexError("mine")

    class Plain(Observer):
        pass

    called = Plain()
    called.event = Handler()
    for observer in (Careless(), called):
        with pytest.raises(IndexError, match="mine"):
            compile_module(small_kernel.bytecode, "sm_80", observers=[observer])


SABOTAGE = """
import os
from cutecc.compilation.artifacts import ArtifactCollector
ArtifactCollector.finish = lambda *_: {how}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "expected", "message"),
    [
        ("[][1]", "failed", "internal error: IndexError: list index out of range"),
        ("os.abort()", "aborted", "making the artifacts aborted: the compiler process was ended by SIGABRT"),
    ],
)
def test_a_mistake_of_cutecc_on_the_command_line_is_saved_in_the_record(
    cutecc, folder: Path, small_kernel, how: str, expected: str, message: str
) -> None:
    (folder / "passes.py").write_text(PASSES + SABOTAGE.format(how=how))
    done = cutecc("compile", small_kernel.module, "--target=sm_80", LOAD, "-o", "out", status=1)
    assert f"error: {message}" in done.stderr
    file = saved(done)
    assert file == "out/reproducer-compile.mlir"
    assert done.stderr.rstrip().endswith(" --load=passes.py")
    record = read_folder(folder / "out")
    assert record.status == "failed"
    assert record.failure is not None
    assert record.failure.load == ["passes.py"]
    assert (record.failure.stage, record.failure.reproducer) == ("artifacts", "reproducer-compile.mlir")
    assert read_reproducer((folder / file).read_text()).expected == expected
    assert cutecc("repro", file, LOAD).stdout.startswith("still happens: ")
    assert cutecc("repro", file, status=1).stdout.startswith("happens no more: nothing fails\n")
    # The next run takes it away.
    (folder / "passes.py").write_text(PASSES)
    cutecc("compile", small_kernel.module, "--target=sm_80", LOAD, "-o", "out")
    assert not (folder / file).exists()


@pytest.mark.slow
def test_opt_saves_what_a_pass_aborts_or_fails_on(cutecc, folder: Path) -> None:
    done = cutecc("opt", "f.mlir", "--pipeline=cse,test-die", "--target=sm_80", LOAD, status=1)
    file = saved(done)
    found = read_reproducer(Path(file).read_text())
    assert (found.subcommand, found.expected, found.pass_name) == ("opt", "aborted", "test-die")
    assert found.options == {"target": "sm_80", "pipeline": "cse,test-die"}
    assert f"reproduce: cutecc opt {file} --target=sm_80 --pipeline=cse,test-die --load=passes.py" in done.stderr
    assert cutecc("repro", file, LOAD).stdout == "still happens: pass test-die aborted\n"
    # What is a reproducer already is not saved again.
    assert "reproducer: " not in cutecc("opt", file, "--pipeline=test-die", LOAD, status=1).stderr
    refused = cutecc("opt", "f.mlir", "--pipeline=test-refuse", LOAD, status=1)
    assert read_reproducer(Path(saved(refused)).read_text()).expected == "failed"


@pytest.mark.slow
def test_opt_saves_the_module_of_several_that_aborts(cutecc, folder: Path) -> None:
    (folder / "two.mlir").write_text("func.func @first() {\n  return\n}\n// -----\n" + MODULE)
    done = cutecc("opt", "two.mlir", "--split-input-file", "--pipeline=test-die", LOAD, status=1)
    text = Path(saved(done)).read_text()
    assert "@f(" in text
    assert "@first" not in text
