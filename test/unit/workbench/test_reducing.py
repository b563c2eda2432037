"""Reducing modules: what goes on failing, how small it gets, and what is in the file at any time."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path

import bench_reduce
import pytest
from attacks import attacks
from counting_oracle import Endless, Holds
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reduction_inputs import MODULE, SMALLEST, command_of, module_in

from cutecc.ir.modules import fresh_context, parse, to_bytecode
from cutecc.record.reproducer import read_reproducer
from cutecc.workbench.reduction import search
from cutecc.workbench.reduction.reducing import reduce
from cutecc.workbench.reduction.working import normalised

PASSES = '''
import os
from dataclasses import dataclass
from typing import ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir
from cutecc.passes import register
from cutecc.passes.base import ModulePass


class Finds(ModulePass):
    def run(self, module):
        found = []

        def visit(operation):
            if operation.name == "math.exp2":
                found.append(str(operation.location))
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        if found:
            self.say(module, found)

    def say(self, module, found):
        raise NotImplementedError


@register
@dataclass(frozen=True)
class Fails(Finds):
    """Fails."""

    name: ClassVar[str] = "test-fails"

    def say(self, module, found):
        raise PassError(f"there are {len(found)} of them")


@register
@dataclass(frozen=True)
class Aborts(Finds):
    """Aborts; with two functions, fails."""

    name: ClassVar[str] = "test-aborts"

    def say(self, module, found):
        os.abort()


@register
@dataclass(frozen=True)
class Located(Finds):
    """Fails for a place."""

    name: ClassVar[str] = "test-located"

    def say(self, module, found):
        if any("kernel.py" in each for each in found):
            raise PassError("it comes from there")
'''


@pytest.fixture
def inputs(tmp_path: Path) -> Path:
    """A folder with the module and the passes."""
    (tmp_path / "m.mlir").write_text(MODULE)
    (tmp_path / "passes.py").write_text(PASSES)
    return tmp_path


# What goes on failing.


@pytest.mark.slow
def test_a_failing_pass_is_reduced_to_a_reproducer(cutecc, inputs: Path) -> None:
    options = ["--pipeline=symbol-dce,test-fails,cse", "--load=passes.py", "--target=sm_80"]
    done = cutecc("reduce", "m.mlir", *options)
    assert module_in(inputs / "m-reduced.mlir") == SMALLEST
    first, second, third = done.stdout.splitlines()
    assert re.fullmatch(r"m-reduced\.mlir: 18 lines to 6, 13 operations to 3; \d+ modules in \d+ s", first), first
    assert second == "fails: there are 1 of them"
    assert third == "see it again: cutecc repro m-reduced.mlir --load=passes.py"
    assert done.stderr == ""
    given = read_reproducer((inputs / "m-reduced.mlir").read_text())
    assert (given.subcommand, given.expected, given.pass_name) == ("compile", "failed", "test-fails")
    done = cutecc(*shlex.split(third.partition("cutecc ")[2]))
    assert done.stdout == "still happens: there are 1 of them\n"


@pytest.mark.slow
def test_an_abort_is_reduced(cutecc, inputs: Path) -> None:
    options = ["--pipeline=test-aborts", "--load=passes.py", "--target=sm_80", "-o", "the output.mlir"]
    done = cutecc("reduce", "m.mlir", *options, "--json")
    assert module_in(inputs / "the output.mlir") == SMALLEST
    given = read_reproducer((inputs / "the output.mlir").read_text())
    assert (given.expected, given.pass_name) == ("aborted", "test-aborts")
    command = json.loads(done.stdout)["command"]
    assert command == ["cutecc", "repro", "the output.mlir", "--load=passes.py"]
    cutecc(*command[1:])
    # As a line, it can be pasted.
    done = cutecc("reduce", "m.mlir", *options)
    assert done.stdout.endswith(f"see it again: {shlex.join(command)}\n")


@pytest.mark.slow
def test_a_failure_of_the_wheel_is_reduced(cutecc, tmp_path: Path) -> None:
    # The pass knows what to do with it only once other passes have been there.
    (tmp_path / "m.mlir").write_text(
        """
      gpu.module @kernels {
        cuda.kernel @k(%a: i32, %b: i32) {
          %0 = arith.addi %a, %b : i32
          %1 = cute.static : !cute.layout<"(2,3):(1,2)">
          %2 = cute.size(%1) : (!cute.layout<"(2,3):(1,2)">) -> !cute.int_tuple<"6">
          return
        }
      }"""
    )
    done = cutecc("reduce", "m.mlir", "--pipeline=convert-cute-to-core,cse", "--target=sm_80", "--json")
    found = json.loads(done.stdout)
    assert found["ok"] and found["finished"] and not found["went_on"]
    assert found["command"] == ["cutecc", "repro", "m-reduced.mlir"]
    assert "failed to legalize operation 'cute.size'" in found["finding"]
    assert found["operations"]["after"] == 4
    cutecc("repro", "m-reduced.mlir")


@pytest.mark.slow
def test_a_reproducer_is_reduced_and_keeps_its_header(cutecc, inputs: Path) -> None:
    options = ["--pipeline=symbol-dce,test-fails", "--load=passes.py", "--target=sm_80"]
    cutecc("compile", "m.mlir", *options, "-o", "record", status=1)
    (reproducer,) = (inputs / "record").glob("reproducer-*.mlir")
    before = reproducer.read_text().splitlines()[0]
    cutecc("reduce", reproducer, "--load=passes.py", "-o", "out.mlir")
    assert (inputs / "out.mlir").read_text().splitlines()[0] == before
    assert module_in(inputs / "out.mlir") == SMALLEST
    cutecc("repro", "out.mlir", "--load=passes.py")


@pytest.mark.slow
def test_a_message_counts_instead_of_the_first_one(cutecc, inputs: Path) -> None:
    options = ["--pipeline=test-fails", "--load=passes.py", "--target=sm_80"]
    cutecc("reduce", "m.mlir", *options, "--message", "are 1", "-o", "out.mlir")
    assert module_in(inputs / "out.mlir") == SMALLEST
    done = cutecc("reduce", "m.mlir", *options, "--message", "are 2", "-o", "other.mlir", status=1)
    assert "there is nothing to reduce" in done.stderr
    assert not (inputs / "other.mlir").exists()


@pytest.mark.slow
def test_a_reproducer_says_what_the_smallest_module_fails_with(cutecc, inputs: Path) -> None:
    said = 'f"there are {len(found)} of them"'
    (inputs / "passes.py").write_text(PASSES.replace(said, "'one of them' if len(found) == 1 else 'many of them'"))
    exp2 = next(line for line in MODULE.splitlines() if "math.exp2" in line)
    (inputs / "m.mlir").write_text(MODULE.replace(exp2, exp2 + "\n" + exp2.replace(exp2.split()[0], "%twice")))
    options = ["--pipeline=test-fails", "--load=passes.py", "--target=sm_80"]
    cutecc("reduce", "m.mlir", *options, "--message", "of them", "-o", "out.mlir")
    assert (inputs / "out.mlir").read_text().count("math.exp2") == 1
    assert cutecc("repro", "out.mlir", "--load=passes.py").stdout.startswith("still happens: one of them")


@pytest.mark.slow
def test_a_command_has_to_end_as_it_did_at_first(cutecc, inputs: Path) -> None:
    # Without a multiplication it fails too, but otherwise.
    check = command_of(inputs, "sys.exit(2 if 'muli' not in text else 3 if 'addi' in text else 0)")
    done = cutecc("reduce", "m.mlir", "--check", f"{check} {{}}")
    assert "fails: status 3" in done.stdout
    left = re.findall(r"= (arith\.\w+)", module_in(inputs / "m-reduced.mlir"))
    assert sorted(left) == ["arith.addi", "arith.muli"]


@pytest.mark.slow
def test_a_command_is_asked_of_what_a_pipeline_makes(cutecc, inputs: Path) -> None:
    # Not one that nobody uses.
    check = command_of(inputs, "sys.exit('muli' in text)")
    cutecc("reduce", "m.mlir", "--check", check, "--pipeline=canonicalize", "--target=sm_80")
    text = module_in(inputs / "m-reduced.mlir")
    assert text.count("arith.muli") == 1 and re.search(r"%(\d+) = arith.muli(?:.*\n)*    return %\1", text)


@pytest.mark.slow
def test_file_checks_fail(cutecc, inputs: Path) -> None:
    (inputs / "checks.txt").write_text("CHECK-NOT: math.exp2\n")
    cutecc("reduce", "m.mlir", "--filecheck", "checks.txt")
    assert module_in(inputs / "m-reduced.mlir") == SMALLEST


@pytest.mark.slow
def test_what_depends_on_locations_keeps_those_that_matter(cutecc, inputs: Path) -> None:
    located = MODULE.replace("math.exp2 %1 : f32", 'math.exp2 %1 : f32 loc("kernel.py":7:3)').replace(
        "return %0 : i32", 'return %0 : i32 loc("kernel.py":9:1)'
    )
    (inputs / "m.mlir").write_text(located)
    cutecc("reduce", "m.mlir", "--pipeline=test-located", "--load=passes.py", "--target=sm_80")
    text = module_in(inputs / "m-reduced.mlir")
    assert re.findall(r'"kernel\.py":\d+:\d+', text) == ['"kernel.py":7:3']
    cutecc("repro", "m-reduced.mlir", "--load=passes.py")


@pytest.mark.slow
def test_bytecode_is_read(cutecc, inputs: Path) -> None:
    with fresh_context():
        (inputs / "m.mlirbc").write_bytes(to_bytecode(parse(MODULE.encode())))
    cutecc("reduce", "m.mlirbc", "--pipeline=test-fails", "--load=passes.py", "--target=sm_80")
    assert module_in(inputs / "m-reduced.mlir") == SMALLEST


DROPS = '''
from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes import register
from cutecc.passes.base import ModulePass


@register
@dataclass(frozen=True)
class Drops(ModulePass):
    """Forgets to add."""

    name: ClassVar[str] = "test-drops"

    def run(self, module):
        found = []

        def visit(operation):
            if operation.name == "arith.addf":
                found.append(operation)
            return ir.WalkResult.ADVANCE

        module.operation.walk(visit)
        for each in found:
            each.results[0].replace_all_uses_with(each.operands[0])
            each.erase()
'''
KERNEL = """
# cutecc: entry = "add"
# cutecc: args.x = "f32[?N=40]"
# cutecc: args.z = "f32[?N]"
# cutecc: reference = "reference"
# cutecc: outputs = ["z"]
from cutlass import cute

@cute.kernel
def add_kernel(x: cute.Tensor, z: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    if thread < cute.size(x):
        z[thread] = x[thread] + x[0]

@cute.jit
def add(x: cute.Tensor, z: cute.Tensor):
    add_kernel(x, z).launch(grid=[1, 1, 1], block=[64, 1, 1])

def reference(x, z):
    return x + x[0]
"""


@pytest.mark.slow
def test_a_kernel_whose_ptx_differs(cutecc, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "drops.py").write_text(DROPS)
    options = ["--load=drops.py", "--insert-after=cse#1=test-drops", "--target=sm_80", "-j2"]
    done = cutecc("reduce", "kernel.py", *options, "--ptx", "--json")
    found = json.loads(done.stdout)
    assert (found["finding"], found["finished"], found["command"]) == ("the PTX differs", True, None)
    # A kernel that adds and stores where it can be seen.
    assert found["operations"] == {"before": 57, "after": 8}
    assert "arith.addf" in module_in(tmp_path / "kernel-reduced.mlir")


@pytest.mark.slow
def test_two_code_generators_are_not_compared(cutecc, tmp_path: Path) -> None:
    (tmp_path / "empty.mlir").write_text("module attributes {gpu.container_module} { gpu.module @kernels {} }\n")
    done = cutecc("reduce", "empty.mlir", "--pipeline=open", "--ptx", "--target=sm_80", status=1)
    assert "there is nothing to reduce: the module does not fail\nnote: the PTX is the same" in done.stderr


@pytest.mark.slow
def test_a_kernel_whose_results_differ(cutecc, tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(KERNEL)
    (tmp_path / "drops.py").write_text(DROPS)
    options = ["--load=drops.py", "--insert-after=cse#1=test-drops", "--target=sm_80", "--device=cpu", "--timeout=10"]
    done = cutecc("reduce", "kernel.py", *options, "--results", "--json")
    found = json.loads(done.stdout)
    assert re.match(r"[\d,]+ of 40 elements of z differ", found["finding"])
    assert found["operations"]["after"] < found["operations"]["before"]
    text = module_in(tmp_path / "kernel-reduced.mlir")
    assert "cuda.launch_ex" in text
    assert "unrealized_conversion_cast to" not in text, "nothing with one could be launched"


@pytest.mark.slow
def test_an_endless_pass_counts_as_unknown(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_LEAST_SECONDS", 0.5)
    monkeypatch.setattr(search, "_TIMES_THE_FIRST", 0.0)
    found = reduce(MODULE.encode(), Endless((("math.exp2", 1),)), inputs / "out.mlir")
    assert found.finished
    # Without an addition, it goes on for ever; at first it did not.
    assert found.result.operations == 4
    assert "arith.add" in found.result.text


# What does not fail.


@pytest.mark.slow
def test_what_does_not_fail_is_not_written(cutecc, inputs: Path) -> None:
    done = cutecc("reduce", "m.mlir", "--pipeline=cse", "--target=sm_80", status=1)
    assert done.stderr.startswith("error: there is nothing to reduce: m.mlir compiles\nhint: say what fails")
    check = command_of(inputs, "sys.exit(125)")
    done = cutecc("reduce", "m.mlir", "--check", check, status=1)
    assert done.stderr.startswith("error: there is nothing to reduce: whether it fails cannot be told\n")
    assert not (inputs / "m-reduced.mlir").exists()


@pytest.mark.slow
def test_a_module_that_cannot_be_read_is_refused(cutecc, inputs: Path) -> None:
    (inputs / "m.mlir").write_text("module {")
    done = cutecc("reduce", "m.mlir", "--target=sm_80", status=2)
    assert done.stderr.startswith("error: ")
    done = cutecc("reduce", "m.mlir", "--check", "true", status=1)
    assert done.stderr.startswith("m.mlir:1:7: error: ")


# How small.


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(attacks(1)))
def test_the_result_does_not_depend_on_the_number_of_processes(seed: int, tmp_path: Path) -> None:
    module = bench_reduce.module(300, seed).encode()
    oracle = Holds((("arith.mulf", 3), ("scf.for", 2), ("cute.static", 1)))
    texts = {reduce(module, oracle, tmp_path / f"{jobs}.mlir", jobs=jobs).result.text for jobs in (1, 3)}
    assert len(texts) == 1


@pytest.mark.parametrize("text", [SMALLEST, "func.func @f() { %0 = arith.constant 0.0 : f32 return }"])
def test_what_is_minimal_already_stays_as_it_is(text: str, tmp_path: Path) -> None:
    name = "math.exp2" if "exp2" in text else "arith.constant"
    found = reduce(text.encode(), Holds(((name, 1),)), tmp_path / "out.mlir")
    assert found.result.text == found.start.text == normalised(text.encode(), False).text


def test_it_never_becomes_larger(tmp_path: Path) -> None:
    """Than the input as MLIR prints it. Placeholders have longer texts than the constants that they stand for."""
    text = "func.func @f() -> i32 { %0 = arith.constant 0 : i32 return %0 : i32 }"
    printed = normalised(text.encode(), False).text
    assert len(text) < len(printed)
    out, sizes = tmp_path / "out.mlir", list[tuple[int, int]]()
    found = reduce(
        text.encode(),
        Holds((("func.func", 1),)),
        out,
        tell=lambda progress: sizes.append((progress.best.operations, len(module_in(out)))),
    )
    assert sizes == sorted(sizes, key=lambda each: -each[0])
    assert sizes[0][1] == len(printed)
    assert all(size <= len(printed) for _, size in sizes)
    assert found.result.text == "module {\n  func.func @f() {\n    return\n  }\n}\n"


WANTED = ("arith.addi", "arith.muli", "arith.mulf", "arith.cmpi", "scf.for", "vector.extract", "cute.static")


@pytest.mark.slow
@settings(max_examples=6, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    counts=st.dictionaries(st.sampled_from(WANTED), st.integers(1, 4), min_size=1, max_size=3),
    seed=st.integers(0, 9),
)
def test_what_has_to_stay_stays_and_little_else(counts: dict[str, int], seed: int, tmp_path_factory) -> None:
    oracle = Holds(tuple(counts.items()))
    module = bench_reduce.module(300, seed).encode()
    found = reduce(module, oracle, tmp_path_factory.mktemp("out") / "out.mlir", jobs=2)
    assert oracle(found.result.text.encode(), None).verdict == "fails"
    # And what is around: functions, what ends them, and what ends each loop.
    functions = found.result.text.count("func.func")
    assert functions <= sum(counts.values())
    assert found.result.operations <= sum(counts.values()) + counts.get("scf.for", 0) + 2 * functions


@pytest.mark.slow
def test_a_seeded_failure_in_thousands_of_lines_comes_below_fifty(cutecc, tmp_path: Path) -> None:
    lines = attacks(2_000)
    text = bench_reduce.module(lines)
    assert text.count("\n") > 0.95 * lines
    (tmp_path / "m.mlir").write_text(text)
    of_pass, of_command = bench_reduce.files(tmp_path)
    done = cutecc("reduce", "m.mlir", *of_pass, "-j", "2", "--json")
    found = json.loads(done.stdout)
    assert found["finished"]
    assert found["lines"]["after"] < 50
    assert found["operations"]["after"] <= 16
    for name in ("m.mlir", "m-reduced.mlir"):
        assert subprocess.run([of_command[-1], tmp_path / name]).returncode == 3, "the command says the same"
