"""What warps are for, and which do the same."""

from __future__ import annotations

import numpy as np
import pytest
from pipelines import SITES, block_of, timeline_of

from cutecc.timelines.roles import LaneGroup, lane_groups, role_of, with_roles
from cutecc.timelines.sites import COPIES, PRODUCTS, STORES, Site, mbarrier, named_barrier
from cutecc.timelines.timeline import BlockTimeline, Lane, Role, Timeline

LOAD = Site("copy", "TMA load", mbarrier(0))
STORE = Site("copy", "TMA store", STORES)
PRODUCT = Site("product", "products", PRODUCTS)
COMMIT = Site("product", "products", mbarrier(3))
WAIT_RESULT = Site("wait", "mbarrier wait", mbarrier(3))
MEET = Site("barrier", "barrier", named_barrier(0))


@pytest.mark.parametrize(
    ("own", "role"),
    [
        ([LOAD, MEET], "producer"),
        # The empty stage is told by the commit of products.
        ([LOAD, WAIT_RESULT], "producer"),
        ([Site("copy", "copies", COPIES)], "producer"),
        ([PRODUCT], "consumer"),
        ([Site("wait", "wait for products", PRODUCTS)], "consumer"),
        ([COMMIT, WAIT_RESULT], "consumer"),
        # It does all of it.
        ([LOAD, PRODUCT], "consumer"),
        ([STORE], "epilogue"),
        ([WAIT_RESULT], "epilogue"),
        ([MEET], "warp"),
        ([], "warp"),
    ],
)
def test_roles(own: list[Site], role: Role) -> None:
    assert role_of(own, [LOAD, STORE, COMMIT, WAIT_RESULT, MEET]) == role


def lane(warp: int, sites: list[int], role: Role = "warp") -> Lane:
    times = np.arange(len(sites), dtype=np.float64)
    return Lane(warp, role, 0.0, float(len(sites)), np.array(sites, np.int32), times, times)


def test_warps_that_all_do_the_same_have_no_role() -> None:
    sites = [LOAD, PRODUCT]
    block = BlockTimeline("k", 0, 0, 0, [lane(warp, [0, 1]) for warp in range(4)])
    (found,) = with_roles(Timeline("ns", "GPU", sites, [block])).blocks
    assert [each.role for each in found.lanes] == ["warp"] * 4


def test_a_pipeline_is_its_producer_and_its_consumers() -> None:
    timeline = timeline_of([block_of(consumers=4)])
    groups = lane_groups(timeline.blocks[0], SITES)
    # The first consumer stores for all, and is one of them nevertheless.
    assert [group.title for group in groups] == ["warps 0-3 consumers", "warp 4 producer"]


def test_titles() -> None:
    assert LaneGroup("epilogue", (0, 1, 2, 5)).title == "warps 0-2, 5 epilogue"
    assert LaneGroup("warp", (3,)).title == "warp 3"
    assert LaneGroup("producer", (1, 2)).title == "warps 1-2 producers"


def test_what_is_done_once_tells_warps_apart_where_nothing_is_repeated() -> None:
    block = BlockTimeline("k", 0, 0, 0, [lane(0, [0, 1]), lane(1, [0, 1]), lane(2, [0])])
    assert [group.warps for group in lane_groups(block, [MEET, Site("mark", "m"), STORE])] == [(0, 1, 2)]
    assert [group.warps for group in lane_groups(block, [MEET, STORE])] == [(0, 1), (2,)]


def test_blocks_without_a_recorded_warp_are_left_out() -> None:
    some = BlockTimeline("k", 0, 1, 0, [lane(0, [0])])
    found = with_roles(Timeline("ns", "GPU", [MEET], [BlockTimeline("k", 0, 0, 0, []), some]))
    assert [each.block for each in found.blocks] == [1]
