"""Many clocks, one time."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cutecc.timelines.clocks import clocks_of


@given(
    rate=st.floats(0.4, 1.2),
    drift=st.floats(-0.15, 0.15),
    zero=st.integers(0, (1 << 32) - 1),
    step=st.sampled_from([1, 32]),
    apart=st.integers(500, 20_000),
)
def test_times_follow_a_clock_whose_rate_changes(rate: float, drift: float, zero: int, step: int, apart: int) -> None:
    """However dense the anchors are: each stretch of the clock has its own."""
    cycles = np.arange(0, 2_000_000, apart)

    def time(at: Any) -> Any:
        return at * rate + np.maximum(at - 1_000_000, 0) * rate * drift

    def clock(at: Any) -> Any:
        return ((at + zero) % (1 << 32)).astype(np.uint32)

    stepped = (time(cycles) // step * step).astype(np.uint64)
    found = clocks_of(np.zeros(len(cycles), np.uint32), clock(cycles), stepped)[0]
    asked = np.arange(50_000, 1_950_000, 777)
    # Where the rate changes, a line from one anchor to the next is off by a part of what lies between them.
    bend = 2 * max(8192, apart) * rate * abs(drift)
    assert np.abs(found.times(clock(asked)) - time(asked)).max() <= 2 * step + bend
    steady = asked[np.abs(asked - 1_000_000) > 4 * max(8192, apart)]
    assert np.abs(found.times(clock(steady)) - time(steady)).max() <= 2 * step


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
