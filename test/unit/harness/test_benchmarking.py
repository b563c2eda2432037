"""`cutecc.benchmark` on an imaginary GPU: rates, percentages, cache states, and what is written about a run."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeCuda

import cutecc
from cutecc.benchmarking import running
from cutecc.benchmarking.results import Benchmark, Measurement, Rates
from cutecc.benchmarking.running import cache_state, sets_needed
from cutecc.errors import UsageError
from cutecc.runtime.timing import Samples
from cutecc.runtime.workspace import Workspace
from cutecc.support.flavours import flavour


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    fake = FakeCuda()
    monkeypatch.setattr(running, "Workspace", lambda ordinal: Workspace(ordinal, driver=fake))
    monkeypatch.setattr(running, "import_torch", lambda: None)
    return fake


def measurement(*microseconds: float, **facts: Any) -> Measurement:
    rates = Rates(copy=4000.0, matrix=800.0)
    return Measurement("k", Samples(list(microseconds), "events", 1), rates, "rotating", **facts)


def test_rates_are_those_of_the_median() -> None:
    found = measurement(90.0, 100.0, 500.0, bytes=2e8, flops=4e10)
    assert found.median == 100.0
    assert found.gigabytes_per_second == pytest.approx(2000.0)
    assert found.percent_of_copy == pytest.approx(50.0)
    assert found.teraflops == pytest.approx(400.0)
    assert found.percent_of_matrix == pytest.approx(50.0)
    assert measurement(1.0).gigabytes_per_second is None
    assert measurement(1.0).percent_of_matrix is None


def test_the_spread() -> None:
    found = measurement(*map(float, range(11)))
    assert (found.p10, found.p90, found.iqr) == (1.0, 9.0, 5.0)


@pytest.mark.parametrize(
    ("size", "l2", "sets"), [(50 << 20, 50 << 20, 3), (1 << 30, 50 << 20, 2), (1000, 50 << 20, 64), (0, 1 << 20, 64)]
)
def test_how_many_sets_exceed_the_cache(size: int, l2: int, sets: int) -> None:
    assert sets_needed(size, l2) == sets


def test_what_the_cache_holds() -> None:
    assert cache_state(True, 1, 10, 100) == "cold"
    assert cache_state(False, 3, 300, 100) == "rotating"
    assert cache_state(False, 3, 100, 100) == "warm"
    assert cache_state(False, 1, 1000, 100) == "warm"


def test_several_functions_with_the_same_arguments(cuda: FakeCuda) -> None:
    def slow(x: Any) -> None:
        cuda.work("slow", 97.0)

    def fast(x: Any) -> None:
        cuda.work("fast", 47.0)

    found = cutecc.benchmark({"slow": slow, "fast": fast}, np.zeros(10), runs=4, bytes=1e6)
    assert isinstance(found, Benchmark)
    assert (found["slow"].median, found["fast"].median) == pytest.approx((100.0, 50.0))
    assert found["fast"].gigabytes_per_second == pytest.approx(20.0)
    assert cuda.log[-8:] == ["slow", "fast"] * 4
    assert found.device == "Imaginary GPU"
    assert any("warm cache" in note for note in found.notes)
    # 256 MiB are read and written, at 1 µs a MB and 3 µs for the launch.
    assert found.rates.copy == pytest.approx(2 * (1 << 28) / ((1 << 28) / 1e6 + 3.0) / 1e3, rel=1e-3)


def test_sets_of_arguments_are_made_until_they_exceed_the_cache(cuda: FakeCuda) -> None:
    made: list[Any] = []

    def make() -> tuple[Any]:
        made.append(np.zeros(1 << 20, "u1"))
        return (made[-1],)

    used: list[int] = []

    def kernel(x: Any) -> None:
        cuda.work("kernel", 50.0)
        used.append(id(x))

    found = cutecc.benchmark(kernel, make_args=make, runs=6)
    assert found["kernel"].cache == "rotating"
    assert len(made) == 3  # of 1 MiB each, with a cache of 1 MiB
    assert set(used[-3:]) == {id(each) for each in made}


def test_a_cold_cache_needs_one_set(cuda: FakeCuda) -> None:
    made: list[Any] = []

    def make() -> tuple[Any]:
        made.append(np.zeros(16, "u1"))
        return (made[-1],)

    found = cutecc.benchmark(lambda x: cuda.work("k", 5.0), make_args=make, cold_l2=True, runs=2)
    assert len(made) == 1
    assert found.measurements[0].cache == "cold"
    assert found.measurements[0].samples.method == "events"


def test_a_kernel_is_prepared_once_for_every_set(cuda: FakeCuda) -> None:
    prepared: list[tuple[Any, Any]] = []

    class Kernel:
        def __call__(self, x: Any) -> None:
            raise AssertionError("prepared calls are timed")

        def prepare(self, x: Any, *, stream: int) -> Any:
            prepared.append((x, stream))
            return lambda: cuda.work("k", 50.0)

    cutecc.benchmark(Kernel(), 5, runs=2)
    assert prepared == [(5, 7)]


def test_what_does_nothing_on_the_device_cannot_be_timed(cuda: FakeCuda) -> None:
    with pytest.raises(UsageError, match="idle: nothing on cuda:0 to time"):
        cutecc.benchmark({"idle": lambda: None}, runs=2)


def test_arguments_or_a_way_to_make_them() -> None:
    with pytest.raises(UsageError, match="arguments or make_args, not both"):
        cutecc.benchmark(print, 1, make_args=lambda: (1,))


def test_everything_is_in_the_json(cuda: FakeCuda) -> None:
    found = cutecc.benchmark(lambda: cuda.work("k", 30.0), runs=2, flops=1e9)
    data = json.loads(json.dumps(found.to_dict()))
    (entry,) = data["measurements"]
    assert entry["samples_us"] == pytest.approx([33.0, 33.0])
    assert entry["tflop_per_s"] == pytest.approx(1e9 / 33.0 / 1e6)
    assert (entry["method"], entry["calls_per_sample"], entry["captured"]) == ("events", 1, True)
    assert data["driver"] == "13.1"
    assert data["versions"]["cutecc"] == cutecc.__version__
    assert data["versions"]["flavour"] == flavour()
    assert data["date"].endswith("+00:00")


def sweep() -> Benchmark:
    rates = Rates(4000.0)
    points = [
        Measurement(
            name, Samples([size * factor, size * factor * 1.1], "graph", 10), rates, "warm", {"M": 4, "N": size}
        )
        for size in (64, 128)
        for name, factor in (("mine", 1.0), ("other", 1.5))
    ]
    return Benchmark("2026-01-01T00:00:00+00:00", "Imaginary GPU", "13.1", {}, rates, points)


def test_a_plot_needs_matplotlib(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError) as caught:
        sweep().plot(tmp_path / "times.svg")
    assert caught.value.hints == ["pip install 'cutecc[plot]'"]


@pytest.mark.skipif(importlib.util.find_spec("matplotlib") is None, reason="matplotlib is not installed")
def test_a_plot(tmp_path: Path) -> None:
    (tmp_path / "times.svg").touch(0o600)
    sweep().plot(tmp_path / "times.svg")
    assert (tmp_path / "times.svg").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "times.svg").read_text().lstrip().startswith("<?xml")
    with pytest.raises(UsageError, match="cannot draw into"):
        sweep().plot(tmp_path / "times.nonsense")
    with pytest.raises(UsageError, match="cannot write"):
        sweep().plot(tmp_path / "nowhere" / "times.svg")
