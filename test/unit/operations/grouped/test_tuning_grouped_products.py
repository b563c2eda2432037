"""Autotuning of grouped products, with a GPU and a compiler that stand in."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from fake_cuda import FakeCuda

from cutecc.errors import UsageError
from cutecc.operations import Column, Full, GroupedDescription, GroupedGemm, Row, Scalar
from cutecc.operations.autotuning import autotune
from cutecc.operations.grouped.contest import GroupedContest
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.runtime.timing import Samples
from cutecc.runtime.workspace import Workspace

sys.path.append(str(Path(__file__).parents[1] / "running"))
from emulated_gpu import install

PROBLEM = (4096, 512, 1024, 8)
SIMT: dict[str, Any] = {"instruction": "simt:1x1x1:f32:f32:f32", "target": "sm_80"}


class Bench:
    """Compiles nothing and times by a rule."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.timed: list[list[GroupedDescription]] = []
        monkeypatch.setattr(
            "cutecc.operations.compiling.compile_descriptions", lambda given, **_: [object() for _ in given]
        )

    @staticmethod
    def cost(description: GroupedDescription) -> float:
        m, n, _ = description.gemm.tile.threadblock
        return 100.0 + abs(m - 128) + abs(n - 64) - 5 * (description.gemm.swizzle == "identity4")

    def __call__(self, operations: Sequence[GroupedGemm], problem: GroupedProblem) -> list[Any]:
        self.timed.append([each.description for each in operations])
        return [Samples([self.cost(each.description)], "events", 1) for each in operations]


def test_the_fastest_tile_and_then_its_swizzles(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> None:
    bench = Bench(monkeypatch)
    op = GroupedGemm("f16", "f16", packing="rows", epilogue="relu", target="sm_80")

    def tune(op: GroupedGemm = op, **options: Any) -> Any:
        given: dict[str, Any] = {"problem": PROBLEM, "timer": bench, "device_name": "Imaginary", "progress": False}
        return autotune(op, **given | options)

    found = tune()
    first, second = bench.timed
    assert min(map(bench.cost, first)) == bench.cost(second[0]) and len({each.gemm.tile for each in second}) == 1
    assert isinstance(found.operation, GroupedGemm) and found.operation.description.gemm.swizzle == "identity4"
    assert found.operation.epilogue == op.epilogue and found.operation.description.packing == "rows"
    assert found.teraflops == pytest.approx(2 * 4096 * 512 * 1024 / found.microseconds / 1e6)
    assert str(found.problem) == "8 of 512×512×1024"
    for same in (PROBLEM, (4000, 512, 1000, 7), [(1, 512, 1024), (3999, 512, 1024)] + [(0, 512, 1024)] * 6):
        again = tune(problem=same)
        assert again.is_remembered and again.operation.description == found.operation.description
    assert not tune(problem=(4096, 512, 1024, 16)).is_remembered
    assert not tune(GroupedGemm("f16", "f16", packing="columns", epilogue="relu", target="sm_80")).is_remembered
    with pytest.raises(UsageError, match="autotune needs the sizes of the groups"):
        autotune(op, timer=bench, device_name="Imaginary", progress=False)


def everything(accum: Any, C: Any, bias: Any, scale: Any, factor: Any, beta: Any = 0.0) -> Any:
    return {"D": (accum + bias) * scale * factor + beta * C, "before": accum}


KINDS = {
    "bias": Row("f32"),
    "scale": Column("f32"),
    "factor": Scalar("f32", in_memory=True),
    "before": Full("f32"),
}


@pytest.mark.parametrize("packing", ["list", "rows", "columns", "depth"])
@pytest.mark.parametrize("schedule", ["device", "host"])
def test_every_packing_is_timed_on_arguments_that_it_takes(packing: Any, schedule: Any, monkeypatch: Any) -> None:
    install(monkeypatch)
    parts: dict[str, Any] = {"packing": packing, "schedule": schedule, "c": "f32", "epilogue": everything}
    tiles = "64x64x8", "64x32x8"
    operations = [GroupedGemm("f32", "f32", operands=KINDS, tile=each, **parts, **SIMT) for each in tiles]
    cuda, calls = FakeCuda(), []

    def run(op: GroupedGemm, stream: int, workspace: Any, **arguments: Any) -> None:
        assert arguments["beta"] == 1.0 and (status := op.supports(**arguments)), status
        calls.append(op)
        cuda.work("product", 5.0)

    monkeypatch.setattr(GroupedGemm, "run", run)
    with Workspace(0, cuda) as gpu:
        found = GroupedContest(operations[0], (64, 64, 64, 4)).time(operations, gpu)
    assert all(isinstance(each, Samples) for each in found) and {id(each) for each in calls} == set(map(id, operations))


@pytest.mark.parametrize("packing", ["rows", "depth", "list"])
def test_scales_are_timed_too(packing: Any) -> None:
    op = GroupedGemm(
        "f8E4M3FN", "f8E4M3FN:column", "bf16", packing=packing, scales="blocks", target="sm_90a", problem=PROBLEM
    )
    cuda = FakeCuda()

    def run(op: GroupedGemm, stream: int, workspace: Any, **arguments: Any) -> None:
        assert (status := op.supports(**arguments)), status
        cuda.work("product", 5.0)

    with Workspace(0, cuda) as gpu, pytest.MonkeyPatch.context() as patch:
        patch.setattr(GroupedGemm, "run", run)
        patch.setattr(GroupedGemm, "matrices", lambda self, **lists: lists)
        (found,) = GroupedContest(op, (100, 256, 384, 3)).time([op], gpu)
    assert isinstance(found, Samples), found
