"""`cutecc.compile`, `trace` and `compile_module` from Python."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.errors import Error, ParseError, PassError, UsageError
from cutecc.ir.modules import content_hash, fresh_context, parse, to_bytecode, to_text
from cutecc.passes.base import ModulePass
from cutecc.passes.dumps import DumpChoice
from cutecc.passes.manager import Observer
from cutecc.passes.pipeline import Pipeline
from cutecc.passes.pipelines import choose_pipeline
from cutecc.record import Signature, manifest
from cutecc.record.folder import read_folder
from cutecc.target import Target

pytestmark = pytest.mark.slow

SM80 = Target.parse("sm_80")


@dataclass(frozen=True)
class Count(ModulePass):
    """Counts functions by walking over all values."""

    name: ClassVar[str] = "test-count"

    def run(self, module):
        for operation in module.operation.regions[0].blocks[0].operations:
            assert operation.operation.name


@dataclass(frozen=True)
class Die(ModulePass):
    """Takes the process down."""

    name: ClassVar[str] = "test-die"

    def run(self, module):
        import os

        os.write(2, b"terminate called\n")
        os.abort()


def test_text_bytes_and_objects_give_the_same(small_kernel) -> None:
    expected = cutecc.compile_module(small_kernel.bytecode, target="sm_80").ptx
    with fresh_context():
        module = parse(small_kernel.bytecode)
        before = content_hash(to_bytecode(module))
        text = to_text(module, locations=True)
        assert cutecc.compile_module(module, target=SM80).ptx == expected
        assert content_hash(to_bytecode(module)) == before, "the module object is left as it is"
    assert cutecc.compile_module(text, target="sm_80").ptx == expected


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_a_kernel_has_its_artifacts(small_kernel, isolation) -> None:
    kernel = cutecc.compile_module(small_kernel.bytecode, target="sm_80", name="mine", isolation=isolation)
    assert kernel.compilation.name == "mine"
    assert ".target sm_80" in kernel.ptx
    assert kernel.cubin.startswith(b"\x7fELF")
    assert "EXIT" in kernel.sass
    with pytest.raises(Error, match="has no llvm-ir") as caught:
        _ = kernel.llvm_ir
    assert (
        "options=cutecc.CompileOptions(artifacts=('ptx', 'cubin', 'host-program', 'llvm-ir'))" in caught.value.hints[0]
    )
    options = CompileOptions(artifacts=("llvm-ir",))
    kernel = cutecc.compile_module(small_kernel.bytecode, target="sm_80", options=options, isolation=isolation)
    assert "define" in kernel.llvm_ir
    assert {artifact.kind for artifact in kernel.compilation.artifacts} == {"llvm-ir"}


def test_without_observing_nothing_is_looked_at(small_kernel) -> None:
    steps = cutecc.compile_module(small_kernel.bytecode, target="sm_80").compilation.steps
    assert all(step.changed is None and step.operations_after is None for step in steps)


def test_the_record_in_a_folder_is_the_record_in_memory(small_kernel, tmp_path: Path) -> None:
    options = CompileOptions(observe=True, dumps=DumpChoice(after=("cse#1",)))
    signature = Signature("vector_copy", [])
    kernel = cutecc.compile_module(
        small_kernel.bytecode, target="sm_80", options=options, output=tmp_path, signature=signature
    )
    stored = read_folder(tmp_path)
    assert manifest.encode(stored) == manifest.encode(kernel.compilation)
    assert stored.artifact("cubin") == kernel.cubin
    assert stored.signature == signature


def test_python_passes_and_observers(small_kernel) -> None:
    seen: list[str] = []

    class Watch(Observer):
        def after(self, position, module, seconds):
            seen.append(position.pass_.name)

    pipeline = choose_pipeline("nvidia", SM80).insert_after("cse#1", Count())
    kernel = cutecc.compile_module(small_kernel.bytecode, target="sm_80", pipeline=pipeline, observers=[Watch()])
    assert kernel.compilation.step("test-count") is not None
    assert kernel.ptx == cutecc.compile_module(small_kernel.bytecode, target="sm_80").ptx
    assert seen == [step.name for step in kernel.compilation.steps]


@pytest.mark.parametrize("isolation", ["none", "worker"])
def test_errors_are_the_same_with_and_without_a_worker(small_kernel, tmp_path: Path, isolation) -> None:
    with pytest.raises(ParseError) as caught:
        cutecc.compile_module("nonsense", target="sm_80", isolation=isolation)
    assert str(caught.value.location) == "-:1:1"
    with pytest.raises(UsageError, match="no pass is called 'nonsense'"):
        cutecc.compile_module("module {}", target="sm_80", pipeline="nonsense", isolation=isolation)
    with pytest.raises(UsageError, match="unknown target 'sm_1'"):
        cutecc.compile_module("module {}", target="sm_1", isolation=isolation)
    with pytest.raises(PassError) as failed:
        cutecc.compile_module(
            *(small_kernel.bytecode,),
            target="sm_80",
            pipeline="convert-cute-to-core",
            isolation=isolation,
            output=tmp_path / "out",
        )
    assert failed.value.pass_name == "convert-cute-to-core"
    record = read_folder(tmp_path / "out")
    assert record.status == "failed"
    assert record.failure is not None
    assert record.failure.reproducer == "reproducer-01-convert-cute-to-core.mlir"


def test_a_reproducer_of_a_worker_outlives_it(small_kernel) -> None:
    with pytest.raises(PassError) as caught:
        cutecc.compile_module(
            small_kernel.bytecode, target="sm_80", pipeline="convert-cute-to-core", isolation="worker"
        )
    file = Path(caught.value.reproducer or "")
    assert file.read_text().startswith("// cutecc-reproducer: ")


def test_a_reproducer_without_a_folder_is_in_the_systems(small_kernel) -> None:
    with pytest.raises(PassError) as caught:
        cutecc.compile_module(small_kernel.bytecode, target="sm_80", pipeline="convert-cute-to-core")
    file = Path(caught.value.reproducer or "")
    assert file.is_absolute()
    assert file.is_file()
    file.unlink()
    file.parent.rmdir()
    options = CompileOptions(reproduce=False)
    with pytest.raises(PassError) as caught:
        cutecc.compile_module(small_kernel.bytecode, target="sm_80", pipeline="convert-cute-to-core", options=options)
    assert caught.value.reproducer is None


def test_an_aborting_pass_is_an_error_with_its_name(
    small_kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    pipeline = Pipeline((*Pipeline.parse("cse,canonicalize").passes, Die(), *Pipeline.parse("cse").passes))
    options = CompileOptions(observe=True, dumps=DumpChoice(after=("all",)))
    with pytest.raises(PassError) as caught:
        cutecc.compile_module(
            small_kernel.bytecode,
            target="sm_80",
            pipeline=pipeline,
            options=options,
            isolation="worker",
            output=tmp_path,
        )
    error = caught.value
    assert error.message == "pass test-die aborted: the compiler process was ended by SIGABRT"
    assert error.pass_name == "test-die"
    assert "terminate called" in error.notes[0]
    record = read_folder(tmp_path)
    assert record.status == "failed"
    assert [(step.name, step.status) for step in record.steps] == [
        ("cse", "ok"),
        ("canonicalize", "ok"),
        ("test-die", "failed"),
    ]
    assert record.traced == "00-traced.mlir"
    assert [step.dump for step in record.steps] == ["01-cse.mlir", "02-canonicalize.mlir", None]
    assert record.failure is not None
    assert record.failure.stage == "test-die"
    saved = (tmp_path / (record.failure.reproducer or "")).read_text()
    with fresh_context():
        assert to_text(parse(saved.encode())) == to_text(parse((tmp_path / "02-canonicalize.mlir").read_bytes()))


def test_a_failed_verification_reproduces(small_kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cutecc.record.reproducer import read_reproducer

    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "passes"))
    from sample_passes import Broken

    source = "func.func @f() { return }"
    pipeline = Pipeline((Broken("invalid-module"),))
    with pytest.raises(PassError) as caught:
        cutecc.compile_module(
            source, target="sm_80", pipeline=pipeline, options=CompileOptions(verify_each=True), output=tmp_path
        )
    assert "left an invalid module" in caught.value.message
    command = read_reproducer(Path(caught.value.reproducer or "").read_text()).command("x")
    assert any("verify-each" in word for word in command)


def test_tracing_and_compiling_a_function(tmp_path: Path) -> None:
    """In a process of its own, as it imports the DSL; the caller's state is put back."""
    (tmp_path / "mine.py").write_text(
        """
import os
import sys

import cutlass
from cutlass import cute

import cutecc


@cute.kernel
def copy_kernel(src: cute.Tensor, dst: cute.Tensor):
    thread, _, _ = cute.arch.thread_idx()
    dst[thread] = src[thread]


@cute.jit
def copy(src: cute.Tensor, dst: cute.Tensor):
    copy_kernel(src, dst).launch(grid=[1, 1, 1], block=[32, 1, 1])


hook = sys.excepthook
environment = dict(os.environ)
traced = cutecc.trace(copy, "f32[32]", "f32[32]", target="sm_80")
assert [parameter.name for parameter in traced.signature.parameters] == ["src", "dst"]
kernel = cutecc.compile(copy, "f32[32]", dst="f32[32]", target="sm_80")
assert isinstance(kernel, cutecc.Kernel)
assert kernel.ptx == cutecc.compile_module(traced.bytecode, target="sm_80").ptx
several = cutecc.compile(copy, "f32[32]", "f32[32]", target=["sm_80", "sm_90a"], output="both")
assert isinstance(several, cutecc.KernelSet)
assert list(several) == ["sm_80", "sm_90a"]
assert several["sm_80"].ptx == kernel.ptx
assert sorted(os.listdir("both")) == ["sm_80", "sm_90a"]
worker = cutecc.compile(copy, "f32[32]", "f32[32]", target="sm_80", isolation="worker")
assert worker.ptx == kernel.ptx
for wrong in (lambda: cutecc.compile(print, target="sm_80"), lambda: cutecc.compile(copy, "f32[32]", target="sm_80")):
    try:
        wrong()
    except cutecc.Error as error:
        print(type(error).__name__)
assert sys.excepthook is hook
assert dict(os.environ) == environment
# The DSL still works afterwards.
cute.compile_to(cutlass.compiler.ArtifactType.PreCompiledMlir, copy, *[
    cute.runtime.make_fake_compact_tensor(cutlass.Float32, (32,)) for _ in range(2)
])
print("end")
"""
    )
    done = subprocess.run([sys.executable, "mine.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["UsageError", "SpecError", "end"]
