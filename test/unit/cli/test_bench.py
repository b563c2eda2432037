"""`cutecc bench` on an imaginary GPU."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from fake_cuda import STREAM, FakeCuda

from cutecc.arguments.grammar import parse_spec
from cutecc.benchmarking.results import Measurement, Rates
from cutecc.cli import bench as bench_command
from cutecc.cli import loading
from cutecc.cli.bench import _DISPENSABLE, measurement_table
from cutecc.cli.console import Console
from cutecc.cli.subject import Function, Subject
from cutecc.compilation.request import CompileOptions
from cutecc.record import Workload
from cutecc.runtime.timing import Samples
from cutecc.runtime.workspace import Workspace


class TimedKernel:
    """A kernel that takes as long as its shape says, and writes down the memory it was prepared with."""

    def __init__(self, cuda: FakeCuda, name: str, factor: float) -> None:
        self.compilation = SimpleNamespace(name=name, target="sm_90a")
        self.prepared: list[int] = []
        self._cuda = cuda
        self._factor = factor

    def __call__(self, *args: Any) -> None:
        raise AssertionError("prepared calls are timed")

    def prepare(self, *args: Any, stream: int, **kwargs: Any) -> Any:
        assert stream == STREAM
        x = [*args, *kwargs.values()][0]
        self.prepared.append(x.data_ptr())
        cost = self._factor * x.shape[0] * x.shape[1] / 1000
        return lambda: self._cuda.work(self.compilation.name, cost)


class Bench:
    """Runs `cutecc bench` for a kernel, `slow.py` and the pipeline `open`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self.kernels: dict[str, TimedKernel] = {}
        self.loaded: list[tuple[str, str]] = []

    def __call__(self, *options: str, peers: tuple[Function, ...] = (), input_: str = "kernel.py") -> Any:
        self.cuda = FakeCuda(launch_cost=0.0)
        specs = {"x": parse_spec("f32[?M=100, ?N=1000]"), "y": parse_spec("f32[?M, ?N]")}

        def load(text: str, *, options: Any = CompileOptions(), **others: Any) -> Subject:
            pipeline = options.pipeline if options else "nvidia"
            self.loaded.append((text, str(pipeline)))
            factor = 2.0 if text == "slow.py" else 0.5 if pipeline == "open" else 1.0
            kernel = TimedKernel(self.cuda, Path(text).stem, factor)
            self.kernels[f"{kernel.compilation.name} {pipeline}"] = kernel
            workload = Workload(["y"], None, "8 * M * N", None)
            return Subject(kernel, specs, workload, peers=peers)  # pyright: ignore[reportArgumentType]

        self._monkeypatch.setattr(bench_command, "open_device", lambda name: Workspace(driver=self.cuda))
        self._monkeypatch.setattr(loading, "load_subject", load)
        return CliRunner().invoke(bench_command.bench, [input_, *options])


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Bench:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "kernel.py").touch()
    return Bench(monkeypatch)


def test_a_sweep_beside_another_file_and_another_pipeline(bench: Bench) -> None:
    result = bench("--size", "N=1000,2000", "--against", "slow.py", "--against", "open", "--json", "out.json")
    assert result.exit_code == 0, result.output
    data = json.loads(Path("out.json").read_text())
    found = {(each["name"], each["sizes"]["N"]): each["median_us"] for each in data["measurements"]}
    assert found == pytest.approx(
        {
            ("kernel", 1000): 100.0,
            ("slow", 1000): 200.0,
            ("kernel (open)", 1000): 50.0,
            ("kernel", 2000): 200.0,
            ("slow", 2000): 400.0,
            ("kernel (open)", 2000): 100.0,
        }
    )
    first = data["measurements"][0]
    assert first["bytes"] == 800_000
    assert first["gb_per_s"] == pytest.approx(8.0)
    assert first["percent_of_copy"] == pytest.approx(100 * 8.0 / data["copy_gb_per_s"])
    assert "M=100 N=2000" in result.output


def test_contestants_share_memory_that_rotates(bench: Bench) -> None:
    bench("--against", "slow.py", "--runs", "4")
    mine, other = bench.kernels["kernel nvidia"], bench.kernels["slow nvidia"]
    assert mine.prepared == other.prepared
    # Two tensors of 400 kB with their guards, and a cache of 1 MiB.
    assert len(mine.prepared) == len(set(mine.prepared)) == 4
    # Those of the tensors alone are aligned as allocations are.
    assert all(address % 256 == 0 for address in mine.prepared)
    assert not bench.cuda.heap


def test_a_cold_cache(bench: Bench) -> None:
    result = bench("--cold-l2", "--runs", "3", "--json", "out.json")
    assert result.exit_code == 0, result.output
    (entry,) = json.loads(Path("out.json").read_text())["measurements"]
    assert entry["cache"] == "cold"
    assert bench.cuda.log[-6:] == ["flush", "kernel"] * 3
    assert len(bench.kernels["kernel nvidia"].prepared) == 1


def test_every_copy_of_the_inputs_is_the_same(bench: Bench) -> None:
    copies: list[bytes] = []
    original = TimedKernel.prepare

    def prepare(self: TimedKernel, *args: Any, stream: int, **kwargs: Any) -> Any:
        copies.append(self._cuda.array(kwargs["x"].data_ptr(), 400_000).tobytes())
        return original(self, *args, stream=stream, **kwargs)

    bench._monkeypatch.setattr(TimedKernel, "prepare", prepare)
    bench("--runs", "2")
    assert len(copies) == 4
    assert len(set(copies)) == 1
    assert any(copies[0])


def test_peers_without_torch_are_left_out_with_a_note(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench_command, "_torch", lambda: None)
    result = bench("--runs", "2", peers=(Function("kernel.py", "torch_add"),))
    assert result.exit_code == 0, result.output
    assert "note: left out torch_add: torch with CUDA is not installed here" in result.output


def test_peers_take_the_same_memory(bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bench_command, "_torch", lambda: SimpleNamespace())
    seen: set[int] = set()

    def as_torch(arguments: Any, torch: Any) -> dict[str, Any]:
        seen.add(arguments["x"].data_ptr())
        return {name: SimpleNamespace(launch=lambda: bench.cuda.work("peer", 30.0)) for name in arguments}

    monkeypatch.setattr(bench_command, "_as_torch", as_torch)
    (tmp_path / "kernel.py").write_text("def peer(y, x):\n    x.launch()\n")
    result = bench("--runs", "2", "--json", "out.json", peers=(Function("kernel.py", "peer"),))
    assert result.exit_code == 0, result.output
    assert [each["name"] for each in json.loads(Path("out.json").read_text())["measurements"]] == ["kernel", "peer"]
    assert seen == set(bench.kernels["kernel nvidia"].prepared)
    result = bench("--runs", "2", "--no-peers", "--json", "out.json", peers=(Function("kernel.py", "peer"),))
    assert [each["name"] for each in json.loads(Path("out.json").read_text())["measurements"]] == ["kernel"]


@pytest.mark.parametrize("option", ["--json", "--plot"])
def test_a_folder_that_is_not_there_is_an_error_before_anything_is_timed(bench: Bench, option: str) -> None:
    result = bench(option, "nowhere/out.svg")
    assert "cannot write nowhere/out.svg" in str(result.exception)
    assert not bench.loaded


def test_a_plot_that_cannot_be_drawn_is_an_error_before_anything_is_timed(bench: Bench) -> None:
    result = bench("--plot", "out.txt")
    assert "its name has to end in .svg, .png, .pdf" in str(result.exception)
    assert not bench.loaded


def test_contestants_have_different_names(bench: Bench) -> None:
    result = bench("--against", "open", "--against", "open")
    assert "several are called kernel (open)" in str(result.exception)


def table(width: int) -> str:
    rates = Rates(4000.0, 700.0)
    rows = [
        Measurement(name, Samples([cost, cost * 1.01, cost * 1.2], "graph", 40), rates, "rotating", sizes, 1e9, 1e12)
        for sizes in ({"M": 16384, "N": 8192, "K": 8192}, {"M": 4096, "N": 4096, "K": 4096})
        for name, cost in (("persistent_gemm", 1523.44), ("torch_matmul", 12345.678))
    ]
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(measurement_table(rows, console))
    return console.export_text()


@pytest.mark.parametrize(
    ("width", "lost"),
    [(45, [*_DISPENSABLE]), (70, [*_DISPENSABLE[:4]]), (80, ["method", "p10 to p90"]), (200, [])],
)
def test_the_table_fits_and_loses_what_is_of_least_use(width: int, lost: list[str]) -> None:
    text = table(width)
    assert all(len(line.rstrip()) <= width for line in text.splitlines())
    for wanted in ("persistent_gemm", "torch_matmul", "1538.67", "12469.13", "8.10", "M=16384", "K=8192"):
        assert wanted in text, wanted
    assert [heading for heading in _DISPENSABLE if heading not in text] == lost
    assert "…" not in text


def test_a_record_is_not_compiled_with_another_pipeline(bench: Bench, tmp_path: Path) -> None:
    for record in ("k.cutecc", "folder"):
        (tmp_path / record).mkdir()
        (tmp_path / record / "manifest.json").write_text("{}")
        result = bench("--against", "open", input_=record)
        assert "--against open: a bundle cannot be compiled with another pipeline" in str(result.exception)
    result = bench("--against", "k.cutecc", "--pipeline", "open", "--runs", "2")
    assert result.exit_code == 0, result.output
    assert bench.loaded[-2:] == [("kernel.py", "open"), ("k.cutecc", "nvidia")]


def test_where_there_is_no_gpu_it_says_so(cutecc: Any) -> None:
    example = Path(__file__).parents[3] / "examples" / "gemm.py"
    result = cutecc("bench", example, status=1, env={"CUDA_VISIBLE_DEVICES": ""})
    assert "CUDA driver" in result.stderr
