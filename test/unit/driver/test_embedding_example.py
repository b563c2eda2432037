"""The compiler of expressions that embeds cutecc (`examples/embedding`), on the emulator."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from conftest import EXAMPLES

import cutecc
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, to_text
from cutecc.runtime.launch import Launch
from cutecc.runtime.program.evaluation import Evaluator, StatusError

MODULES = ("building", "compiling", "expressionc", "language")


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, ModuleType]]:
    """The example's modules by name, which are its own."""
    import importlib
    import sys

    monkeypatch.syspath_prepend(str(EXAMPLES / "embedding"))
    yield {name: importlib.import_module(name) for name in MODULES}
    for name in MODULES:
        del sys.modules[name]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_an_expression_computes_what_numpy_does(example, pipeline: str, target: str, capsys) -> None:
    text = "relu(a * X + Y) - max(min(exp(X / 3), sqrt(abs(-Z))), 0.5)"
    expression = example["language"].parse(text)
    kernel = example["compiling"].compile_expression(expression, target, pipeline, "none")
    assert example["expressionc"].check(kernel, expression, 1000, "cpu") < 1e-5
    said = capsys.readouterr()
    assert said.out == ""
    assert f"expression for {target}: passes 1 to " in said.err
    assert "made ptx, cubin, host-program" in said.err


def test_a_bundle_of_an_expression(example, tmp_path) -> None:
    expression = example["language"].parse("a * X")
    example["compiling"].compile_expression(expression, "sm_80", "nvidia", "worker").save(tmp_path / "a.cutecc")
    kernel = cutecc.load(tmp_path / "a.cutecc")
    x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    kernel(np.float32(3), x, out, device="cpu")
    assert out.tolist() == [0, 3, 6, 9, 12]
    with pytest.raises(cutecc.ArgumentError, match=r"\?N is 5 in 'X' and 4 in 'out'"):
        kernel(np.float32(3), x, out[:4], device="cpu")


def test_the_module_is_small_and_located(example) -> None:
    with fresh_context(), plain_values():
        module = example["building"].build(example["language"].parse("X + Y"))
        assert module.operation.verify()
        text = to_text(module, locations=True)
    assert 'loc("expression":1:1)' in text
    assert text.count("arith.addf") == 1


FOR_THE_STOCK_LAUNCHER = {
    "gpu.container_module": ("module {", "module attributes {gpu.container_module} {"),
    "cute.kernel": ("attributes {nvvm.reqntid", "attributes {cute.kernel, nvvm.reqntid"),
    "gpu.kernel": ("attributes {nvvm.reqntid", "attributes {gpu.kernel, nvvm.reqntid"),
    "llvm.emit_c_interface": (") -> i32 {", ") -> i32 attributes {llvm.emit_c_interface} {"),
}
"""What the DSL's modules have besides, and how it stands in the text of the example's."""


@pytest.mark.parametrize("pipeline", ["nvidia", "open"])
def test_what_the_stock_launcher_needs_makes_no_difference(example, pipeline: str) -> None:
    """`docs/embedding.md` says so, and that a launch that fails is an error by `cuda.return_if_error` alone."""
    with fresh_context(), plain_values():
        text = to_text(example["building"].build(example["language"].parse("a * X")), locations=False)
    alone = compiled(text, pipeline)
    assert doubled(alone) == [0, 2, 4, 6, 8]
    assert fails_with(alone, 719)

    for name, (without, having) in FOR_THE_STOCK_LAUNCHER.items():
        assert text.count(without) == 1
        kernel = compiled(text.replace(without, having), pipeline)
        assert kernel.ptx == alone.ptx, name
        assert (kernel.host_program, doubled(kernel)) == (alone.host_program, [0, 2, 4, 6, 8]), name

    (checked,) = [line for line in text.splitlines(keepends=True) if "cuda.return_if_error" in line]
    unchecked = compiled(text.replace(checked, ""), pipeline)
    assert (unchecked.ptx, doubled(unchecked)) == (alone.ptx, [0, 2, 4, 6, 8])
    assert not fails_with(unchecked, 719)
    nothing = re.sub(r"return %\S+ : i32", "return", text.replace(checked, "").replace(") -> i32 {", ") {"))
    assert doubled(compiled(nothing, pipeline)) == [0, 2, 4, 6, 8]


def compiled(text: str, pipeline: str) -> cutecc.Kernel:
    kernel = cutecc.compile_module(
        text, "sm_80", pipeline, signature=cutecc.Signature.of("scale", a="f32", X="f32[?N]", out="f32[?N]")
    )
    assert isinstance(kernel, cutecc.Kernel)
    return kernel


def doubled(kernel: cutecc.Kernel) -> list[float]:
    """What the kernel makes of 0 to 4 and the factor 2, on the emulator."""
    x, out = np.arange(5, dtype=np.float32), np.zeros(5, np.float32)
    kernel(np.float32(2), x, out, device="cpu")
    return out.tolist()


def fails_with(kernel: cutecc.Kernel, status: int) -> bool:
    """Whether the host program raises an error when its launch gives this status of CUDA."""

    class Host:
        def launch(self, launch: Launch) -> int:
            return status

    assert kernel.host_program is not None
    try:
        Evaluator(kernel.host_program)([0] * len(kernel.host_program.leaves), Host())
    except StatusError:
        return True
    return False


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a + b", "an expression without a vector"),
        ("tan(X)", "no function is called 'tan'"),
        ("X[0]", "'X\\[0\\]' is not in the language"),
        ("max(X)", "is not in the language"),
        ("out + X", "'out' is what the kernel writes"),
        ("X +", "invalid syntax"),
    ],
)
def test_what_is_no_expression(example, text: str, message: str) -> None:
    with pytest.raises(SyntaxError, match=message):
        example["language"].parse(text)
