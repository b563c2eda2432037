"""The stage, and the function of it, that `show` and `diff` are about."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecc.cli.records import choose_stage, text_of
from cutecc.errors import UsageError
from cutecc.record import Compilation, Step, Versions
from cutecc.record.stages import Stages, StageWriter, create


def module(*symbols: str) -> str:
    functions = "".join(f"  func.func @{symbol}() {{\n    return\n  }}\n" for symbol in symbols)
    return f"module {{\n{functions}}}\n"


TWICE = module("kernel_cutlass_k_tensorptrf16_0", "kernel_cutlass_k_tensorptrf32_1", "other")


@pytest.fixture
def stages(tmp_path: Path) -> Stages:
    path = tmp_path / "k.stages"
    create(path)
    writer = StageWriter(path)
    for index, text in ((0, TWICE), (1, module("host"))):
        writer.add_stage(index, text, [None] * text.count("\n"))
    return Stages(path.read_bytes())


@pytest.fixture
def record() -> Compilation:
    found = Compilation("k", "sm_80", "", Versions("1", "3.11", "4.8.1", "wheel"))
    found.steps.append(Step(1, "cuda-to-binary", "cuda-to-binary", "wheel"))
    return found


def test_last_of_a_function_is_the_last_module_with_it(record: Compilation, stages: Stages) -> None:
    assert choose_stage(record, stages, "last", None).index == 1
    assert choose_stage(record, stages, "last", "other").index == 0
    assert choose_stage(record, stages, "1", "other").index == 1
    assert text_of(record, stages, choose_stage(record, stages, "last", "other"), "other").first == 7


def test_a_function_that_is_elsewhere_is_named_with_its_stage(record: Compilation, stages: Stages) -> None:
    with pytest.raises(UsageError, match="no function 'other' after cuda-to-binary") as caught:
        text_of(record, stages, choose_stage(record, stages, "1", None), "other")
    assert caught.value.hints == ["the last module with it is that after traced"]


def test_of_several_of_one_name_a_symbol_is_asked_for(record: Compilation, stages: Stages) -> None:
    with pytest.raises(UsageError, match="2 functions after traced are called k") as caught:
        text_of(record, stages, choose_stage(record, stages, "traced", None), "k")
    assert caught.value.hints == ["a symbol: kernel_cutlass_k_tensorptrf16_0"]
