"""`docs/operations.md` has the tables of the code, and its calls are calls that there are."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from following import BLOCK, FILE, ROOT

from cutecc.operations import Gemm, Status
from cutecc.operations.epilogue import functions
from cutecc.operations.epilogue.named import NAMES
from cutecc.operations.instruction import UNITS
from cutecc.operations.instruction_set import KINDS, WGMMA_TARGET
from cutecc.operations.rules import RESULTS

PAGE = (ROOT / "docs" / "operations.md").read_text()


def between(mark: str) -> str:
    found = re.search(rf"<!-- {mark}: begin -->\n(.*?)\n<!-- {mark}: end -->", PAGE, re.DOTALL)
    assert found, mark
    return found[1]


def code(words: Any) -> str:
    return " ".join(f"`{word}`" for word in words)


def instruction_table() -> str:
    lines = ["| unit | multiplied | into | shape | arithmetic | since |", "|---|---|---|---|---|---|"]
    for unit in UNITS:
        for kind in (each for each in KINDS if each.unit == unit):
            types = " by ".join(f"`{each}`" for each in dict.fromkeys((kind.a, kind.b)))
            shapes = ["x".join(map(str, shape)) for shape in kind.shapes]
            if unit == "wgmma":
                shapes = [f"64xNx{kind.shapes[0][2]}"]
            since = f"{WGMMA_TARGET} alone" if unit == "wgmma" else kind.since
            cells = types, code(kind.accumulators), " ".join(shapes), code(kind.arithmetics), since
            lines.append(f"| `{unit}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def results_table() -> str:
    lines = ["| accumulator | C and D |", "|---|---|"]
    return "\n".join(lines + [f"| `{name}` | {code(types)} |" for name, types in RESULTS.items()])


def test_the_instructions_are_those_there_are() -> None:
    assert between("instructions") == instruction_table(), f"there should be\n{instruction_table()}"


def test_the_results_are_those_there_are() -> None:
    assert between("results") == results_table(), f"there should be\n{results_table()}"


def test_the_functions_are_those_there_are() -> None:
    assert between("functions").split() == code(functions.__all__).split()


def test_the_named_epilogues_are_those_there_are() -> None:
    _, _, table = PAGE.partition("| name | D |\n|---|---|\n")
    firsts = [line.split("|")[1] for line in table.partition("\n\n")[0].splitlines()]
    assert re.findall(r"`(\w+)`", " ".join(firsts)) == list(NAMES)


def test_the_example_is_the_file() -> None:
    block = next(block for language, block in BLOCK.findall(PAGE) if language == "python")
    header = FILE.match(block)
    assert header and (ROOT / header[1]).read_text() == block.removeprefix(header[0])


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[Status]:
    """What operations say of the calls of `run`, which launch nothing."""
    found: list[Status] = []

    def run(op: Gemm, *args: Any, stream: Any = None, workspace: Any = None, **given: Any) -> None:
        found.append(op.supports(*args, **given))

    monkeypatch.setattr(Gemm, "run", run)
    return found


def test_what_is_for_a_gpu_is_called_as_it_can_be(calls: list[Status]) -> None:
    given: dict[str, Any] = {}
    for language, block in BLOCK.findall(PAGE):
        if language == "python" and not FILE.match(block):
            exec(compile(block, "operations.md", "exec"), given)
    A, B, C, D = (np.zeros(shape, "f2") for shape in ((32, 16), (16, 64), (32, 64), (32, 64)))
    op = Gemm("f16", "f16", c="f16", target="sm_80")
    given["run"](op, A, B, C, D, 7)

    class Graph:
        def __enter__(self) -> None: ...
        def __exit__(self, *_: object) -> None: ...

    cuda = SimpleNamespace(CUDAGraph=Graph, graph=lambda graph: graph)
    assert isinstance(given["capture"](SimpleNamespace(cuda=cuda), op, A, B, D), Graph)
    torch = SimpleNamespace(uint8="u1", zeros=lambda size, dtype, device: np.zeros(size, dtype))
    split = Gemm("f16", "f16", target="sm_80", mode="split_k_parallel", problem=(32, 64, 16))
    assert given["with_own_memory"](torch, split, A, B, D).nbytes == split.workspace_bytes(A, B, D=D)
    assert [bool(each) for each in calls] == [True] * 4, [str(each) for each in calls]


def test_flags_from_outside_and_results_by_name() -> None:
    _, _, text = PAGE.partition("come from outside of it:")
    block = next(block for language, block in BLOCK.findall(text) if language == "python")
    given: dict[str, Any] = {}
    path = Path("flags.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linecache.cache", {str(path): (len(block), None, block.splitlines(True), str(path))})
        exec(compile(block, str(path), "exec"), given)
        epilogue = given["made"].epilogue
    assert [each.name for each in epilogue.outputs] == ["D", "before"]
    assert [step.operation for step in epilogue.steps] == ["add", "max"]
    assert given["made"].description.target == "sm_90a"


def test_sums_of_integers_are_left_as_they_are_as_the_page_says() -> None:
    names = [Gemm("i8", "i8", c=c, target="sm_80").epilogue.name for c in (None, "i32")]
    assert names == ["identity", "linear_combination"]
    assert "`linear_combination`; `identity` of i32 sums into `i32` without C |" in PAGE


def test_the_readme_shows_a_call_that_can_be_made(calls: list[Status], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing else says a target."""
    text = (ROOT / "README.md").read_text().partition("## A GEMM with your own epilogue")[2].partition("\n## ")[0]
    (block,) = (block for language, block in BLOCK.findall(text) if language == "python")
    x, weight = np.zeros((32, 16), "f2"), np.zeros((64, 16), "f2")
    D, bias, sums = np.zeros((32, 64), "f2"), np.zeros(64, "f2"), np.zeros(32, "f4")
    path = Path("epilogue.py")
    monkeypatch.setattr("linecache.cache", {str(path): (len(block), None, block.splitlines(True), str(path))})
    exec(compile(block, str(path), "exec"), {"x": x, "weight": weight, "bias": bias, "D": D, "sums": sums})
    assert [bool(each) for each in calls] == [True]
