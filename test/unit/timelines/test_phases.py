"""Which copies a wait is for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.timelines.phases import phases_of


def times(*numbers: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(numbers, np.float64)


def listed(found: list[np.ndarray | None]) -> list[list[int] | None]:
    return [None if each is None else each.tolist() for each in found]


def test_each_phase_is_waited_for_by_all() -> None:
    ends = [times(10, 20, 30), times(11, 21, 31)]
    # Two copies fill one phase.
    assert listed(phases_of(ends, 6, 3)) == [[1, 3, 5], [1, 3, 5]]
    assert listed(phases_of(ends, 6, 0)) == [[1, 3, 5], [1, 3, 5]]


def test_in_ping_pong_consumers_wait_in_turns() -> None:
    # Tiles of two phases; two warps of each of two teams.
    first, second = (times(10, 20, 50, 60), times(30, 40, 70, 80))
    ends = [first, first + 1, second, second + 1]
    assert listed(phases_of(ends, 16, 8)) == [[1, 3, 9, 11]] * 2 + [[5, 7, 13, 15]] * 2


def test_what_does_not_fit_is_not_known() -> None:
    # A wait was not recorded; copies that no phase takes.
    assert listed(phases_of([times(10, 20), times(10, 20, 30)], 6, 3)) == [None, [1, 3, 5]]
    assert listed(phases_of([times(10, 20)], 5, 2)) == [None]
    assert listed(phases_of([times(10, 20)], 1, 2)) == [None]


@given(
    st.integers(1, 4).flatmap(lambda teams: st.tuples(st.just(teams), st.integers(2, 5), st.integers(2, 5))),
    st.integers(1, 3),
)
def test_any_teams_in_turn(shape: tuple[int, int, int], each: int) -> None:
    teams, tiles, steps = shape
    phases = teams * tiles * steps
    owners = np.repeat(np.arange(phases // steps) % teams, steps)
    ends = [np.flatnonzero(owners == team) * 100.0 for team in range(teams)]
    found = phases_of(ends, phases * each, phases)
    for team, mine in enumerate(found):
        assert mine is not None
        assert mine.tolist() == ((np.flatnonzero(owners == team) + 1) * each - 1).tolist()


@pytest.mark.parametrize("phases", [0, 3])
def test_one_lane_without_waits(phases: int) -> None:
    assert listed(phases_of([times(), times(1, 2, 3)], 3, phases))[1] == [0, 1, 2]
