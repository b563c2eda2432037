"""What the pass builds, run on the emulator: it records what it is armed for, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from emulated_runs import EmulatedKernels

from cutecc.compilation.request import CompileOptions, recording_timeline
from cutecc.kernel import Kernel
from cutecc.timelines.layout import ARMING, HEADER, HEADERS, PAIR, RECORDS, KernelSites
from cutecc.timelines.recording import Records
from cutecc.timelines.records import timeline_of

FILE = Path(__file__).parent / "kernels" / "meeting.py"
OPTIONS = CompileOptions(artifacts=("ptx", "host-program"))
STRIDE = 512


def sites_of(ptx: str) -> KernelSites:
    (numbers,) = re.findall(r"cutecc_timeline_0_sites\[\d+\] = \{([^}]*)\}", ptx)
    return msgspec.json.decode(bytes(int(each) for each in numbers.split(",")), type=KernelSites)


def armed(kernel: Kernel, values: Sequence[int]) -> Kernel:
    """The kernel with the variable that arms it set from the start: the emulator has no runtime to set it."""
    content = ", ".join(map(str, np.array([tuple(values)], ARMING).tobytes()))
    ptx, count = re.subn(r"(cutecc_timeline_0\[32\]);", rf"\1 = {{{content}}};", kernel.ptx)
    assert count == 1
    (artifact,) = [each for each in kernel.compilation.artifacts if each.kind == "ptx"]
    compilation = copy(kernel.compilation)
    compilation.files = {**kernel.compilation.files, artifact.file: ptx.encode()}
    return Kernel(compilation)


def run(kernel: Kernel, values: Sequence[int] | None = None, start: int = 0) -> Any:
    """What is in the room behind a call, the kernel being armed with these values but for where the room is.

    `start` is there before, where the first warp is to write when it began.
    """
    turns, room = np.zeros(8, np.int32), np.zeros(8192, np.int64)
    room[0] = start
    if values is not None:
        kernel = armed(kernel, (room.ctypes.data, *values, 0))
    kernel.emulate(turns, room, check="all").raise_findings()
    assert turns.tolist() == [3] * 8
    return room


@pytest.fixture(scope="module", params=["nvidia", "open"])
def kernel(request: pytest.FixtureRequest, emulated: EmulatedKernels) -> Kernel:
    options = recording_timeline(replace(OPTIONS, pipeline=request.param), "all")
    return emulated.compile(FILE, request.param, options=options)


def test_sites_are_the_user_s_lines(kernel: Kernel) -> None:
    lines = FILE.read_text().splitlines()
    found = [
        (each.kind, each.barrier, lines[each.line - 1].split("(")[0].split(".")[-1])
        for each in sites_of(kernel.ptx).sites
    ]
    assert found == [
        ("barrier", "named barrier 0", "sync_threads"),
        ("arrive", "mbarrier 0", "mbarrier_arrive"),
        ("wait", "mbarrier 0", "mbarrier_wait"),
        ("barrier", "named barrier 2", "barrier"),
    ]


def test_a_kernel_that_is_not_armed_writes_nothing(kernel: Kernel) -> None:
    assert not run(kernel).any()


def test_what_is_recorded_is_what_warps_did(kernel: Kernel) -> None:
    room = run(kernel, (1, 4, STRIDE, 0b1101))
    raw = room.view(np.uint8)[: 4 * STRIDE].reshape(1, 4, STRIDE)
    headers = np.ascontiguousarray(raw[:, :, :HEADER]).view(HEADERS)[..., 0]
    records = np.ascontiguousarray(raw[:, :, HEADER:]).view(RECORDS)
    found = timeline_of([Records(sites_of(kernel.ptx), 0, range(1, 2), headers, records)], "emulator")
    (block,) = found.blocks
    assert block.block == 1 and [lane.warp for lane in block.lanes] == [0, 2, 3]
    assert not room[4 * STRIDE // 8 :].any(), "behind the regions"
    for lane in block.lanes:
        kinds = [found.sites[site].kind for site in lane.sites]
        assert kinds == ["barrier", *["arrive", "wait", "barrier"] * 3]
        assert (lane.starts <= lane.ends).all() and (np.diff(lane.ends) > 0).all()
        assert lane.start < lane.starts[0] and lane.ends[-1] < lane.end
    # Nobody leaves a barrier before the last has come.
    for number, site in enumerate(block.lanes[0].sites):
        if found.sites[site].kind == "barrier":
            assert max(lane.starts[number] for lane in block.lanes) < min(lane.ends[number] for lane in block.lanes)


def test_records_without_room_are_counted_and_not_written(kernel: Kernel) -> None:
    stride = HEADER + 2 * PAIR
    room = run(kernel, (0, 1, stride, 0b0001))
    (header,) = room.view(np.uint8)[:HEADER].view(HEADERS)
    # Begin and end of the first barrier; then of each turn the arrival, and the wait and the barrier behind it.
    assert header["used"] == HEADER + PAIR * (1 + 3 * (1 + 2))
    assert not room.view(np.uint8)[stride:].any()


def test_a_region_that_was_written_is_left_alone(kernel: Kernel) -> None:
    room = run(kernel, (0, 1, STRIDE, 0b0001), start=5)
    (header,) = room.view(np.uint8)[:HEADER].view(HEADERS)
    assert header["start"] == 5 and header["repeated"] == 1
    header["start"] = header["repeated"] = 0
    assert not room.any()
