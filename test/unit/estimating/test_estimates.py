"""`cutecc estimate` from end to end, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run

import cutecc
from cutecc.compilation.request import CompileOptions
from cutecc.estimating.devices import device, known_devices
from cutecc.estimating.estimate import estimates
from cutecc.estimating.refusals import check_cache, check_launch
from cutecc.estimating.results import RESOURCES, Estimate, LaunchEstimate
from cutecc.estimating.traffic import Traffic, memory_rate, rates_of
from cutecc.kernel import Kernel

ROOT = Path(__file__).parents[3]
ADD = ROOT / "examples" / "elementwise_add.py"


@pytest.fixture(scope="module")
def add() -> Kernel:
    job = cutecc.Job(str(ADD), target="sm_90a", options=CompileOptions(observe=True, line_info=True))
    (kernel,) = cutecc.compile_many([job])
    assert isinstance(kernel, Kernel)
    return kernel


def estimated(kernel: Kernel, rows: int, columns: int, device: str = "h200") -> Estimate:
    return cutecc.estimate(kernel, {"M": rows, "N": columns}, device=device)


def test_a_copy_is_bound_by_memory(add: Kernel) -> None:
    found = estimated(add, 4096, 4096)
    assert found.bound == "memory"
    assert found.longest.resource == "memory"
    bytes_ = 3 * 4 * 4096 * 4096
    assert 0.7 < bytes_ / found.microseconds / 1e3 / device("h200")["gbps/dram.copy.kernel"] < 1.1
    assert found.waves > 1
    assert set(found.longest.shares) <= set(RESOURCES)


def test_more_is_never_faster_and_faster_memory_is_faster(add: Kernel) -> None:
    times = [estimated(add, rows, 512).microseconds for rows in (64, 1024, 4096)]
    assert times == sorted(times)
    slow, fast = estimates(add, {"M": 4096, "N": 4096}, devices=["h100", "h200"])
    assert slow.microseconds > fast.microseconds


def test_few_blocks_are_bound_by_latency(add: Kernel) -> None:
    assert estimated(add, 8, 128).bound == "latency"


def test_estimates_repeat(add: Kernel) -> None:
    assert estimated(add, 512, 512).to_dict() == estimated(add, 512, 512).to_dict()


def test_the_command_says_it_in_words(cutecc_in: Run, tmp_path: Path) -> None:
    out = tmp_path / "estimate.json"
    sizes = ("--size", "M=64,128", "--size", "N=132,132")
    text = cutecc_in(tmp_path, "estimate", ADD, *sizes, "--device", "h100", "--json", out).stdout
    assert "M=64, N=132 on NVIDIA H100" in text
    assert "bound by latency: nothing is busy for more than" in text
    assert "grid" in text and "waves" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    found = json.loads(out.read_text())
    assert [each["sizes"]["M"] for each in found] == [64, 128]
    assert found[0]["launches"][0]["kernel"] == "add_kernel"


def test_what_branches_do_is_said(cutecc_in: Run, tmp_path: Path) -> None:
    """A sine takes a slow path by its argument."""
    file, out = ROOT / "test" / "kernels" / "math_functions.py", tmp_path / "estimate.json"
    text = cutecc_in(tmp_path, "estimate", file, "--size", "N=4096", "--json", out).stdout
    said = "what is executed at line 41, line 43 depends on data; here it is as on zeros"
    assert f"assumed: {said}" in " ".join(text.split())
    assert json.loads(out.read_text())[0]["launches"][0]["assumptions"] == [said]


def test_a_kernel_whose_simulation_stops_is_refused(cutecc_in: Run, tmp_path: Path) -> None:
    """Its blocks store to each other's shared memory. It also loads vectors of which three elements are used: whole."""
    done = cutecc_in(tmp_path, "estimate", ROOT / "test" / "kernels" / "cluster_reduce.py", status=1)
    assert "one waits at line 79 for what never comes" in done.stderr


def test_a_call_that_launches_nothing_is_refused(add: Kernel) -> None:
    with pytest.raises(cutecc.EstimateError, match="no estimate: the call launches nothing"):
        estimated(add, 0, 64)


def test_shared_memory_is_a_bound_of_its_own() -> None:
    def bound(**shares: float) -> str:
        named = {name.replace("_", " "): share for name, share in shares.items()}
        return LaunchEstimate("k", 1, 1, 1, named, {}, None, None, (1, 1, 1), 1, 1, [], 1, 1, 1, []).bound

    assert bound(shared_memory=0.9, memory=0.8) == "shared memory"
    assert bound(memory=0.9, shared_memory=0.8) == "memory"
    assert bound(shared_memory=0.5) == "latency"


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("test/kernels/histogram.py", "no estimate: atomics under contention at "),
        ("test/kernels/grouped_gemm.py", "no estimate: a data-dependent loop at "),
    ],
)
def test_what_depends_on_data_is_refused(cutecc_in: Run, tmp_path: Path, file: str, message: str) -> None:
    done = cutecc_in(tmp_path, "estimate", ROOT / file, status=1)
    assert message in done.stderr
    assert f"{Path(file).name}:" in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--device", "b200"], "nothing is measured of a device 'b200'"),
        (["--target", "sm_100a"], "sm_100a: no constants are measured of GPUs that run it"),
    ],
)
def test_what_is_not_measured_is_refused(cutecc_in: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    done = cutecc_in(tmp_path, "estimate", ADD, *arguments, status=2)
    assert message in done.stderr
    assert "tools/bench_model.py" in done.stderr


def test_a_kernel_has_to_know_its_registers() -> None:
    kernel = cutecc.compile_many([cutecc.Job(str(ADD), target="sm_90a")])[0]
    assert isinstance(kernel, Kernel)
    kernel.compilation.resources = []
    with pytest.raises(cutecc.EstimateError, match="does not say what registers"):
        estimated(kernel, 64, 64)


def test_devices() -> None:
    assert known_devices() == ["h100", "h200"]
    for name in known_devices():
        on = device(name)
        assert on.clock(0.0) > on.clock(0.5) > on.clock(1.0)
        assert on.product_cycles(256) == 2 * on.product_cycles(128)
        assert 0.05 < on["loaded/crowding"] < 0.2
        # Turning round costs something, and least where there is nothing to turn.
        assert memory_rate(on, 1, 1) < min(memory_rate(on, 1, 0), memory_rate(on, 0, 1))


def test_what_comes_from_memory() -> None:
    l2 = 32 * 1000
    assert Traffic([100.0], [100], [1.0], 0).from_memory(l2) == 100
    # All of it stays in the cache: each sector comes once.
    assert Traffic([4000.0], [400], [0.5], 0).from_memory(l2) == 400
    # Not so here: once a wave, of which each reads half in common.
    assert Traffic([40000.0], [4000], [0.5], 0).from_memory(l2) == 20000
    assert Traffic([40000.0], [4000], [0.05], 0).from_memory(l2) == 4000


def test_few_multiprocessors_get_no_more_than_they_take() -> None:
    on, traffic = device("h200"), Traffic([100.0], [100], [1.0], 100)
    one, all_ = (rates_of(on, traffic, 1900.0, blocks, 1, 0) for blocks in (1, 1000))
    assert one.dram == one.read == 64.0
    assert all_.dram < all_.read < 64.0


def test_blocks_that_differ_are_refused_in_few_waves() -> None:
    check_launch([100, 1000], 8.0, 1)
    check_launch([100, 1000], 0.5, 1)
    check_launch([100, 120], 2.0, 1)
    with pytest.raises(cutecc.EstimateError, match="100 to 1,000 instructions, in 1"):
        check_launch([100, 1000], 1.5, 1)


def test_waves_of_clusters_are_refused() -> None:
    check_launch([100], 1.0, 2)
    with pytest.raises(cutecc.EstimateError, match="how long a cluster takes to begin is not measured"):
        check_launch([100], 5.0, 2)


def test_what_the_cache_may_just_hold_is_refused() -> None:
    check_cache(30e6, 10e6, 50_000_000)
    check_cache(40e6, 40e6, 50_000_000)
    check_cache(300e6, 100e6, 50_000_000)
    with pytest.raises(cutecc.EstimateError, match="several times, and the L2 cache has 50 MB"):
        check_cache(120e6, 40e6, 50_000_000)
