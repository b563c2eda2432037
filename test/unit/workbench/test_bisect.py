"""`cutecc bisect`: the pass after which a check fails, and which of its rewrites."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from cutecc.record import Versions
from cutecc.record.reproducer import Reproducer

# Turns sums into differences; with `harmless`, into the same sums.
PASS = '''
import sys
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import arith, ir
from cutecc.passes import ModulePass, Rewriter, register, rewrite, rewrites


@register
@dataclass(frozen=True)
class Subtract(ModulePass):
    """Subtract instead."""

    name: ClassVar[str] = "test-subtract"
    only: str = "arith.muli"

    def run(self, module: ir.Module) -> None:
        assert "cutlass.cute" not in sys.modules, "a module is worked on without the DSL"
        rewrite(module, [self.subtract], once=True)

    @rewrites("arith.addi")
    def subtract(self, op: ir.Operation, rewriter: Rewriter) -> None:
        owner = op.operands[1].owner
        if isinstance(owner, ir.OpView) and owner.operation.name == self.only:
            rewriter.replace(op, arith.subi(op.operands[0], op.operands[1]))
'''
MODULE = """
func.func @f(%a: i32, %b: i32) -> i32 {
  %c2 = arith.constant 2 : i32
  %0 = arith.muli %a, %b : i32
  %1 = arith.addi %a, %0 : i32
  %2 = arith.muli %1, %c2 : i32
  %3 = arith.addi %b, %2 : i32
  %4 = arith.muli %3, %3 : i32
  %5 = arith.addi %4, %3 : i32
  return %5 : i32
}
"""
PIPELINE = "canonicalize,cse,test-subtract,canonicalize,cse"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "wrong.py").write_text(PASS)
    (tmp_path / "f.mlir").write_text(MODULE)
    (tmp_path / "sums.txt").write_text("// CHECK-COUNT-3: arith.addi\n")
    return tmp_path


def bisect(cutecc, *arguments: object, **settings: object):
    return cutecc("bisect", "f.mlir", "--target=sm_80", "--load=wrong.py", *arguments, **settings)


@pytest.mark.slow
def test_the_pass_and_what_it_changed_and_the_commands_to_see_it_again(cutecc, folder: Path) -> None:
    done = bisect(cutecc, f"--pipeline={PIPELINE}", "--filecheck=sums.txt")
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "test-subtract: the check passes before it and fails after it",
        "  pass 3 of 5",
    ]
    assert lines[2].startswith("  sums.txt:1: error: ")
    assert "--- 00 traced" in lines and "+++ 03 test-subtract" in lines
    assert "-    %1 = arith.addi %arg0, %0 : i32" in lines
    assert "+    %1 = arith.subi %arg0, %0 : i32" in lines
    assert "after no pass: passes" in done.stderr.splitlines()[0]
    commands = [line.strip() for line in lines[lines.index("see it again:") + 1 :]]
    shown = [cutecc(*shlex.split(command)[1:]).stdout for command in commands]
    assert "+    %1 = arith.subi %arg0, %0 : i32" in shown[0].splitlines()
    assert "arith.subi %arg0, %0" in shown[1]


@pytest.mark.slow
def test_which_rewrite_it_is(cutecc, folder: Path) -> None:
    (folder / "one.txt").write_text("// CHECK-COUNT-2: arith.addi\n")
    done = bisect(cutecc, f"--pipeline={PIPELINE}", "--filecheck=one.txt", "--limit", "--json")
    found = json.loads(done.stdout)
    assert (found["pass"], found["index"]) == ("test-subtract", 3)
    rewrite = found["rewrite"]
    assert (rewrite["number"], rewrite["made"], rewrite["unknown"]) == (2, 2, 0)
    assert (rewrite["operation"], rewrite["pattern"]) == ("arith.addi", "Subtract.subtract")
    # The function begins in line 2 of the file.
    assert rewrite["location"] == "f.mlir:7:8"
    assert [line for line in found["diff"] if line[:1] in "+-" and "arith" in line] == [
        "-    %3 = arith.addi %arg1, %2 : i32",
        "+    %3 = arith.subi %arg1, %2 : i32",
    ]
    command = next(each for each in found["commands"] if "opt" in each)
    assert "'--pipeline=test-subtract{max-rewrites=2}'" in command
    assert cutecc(*shlex.split(command)[1:]).stdout.count("arith.subi") == 2


@pytest.mark.slow
def test_a_command_is_asked_of_the_module_after_each_pass(cutecc, folder: Path) -> None:
    (folder / "check.py").write_text(
        "import sys\ntext = open(sys.argv[1]).read()\nprint('there is a difference')\nsys.exit('subi' in text)\n"
    )
    command = f"{sys.executable} check.py {{}}"
    done = bisect(cutecc, f"--pipeline={PIPELINE}", "--check", command, "--message=difference", "-q")
    assert done.stdout.startswith("test-subtract: ")
    assert "  there is a difference" in done.stdout.splitlines()
    assert done.stderr == ""
    other = bisect(cutecc, f"--pipeline={PIPELINE}", "--check", command, "--message=quotient", status=1)
    assert "error: the check does not fail after the last pass that changes the module" in other.stderr


@pytest.mark.slow
def test_what_cannot_be_told_is_named(cutecc, folder: Path) -> None:
    (folder / "check.py").write_text(
        "import sys\ntext = open(sys.argv[1]).read()\n"
        "sys.exit(1 if 'llvm.' in text else 125 if 'subi' in text else 0)\n"
    )
    pipeline = "test-subtract,one-shot-convert-to-llvm"
    done = bisect(cutecc, f"--pipeline={pipeline}", f"--check={sys.executable} check.py", "--json")
    found = json.loads(done.stdout)
    assert (found["pass"], found["unknown"], found["last_good"]) == (
        "one-shot-convert-to-llvm",
        ["test-subtract"],
        None,
    )


@pytest.mark.slow
def test_a_dump_and_a_record_say_how_they_go_on(cutecc, folder: Path) -> None:
    bisect(cutecc, f"--pipeline={PIPELINE}", "--opt-level=1", "--filecheck=sums.txt", "-o", "first")
    resumed = cutecc("resume", "first", "--from=canonicalize#1", "--load=wrong.py", "-o", "resumed", "-q")
    assert resumed.returncode == 0
    for subject in ("first", "first/00-traced.mlir", "resumed"):
        again = ("bisect", subject, "--load=wrong.py", "--filecheck=sums.txt", "-o", "again", "--json")
        done = cutecc(*again)
        assert json.loads(done.stdout)["pass"] == "test-subtract"
        assert options_of(folder / "again")["opt-level"] == 1
        cutecc(*again, "--opt-level=2")
        assert options_of(folder / "again")["opt-level"] == 2
        # A record and a dump call their passes by the same names.
        edited = cutecc(*again, "--replace=canonicalize#2=cse")
        assert json.loads(edited.stdout)["pass"] == "test-subtract"


def options_of(record: Path) -> dict[str, object]:
    return json.loads((record / "manifest.json").read_text())["options"]


@pytest.mark.slow
def test_code_is_what_comes_of_the_first_passes_and_then_the_others(cutecc, folder: Path, small_kernel) -> None:
    (folder / "k.mlirbc").write_bytes(small_kernel.bytecode)
    arguments = ["bisect", "k.mlirbc", "--target=sm_80", "--load=wrong.py"]
    edit = "--insert-after=cse#1=test-subtract"
    plain = cutecc(*arguments, "--ptx", status=2)
    assert "--pipeline and --against are both nvidia" in plain.stderr
    found = json.loads(cutecc(*arguments, edit, "--ptx", "--limit", "--json").stdout)
    assert (found["pass"], found["last_good"], found["finding"]) == ("test-subtract", None, "the PTX differs")
    assert found["rewrite"]["operation"] == "arith.addi"


@pytest.mark.slow
def test_code_of_a_module_that_has_passes_behind_it(cutecc, folder: Path, traced_kernels) -> None:
    kernel = traced_kernels["elementwise_add"].source
    cutecc("compile", kernel, "--target=sm_80", "--pipeline=open", "--dump-after=all", "-o", "rec")
    (dump,) = (folder / "rec").glob("*-inline-static-arguments.mlir")
    arguments = ["bisect", dump, "--load=wrong.py", "--insert-after=unfold-tensors=test-subtract", "--ptx"]
    found = json.loads(cutecc(*arguments, "--against=open", "--limit", "--json").stdout)
    assert (found["pass"], found["finding"]) == ("test-subtract", "the PTX differs")
    assert found["rewrite"]["operation"] == "arith.addi"
    record = json.loads((folder / found["record"] / "manifest.json").read_text())
    assert found["index"] == next(step["index"] for step in record["steps"] if step["name"] == "test-subtract")
    # The second of its names `nvidia` has too, for a pass that comes later.
    for name in ("inline-static-arguments", "cse"):
        dump = min((folder / "rec").glob(f"0[1-9]-{name}.mlir"))
        done = cutecc("bisect", dump, *arguments[2:], status=2)
        assert f"the module has the passes up to {name}" in done.stderr
        assert "behind it, with which nvidia does not begin" in done.stderr


UNTOLD = (
    PASS.replace("test-subtract", "test-mark").replace(
        "        rewrite(module, [self.subtract], once=True)\n",
        '        module.operation.attributes["llvm.ident_marked"] = ir.UnitAttr.get(module.context)\n'
        "        rewrite(module, [self.subtract], once=True)\n",
    )
    + '''

@register
@dataclass(frozen=True)
class RefuseMarked(ModulePass):
    """Fail on a marked module."""

    name: ClassVar[str] = "test-refuse-marked"

    def run(self, module: ir.Module) -> None:
        assert "llvm.ident_marked" not in module.operation.attributes
'''
)


@pytest.mark.slow
def test_the_code_generator_is_not_blamed_where_it_cannot_be_told(cutecc, folder: Path, small_kernel) -> None:
    (folder / "k.mlirbc").write_bytes(small_kernel.bytecode)
    (folder / "untold.py").write_text(UNTOLD)
    whole = cutecc("pipelines", "nvidia", "--target=sm_80").stdout
    (folder / "first.txt").write_text(whole.replace("\ncse,", "\ncse,\ntest-mark,", 1))
    # Of a module that the first has marked, the second makes no code.
    (folder / "second.txt").write_text(whole.replace("\ncuda-to-binary", "\ntest-refuse-marked,\ncuda-to-binary"))
    arguments = ["bisect", "k.mlirbc", "--target=sm_80", "--load=untold.py", "--ptx"]
    done = cutecc(*arguments, "--pipeline=first.txt", "--against=second.txt", status=1)
    assert "error: it cannot be told which pass makes the difference" in done.stderr
    assert "it may be one of test-mark" in done.stderr
    assert "None" not in done.stderr


SHAKY = PASS.replace(
    "        rewrite(module, [self.subtract], once=True)\n",
    "        rewrite(module, [self.subtract], once=True)\n"
    '        count = str(module).count("arith.subi")\n'
    "        assert count % 2 == 0 and count < self.most, f'{count} are wrong'\n",
).replace('    only: str = "arith.muli"\n', '    only: str = "arith.muli"\n    most: int = 99\n')


@pytest.mark.slow
@pytest.mark.parametrize(("most", "no_rewrite"), [(99, None), (2, "how many test-subtract makes is not known")])
def test_a_pass_that_fails_with_some_of_its_rewrites(cutecc, folder: Path, most: int, no_rewrite: str | None) -> None:
    (folder / "wrong.py").write_text(SHAKY)
    options = [f"--pipeline=canonicalize,test-subtract{{most={most}}}", "--limit", "--json"]
    check = ["--filecheck=sums.txt"] if no_rewrite is None else ["--against=canonicalize"]
    found = json.loads(bisect(cutecc, *options, *check).stdout)
    assert found["pass"] == "test-subtract"
    if no_rewrite:
        assert no_rewrite in found["no_rewrite"]
    else:
        assert (found["rewrite"]["number"], found["rewrite"]["unknown"]) == (2, 1)


def test_a_pass_that_fails_before_anything_changed(cutecc, folder: Path) -> None:
    (folder / "wrong.py").write_text(SHAKY)
    done = bisect(cutecc, "--pipeline=test-subtract{most=2}", "--check=true", status=1)
    assert "error: pass test-subtract failed with an internal error: AssertionError: 2 are wrong" in done.stderr
    assert "no pass before it changes the module" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("check", ["--results", "--emit=ptx"])
def test_results_and_checks_of_code(cutecc, folder: Path, check: str, traced_kernels) -> None:
    kernel = traced_kernels["elementwise_add"]
    (folder / "ptx.txt").write_text("// CHECK-NOT: sub.s64\n")
    arguments = ["--filecheck=ptx.txt"] if check.startswith("--emit") else ["--device=cpu", "--size=M=16,N=128"]
    done = cutecc(
        *("bisect", kernel.source, "--target=sm_80", "--load=wrong.py", "--pipeline=open", check, *arguments),
        "--insert-after=unfold-tensors=test-subtract{only=arith.muli}",
        *("--limit", "--json"),
    )
    found = json.loads(done.stdout)
    assert found["pass"] == "test-subtract"
    assert found["rewrite"]["number"] == 1


@pytest.mark.slow
def test_without_a_check_not_to_compile_is_what_fails(cutecc, folder: Path, small_kernel) -> None:
    (folder / "k.mlirbc").write_bytes(small_kernel.bytecode)
    (folder / "broken.py").write_text(
        PASS.replace("arith.subi(op.operands[0], op.operands[1])", "op.operands[1]").replace("subtract", "drop")
        + "\n\n@register\n@dataclass(frozen=True)\nclass Refuse(ModulePass):\n"
        + '    """Refuse."""\n\n    name: ClassVar[str] = "test-refuse"\n\n'
        + "    def run(self, module: ir.Module) -> None:\n        raise ValueError('no')\n"
    )
    edit = "--insert-after=cute-desugar=test-refuse"
    found = json.loads(cutecc("bisect", "k.mlirbc", "--target=sm_80", "--load=broken.py", edit, "--json").stdout)
    assert found["pass"] == "test-refuse"
    assert "internal error: ValueError: no" in found["finding"]
    shown = cutecc("bisect", "k.mlirbc", "--target=sm_80", "--load=broken.py", edit, "-q").stdout
    assert shown.startswith("test-refuse: the check passes before it and fails after it\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["--filecheck=sums.txt", "--check=true"], 2, "--check and --filecheck are two checks"),
        (["--filecheck=sums.txt", "--ptx"], 2, "--filecheck and --ptx are two checks"),
        (["--ptx", "--results"], 2, "--ptx and --results are two checks"),
        (["--emit=ptx"], 2, "--emit says what --check or --filecheck is asked of"),
        (["--check-prefix=A"], 2, "--check-prefix is for --filecheck"),
        (["--filecheck=sums.txt", "--size=M=3"], 2, "--size is for --results"),
        (["--filecheck=sums.txt", "--seed=3"], 2, "--seed is for --results"),
        (["--filecheck=sums.txt", "--check-timeout=3"], 2, "--check-timeout is for --check"),
        (["--filecheck=sums.txt", "--message=x"], 2, "--message is not for --filecheck"),
        (["--message=x"], 2, "--message is for --check"),
        (["--filecheck=missing.txt"], 2, "cannot read missing.txt"),
        (["--filecheck=f.mlir"], 2, "f.mlir has no lines with CHECK:"),
        (["--check=no-such-program"], 2, "--check: there is no program 'no-such-program'"),
        (["--results"], 2, "--results: f.mlir does not say what arguments the kernel takes"),
        (["--filecheck=sums.txt", "--pipeline=no-such-pass"], 2, "no pass is called 'no-such-pass'"),
        (["--ptx", "--against=nopes"], 2, "no pass is called 'nopes'"),
        (["--filecheck=sums.txt", "--pipeline=cse"], 1, "the check does not fail after the last pass"),
        (["--filecheck=sums.txt", "--pipeline=canonicalize"], 1, "no pass changes the module"),
        (["--check=false", "--pipeline=canonicalize"], 1, "the check does not pass on the module as it is given"),
    ],
)
def test_wrong_requests_and_nothing_to_find(
    cutecc, folder: Path, arguments: list[str], status: int, message: str
) -> None:
    if "--pipeline=cse" in arguments:
        twice = "  %0 = arith.muli %a, %b : i32\n"
        (folder / "f.mlir").write_text(MODULE.replace(twice, twice + twice.replace("%0", "%again")))
    done = bisect(cutecc, *arguments, status=status)
    assert f"error: {message}" in done.stderr.replace("'f.mlir'", "f.mlir")
    assert done.stderr.count("error: ") == 1 or "sums.txt:1: error" in done.stderr
    assert done.stdout == ""


@pytest.mark.slow
def test_a_pass_whose_rewrites_nobody_counts(cutecc, folder: Path) -> None:
    (folder / "no.txt").write_text("// CHECK: func.func\n")
    done = bisect(
        cutecc, "--pipeline=canonicalize,one-shot-convert-to-llvm", "--filecheck=no.txt", "--limit", "--no-pager"
    )
    assert (
        "no rewrite of it: one-shot-convert-to-llvm is the wheel's: its rewrites cannot be counted"
        in done.stdout.splitlines()
    )


@pytest.mark.slow
def test_the_input_is_never_in_the_way_of_the_record(cutecc, folder: Path) -> None:
    bisect(cutecc, f"--pipeline={PIPELINE}", "--filecheck=sums.txt", "-o", "first")
    before = {path.name: path.read_bytes() for path in (folder / "first").iterdir() if path.is_file()}
    for subject in ("first", "first/00-traced.mlir"):
        done = cutecc("bisect", subject, "--load=wrong.py", "--filecheck=sums.txt", "-o", "first", status=2)
        assert "error: the output folder first holds the input" in done.stderr
    assert {path.name: path.read_bytes() for path in (folder / "first").iterdir() if path.is_file()} == before


@pytest.mark.slow
@pytest.mark.parametrize("option", ["--target=sm_90a", "--insert-after=cse=cse", "--backend=llvm", "--opt-level=3"])
def test_what_a_reproducer_says_already_is_refused(cutecc, folder: Path, option: str) -> None:
    header = Reproducer("opt", {"pipeline": PIPELINE}, "failed", "cse", "no", Versions("0", "3", "4", "x")).header("r")
    (folder / "r.mlir").write_text(header + MODULE)
    done = cutecc("bisect", "r.mlir", "--load=wrong.py", "--filecheck=sums.txt", option, status=2)
    assert f"error: {option.partition('=')[0]}: the first line of a reproducer says how" in done.stderr
    plain = cutecc("bisect", "r.mlir", "--load=wrong.py", "--filecheck=sums.txt", "--json")
    assert json.loads(plain.stdout)["pass"] == "test-subtract"


def test_all_options_of_the_compiler_are_left_to_a_reproducer() -> None:
    from cutecc.cli.checks import _OF_HEADER
    from cutecc.cli.options import backend_option, wheel_options

    for options in (wheel_options, backend_option):
        declared = options(lambda: None).__click_params__
        assert declared
        assert {each.opts[0] for each in declared} <= _OF_HEADER
