"""Timing on a clock that only work moves: what is measured, in which order, and with what memory."""

from __future__ import annotations

import itertools

import pytest
from fake_cuda import STREAM, FakeCuda

from cutecc.errors import LaunchError
from cutecc.runtime.timing import Samples, measure, warm_up
from cutecc.runtime.workspace import Workspace


def worker(cuda: FakeCuda, name: str, cost: float):
    return lambda: cuda.work(name, cost)


def measured_log(cuda: FakeCuda, names: str) -> list[str]:
    """The names of work since the last flush in the log, warm-up left out."""
    last = len(cuda.log) - 1 - cuda.log[::-1].index("flush")
    return [name for name in cuda.log[last + 1 :] if name in names]


def test_long_work_is_timed_alone_and_in_turn() -> None:
    cuda = FakeCuda()
    with Workspace(driver=cuda) as clock:
        found = measure({"a": [worker(cuda, "a", 97.0)], "b": [worker(cuda, "b", 197.0)]}, clock, runs=5)
    assert found["a"].microseconds == pytest.approx([100.0] * 5)
    assert found["b"].median == pytest.approx(200.0)
    assert found["a"].method == "events"
    assert found["a"].calls_per_sample == 1
    assert measured_log(cuda, "ab") == ["a", "b"] * 5


def test_short_work_is_timed_as_a_graph_which_hides_what_launching_takes() -> None:
    cuda = FakeCuda(launch_cost=3.0)
    with Workspace(driver=cuda) as clock:
        found = measure({"short": [worker(cuda, "short", 2.0)]}, clock, runs=3)["short"]
    assert found.method == "graph"
    # Warmed up one by one, a call takes 5 µs: 200 of them make a millisecond.
    assert found.calls_per_sample == 200
    assert found.microseconds == pytest.approx([2.0 + 3.0 / 200] * 3)


def test_a_long_contestant_of_a_short_one_is_timed_in_the_same_way() -> None:
    cuda = FakeCuda(launch_cost=3.0)
    with Workspace(driver=cuda) as clock:
        contestants = {"short": [worker(cuda, "short", 2.0)], "long": [worker(cuda, "long", 50.0)]}
        found = measure(contestants, clock, runs=3)
    assert {each.method for each in found.values()} == {"graph"}
    assert found["long"].median == pytest.approx(50.0, rel=0.01)


def test_sets_of_arguments_take_turns() -> None:
    cuda = FakeCuda()
    with Workspace(driver=cuda) as clock:
        calls = [worker(cuda, name, 50.0) for name in "xyz"]
        measure({"long": calls}, clock, runs=6)
    log = measured_log(cuda, "xyz")
    assert len(log) == 6
    assert sorted(log[:3]) == sorted(log[3:]) == ["x", "y", "z"]
    assert log[:3] == log[3:]


def test_contestants_do_not_find_in_the_caches_what_the_one_before_them_has_just_read() -> None:
    """With the same set for all of them in turn, the first of two kernels of 15 µs took twice as long on an H200."""
    cuda = FakeCuda()
    with Workspace(driver=cuda) as clock:
        contestants = {name: [worker(cuda, str(number), 50.0) for number in range(8)] for name in ("a", "b")}
        measure(contestants, clock, runs=8)
    log = measured_log(cuda, "01234567")
    assert sorted(log[::2]) == sorted(log[1::2]) == list("01234567")
    apart = {(int(second) - int(first)) % 8 for first, second in zip(log[::2], log[1::2], strict=True)}
    assert apart == {4}


def test_a_graph_holds_every_set_equally_often() -> None:
    cuda = FakeCuda()
    with Workspace(driver=cuda) as clock:
        found = measure({"short": [worker(cuda, name, 4.0) for name in "xyz"]}, clock, runs=1)["short"]
    log = measured_log(cuda, "xyz")
    assert len(log) == found.calls_per_sample
    assert log == list(itertools.islice(itertools.cycle("xyz"), len(log)))
    assert log.count("x") == log.count("z")


def test_a_cold_cache_is_flushed_before_every_sample() -> None:
    cuda = FakeCuda()
    with Workspace(driver=cuda) as clock:
        found = measure({"short": [worker(cuda, "short", 2.0)]}, clock, runs=4, cold_l2=True)["short"]
    assert found.method == "events"
    assert found.microseconds == pytest.approx([5.0] * 4)
    assert cuda.log[-8:] == ["flush", "short"] * 4


@pytest.mark.parametrize("how", ["refused", "elsewhere", "raises"])
def test_what_cannot_be_captured_is_timed_one_by_one_and_says_so(how: str) -> None:
    cuda = FakeCuda()

    def call() -> None:
        if how == "refused":
            cuda.refuse_capture()
        capturing, cuda._capturing = cuda._capturing, None
        if how == "raises" and capturing is not None:
            cuda._capturing = capturing
            raise RuntimeError("not while capturing")
        cuda.work("elsewhere", 2.0)
        cuda._capturing = capturing

    with Workspace(driver=cuda) as clock:
        found = measure({"odd": [call]}, clock, runs=3)["odd"]
    assert not found.captured
    assert found.method == "events"
    assert found.microseconds == pytest.approx([5.0] * 3)


def test_warm_up_goes_on_until_times_are_steady() -> None:
    cuda = FakeCuda(launch_cost=0.0)
    calls = itertools.count()
    costs = [1000.0, 500.0, 300.0, 200.0]
    with Workspace(driver=cuda) as clock:
        cost = warm_up([lambda: cuda.work("w", next(iter(costs[next(calls) :]), 150.0))], clock)
    assert cost == pytest.approx(150.0, rel=0.1)


def test_short_work_whose_launches_are_held_up_is_timed_as_a_graph_all_the_same() -> None:
    cuda = FakeCuda(launch_cost=3.0)
    calls = itertools.count()

    def call() -> None:
        # As seen on an H200: every call after some hundred waited 10 ms, and none in a graph.
        held_up = cuda._capturing is None and next(calls) > 300
        cuda.work("short", 10_000.0 if held_up else 2.0)

    with Workspace(driver=cuda) as clock:
        found = measure({"short": [call]}, clock, runs=3)["short"]
    assert found.method == "graph"
    assert found.median == pytest.approx(2.0, rel=0.02)


def test_warm_up_of_what_never_gets_steady_ends() -> None:
    cuda = FakeCuda(launch_cost=0.0)
    costs = itertools.cycle([1000.0, 5000.0, 500.0])
    with Workspace(driver=cuda) as clock:
        warm_up([lambda: cuda.work("w", next(costs))], clock)
    assert cuda.now < 2_000_000


def test_without_a_number_as_many_samples_as_fill_a_second() -> None:
    cuda = FakeCuda(launch_cost=0.0)
    with Workspace(driver=cuda) as clock:
        few = measure({"w": [worker(cuda, "w", 400_000.0)]}, clock)["w"]
        some = measure({"w": [worker(cuda, "w", 10_000.0)]}, clock)["w"]
        many = measure({"w": [worker(cuda, "w", 100.0)]}, clock)["w"]
    assert [len(each.microseconds) for each in (few, some, many)] == [20, 100, 200]


def test_percentiles_are_interpolated() -> None:
    samples = Samples([5.0, 1.0, 2.0, 3.0, 4.0], "events", 1)
    assert samples.median == 3.0
    assert samples.percentile(0) == 1.0
    assert samples.percentile(25) == 2.0
    assert samples.percentile(90) == pytest.approx(4.6)
    assert samples.percentile(100) == 5.0


def test_a_workspace_frees_what_it_allocated() -> None:
    cuda = FakeCuda()
    with Workspace(driver=cuda) as workspace:
        kept = workspace.allocate(100)
        with workspace.scope():
            inner = workspace.allocate(200)
        assert cuda.freed == [inner]
        assert workspace.stream == STREAM
        assert workspace.name == "Imaginary GPU"
        assert workspace.driver_version == "13.1"
        assert workspace.compute_capability == (9, 0)
    assert not cuda.heap
    assert kept in cuda.freed


def test_a_failing_call_is_an_error_that_names_it() -> None:
    with (
        Workspace(driver=FakeCuda(total_bytes=1000)) as workspace,
        pytest.raises(LaunchError, match=r"cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY \(2\)"),
    ):
        workspace.allocate(2000)


def test_a_device_that_is_not_there_is_an_error() -> None:
    with pytest.raises(LaunchError, match="no device cuda:3 here: the driver finds 1"):
        Workspace(3, driver=FakeCuda())
