"""Arming a kernel, and reading what its warps wrote."""

from __future__ import annotations

import re

import pytest
from written_records import SITES, FakeCall, FakeMemory

from cutecc.errors import ProfilingError
from cutecc.timelines.layout import HEADER, NAME, SITES_NAME
from cutecc.timelines.recording import Recorder, Selection
from cutecc.timelines.records import timeline_of
from cutecc.timelines.timeline import Lane, Timeline


def recorded(call: FakeCall, selection: Selection = Selection()) -> Timeline:
    return timeline_of(Recorder(call, call.memory, selection=selection).record(), "a GPU")


def spans(lane: Lane) -> list[tuple[int, float, float]]:
    return [
        (site, round(start, 1), round(end, 1))
        for site, start, end in zip(lane.sites.tolist(), lane.starts.tolist(), lane.ends.tolist(), strict=True)
    ]


def test_spans_have_the_nanoseconds_of_their_block() -> None:
    found = recorded(FakeCall(FakeMemory()))
    assert found.unit == "ns" and found.sites == SITES and found.lost == 0 and found.notes == []
    assert [(each.block, each.processor, len(each.lanes)) for each in found.blocks] == [
        (0, 0, 2),
        (1, 1, 2),
        (2, 0, 2),
        (3, 1, 2),
    ]
    # Of a clock of 2 GHz, whose 32 bits are over in blocks 1 and 3; a block begins a nanosecond behind the other.
    for block in found.blocks:
        for lane in block.lanes:
            assert lane.start == pytest.approx(block.block, abs=1.01)
            assert spans(lane) == [
                (0, pytest.approx(lane.start + 50, abs=0.2), pytest.approx(lane.start + 175, abs=0.2)),
                (1, pytest.approx(lane.start + 200, abs=0.2), pytest.approx(lane.start + 200, abs=0.2)),
            ]


def test_a_wait_that_follows_another_begins_at_its_end() -> None:
    call = FakeCall(FakeMemory(), records=[(0, "begin", 100), (0, "end", 200), (2, "end", 500)])
    (first, second) = spans(recorded(call).blocks[0].lanes[0])
    assert first[2] == second[1] and second[0] == 2 and second[2] - second[1] == pytest.approx(150, abs=0.2)


def test_marks_nest_and_those_that_nobody_ends_last_as_long_as_the_warp() -> None:
    records = [
        (3, "begin", 100),
        (4, "begin", 200),
        (0, "begin", 210),
        (0, "end", 240),
        (4, "pop", 300),
        (4, "instant", 350),
        (3, "begin", 400),
    ]
    lane = recorded(FakeCall(FakeMemory(), records=records)).blocks[0].lanes[0]
    ends = {(site, round(start - lane.start)): round(end - lane.start) for site, start, end in spans(lane)}
    assert ends == {(4, 100): 150, (0, 105): 120, (4, 175): 175, (3, 50): 250, (3, 200): 250}


def test_a_range_that_is_ended_by_name_is_the_last_of_that_name() -> None:
    records = [(3, "begin", 100), (4, "begin", 200), (3, "end", 300), (4, "end", 400)]
    lane = recorded(FakeCall(FakeMemory(), records=records)).blocks[0].lanes[0]
    assert [(site, round(end - start)) for site, start, end in spans(lane)] == [(3, 100), (4, 100)]


def test_there_is_room_for_all_that_a_first_launch_counted() -> None:
    many = [(1, "instant", 10 * number) for number in range(1000)]
    call = FakeCall(FakeMemory(), records=many)
    found = recorded(call)
    assert call.calls == 2 and found.lost == 0
    assert all(len(lane.sites) == 1000 for block in found.blocks for lane in block.lanes)


def test_records_without_room_are_counted() -> None:
    class Growing(FakeCall):
        def __call__(self) -> None:
            self.records = [(1, "instant", number) for number in range(600 * 2**self.calls)]
            super().__call__()

    found = recorded(Growing(FakeMemory()))
    lanes = [lane for block in found.blocks for lane in block.lanes]
    # The last launch wrote twice as many as the one before, for which room was made.
    assert found.lost > 0 and all(len(lane.sites) * 8 * 2 > 600 * 2**4 * 8 for lane in lanes)
    assert sum(len(lane.sites) for lane in lanes) + found.lost == 600 * 2**4 * len(lanes)


def test_blocks_and_warps_are_chosen() -> None:
    found = recorded(FakeCall(FakeMemory(), grid=(3, 2, 1)), Selection(first=2, blocks=3, warps=0b10))
    assert [(each.block, [lane.warp for lane in each.lanes]) for each in found.blocks] == [
        (2, [1]),
        (3, [1]),
        (4, [1]),
    ]
    with pytest.raises(ProfilingError, match="block 6 is not there: the grid has 6 blocks"):
        recorded(FakeCall(FakeMemory(), grid=(3, 2, 1)), Selection(first=6))


def test_a_second_launch_of_one_call_is_told() -> None:
    (note,) = recorded(FakeCall(FakeMemory(), times=2)).notes
    assert note == "kernel is launched more than once by a call: the first launch alone is recorded"


def test_a_kernel_that_is_not_armed_writes_nothing() -> None:
    call = FakeCall(FakeMemory())
    recorded(call)
    address, size = call.variables[NAME.format(0)]
    assert not call.memory.at(address, size).any()
    before = {each: data.copy() for each, data in call.memory.data.items()}
    call()
    assert all((call.memory.data[each] == data).all() for each, data in before.items())


def test_what_cannot_be_recorded_is_told() -> None:
    call = FakeCall(FakeMemory())
    call.variables.clear()
    with pytest.raises(ProfilingError, match="it has no waits, barriers or marks, or no pass record-timeline"):
        Recorder(call, call.memory)
    unknown = FakeCall(FakeMemory(), times=0)
    with pytest.raises(ProfilingError, match="known only while the host function runs"):
        Recorder(unknown, unknown.memory)
    huge = FakeCall(FakeMemory(), grid=(1 << 23, 1, 1))
    with pytest.raises(ProfilingError, match=re.escape("8,388,608 blocks would write 4.0 GiB of records")) as failed:
        Recorder(huge, huge.memory).record()
    assert failed.value.hints == ["record fewer: --blocks 0-2097151"]


def test_code_that_says_other_things_of_itself_is_refused() -> None:
    call = FakeCall(FakeMemory())
    address, size = call.variables[SITES_NAME.format(0)]
    call.memory.at(address, size)[:4] = ord("?")
    with pytest.raises(ProfilingError, match="what the kernel says of its sites cannot be read"):
        Recorder(call, call.memory)
    call.variables[NAME.format(0)] = call.variables[NAME.format(0)][0], 16
    with pytest.raises(ProfilingError, match="cutecc_timeline_0 of the kernel's code is not what this version arms"):
        Recorder(call, call.memory)


def test_warps_that_no_block_has_are_refused() -> None:
    call = FakeCall(FakeMemory())
    with pytest.raises(ProfilingError, match="none of these warps is there: a block has 2"):
        Recorder(call, call.memory, selection=Selection(warps=0b100))


def test_a_warp_that_wrote_nothing_has_a_lane_still() -> None:
    lane = recorded(FakeCall(FakeMemory(), records=[])).blocks[0].lanes[0]
    assert len(lane.sites) == 0 and lane.end - lane.start == pytest.approx(50, abs=0.2)
    assert HEADER == 32
