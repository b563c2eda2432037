"""Autotuning: what is compiled and timed, what wins, what is remembered, with a GPU and a compiler that stand in."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulated_gpu import Cuda
from small_products import F32, biased

from cutecc.errors import ArgumentError, Error, NoGpuError, UsageError
from cutecc.operations import winners
from cutecc.operations.autotuning import autotune
from cutecc.operations.description import GemmDescription
from cutecc.operations.discovery import find
from cutecc.operations.epilogue.declarations import Column, Row, Scalar
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.tile_model import Problem
from cutecc.operations.tuning_data import time_products
from cutecc.operations.views import DeviceMatrix, MatrixArray
from cutecc.runtime import cuda_bindings
from cutecc.runtime.timing import Samples
from cutecc.runtime.workspace import Workspace

PROBLEM = (4096, 4096, 4096)
TUNED: dict[str, Any] = {"target": "sm_80", "device_name": "Imaginary", "progress": False}


class Bench:
    """Compiles nothing and times by a rule."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.compiled: list[GemmDescription] = []
        self.timed: list[list[GemmDescription]] = []
        self.failing: Any = lambda description: False
        monkeypatch.setattr("cutecc.operations.compiling.compile_descriptions", self.compile)

    def compile(self, descriptions: Sequence[GemmDescription], **_: Any) -> list[Any]:
        self.compiled += descriptions
        return [Error("as a test wants it") if self.failing(each) else object() for each in descriptions]

    def cost(self, description: GemmDescription) -> float:
        """Microseconds."""
        cost = 100.0 + sum(
            abs(size - best) for size, best in zip(description.tile.threadblock, (128, 64, 32), strict=True)
        )
        return cost - 5 * (description.swizzle == "identity4")

    def __call__(self, operations: Sequence[Gemm], problem: Problem) -> list[Any]:
        self.timed.append([each.description for each in operations])
        return [
            Samples([self.cost(each.description) + noise for noise in (-1, 0, 3)], "events", 1) for each in operations
        ]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, cache_dir: Path) -> Bench:
    return Bench(monkeypatch)


def tune(bench: Bench, **options: Any) -> Any:
    return autotune("f16", **TUNED | {"problem": PROBLEM, "timer": bench} | options)


def test_the_fastest_wins_after_its_swizzles_were_timed_beside_it(bench: Bench) -> None:
    found = tune(bench)
    assert not found.is_remembered and len(bench.timed) == 2
    first, second = bench.timed
    best = min(first, key=bench.cost)
    assert second[0] == best and {each.tile for each in second} == {best.tile}
    assert found.operation.description.swizzle == "identity4" and found.operation.description.tile == best.tile
    assert found.microseconds == bench.cost(found.operation.description) == found.timed[0].median
    assert [each.median for each in found.timed[: len(second)]] == sorted(bench.cost(each) for each in second)
    assert found.teraflops == pytest.approx(2 * 4096**3 / found.microseconds / 1e6)
    assert found.table().splitlines()[0].split() == [
        f"{found.microseconds:.2f}",
        *_spread(found),
        found.operation.description.name,
    ]


def _spread(found: Any) -> list[str]:
    samples = found.timed[0].samples
    return [f"[{samples.percentile(10):.2f},", f"{samples.percentile(90):.2f}]"]


def test_winners_are_remembered_by_device_and_class_of_shapes(bench: Bench, cache_dir: Path) -> None:
    found = tune(bench)
    (file,) = (cache_dir.parent / "tuned").iterdir()
    kept = json.loads(file.read_bytes())
    assert (kept["device"], kept["shapes"], kept["microseconds"]) == (
        "Imaginary",
        "4096x4096x4096x1",
        found.microseconds,
    )
    count = len(bench.timed)
    for same in (PROBLEM, (4000, 3000, 2049)):
        again = tune(bench, problem=same)
        assert again.is_remembered and again.operation.description == found.operation.description
    assert len(bench.timed) == count
    for other in ({"problem": (2048, 4096, 4096)}, {"device_name": "Another"}, {"epilogue": "relu"}, {"again": True}):
        assert not tune(bench, **other).is_remembered
    assert winners.forget() == 4 and not tune(bench).is_remembered


def test_a_damaged_winner_is_found_anew(bench: Bench, cache_dir: Path) -> None:
    tune(bench)
    (file,) = (cache_dir.parent / "tuned").iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert not tune(bench).is_remembered and tune(bench).is_remembered


def test_what_does_not_compile_is_left_out_and_shown(bench: Bench) -> None:
    bench.failing = lambda description: description.tile.stages == 3
    found = tune(bench)
    assert found.operation.description.tile.stages != 3
    failed = [each for each in found.timed if each.error is not None]
    assert failed and all(each.description.tile.stages == 3 for each in failed)
    assert "failed" in found.table()
    bench.failing = lambda description: True
    with pytest.raises(Error, match="as a test wants it"):
        tune(bench, again=True)


def test_the_budget_ends_compiling(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 10_000, 10))
    monkeypatch.setattr(time, "monotonic", lambda: float(next(now)))
    tune(bench, budget=50, workers=2)
    assert len(bench.timed[0]) < 10


@pytest.mark.slow
def test_a_plot_and_a_bar(bench: Bench, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = tune(bench, progress=True)
    assert "timing" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    found.plot(tmp_path / "times.svg")
    text = (tmp_path / "times.svg").read_text()
    assert text.count("<svg") == 1
    with pytest.raises(UsageError, match="nothing was timed"):
        tune(bench).plot(tmp_path / "none.svg")
    with pytest.raises(UsageError, match="its name has to end in"):
        found.plot(tmp_path / "times.txt")


def test_k_is_split_where_there_are_few_tiles(bench: Bench) -> None:
    tune(bench)
    assert {each.mode for each in bench.timed[0]} == {"gemm"}
    tune(bench, problem=(128, 128, 65536))
    assert {each.mode for each in bench.timed[2]} & {"split_k_serial", "split_k_parallel"}


def test_what_cannot_be_tuned(bench: Bench) -> None:
    with pytest.raises(UsageError, match="autotune needs the sizes"):
        tune(bench, problem=None)
    matrices = [DeviceMatrix(0x1000 * each, (16, 16), 16, "f16") for each in range(1, 3)]
    with pytest.raises(ArgumentError, match="numbers of matrices differ: 2 of A, 1 of B, 2 of D"):
        autotune((matrices, matrices[:1], matrices), target="sm_80", timer=bench, device_name="Imaginary")


def test_without_a_gpu_there_are_estimates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", None)
    monkeypatch.setattr(cuda_bindings, "_driver", None)
    with pytest.raises(NoGpuError, match="autotune times kernels on a GPU") as caught:
        autotune("f16", target="sm_90a", problem=PROBLEM)
    assert 'find(…, target="sm_90a") lists kernels by estimate' in caught.value.hints[0]
    with pytest.raises(NoGpuError) as caught:
        autotune(GroupedGemm("f16", "f16", packing="rows", target="sm_90a"))
    assert "op.tile_descriptions() lists tiles by estimate" in caught.value.hints[0]
    for ask in (find, Gemm.for_arguments):
        arrays = [np.zeros((16, 16), np.float16)] * 3
        with pytest.raises(NoGpuError) as caught:
            ask("f16") if ask is find else ask(*arrays[:2], D=arrays[2])  # type: ignore[operator]
        assert 'target="sm_90a"' in caught.value.hints[0]


def test_matrices_anywhere_in_memory_are_tuned_for(bench: Bench) -> None:
    matrices = [DeviceMatrix(0x1000 * each, (1024, 1024), 1024, "f16") for each in range(1, 4)]
    found = autotune((matrices, matrices, matrices), **TUNED, timer=bench)
    assert found.operation.description.mode == "array" and found.problem.batches == 3
    assert {each.mode for listed in bench.timed for each in listed} == {"array"}
    assert not autotune((matrices[0],) * 3, **TUNED, timer=bench).is_remembered  # another product
    assert autotune((matrices, matrices, matrices), **TUNED, timer=bench).is_remembered


def test_operands_of_an_epilogue_are_part_of_the_product(bench: Bench) -> None:
    operands = {"bias": Row("f16"), "sums": Column("f32")}
    found = tune(bench, epilogue=biased, operands=operands)
    assert [each.name for each in found.operation.epilogue.operands] == ["bias", "D", "sums"]
    assert tune(bench, epilogue=biased, operands=operands).is_remembered
    assert not tune(bench, epilogue=biased, operands=operands | {"bias": Row("f32")}).is_remembered


def test_tables_of_matrices_are_timed() -> None:
    cuda = Cuda()
    tables: set[tuple[int, ...]] = set()

    def launch(op: Gemm, arguments: dict[str, Any], workspace: Any, stream: int) -> None:
        assert all(isinstance(arguments[name], MatrixArray) for name in ("A", "B", "D"))
        assert op.supports(arguments["A"], arguments["B"], None, arguments["D"])
        for each in arguments.values():
            table = np.frombuffer(cuda.array(each.data_ptr(), 24), np.int64)
            assert tuple(table) == each.addresses and each.like.shape == (64, 64)
            tables.add(each.addresses)
        cuda.work("product", 5.0)

    with Workspace(0, cuda) as gpu:
        (timed,) = time_products([Gemm(**F32, mode="array")], Problem(64, 64, 64, 3), gpu, launch)
    assert isinstance(timed, Samples)
    assert len({address for each in tables for address in each}) == 3 * len(tables)


def test_numbers_and_batches_of_every_kind_are_timed() -> None:
    def scaled(accum: Any, C: Any, beta: Any, scale: Any) -> Any:
        return scale * accum + beta * C

    scalars = {"beta": Scalar("f32", in_memory=True), "scale": Scalar("f32")}
    interleaved = dict.fromkeys("abd", "i8:interleaved32")
    timed: list[Gemm] = []
    for op in (
        Gemm(**F32, c="f32:row:1", epilogue=scaled, operands=scalars, mode="batched"),
        Gemm(**interleaved, mode="batched", target="sm_80"),
    ):
        with Workspace(0, cuda := Cuda()) as gpu, pytest.MonkeyPatch.context() as patch:

            def run(op: Gemm, cuda: Cuda = cuda, **arguments: Any) -> None:
                assert (status := op.supports(**arguments)), status
                cuda.work("product", 5.0)
                timed.append(op)

            patch.setattr(Gemm, "run", run)
            (found,) = time_products([op], Problem(64, 64, 64, 3), gpu)
        assert isinstance(found, Samples), found
    assert len({id(op) for op in timed}) == 2


def test_products_are_timed_in_turn_on_the_same_random_data() -> None:
    """The first takes longer than the second; calls have sets of data of their own, too much for the cache."""
    cuda = Cuda()
    operations = [Gemm(**F32, c="f32:row:1"), Gemm(**F32 | {"tile": "64x32x8:stages=2:warps=2x1x1"}, c="f32:row:1")]
    used: dict[int, set[int]] = {0: set(), 1: set()}

    def launch(op: Gemm, arguments: dict[str, Any], workspace: Any, stream: int) -> None:
        index = operations.index(op)
        assert set(arguments) == {"A", "B", "C", "D"} and workspace is None
        assert (arguments["A"].shape, arguments["B"].shape) == ((256, 128), (128, 192))
        used[index].add(arguments["A"].pointer)
        cuda.work(f"product {index}", 40.0 - 10 * index)

    gpu = Workspace(0, cuda)
    with gpu:
        found = time_products(operations, Problem(256, 192, 128), gpu, launch)
        assert [each.median for each in found] == [43.0, 33.0]  # type: ignore[union-attr]
        assert used[0] == used[1] and len(used[0]) > 2
        assert len(cuda.heap) == 1  # what flushes the cache
    products = [name for name in cuda.log if name.startswith("product")]
    assert products[-6:] == ["product 0", "product 1"] * 3


def test_an_operation_that_cannot_be_launched_is_left_out() -> None:
    cuda = Cuda()
    operations = [Gemm(**F32), Gemm(**F32, mode="split_k_serial")]

    def launch(op: Gemm, arguments: dict[str, Any], workspace: Any, stream: int) -> None:
        if op is operations[0]:
            raise Error("too large")
        assert (
            workspace.shape[0] >= op.workspace_bytes(problem=(64, 64, 64))
            and not cuda.array(workspace.pointer, 16).any()
        )
        data = np.frombuffer(cuda.array(arguments["B"].pointer, 4 * 64 * 64), np.float32)
        assert abs(data.std() - 1) < 0.1
        cuda.work("product", 5.0)

    with Workspace(0, cuda) as gpu:
        failed, timed = time_products(operations, Problem(64, 64, 64), gpu, launch)
    assert isinstance(failed, Error) and isinstance(timed, Samples) and timed.method == "graph"
