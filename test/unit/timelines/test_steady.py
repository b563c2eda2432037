"""The steady state: loops of lanes, and the period of all of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipelines import LOAD, MARK, WAIT_EMPTY, WAIT_FULL, Costs, block_of, timeline_of

from cutecc.timelines.causes import Ended
from cutecc.timelines.loops import steady_turns
from cutecc.timelines.sites import Site
from cutecc.timelines.steady import Steady, steady_state
from cutecc.timelines.timeline import BlockTimeline, Lane, Role, Timeline

PLAIN = [Site("wait", str(number), "products", "k.py", number + 1) for number in range(12)]


def lane_of(order: list[int], length: float = 10.0, start: float = 0.0, warp: int = 0, role: Role = "warp") -> Lane:
    """Spans that follow each other, each of half of a length."""
    starts = start + np.arange(len(order)) * length
    return Lane(warp, role, 0.0, float(starts[-1]) + length, np.array(order, np.int32), starts, starts + length / 2)


def steady_of(*blocks: BlockTimeline) -> Steady:
    found, why = steady_state(timeline_of(list(blocks)))
    assert found is not None, why
    return found


def test_a_loop_with_what_is_before_and_behind_it() -> None:
    turns = steady_turns(lane_of([9, 8, *[0, 1, 2] * 10, 7, 8]), PLAIN)
    assert turns is not None
    assert turns.sites.tolist() == [0, 1, 2]
    assert len(turns.starts) == 8
    assert turns.length == 30


def test_marks_do_not_interrupt_it() -> None:
    sites = [Site("mark", "m"), *PLAIN]
    turns = steady_turns(lane_of([0, 1, 2, 0] * 8), sites)
    assert turns is not None
    assert turns.sites.tolist() == [1, 2]


def test_copies_in_a_row_are_a_part_of_a_turn() -> None:
    turns = steady_turns(lane_of([0, 1, 1, 1, 1] * 8), PLAIN)
    assert turns is not None
    assert turns.sites.tolist() == [0, 1, 1, 1, 1]


def test_an_unrolled_loop_is_one() -> None:
    turns = steady_turns(lane_of([0, 1, 2, 0, 3, 2] * 6), PLAIN)
    assert turns is not None
    assert turns.sites.tolist() == [0, 1, 2, 0, 3, 2]


def test_a_loop_that_is_entered_again_is_the_inner_one() -> None:
    turns = steady_turns(lane_of(([0, 1] * 16 + [5, 6, 7]) * 3), PLAIN)
    assert turns is not None
    assert turns.sites.tolist() == [0, 1]
    assert np.unique(turns.runs).tolist() == [0, 1, 2]
    assert turns.length == 20


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 1] * 3, [0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]])
def test_no_loop(order: list[int]) -> None:
    assert steady_turns(lane_of(order), PLAIN) is None


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(4, 12), st.lists(st.integers(6, 11), max_size=2)
)
def test_any_body_that_is_repeated_is_found(body: list[int], turns: int, ends: list[int]) -> None:
    found = steady_turns(lane_of([*ends, *body * turns, *ends]), PLAIN)
    assert found is not None
    # The body, or what it consists of, from whichever of its sites on.
    assert len(body) % len(found.sites) == 0 or len(set(body)) < len(body)
    assert set(found.sites.tolist()) <= set(body)


def test_the_period_of_a_pipeline() -> None:
    found = steady_of(*(block_of(number=number, consumers=4) for number in range(3)))
    assert found.period == 250
    assert found.blocks == 3
    consumers, producer = found.lanes
    assert (consumers.group.title, producer.group.title) == ("warps 0-3 consumers", "warp 4 producer")
    assert consumers.offsets.tolist() == [0, 40, 40, 250]
    assert consumers.lengths.tolist() == [10, 0, 200, 0]
    assert producer.sites.tolist() == [WAIT_EMPTY, LOAD]
    assert producer.causes.ended.tolist() == [Ended.WARP, Ended.ITSELF]
    assert producer.causes.lanes.tolist() == [0, -1]
    assert [(each.cause, each.line, each.time) for each in found.shares] == [
        ("tensor cores", 22, 200.0),
        ("instructions", 20, 40.0),
        ("instructions", 22, 10.0),
    ]


def test_bursts_are_one_period() -> None:
    # Four stages land together, then nothing for long.
    found = steady_of(block_of(Costs(flight=2000), steps=40))
    consumers, producer = found.lanes
    assert (consumers.turns, producer.turns) == (4, 4)
    assert found.period == pytest.approx(2280)
    shares = found.shares
    assert (shares[0].cause, shares[0].line) == ("memory", 11)
    assert sum(each.time for each in shares) == pytest.approx(found.period)


def test_warps_that_take_turns_are_drawn_apart() -> None:
    # Ping-pong: the second consumer is half of a period behind.
    body = [0, 1]
    lanes = [lane_of(body * 20, 50.0, start, warp, "consumer") for warp, start in enumerate((0.0, 50.0))]
    sites = [Site("wait", "a", "products"), Site("product", "b", "products")]
    found, _ = steady_state(Timeline("ns", "GPU", sites, [BlockTimeline("k", 0, 0, 0, lanes)]))
    assert found is not None
    assert [each.group.warps for each in found.lanes] == [(0,), (1,)]
    assert [each.offsets[0] for each in found.lanes] == [0, 50]


@pytest.mark.parametrize(("slow", "turns"), [(2, [1, 2]), (3, [1, 3])])
def test_a_lane_with_more_turns_than_another(slow: int, turns: list[int]) -> None:
    # One loop is unrolled, and takes so many turns of the other at once.
    lanes = [
        lane_of([0, 1] * 16, 50.0 * slow, 0.0, 0, "consumer"),
        lane_of([2, 3] * 16 * slow, 50.0, 0.0, 1, "producer"),
    ]
    found, why = steady_state(Timeline("ns", "GPU", PLAIN, [BlockTimeline("k", 0, 0, 0, lanes)]))
    assert found is not None, why
    assert found.period == 100 * slow
    assert [each.turns for each in found.lanes] == turns


def test_three_turns_of_one_are_two_of_another() -> None:
    lanes = [lane_of([0, 1] * 24, 60.0, 0.0, 0, "consumer"), lane_of([2, 3] * 36, 40.0, 0.0, 1, "producer")]
    found, why = steady_state(Timeline("ns", "GPU", PLAIN, [BlockTimeline("k", 0, 0, 0, lanes)]))
    assert found is not None, why
    assert [each.turns for each in found.lanes] == [2, 3]


def test_who_does_not_fit_is_left_out_and_said() -> None:
    lanes = [lane_of([0, 1] * 40, 50.0, 0.0, 0, "consumer"), lane_of([2, 3] * 6, 1000 * np.pi, 0.0, 1, "epilogue")]
    found, _ = steady_state(Timeline("ns", "GPU", PLAIN, [BlockTimeline("k", 0, 0, 0, lanes)]))
    assert found is not None
    assert [each.group.warps for each in found.lanes] == [(0,)]
    assert "warp 1" in found.left_out[0]


def test_none_and_why() -> None:
    found, why = steady_state(timeline_of([block_of(steps=2)]))
    assert found is None
    assert "repeats" in why
    assert steady_state(Timeline("ns", "GPU", [], [])) == (None, why)


def test_marks_are_left_out_of_it() -> None:
    block = block_of()
    (first, *rest) = block.lanes
    marked = replace(
        first,
        sites=np.append(first.sites, np.int32(MARK)),
        starts=np.append(first.starts, 0.0),
        ends=np.append(first.ends, first.end),
    )
    found = steady_of(replace(block, lanes=[marked, *rest]))
    assert found.period == 250
    assert WAIT_FULL in found.lanes[0].sites


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 2**32 - 1), st.floats(0.0, 0.05))
def test_a_little_noise_changes_little(seed: int, noise: float) -> None:
    random = np.random.default_rng(seed)

    def shaken(lane: Lane) -> Lane:
        """Each time a little later, in the same order."""
        by = random.normal(0, noise * 250, len(lane.starts))
        moved = np.maximum.accumulate(np.stack([lane.starts + by, lane.ends + by], 1).ravel())
        return replace(lane, starts=moved[::2], ends=moved[1::2], end=max(lane.end, float(moved[-1])))

    blocks = [block_of(number=number, steps=40) for number in range(4)]
    found = steady_of(*(replace(each, lanes=[shaken(lane) for lane in each.lanes]) for each in blocks))
    assert found.period == pytest.approx(250, rel=0.05)
    assert found.lanes[0].lengths[2] == pytest.approx(200, rel=0.2)
    assert found.shares[0].cause == "tensor cores"
