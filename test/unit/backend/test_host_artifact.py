"""The host program among the artifacts: there when it can be, and a warning that says why when it cannot."""

from __future__ import annotations

import pytest
from conftest import TracedKernel
from host_functions import TARGET, host_function, kernel, launch

import cutecc
from cutecc import CompileOptions
from cutecc.compilation.request import Edit
from cutecc.ir.modules import fresh_context, parse, to_bytecode
from cutecc.passes import manager
from cutecc.passes.nvidia.options import WheelOptions
from cutecc.passes.nvidia.wheel_pipeline import nvidia_pipeline
from cutecc.record import Compilation
from cutecc.runtime.program.verification import verify


def compiled(module: bytes | str, target: str, **options: object) -> Compilation:
    chosen = CompileOptions(**options)  # pyright: ignore
    return cutecc.compile_module(module, target=target, name="small", options=chosen, cache=False).compilation


def after(bytecode: bytes, pass_name: str, target: str) -> bytes:
    with fresh_context():
        module = parse(bytecode)
        manager.run(nvidia_pipeline(target, WheelOptions()).until(pass_name), module)
        return to_bytecode(module)


def messages(record: Compilation) -> list[str]:
    return [warning.message for warning in record.warnings]


def test_it_is_made_by_default(small_kernel: TracedKernel):
    record = compiled(small_kernel.bytecode, small_kernel.target)
    assert [artifact.file for artifact in record.artifacts] == ["small.ptx", "small.cubin", "small.host.json"]
    program = record.host_program
    assert program is not None
    verify(program)
    assert program.kernels[0].name.encode() in record.files["small.ptx"]
    assert record.warnings == []


def test_it_is_left_out_when_not_asked_for(small_kernel: TracedKernel):
    record = compiled(small_kernel.bytecode, small_kernel.target, artifacts=("ptx",))
    assert [artifact.kind for artifact in record.artifacts] == ["ptx"]


@pytest.mark.parametrize("pass_name", ["cute-desugar", "core-to-llvm-prepare", "convert-scf-to-cf"])
def test_a_run_that_stops_before_the_code_says_nothing(small_kernel: TracedKernel, pass_name: str):
    record = compiled(small_kernel.bytecode, small_kernel.target, stop_after=pass_name)
    assert (record.artifacts, record.warnings) == ([], [])


def test_a_run_from_a_later_dump_has_none(small_kernel: TracedKernel):
    lowered = after(small_kernel.bytecode, "convert-scf-to-cf", small_kernel.target)
    record = compiled(lowered, small_kernel.target, start_after="convert-scf-to-cf")
    assert (record.host_program, record.warnings) == (None, [])


def test_a_pipeline_without_the_pass_says_so(small_kernel: TracedKernel):
    lowered = after(small_kernel.bytecode, "core-to-llvm-prepare", small_kernel.target)
    record = compiled(lowered, small_kernel.target, edits=(Edit("without", "core-to-llvm-prepare"),))
    assert record.host_program is None
    assert messages(record) == [
        "cutecc cannot launch this kernel: the run did not go through the pass core-to-llvm-prepare"
    ]


def test_a_host_function_that_is_not_understood_is_a_warning():
    text = host_function(
        '%v = math.sqrt %f : f32 loc("mine.py":7:3)',
        launch("takes", "%v", "f32"),
        kernels=kernel("takes", "f32"),
    )
    record = compiled(text, TARGET, start_after="core-to-arith")
    assert record.status == "ok"
    assert record.artifact("cubin") is not None
    (warning,) = record.warnings
    assert "an operation `math.sqrt`" in warning.message
    assert warning.location == "mine.py:7:4"


def test_a_module_without_a_host_function_is_none_the_worse():
    record = compiled(host_function(), TARGET, start_after="core-to-arith")
    assert (record.host_program, record.warnings) == (None, [])
    assert record.artifact("cubin") is not None
