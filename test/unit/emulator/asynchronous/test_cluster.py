"""Addresses of other blocks, and asynchronous stores to them; hints that change nothing; fences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import run, stored
from hand import make_gang, make_machine, make_operation, make_step

from cutecc.emulator.machine.lanes import Lanes
from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.errors import DeadlockError, EmulatorError


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("send", "size", "expected"),
    [
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%r5], %r3, [%r6]", 4, lambda new: new),
        ("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r5], %r3, [%r6]", 4, lambda new: new),
        ("st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r5], {%r3, %r0}, [%r6]", 8, lambda new: new),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r5], %r3, [%r6]", 4,
         lambda new: new + 70),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%r5], %r3, [%r6]", 4,
         lambda new: np.minimum(new, 70)),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.or.b32 [%r5], %r3, [%r6]", 4,
         lambda new: new | 70),
    ],
)  # fmt: skip
def test_each_thread_sends_to_the_other_block(send: str, size: int, expected: Any, schedule: str) -> None:
    body = f"""
  mov.u32 %r1, %cluster_ctarank;
  mad.lo.u32 %r3, %r1, 100, %r0;
  shl.b32 %r2, %r0, 3;
  add.u32 %r2, %r9, %r2;
  st.shared.u32 [%r2+128], 70;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%r9], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], {32 * size};
READY:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %r4, %r1, 1;
  add.u32 %r5, %r2, 128;
  mapa.shared::cluster.u32 %r5, %r5, %r4;
  mapa.shared::cluster.u32 %r6, %r9, %r4;
  {send};
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
  ld.shared.u32 %r8, [%r2+128];
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""
    out = stored(body, blocks=2, cluster=2, schedule=schedule, seed=7).reshape(2, 32)
    np.testing.assert_array_equal(out, expected(np.stack([np.arange(32) + 100, np.arange(32)])))


def test_addresses_know_their_block() -> None:
    """getctarank of mapa gives the rank back; of a plain address, the own one; generic addresses likewise."""
    body = """
  and.b32 %r1, %r0, 3;
  mapa.shared::cluster.u32 %r2, %r9, %r1;
  getctarank.shared::cluster.u32 %r3, %r2;
  getctarank.shared::cluster.u32 %r4, %r9;
  cvt.u64.u32 %rd3, %r9;
  cvta.shared.u64 %rd3, %rd3;
  mapa.u64 %rd4, %rd3, %r1;
  getctarank.u64 %r5, %rd4;
  getctarank.u64 %r6, %rd3;
  shl.b32 %r8, %r3, 4;
  or.b32 %r8, %r8, %r4;
  shl.b32 %r8, %r8, 4;
  or.b32 %r8, %r8, %r5;
  shl.b32 %r8, %r8, 4;
  or.b32 %r8, %r8, %r6;
"""
    out = stored(body, blocks=4, cluster=4).reshape(4, 32)
    rank, other = np.arange(4)[:, None], np.arange(32)[None, :] % 4
    np.testing.assert_array_equal(out, other << 12 | rank << 8 | other << 4 | rank)


def test_a_generic_address_of_another_block_is_read() -> None:
    body = """
  mov.u32 %r1, %cluster_ctarank;
  st.shared.u32 [%r9], %r1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %r4, %r1, 1;
  cvt.u64.u32 %rd3, %r9;
  cvta.shared.u64 %rd3, %rd3;
  mapa.u64 %rd4, %rd3, %r4;
  ld.u32 %r8, [%rd4];
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""
    out = stored(body, blocks=2, cluster=2).reshape(2, 32)
    np.testing.assert_array_equal(out, np.repeat([[1], [0]], 32, axis=1))


@pytest.mark.parametrize(
    "text",
    [
        "griddepcontrol.launch_dependents",
        "griddepcontrol.wait",
        "nanosleep.u32 100",
        "nanosleep.u32 %r0",
        "pmevent 3",
        "pmevent.mask 0x0f0f",
        "setmaxnreg.inc.sync.aligned.u32 232",
        "setmaxnreg.dec.sync.aligned.u32 40",
        "membar.gl",
        "membar.cta",
        "fence.acq_rel.gpu",
        "fence.sc.cluster",
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async",
        "fence.proxy.async.global",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "fence.proxy.async.shared::cta",
        "fence.proxy.alias",
        "fence.proxy.tensormap::generic.release.gpu",
        "fence.proxy.tensormap::generic.acquire.sys [%rd3], 128",
        "fence.mbarrier_init.release.cluster",
    ],
)
def test_what_only_orders_or_hints_changes_nothing(text: str) -> None:
    out = stored(f"mov.u32 %r8, %r0; {text};")
    np.testing.assert_array_equal(out, np.arange(32))


@pytest.mark.parametrize("count", [20, 28, 264])
def test_an_impossible_number_of_registers_is_an_error(count: int) -> None:
    with pytest.raises(EmulatorError, match=f"{count} registers are not a multiple of 8 from 24 to 256"):
        run(f"setmaxnreg.inc.sync.aligned.u32 {count};")


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["round-robin", "random", "adversarial"])
def test_registers_are_waited_for_until_others_give_them_up(schedule: str) -> None:
    body = """
  st.shared.u32 [%r9], 0;
  setp.ge.u32 %p1, %r0, 256;
  @%p1 bra LESS;
  bar.sync 0;
  setmaxnreg.inc.sync.aligned.u32 240;
  red.shared.add.u32 [%r9], 1;
  bra OTHERS;
LESS:
  setmaxnreg.dec.sync.aligned.u32 40;
  bar.sync 0;
  setmaxnreg.dec.sync.aligned.u32 {left};
OTHERS:
  ld.volatile.shared.u32 %r1, [%r9];
  setp.lt.u32 %p2, %r1, 256;
  @%p2 bra OTHERS;
"""
    run(body.format(left=24), threads=384, schedule=schedule)
    with pytest.raises(DeadlockError, match="for 240 registers a thread, which other warps of the block have"):
        run(body.format(left=40), threads=384, schedule=schedule)


def test_warps_wait_for_registers_while_another_is_not_there_as_a_whole() -> None:
    gang = make_gang(make_machine(384))
    step = make_step(make_operation("setmaxnreg.inc.sync.aligned.u32 240;", {}))
    mask = gang.alive.copy()
    mask[0, :16] = False
    waiting = step(gang, Lanes(mask))
    assert waiting is not None
    # Eight warps of 240 registers, and four of at least 24, are all that a block can have.
    assert np.flatnonzero(waiting.mask.all(axis=1)).tolist() == [9, 10, 11]
    assert np.flatnonzero(waiting.mask.any(axis=1)).tolist() == [0, 9, 10, 11]
    assert waiting.what(0).startswith("all threads of the warp to execute setmaxnreg")
    assert waiting.what(9) == "240 registers a thread, which other warps of the block have"
