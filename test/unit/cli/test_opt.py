"""`cutecc opt` on the real command line."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from conftest import CUTECC

from cutecc.record.reproducer import read_reproducer

INPUTS = Path(__file__).parents[2] / "inputs"
ADD = """func.func @twice(%arg0: i32) -> (i32, i32) {
  %0 = arith.addi %arg0, %arg0 : i32
  %1 = arith.addi %arg0, %arg0 : i32 loc("kernel.py":3:4)
  return %0, %1 : i32, i32
}
"""


@pytest.fixture
def add(tmp_path: Path) -> Path:
    (tmp_path / "add.mlir").write_text(ADD)
    return tmp_path / "add.mlir"


@pytest.mark.slow
def test_opt_reads_files_and_standard_input_and_writes_either(cutecc, add: Path, tmp_path: Path) -> None:
    from_file = cutecc("opt", "add.mlir", "--pipeline=cse").stdout
    assert from_file.count("arith.addi") == 1
    assert cutecc("opt", "--pipeline=cse", input=ADD).stdout == from_file
    assert cutecc("opt", "-", "--pipeline=cse", input=ADD).stdout == from_file
    assert cutecc("opt", "add.mlir", "--pipeline=cse", "-o", "out.mlir").stdout == ""
    assert (tmp_path / "out.mlir").read_text() == from_file
    assert cutecc("opt", "out.mlir").stdout == from_file


def test_passes_are_flags_as_in_mlir_opt(cutecc, add: Path) -> None:
    text = "builtin.module(canonicalize{max-iterations=2 region-simplify=disabled},cse)"
    expected = cutecc("opt", "add.mlir", f"--pass-pipeline={text}", "--mlir-print-ir-after-all")
    flags = ("--canonicalize=max-iterations=2 region-simplify=disabled", "--cse")
    done = cutecc("opt", *flags, "--mlir-print-ir-after=canonicalize", "--print-after=cse", "--", "add.mlir")
    assert (done.stdout, done.stderr) == (expected.stdout, expected.stderr)
    assert done.stdout.count("arith.addi") == 1
    assert done.stderr.count("IR Dump After") == 2


def test_passes_that_are_called_much_like_options_are_passes(cutecc, add: Path, tmp_path: Path) -> None:
    done = cutecc("opt", "add.mlir", "--inline", "--sroa", "--print-ir=label=here", "-o", "--cse")
    assert "here" in done.stderr
    assert (tmp_path / "--cse").read_text().count("arith.addi") == 2


def test_one_dash_is_as_good_as_two_before_a_name(cutecc, add: Path, tmp_path: Path) -> None:
    expected = cutecc("opt", "add.mlir", "--canonicalize=max-iterations=2", "--cse", "--mlir-print-ir-after-all")
    flags = ("-canonicalize=max-iterations=2", "-cse", "-mlir-print-ir-after-all")
    done = cutecc("opt", *flags, "-o", "out.mlir", "-split-input-file", "add.mlir")
    assert ((tmp_path / "out.mlir").read_text(), done.stderr) == (expected.stdout, expected.stderr)
    assert expected.stdout.count("arith.addi") == 1
    cutecc("opt", "-oattached.mlir", "-pass-pipeline", "cse", "-", input=ADD)
    assert (tmp_path / "attached.mlir").read_text() == expected.stdout
    assert "Usage: cutecc opt" in cutecc("opt", "-h").stdout
    # A pass whose name begins as the option does.
    cutecc("opt", "add.mlir", "-one-shot-bufferize", "-o", "-")
    assert not (tmp_path / "ne-shot-bufferize").exists()


@pytest.mark.slow
def test_a_pass_of_a_file_may_be_called_much_like_an_option(cutecc, add: Path, tmp_path: Path) -> None:
    (tmp_path / "refuse.py").write_text(REFUSING.replace("refuse-b", "verify-eachh"))
    assert cutecc("opt", "add.mlir", "--verify-eachh", "--load=refuse.py").stdout.count("arith.addi") == 2
    assert "--verify-each?" in cutecc("opt", "add.mlir", "--load=refuse.py", "--verify-eahc", status=2).stderr


def test_timing_is_told_of_all_modules_and_where_a_pass_fails(cutecc, tmp_path: Path) -> None:
    (tmp_path / "two.mlir").write_text(f"{ADD}// -----\n{ADD}")
    assert cutecc("opt", "two.mlir", "--split-input-file", "--cse", "--mlir-timing").stderr.count("  cse\n") == 1
    (tmp_path / "bad.mlir").write_text(ADD)
    done = cutecc("opt", "bad.mlir", "--cse", "--convert-nvvm-to-llvm=no-such=1", "--mlir-timing", status=(1, 2))
    assert "Execution time report" in done.stderr


def test_timing_names_each_pass_and_adds_up(cutecc, add: Path) -> None:
    done = cutecc("opt", "add.mlir", "--cse", "--canonicalize", "--cse", "--mlir-timing")
    rows = re.findall(r"^ +([\d.]+) \( *([\d.]+)%\)  (.*)$", done.stderr, re.MULTILINE)
    assert [name for *_, name in rows] == ["Parser", "cse#1", "canonicalize", "cse#2", "Output", "Rest", "Total"]
    assert float(rows[-1][1]) == 100
    assert sum(float(seconds) for seconds, *_ in rows[:-1]) == pytest.approx(float(rows[-1][0]), abs=5e-4)
    assert done.stdout.count("arith.addi") == 1


def test_opt_runs_a_named_pipeline(cutecc, small_kernel) -> None:
    text = cutecc("opt", small_kernel.module, "--pipeline=nvidia", "--target=sm_80").stdout
    assert "gpu.binary" in text or "llvm.mlir.global" in text
    assert "cute." not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text)


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["missing.mlir"], 2, "error: cannot read missing.mlir: No such file or directory"),
        (["add.mlir", "--pipeline=no-such-pass"], 2, "error: no pass is called 'no-such-pass'"),
        (["add.mlir", "--pipeline=cse{"], 2, "error: "),
        (["add.mlir", "--target=sm_1"], 2, "error: unknown target 'sm_1'"),
        (["broken.mlir"], 1, "broken.mlir:1:1: error: "),
        (["add.mlir", "--pipeline=cuda-to-binary{dump-ptx-path=x}"], 2, "names a path"),
        ([str(INPUTS / "aborts-while-parsing.mlir")], 1, "reading the module aborted"),
        (["add.mlir", "--no-such-pass"], 2, "error: cutecc opt has no option --no-such-pass, and there is no pass of "),
        (["add.mlir", "--open"], 2, "of that name\nhint: open is a pipeline: --pipeline=open\n"),
        (["add.mlir", "-open"], 2, "of that name\nhint: open is a pipeline: --pipeline=open\n"),
        (["add.mlir", "--pipeline=nvidia,cse"], 2, "'nvidia'\nhint: nvidia is a pipeline: --pipeline=nvidia\n"),
        (["add.mlir", "--print-afterall"], 2, "hint: did you mean --print-after-all?"),
        (["add.mlir", "--mlir-print-ir-module-scope"], 2, "error: cutecc opt has no option --mlir-print-ir-module-sco"),
        (["add.mlir", "-mlir-disable-threading"], 2, "error: cutecc opt has no option --mlir-disable-threading"),
        (["add.mlir", "--verify-each=0"], 2, "error: cutecc opt has no option --verify-each=0\nhint: --verify-each"),
        (["add.mlir", "--cse", "--pipeline=canonicalize"], 2, "--cse and --pipeline both say which passes run"),
        (["add.mlir", "-cse", "-pass-pipeline", "cse"], 2, "--cse and --pass-pipeline both say which passes run"),
    ],
)
def test_opt_errors(cutecc, add: Path, tmp_path: Path, arguments: list[str], status: int, message: str) -> None:
    (tmp_path / "broken.mlir").write_text("hello\n")
    done = cutecc("opt", *arguments, status=status)
    assert message in done.stderr
    assert done.stdout == ""


def test_opt_runs_a_reproducer(cutecc, small_kernel, tmp_path: Path) -> None:
    cutecc("compile", small_kernel.module, "--target=sm_80", "--pipeline=convert-cute-to-core", "-o", "out", status=1)
    (file,) = (tmp_path / "out").glob("reproducer-*.mlir")
    reproducer = read_reproducer(file.read_text())
    done = cutecc(*reproducer.command(str(file))[1:], status=1)
    assert reproducer.message in done.stderr


REFUSING = """
from dataclasses import dataclass
from typing import ClassVar

import cutecc
from cutecc.passes import ModulePass


@cutecc.register
@dataclass(frozen=True)
class Refuse(ModulePass):
    name: ClassVar[str] = "refuse-b"
    how: str = "bug"

    def run(self, module):
        names = [each.attributes["sym_name"].value for each in module.body.operations]
        if "b" in names and self.how == "bug":
            raise AttributeError("of the pass")
        if "b" in names:
            raise cutecc.PassError("there is a b")
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["bug", "error"])
def test_a_python_pass_that_fails_leaves_a_reproducer(cutecc, tmp_path: Path, how: str) -> None:
    (tmp_path / "refuse.py").write_text(REFUSING)
    text = "func.func @a() { return }\n// -----\nfunc.func @b() { return }\n"
    arguments = ("--load=refuse.py", f"--pipeline=cse,refuse-b{{how={how}}}")
    done = cutecc("opt", "--split-input-file", *arguments, input=text, status=1, env={"TMPDIR": str(tmp_path)})
    (file,) = tmp_path.glob("*/reproducer-refuse-b.mlir")
    assert f"\nreproducer: {file}\nreproduce: cutecc opt {file} " in done.stderr
    saved = file.read_text()
    assert "@b" in saved and "@a" not in saved
    reproducer = read_reproducer(saved)
    again = cutecc(*reproducer.command(str(file), load=["refuse.py"])[1:], status=1)
    assert reproducer.message in again.stderr
    # It is one.
    assert "reproducer: " not in again.stderr
    assert "still happens" in cutecc("repro", file, "--load=refuse.py").stdout


def test_an_expected_failure_leaves_nothing(cutecc, tmp_path: Path) -> None:
    (tmp_path / "refuse.py").write_text(REFUSING)
    text = "// expected-error @unknown {{there is a b}}\nfunc.func @b() { return }\n"
    arguments = ("--load=refuse.py", "--pipeline=refuse-b{how=error}", "--verify-diagnostics")
    cutecc("opt", *arguments, input=text, env={"TMPDIR": str(tmp_path)})
    assert not [*tmp_path.glob("**/reproducer-*")]


def test_opt_writes_to_standard_output_for_a_dash(cutecc, add: Path, tmp_path: Path) -> None:
    assert cutecc("opt", "add.mlir", "-o", "-").stdout == cutecc("opt", "add.mlir").stdout
    assert not (tmp_path / "-").exists()


def test_opt_writes_nothing_when_it_fails(cutecc, tmp_path: Path) -> None:
    (tmp_path / "out.mlir").write_text("before")
    cutecc("opt", "-o", "out.mlir", input="hello\n", status=1)
    assert (tmp_path / "out.mlir").read_text() == "before"


def test_opt_says_what_cannot_be_written(cutecc, add: Path) -> None:
    done = cutecc("opt", "add.mlir", "-o", "missing/out.mlir", status=2)
    assert done.stderr == "error: cannot write missing/out.mlir: No such file or directory\nhint: name another file\n"


def test_bytecode_goes_through_pipes_as_it_is(command: Path, add: Path) -> None:
    line = f"{command} opt {add} --emit=bytecode | {command} opt --mlir-print-debuginfo"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert f'"{add}":2:8' in done.stdout
    binary = subprocess.run(
        [command, "opt", add, "--emit=bytecode"], capture_output=True, check=True, timeout=100
    ).stdout
    assert binary.startswith(b"ML\xefR")


def test_bytecode_is_not_for_terminals(command: Path, add: Path) -> None:
    main, terminal = pty.openpty()
    done = subprocess.run(
        [command, "opt", add, "--emit=bytecode"], stdout=terminal, stderr=subprocess.PIPE, text=True, timeout=100
    )
    assert done.returncode == 2
    assert "error: bytecode is not for terminals\nhint: write it to a file with -o, or into a pipe" in done.stderr
    os.close(terminal)
    with pytest.raises(OSError):
        # Nothing was written: the terminal has gone, and there is nothing left to read.
        os.read(main, 1)
    os.close(main)


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_is_no_error(command: Path, tmp_path: Path) -> None:
    functions = "".join(f"func.func @f{number}() {{ return }}\n" for number in range(20_000))
    (tmp_path / "many.mlir").write_text(functions)
    line = f"{command} opt many.mlir | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], cwd=tmp_path, capture_output=True, text=True, timeout=100)
    assert (done.stdout, done.stderr) == ("module {\n0\n", "")


def test_errors_in_standard_input_show_the_line(cutecc) -> None:
    done = cutecc("opt", input='func.func @f() {\n  "no.such"() : () -> ()\n}\n', status=1)
    assert re.match(r"<stdin>:2:\d+: error: .*\n    \"no\.such\"\(\) : \(\) -> \(\)\n +\^", done.stderr)


def test_a_pass_that_fails_names_the_place_in_the_text(cutecc) -> None:
    text = (
        'func.func @f(%shape: !cute.shape<"(?,4)">) {\n'
        '  %0 = cute.make_identity_tensor(%shape) : !cute.coord_tensor<"(0,0)", "(?,4):(1@0,1@1)">\n  return\n}\n'
    )
    done = cutecc("opt", "--pipeline=convert-cute-to-core", input=text, status=1)
    assert done.stderr.startswith("<stdin>:2:8: error: pass convert-cute-to-core failed: failed to legalize operation")
    assert "\n    %0 = cute.make_identity_tensor" in done.stderr


def test_an_abort_in_one_module_leaves_the_others(cutecc) -> None:
    aborting = (INPUTS / "aborts-while-parsing.mlir").read_text()
    text = f"func.func @a() {{ return }}\n// -----\n{aborting}\n// -----\nfunc.func @b() {{ return }}\n"
    done = cutecc("opt", "--split-input-file", input=text, status=1)
    first, second, third = done.stdout.split("// -----\n")
    assert "@a" in first
    assert second == ""
    assert "@b" in third
    assert done.stderr.count("error: <stdin>: reading the module aborted") == 1


def test_a_wrong_request_is_one_error_whatever_the_number_of_modules(cutecc) -> None:
    text = "func.func @a() { return }\n// -----\nfunc.func @b() { return }\n"
    done = cutecc("opt", "--split-input-file", "--pipeline=no-such-pass", input=text, status=2)
    assert done.stderr.count("error: no pass is called 'no-such-pass'") == 1


def test_the_command_line_leaves_the_bindings_to_a_fork_of_itself() -> None:
    """What keeps a call short: the parent loads nothing heavy, so that its fork need not start over."""
    code = "import sys, cutecc.cli.opt; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "cutecc.support.isolation" in loaded
    assert not [name for name in loaded if name == "cutlass" or name.startswith(("cutecc.frontend", "cutecc.driver"))]


def test_help_shows_examples(cutecc) -> None:
    text = cutecc("opt", "--help").stdout
    for option in (
        "--split-input-file",
        "--verify-diagnostics",
        "--print-after-all",
        "--emit",
        "--mlir-print-debuginfo",
    ):
        assert option in text
    assert "// expected-error" in text
    assert "cutecc opt kernel.mlir --pipeline='canonicalize,cse'" in text


def in_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a line of shell with `cutecc` as `$0`; it prints the status last."""
    return subprocess.run(
        ["bash", "-c", f"{line}; echo status $? >&9", str(CUTECC)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "status", "message"),
    [
        ("opt add.mlir >&-", 1, "error: cannot write standard output: Bad file descriptor"),
        ("opt add.mlir > /dev/full", 1, "error: cannot write standard output: No space left on device"),
        ("opt - <&-", 2, "error: cannot read standard input: Bad file descriptor"),
        ("passes cse > /dev/full", 1, "error: cannot write standard output: No space left on device"),
        ("passes cse >&-", 1, "error: cannot write standard output: Bad file descriptor"),
        ("opt add.mlir --pipeline=cse <&-", 0, ""),
        ("opt add.mlir --pipeline=nothing 2>&-", 2, ""),
        ("opt add.mlir --pipeline=cse -o out.mlir >&- <&- 2>&-", 0, ""),
    ],
)
def test_standard_streams_may_be_closed_or_full(add: Path, line: str, status: int, message: str) -> None:
    done = in_shell(f'exec 9>status; "$0" {line}', add.parent)
    assert (add.parent / "status").read_text() == f"status {status}\n", done.stderr
    assert done.stderr.strip() == message


def test_passes_to_print_after_are_named(cutecc, add: Path) -> None:
    done = cutecc("opt", "add.mlir", "--print-after=cse", status=2)
    assert "error: --print-after=cse: no passes run\n" in done.stderr
    done = cutecc("opt", "add.mlir", "--pipeline=cse", "--print-before-all", "--print-before=cs", status=2)
    assert "error: no pass 'cs' in the pipeline" in done.stderr


@pytest.mark.slow
def test_a_looping_pass_dies_with_the_command(tmp_path: Path, add: Path) -> None:
    (tmp_path / "loop.py").write_text(
        "import os\nfrom dataclasses import dataclass\nfrom typing import ClassVar\nimport cutecc\n"
        "@cutecc.register\n@dataclass(frozen=True)\nclass Loop(cutecc.passes.ModulePass):\n"
        "    name: ClassVar[str] = 'test-loop'\n"
        "    def run(self, module):\n"
        "        open('worker', 'w').write(str(os.getpid()))\n"
        "        while True: pass\n"
    )
    running = subprocess.Popen(
        [CUTECC, "opt", "add.mlir", "--load=loop.py", "--pipeline=test-loop"], cwd=tmp_path, stdout=subprocess.PIPE
    )
    worker = tmp_path / "worker"
    while not (worker.exists() and worker.read_text()):
        assert running.poll() is None
        time.sleep(0.01)
    running.terminate()
    # The worker holds the pipe too: it ends when both are gone.
    assert running.communicate(timeout=60)[0] == b""
    assert running.returncode == -signal.SIGTERM
    assert worker.read_text() != str(running.pid)
    deadline = time.monotonic() + 60
    while Path(f"/proc/{worker.read_text()}/exe").exists():
        assert time.monotonic() < deadline, "the worker goes on"
        time.sleep(0.01)
