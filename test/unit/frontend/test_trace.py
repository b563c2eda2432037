"""Tracing: what comes out, for which target, and what it leaves behind."""

import contextlib
import os
import pickle
import sys
import threading
import warnings
from pathlib import Path

import host_samples
import pytest
from cutlass._mlir import ir
from cutlass.base_dsl import BaseDSL

import cutecc.frontend.trace as trace_module
from cutecc.arguments.grammar import parse_spec
from cutecc.errors import TraceError, UsageError
from cutecc.frontend.header import read_header
from cutecc.frontend.trace import trace, trace_file
from cutecc.frontend.traced import TracedModule, TraceRequest
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import body_of, fresh_context, parse
from cutecc.target import Target

SM80, SM90A = Target.parse("sm_80"), Target.parse("sm_90a")
EXAMPLE = Path(__file__).parents[3] / "examples" / "elementwise_add.py"


def text(module: TracedModule) -> str:
    with ir.Context():
        return ir.Module.parse(module.bytecode).operation.get_asm(enable_debug_info=True)


def line_of(start: str, path: str) -> int:
    lines = Path(path).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.startswith(start))


def test_a_function() -> None:
    module = trace(host_samples.scale, "f32[?N=64]", target=SM80)
    assert module.name == "scale"
    assert module.signature.function == "scale"
    assert module.source_file == host_samples.__file__
    assert module.source_line == line_of("def scale(", host_samples.__file__)
    assert module.warnings == ()
    assert "cuda.launch_ex" in text(module)
    assert pickle.loads(pickle.dumps(module)) == module


def test_passes_of_other_threads_leave_a_trace_alone() -> None:
    """The value casters, which are the whole process's, tell threads apart."""
    inside, done = threading.Event(), threading.Event()
    results: list[type] = []

    def rewrite() -> None:
        with plain_values(), fresh_context():
            inside.set()
            assert done.wait(30)
            module = parse(b"func.func @f(%a: i32) { return }")
            (function,) = body_of(module.operation)
            results.append(type(function.regions[0].blocks[0].arguments[0]))

    expected = trace(host_samples.scale, "f32[?N=64]", target=SM80, locations=False)
    passes = threading.Thread(target=rewrite)
    passes.start()
    assert inside.wait(5)
    traced = trace(host_samples.scale, "f32[?N=64]", target=SM80, locations=False)
    done.set()
    passes.join()
    assert text(traced) == text(expected)
    assert results == [ir.BlockArgument]


def test_a_pass_may_have_a_kernel_traced() -> None:
    expected = trace(host_samples.scale, "f32[?N=64]", target=SM80, locations=False)
    with plain_values():
        assert text(trace(host_samples.scale, "f32[?N=64]", target=SM80, locations=False)) == text(expected)


def test_objects_and_methods() -> None:
    module = trace(host_samples.Gemm(tile=128), "f32[?]", target=SM90A)
    assert (module.name, module.signature.function) == ("Gemm", "Gemm.__call__")
    assert host_samples.seen == [128]
    named = host_samples.Gemm()
    named.__name__ = "gemm_of_64"  # type: ignore[attr-defined]
    module = trace(named, "f32[?]", target=SM90A)
    assert (module.name, module.signature.function) == ("gemm_of_64", "Gemm.__call__")
    module = trace(host_samples.Gemm().run, "f32[?]", target=SM90A)
    assert (module.name, module.signature.function) == ("Gemm.run", "Gemm.run")
    assert [parameter.spec for parameter in module.signature.parameters] == ["f32[?]", "i32=3"]


def test_what_is_no_host_function() -> None:
    with pytest.raises(UsageError, match=r"'not_a_kernel' is a function without @cute\.jit"):
        trace(host_samples.not_a_kernel, 3, target=SM80)
    with pytest.raises(UsageError, match="'Gemm' is a class"):
        trace(host_samples.Gemm, target=SM80)


def test_targets_one_after_the_other() -> None:
    for target, constant in ((SM80, "8.0"), (SM90A, "9.0"), (SM80, "8.0")):
        assert f"{constant}00000e+01" in text(trace(host_samples.arch_dependent, "f32[?]", target=target))


def test_several_blocks_on_an_sm_take_its_shared_memory_from_the_target() -> None:
    """The DSL asks the GPU of this machine, which there may not be."""
    for target in (SM80, SM90A):
        shared = target.limits.shared_memory_per_sm
        assert f"smem.max_smem_per_mp = {shared} : i64" in text(trace(host_samples.crowded, "f32[?]", target=target))


@pytest.mark.parametrize("variable", [None, "sm_100a"])
def test_nothing_stays_changed(variable: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    if variable is None:
        monkeypatch.delenv("CUTE_DSL_ARCH", raising=False)
    else:
        monkeypatch.setenv("CUTE_DSL_ARCH", variable)
    compiler = BaseDSL._get_dsl()
    monkeypatch.setattr(compiler.envar, "_arch", "sm_120a")
    environment, hook, path, filters = dict(os.environ), sys.excepthook, list(sys.path), list(warnings.filters)
    trace(host_samples.arch_dependent, "f32[?]", target=SM90A)
    with pytest.raises(TraceError):
        trace(host_samples.fails, "f32[?]", target=SM90A)
    assert compiler.envar.arch == "sm_120a"
    assert not compiler.compile_options.generate_line_info
    assert compiler.decorator_location is None
    assert (dict(os.environ), sys.excepthook, sys.path, warnings.filters) == (environment, hook, path, filters)


@pytest.mark.slow
def test_a_fresh_process_traces_for_the_target() -> None:
    """There, the DSL is first used, and asks the environment, while the file is imported."""
    import subprocess

    code = f"""
import os, sys
hook = sys.excepthook
from cutecc.arguments.grammar import parse_spec
from cutecc.frontend.trace import trace_file
from cutecc.frontend.traced import TraceRequest
request = TraceRequest({host_samples.__file__!r}, "arch_dependent", args={{"x": parse_spec("f32[?]")}}, target="sm_90a")
module = trace_file(request)
assert sys.excepthook is hook and "CUTE_DSL_ARCH" not in os.environ
from cutlass._mlir import ir
with ir.Context():
    assert "9.000000e+01" in str(ir.Module.parse(module.bytecode))
from cutlass.base_dsl import BaseDSL
assert BaseDSL._get_dsl().envar._arch is None
"""
    environment = {name: value for name, value in os.environ.items() if name != "CUTE_DSL_ARCH"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_files() -> None:
    header = read_header(EXAMPLE)
    request = TraceRequest(str(EXAMPLE), entry=header.entry, args=header.args, target="sm_80", sources=header.sources)
    module = trace_file(pickle.loads(pickle.dumps(request)))
    assert module.name == "elementwise_add"
    assert module.source_file == str(EXAMPLE)
    assert [parameter.spec for parameter in module.signature.parameters] == ["f32[?M=1000,?N{div=4}=2044] align=16"] * 3


def test_a_file_and_its_function_trace_alike() -> None:
    by_name = trace_file(TraceRequest(host_samples.__file__, "scale", args={"x": parse_spec("f32[?]")}, target="sm_80"))
    assert by_name.bytecode == trace(host_samples.scale, "f32[?]", target=SM80).bytecode


def test_unknown_targets() -> None:
    with pytest.raises(UsageError, match="unknown target 'sm_42'"):
        trace_file(TraceRequest(str(EXAMPLE), target="sm_42"))


def test_locations_are_those_of_the_user() -> None:
    file = host_samples.__file__
    shown = text(trace(host_samples.scale, "f32[?]", target=SM80))
    assert f'"{file}":{line_of("    x[thread]", file)}:' in shown
    # What takes in the arguments stands at the function, not at the caller of the DSL.
    assert f'"{file}":{line_of("def scale(", file)}:0' in shown
    assert "cutecc/frontend" not in shown
    assert line_of("    x[thread]", file) > 0
    bare = text(trace(host_samples.scale, "f32[?]", target=SM80, locations=False))
    assert f'"{file}":{line_of("    x[thread]", file)}:' not in bare


def test_positions_are_looked_up_faster_but_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    fast = trace(host_samples.scale, "f32[?]", target=SM80)
    monkeypatch.setattr(trace_module, "fast_positions", contextlib.nullcontext)
    assert trace(host_samples.scale, "f32[?]", target=SM80) == fast


def test_warnings_are_kept_and_not_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "warning.py"
    path.write_text(
        "import cutlass, cutlass.cute as cute\n\n\n@cute.jit\ndef warns(x: cute.Tensor):\n"
        "    cutlass.Int32(5_000_000_000)\n"
    )
    module = trace_file(TraceRequest(str(path), args={"x": parse_spec("f32[?]")}, target="sm_80"))
    [remark] = module.warnings
    assert "5000000000 does not fit in Int32" in remark.message
    assert "\x1b" not in remark.message
    assert (remark.severity, remark.location) == ("warning", f"{path}:6")
    assert capsys.readouterr() == ("", "")


def test_marks_for_the_profiler_are_no_error(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "marked.py"
    file.write_text(
        "import cutlass\nfrom cutlass import cute\nfrom cutlass.cute.experimental import iket\n"
        "@cute.kernel\ndef marked_kernel():\n    iket.mark('here')\n"
        "@cute.jit\ndef marked(x: cute.Tensor):\n    marked_kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))\n"
    )
    module = trace_file(TraceRequest(str(file), args={"x": parse_spec("f32[?]")}, target="sm_90a"))
    assert b"iket" in module.bytecode
    assert capfd.readouterr() == ("", "")
