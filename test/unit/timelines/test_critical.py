"""The critical path, and who ended each wait."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pipelines import ARRIVE, LOAD, SITES, STORE, WAIT_EMPTY, WAIT_FULL, WAIT_PRODUCT, Costs, block_of

from cutecc.timelines.causes import Ended, causes_of
from cutecc.timelines.critical import Step, clipped, critical_path, shares_of
from cutecc.timelines.sites import Site, mbarrier
from cutecc.timelines.timeline import BlockTimeline, Lane


def lane(warp: int, end: float, *spans: tuple[int, float, float]) -> Lane:
    sites, starts, ends = zip(*spans, strict=True) if spans else ((), (), ())
    return Lane(warp, "warp", 0.0, end, np.array(sites, np.int32), *np.array([starts, ends], np.float64))


def block(*lanes: Lane) -> BlockTimeline:
    return BlockTimeline("kernel", 0, 0, 0, list(lanes))


def lengths(path: list[Step]) -> float:
    return sum(each.end - each.start for each in path)


def test_through_the_warp_that_arrived() -> None:
    found = block(
        lane(0, 1000.0, (WAIT_EMPTY, 100, 700)),
        lane(1, 680.0, (ARRIVE, 680, 680)),
    )
    assert critical_path(found, SITES, "ns") == [
        Step(1, 0.0, 680.0, "instructions", -1),
        Step(0, 680.0, 700.0, "signal", ARRIVE),
        Step(0, 700.0, 1000.0, "instructions", WAIT_EMPTY),
    ]


def test_through_the_copy_that_landed() -> None:
    found = block(lane(0, 1000.0, (WAIT_FULL, 100, 900)), lane(1, 60.0, (LOAD, 50, 50)))
    assert critical_path(found, SITES, "ns") == [
        Step(1, 0.0, 50.0, "instructions", -1),
        Step(0, 50.0, 900.0, "memory", LOAD),
        Step(0, 900.0, 1000.0, "instructions", WAIT_FULL),
    ]


def test_a_copy_belongs_to_the_wait_of_its_turn() -> None:
    # The second copy is begun before the first one lands.
    found = block(
        lane(0, 1500.0, (WAIT_FULL, 0, 600), (WAIT_FULL, 650, 1200)),
        lane(1, 150.0, (LOAD, 50, 50), (LOAD, 100, 100)),
    )
    causes, _ = causes_of(found, SITES, "ns")
    assert causes.ended.tolist() == [Ended.MEMORY, Ended.MEMORY]
    assert causes.spans.tolist() == [0, 1]


def test_products_and_stores_are_waited_for_by_who_began_them() -> None:
    found = block(lane(0, 900.0, (WAIT_PRODUCT, 100, 400), (STORE, 450, 450), (8, 450, 850)))
    assert [(each.cause, each.end - each.start) for each in critical_path(found, SITES, "ns")] == [
        ("instructions", 100.0),
        ("tensor cores", 300.0),
        ("instructions", 50.0),
        ("memory", 400.0),
        ("instructions", 50.0),
    ]


def test_who_does_not_wait_is_not_held_up() -> None:
    found = block(lane(0, 200.0, (WAIT_EMPTY, 100, 120)), lane(1, 300.0, (ARRIVE, 110, 110)))
    causes, _ = causes_of(found, SITES, "ns")
    assert causes.ended.tolist() == [Ended.ITSELF]


def test_who_is_told_by_another_block_waits_for_what_is_not_known() -> None:
    found = block(lane(0, 900.0, (WAIT_EMPTY, 100, 800)))
    assert [each.cause for each in critical_path(found, SITES, "ns")] == ["instructions", "elsewhere", "instructions"]


def test_the_last_at_a_barrier_ends_it() -> None:
    meet = Site("barrier", "barrier", "named barrier 0", "k.py", 1)
    found = block(lane(0, 500.0, (0, 100, 420)), lane(1, 500.0, (0, 300, 420)), lane(2, 430.0, (0, 400, 420)))
    causes = causes_of(found, [meet], "ns")
    assert [each.ended.tolist() for each in causes] == [[Ended.WARP], [Ended.WARP], [Ended.ITSELF]]
    assert [each.lanes.tolist() for each in causes] == [[2], [2], [-1]]


def test_marks_are_no_part_of_it() -> None:
    mark = Site("mark", "main loop", None, "k.py", 2)
    found = block(lane(0, 500.0, (0, 100, 300), (1, 0, 500)))
    path = critical_path(found, [SITES[WAIT_PRODUCT], mark], "ns")
    assert [each.cause for each in path] == ["instructions", "tensor cores", "instructions"]


def test_of_a_pipeline_it_is_what_limits_it() -> None:
    of_products = shares_of(critical_path(block_of(), SITES, "ns"), SITES)
    assert of_products[0].cause == "tensor cores"
    assert of_products[0].line == 22
    # Four stages of 250 ns do not cover a flight of 2,000.
    of_memory = shares_of(critical_path(block_of(Costs(flight=2000)), SITES, "ns"), SITES)
    assert of_memory[0].cause == "memory"
    assert of_memory[0].line == 11
    assert of_memory[0].share > 0.7
    assert sum(each.share for each in of_memory) == pytest.approx(1.0)


def test_clipping() -> None:
    path = [Step(0, 0.0, 10.0, "memory", 1), Step(1, 10.0, 30.0, "instructions", 2)]
    assert clipped(path, 5.0, 20.0) == [Step(0, 5.0, 10.0, "memory", 1), Step(1, 10.0, 20.0, "instructions", 2)]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[BlockTimeline, list[Site]]:
    """Lanes with anything in them."""
    kinds = st.sampled_from(["wait", "barrier", "arrive", "copy", "product", "mark"])
    barriers = st.sampled_from([None, "products", "bulk stores", mbarrier(0), mbarrier(1), "named barrier 0"])
    sites = draw(st.lists(st.builds(Site, kinds, st.just("s"), barriers, st.just("k"), st.integers(0, 5)), min_size=1))
    lanes: list[Lane] = []
    for warp in range(draw(st.integers(1, 4))):
        times = sorted(draw(st.lists(st.integers(0, 2000), max_size=30)))
        spans = [
            (draw(st.integers(0, len(sites) - 1)), float(start), float(end))
            for start, end in zip(times[::2], times[1::2], strict=False)
        ]
        lanes.append(lane(warp, float(times[-1] if times else 0) + draw(st.integers(0, 50)), *spans))
    return block(*lanes), sites


@settings(deadline=None, max_examples=200)
@given(blocks())
def test_a_path_covers_its_block_once(made: tuple[BlockTimeline, list[Site]]) -> None:
    found, sites = made
    path = critical_path(found, sites, "ns")
    end = max(each.end for each in found.lanes)
    assert lengths(path) == pytest.approx(end)
    at = 0.0
    for step in path:
        assert step.start == at
        at = step.end
    assert at == end or not path
