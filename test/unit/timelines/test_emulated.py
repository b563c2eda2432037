"""Timelines of the emulator: a kernel by hand, whose instructions can be counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cutecc.arguments.grammar import parse_spec
from cutecc.emulator.limits import Limits
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import UsageError
from cutecc.kernel import Kernel
from cutecc.ptx_kernel import PtxLaunch, entry_of, ptx_kernel, read_module
from cutecc.timelines.causes import Ended, causes_of
from cutecc.timelines.critical import critical_path
from cutecc.timelines.emulated import emulated_timeline
from cutecc.timelines.timeline import BlockTimeline, Lane, Timeline

# Warp 1 copies two slices into shared memory, one after another; warp 0 waits for each, and gives its room back.
PIPELINE = """
.version 8.0
.target sm_90a
.address_size 64
.visible .entry kernel(.param .u64 x, .param .u64 y)
{
  .reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %rd<20>;
  .shared .align 128 .b8 tile[128];
  .shared .align 8 .b8 bars[16];
  .loc 1 10 5
  ld.param.u64 %rd1, [x];
  ld.param.u64 %rd2, [y];
  mov.u32 %r1, %tid.x;
  shr.u32 %r2, %r1, 5;
  mov.u32 %r3, bars;
  mov.u32 %r4, tile;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra met;
  mbarrier.init.shared.b64 [%r3], 1;
  mbarrier.init.shared.b64 [%r3+8], 32;
  fence.mbarrier_init.release.cluster;
met:
  .loc 1 11 5
  bar.sync 0;
  setp.eq.u32 %p2, %r2, 1;
  mov.u32 %r5, 0;
  @%p2 bra produce;
consume:
  .loc 1 20 9
full:
  mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r5;
  @!%p3 bra full;
  .loc 1 21 9
  ld.shared.u32 %r6, [%r4];
  add.u32 %r5, %r5, 1;
  .loc 1 22 9
  mbarrier.arrive.shared.b64 _, [%r3+8];
  setp.lt.u32 %p4, %r5, 2;
  @%p4 bra consume;
  st.global.u32 [%rd2], %r6;
  ret;
produce:
  .loc 1 30 9
  xor.b32 %r7, %r5, 1;
empty:
  mbarrier.try_wait.parity.shared.b64 %p5, [%r3+8], %r7;
  @!%p5 bra empty;
  setp.ne.u32 %p6, %r1, 32;
  @%p6 bra others;
  .loc 1 31 9
  mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 128;
  .loc 1 32 9
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd1], 128, [%r3];
others:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p7, %r5, 2;
  @%p7 bra produce;
  ret;
}
.file 1 "kernel.py"
"""


def kernel_of(text: str, block: int, grid: int = 1) -> Kernel:
    module = read_module(text, Limits())
    return ptx_kernel(
        text,
        entry_of(module, None),
        module.target,
        PtxLaunch((grid, 1, 1), (block, 1, 1)),
        {name: parse_spec("f32[32]") for name in ("x", "y")},
    )


def run(options: EmulatorOptions = EmulatorOptions(), grid: int = 1) -> Timeline:
    x, y = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    timeline, found = emulated_timeline(kernel_of(PIPELINE, 64, grid).emulator, {"x": x, "y": y}, options)
    assert found.ok
    return timeline


def spans_of(timeline: Timeline, lane: Lane) -> list[tuple[str, str | None, int, float, float]]:
    return [
        ((site := timeline.sites[number]).name, site.barrier, site.line, start, end)
        for number, start, end in zip(lane.sites.tolist(), lane.starts.tolist(), lane.ends.tolist(), strict=True)
    ]


def test_a_pipeline() -> None:
    timeline = run()
    assert (timeline.unit, timeline.device) == ("instructions", "emulator")
    (block,) = timeline.blocks
    assert (block.kernel, block.block, block.processor) == ("kernel", 0, -1)
    consumer, producer = block.lanes
    assert producer.role == "producer"
    names = [each[:3] for each in spans_of(timeline, producer)]
    assert names == [
        ("barrier", "named barrier 0", 11),
        *[
            ("mbarrier wait", "mbarrier 1", 30),
            ("mbarrier arrive", "mbarrier 0", 31),
            ("bulk load", "mbarrier 0", 32),
        ]
        * 2,
    ]
    assert [each[:3] for each in spans_of(timeline, consumer)] == [
        ("barrier", "named barrier 0", 11),
        *[("mbarrier wait", "mbarrier 0", 20), ("mbarrier arrive", "mbarrier 1", 22)] * 2,
    ]
    assert {site.file for site in timeline.sites} == {"kernel.py"}


def test_clocks_count_instructions_and_who_waits_is_as_late_as_whom_it_waits_for() -> None:
    timeline = run()
    (block,) = timeline.blocks
    consumer, producer = (spans_of(timeline, lane) for lane in block.lanes)
    # Warp 0 initialises the mbarriers: 8 instructions for all, and 3 more of one lane. Warp 1 has 8 before the barrier.
    assert consumer[0][3:] == (11, 12)
    assert producer[0][3:] == (8, 12)
    copied = next(each for each in producer if each[0] == "bulk load")
    waited = consumer[1]
    assert waited[3] == 15
    # The copy itself takes nothing.
    assert waited[4] == max(copied[4], waited[3]) + 1
    arrived = consumer[2]
    emptied = [each for each in producer if each[0] == "mbarrier wait"][1]
    assert emptied[4] == max(arrived[4], emptied[3]) + 1


def test_the_same_with_any_order_of_warps() -> None:
    def times(timeline: Timeline) -> list[list[tuple[str, str | None, int, float, float]]]:
        return [spans_of(timeline, lane) for block in timeline.blocks for lane in block.lanes]

    expected = times(run())
    for seed in range(3):
        assert times(run(EmulatorOptions(schedule="random", seed=seed))) == expected


def test_blocks_are_those_that_run() -> None:
    timeline = run(EmulatorOptions(blocks="2:4"), grid=6)
    assert [(block.launch, block.block) for block in timeline.blocks] == [(0, 2), (0, 3)]
    assert ends(timeline.blocks[0]) == ends(timeline.blocks[1])


def ends(block: BlockTimeline) -> list[float]:
    return [lane.end for lane in block.lanes]


def test_of_a_deadlock_it_has_the_waits_that_never_end() -> None:
    """The consumer does not give its room back: each warp waits for the other."""
    gives_back = "  mbarrier.arrive.shared.b64 _, [%r3+8];\n"
    assert PIPELINE.count(gives_back) == 1
    kernel = kernel_of(PIPELINE.replace(gives_back, ""), 64)
    x, y = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    timeline, found = emulated_timeline(kernel.emulator, {"x": x, "y": y})
    assert found is None
    assert timeline.deadlock[0].startswith("deadlock: no thread of the resident blocks can go on")
    assert any("warp 1 of block (0, 0, 0) waits at kernel.py:30" in each for each in timeline.deadlock)
    (block,) = timeline.blocks
    assert all(lane.waits_for_ever for lane in block.lanes)
    consumer, producer = (spans_of(timeline, lane)[-1] for lane in block.lanes)
    assert consumer[:3] == ("mbarrier wait", "mbarrier 0", 20)
    assert producer[:3] == ("mbarrier wait", "mbarrier 1", 30)
    assert consumer[4] == producer[4] == block.end
    ended = [each.ended.tolist() for each in causes_of(block, timeline.sites, timeline.unit)]
    assert [each.count(Ended.NEVER) for each in ended] == [1, 1]
    assert [each[-1] for each in ended] == [Ended.NEVER, Ended.NEVER]
    assert critical_path(block, timeline.sites, timeline.unit)[-1].cause == "never"


def test_what_waits_at_no_barrier_is_a_wait() -> None:
    """Two threads look for what nobody writes."""
    looks = "mbarrier.try_wait.parity.shared.b64 %p3, [%r3], %r5;"
    assert PIPELINE.count(looks) == 1
    text = PIPELINE.replace(looks, "ld.volatile.shared.u32 %r8, [%r4]; setp.eq.u32 %p3, %r8, 77;")
    x, y = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    timeline, _ = emulated_timeline(kernel_of(text, 64).emulator, {"x": x, "y": y})
    (block,) = timeline.blocks
    assert spans_of(timeline, block.lanes[0])[-1][:3] == ("wait", None, 20)


def test_counters_beside_it() -> None:
    x, y = np.arange(32, dtype="f4"), np.zeros(32, "f4")
    options = EmulatorOptions(counters=True)
    timeline, found = emulated_timeline(kernel_of(PIPELINE, 64).emulator, {"x": x, "y": y}, options)
    assert found.counters is not None
    warps = sum(each.counts.warps for each in found.counters.instructions)
    # Each instruction of a warp is counted once, and who waits is late for more than it executes.
    assert warps <= sum(lane.end for lane in timeline.blocks[0].lanes)
    assert warps > 0


def test_checks_are_another_run() -> None:
    with pytest.raises(UsageError, match="two runs"):
        run(EmulatorOptions(check="races"))


def test_who_runs_elsewhere_is_not_watched() -> None:
    untrusted = replace(kernel_of(PIPELINE, 64), untrusted=True)
    with pytest.raises(UsageError, match="untrusted"):
        emulated_timeline(untrusted.emulator, {})
