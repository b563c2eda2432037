"""Skeletons as pictures: where events and edges are, and what stands for each in words."""

from __future__ import annotations

from xml.etree import ElementTree

from cutecc.report.skeleton import Edge, Event, Lane, Skeleton
from cutecc.report.skeleton_picture import columns_of, drawing, in_words, rows_of, svg


def lane(role: str, *events: Event) -> Lane:
    return Lane(role, f"{role}s", 0, [0], list(events))  # type: ignore[arg-type]


def event(text: str, kind: str = "arrive", **more: object) -> Event:
    return Event(kind, text, **more)  # type: ignore[arg-type]


PIPELINE = Skeleton(
    "one period: 1 step of the loop, from step 3 on",
    True,
    [
        lane("consumer", event("wait full", "wait", phase=3, file="/k/<k>.py", line=7), event("arrive empty")),
        lane("producer", event("wait empty", "wait"), event("announce full"), event("copy → full", "copy", times=2)),
    ],
    [Edge((0, 0), (1, 2)), Edge((1, 0), None, 0)],
    ["warp 9: have ended"],
)


def test_an_event_is_below_what_it_waits_for() -> None:
    assert rows_of(PIPELINE) == [[3, 4], [0, 1, 2]]


def test_what_meets_is_in_one_row() -> None:
    lanes = [lane("warp", event("a"), event("barrier 1", "barrier")), lane("warp", event("barrier 1", "barrier"))]
    met = Skeleton("all of it", False, lanes, [Edge((0, 1), (1, 0)), Edge((1, 0), (0, 1))], [])
    assert rows_of(met) == [[0, 1], [1]]
    assert [each.role for each in drawing(met, "k").arrows] == ["barrier"]


def test_what_goes_around_in_a_circle_is_in_the_order_of_its_lane() -> None:
    lanes = [lane("warp", event("a"), event("b")), lane("warp", event("c"), event("d"))]
    assert rows_of(Skeleton("", False, lanes, [Edge((0, 0), (1, 1)), Edge((1, 0), (0, 1))], [])) == [[0, 1], [0, 1]]


def test_lanes_stand_where_edges_pass_the_fewest() -> None:
    lanes = [lane("consumer", event("a")), lane("consumer", event("b")), lane("producer", event("c"))]
    found = Skeleton("", False, lanes, [Edge((0, 0), (2, 0)), Edge((1, 0), (2, 0))], [])
    assert columns_of(found)[2] == 1


def test_edges_are_told_in_words() -> None:
    arrows = drawing(PIPELINE, "k").arrows
    assert [(each.role, each.tip) for each in arrows] == [
        ("copy", "“copy → full” of producers completes what “wait full” of consumers waits for"),
        ("before", "“wait empty” of producers waits for what consumers did before this"),
    ]


def test_an_event_in_words() -> None:
    assert in_words(PIPELINE.lanes[0].events[0]) == "wait full, phase 3, <k>.py:7"
    assert in_words(event("copy out", times=2, warps=[0])) == "copy out, 2 times, only warp 0"


def test_the_file_is_an_svg_with_lanes_and_events() -> None:
    text = svg([drawing(PIPELINE, "a <kernel>"), drawing(PIPELINE, "b")])
    root = ElementTree.fromstring(text)
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("consumers") == 2
    assert texts.count("copy → full ×2") == 2
    assert texts.count("and again") == 4
    assert "a <kernel>, one period: 1 step of the loop, from step 3 on" in texts
    assert "prefers-color-scheme: dark" in text
