"""Many clocks, one time."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutecc.timelines.clocks import clocks_of


@given(
    rate=st.floats(0.4, 1.2),
    drift=st.floats(-0.05, 0.05),
    zero=st.integers(0, (1 << 32) - 1),
    step=st.sampled_from([1, 32]),
    count=st.integers(2, 40),
    seed=st.integers(0, 1 << 16),
)
def test_times_are_those_of_the_anchors(rate: float, drift: float, zero: int, step: int, count: int, seed: int) -> None:
    """A clock whose rate changes half way, read with steps: between anchors it is off by a few steps at most."""
    random = np.random.default_rng(seed)
    cycles = np.sort(random.integers(0, 2_000_000, count))

    def time(at: np.ndarray) -> np.ndarray:
        return at * rate + np.maximum(at - 1_000_000, 0) * rate * drift

    stepped = (time(cycles) // step * step).astype(np.uint64)
    clock = clocks_of(np.zeros(count, np.uint32), ((cycles + zero) % (1 << 32)).astype(np.uint32), stepped)[0]
    found = clock.times(((cycles + zero) % (1 << 32)).astype(np.uint32))
    # Anchors that are closer than 8192 cycles are one.
    assert np.abs(found - time(cycles)).max() <= step + 8192 * count * rate * 2e-1


def test_the_clocks_of_multiprocessors_are_apart() -> None:
    processors = np.array([0, 7, 0, 7], np.uint32)
    cycles = np.array([100, 4_000_000_000, 100_100, 4_000_200_000], np.uint32)
    nanoseconds = np.array([0, 1000, 50_000, 101_000], np.uint64)
    clocks = clocks_of(processors, cycles, nanoseconds)
    assert sorted(clocks) == [0, 7]
    assert clocks[0].times(np.array([50_100], np.uint32)).tolist() == [25_000]
    assert clocks[7].times(np.array([4_000_100_000], np.uint32)).tolist() == [51_000]


def test_before_the_first_anchor_and_behind_the_last_the_chip_s_rate_holds() -> None:
    processors, cycles = np.zeros(2, np.uint32), np.array([10_000, 30_000], np.uint32)
    clock = clocks_of(processors, cycles, np.array([5000, 15_000], np.uint64))[0]
    assert clock.times(np.array([9_000, 32_000], np.uint32)).tolist() == [4500, 16_000]
