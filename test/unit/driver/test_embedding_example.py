"""The compiler of expressions that embeds cutecc (`examples/embedding`), on the emulator."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from conftest import EXAMPLES

import cutecc
from cutecc.ir.casters import plain_values
from cutecc.ir.modules import fresh_context, to_text

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
