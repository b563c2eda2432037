"""All threads get on, and those that cannot are said to be stuck, only they."""

from __future__ import annotations

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.errors import DeadlockError

pytestmark = pytest.mark.slow

SCHEDULES = [("round-robin", 0), ("random", 1), ("adversarial", 1), ("adversarial", 3)]


@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_a_loop_that_counts_with_atomics_is_not_stuck(schedule: str, seed: int) -> None:
    body = (
        PROLOGUE
        + """
  mov.u32 %r5, 0;
AGAIN:
  atom.global.add.u32 %r6, [%rd1], 1;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 5000;
  @%p1 bra AGAIN;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, schedule=schedule, seed=seed)
    assert out[0] == 32 * 5000


# What a thread does between its looks makes the loop one that only looks, or one of any other kind.
BETWEEN = ["", "lop3.b32 %r9, %r6, %r6, %r6, 0x80;", "st.global.u32 [%rd3+64], 0;"]


@pytest.mark.parametrize("between", BETWEEN)
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
def test_threads_of_a_warp_take_a_lock_one_after_the_other(schedule: str, seed: int, between: str) -> None:
    """Who has the lock is further on in the program than those who want it."""
    body = (
        PROLOGUE
        + f"""
  ld.param.u64 %rd5, [a1];
  ld.param.u64 %rd6, [a2];
SPIN:
  atom.global.cas.b32 %r6, [%rd5], 0, 1;
  {between}
  setp.ne.u32 %p1, %r6, 0;
  @%p1 bra SPIN;
  ld.volatile.global.u32 %r7, [%rd6];
  add.u32 %r7, %r7, 1;
  st.volatile.global.u32 [%rd6], %r7;
  membar.gl;
  atom.global.exch.b32 %r8, [%rd5], 0;
"""
    )
    count = np.zeros(1, np.uint32)
    run(
        body,
        np.zeros(64, np.uint32),
        np.zeros(1, np.uint32),
        count,
        block=(4, 1, 1),
        grid=(2, 1, 1),
        schedule=schedule,
        seed=seed,
    )
    assert count[0] == 8


@pytest.mark.parametrize("seed", range(6))
def test_a_warp_that_spins_with_priority_lets_the_holder_of_the_lock_go_on(seed: int) -> None:
    """The second warp is woken while the first has the lock."""
    body = (
        PROLOGUE
        + """
  .shared .align 8 .b64 woken;
  ld.param.u64 %rd5, [a1];
  mov.u32 %r10, woken;
  setp.ne.u32 %p3, %r1, 0;
  @%p3 bra READY;
  mbarrier.init.shared.b64 [%r10], 1;
READY:
  bar.sync 0;
  setp.ge.u32 %p3, %r1, 32;
  @%p3 bra SECOND;
  atom.global.cas.b32 %r6, [%rd5], 0, 1;
  setp.ne.u32 %p4, %r1, 0;
  @%p4 bra WOKEN;
  mbarrier.arrive.shared.b64 %rd7, [%r10];
WOKEN:
  bar.warp.sync -1;
  atom.global.exch.b32 %r8, [%rd5], 0;
  bra END;
SECOND:
  mbarrier.try_wait.parity.shared.b64 %p5, [%r10], 0;
  @!%p5 bra SECOND;
  mov.u32 %r5, 0;
SPIN:
  atom.global.cas.b32 %r6, [%rd5], 0, 1;
  setp.ne.u32 %p1, %r6, 0;
  @%p1 bra NEXT;
  st.volatile.global.u32 [%rd3], 1;
  atom.global.exch.b32 %r8, [%rd5], 0;
  mov.u32 %r5, 1;
NEXT:
  setp.eq.u32 %p2, %r5, 0;
  @%p2 bra SPIN;
END:
"""
    )
    out = np.zeros(64, np.uint32)
    run(body, out, np.zeros(1, np.uint32), block=(64, 1, 1), schedule="adversarial", seed=seed)
    assert out.sum() == 32


@pytest.mark.parametrize("between", ["", "popc.b32 %r7, %r5;", "bar.warp.sync -1;", "bar.sync 0;"])
def test_a_block_can_wait_for_one_far_behind_it(between: str) -> None:
    body = (
        PROLOGUE
        + f"""
  ld.param.u64 %rd5, [a1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  setp.eq.u32 %p1, %r2, 999;
  @!%p1 bra END;
  st.volatile.global.u32 [%rd5], 1;
  bra END;
WAIT:
  ld.volatile.global.u32 %r5, [%rd5];
  {between}
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra WAIT;
  st.global.u32 [%rd3], 6;
END:
"""
    )
    out = np.zeros(32000, np.uint32)
    run(body, out, np.zeros(1, np.uint32), grid=(1000, 1, 1))
    assert out[0] == 6


def test_a_thread_that_gives_up_waiting_may_end_at_once() -> None:
    body = (
        PROLOGUE
        + """
  .shared .align 8 .b64 never;
  mov.u32 %r10, never;
  mbarrier.init.shared.b64 [%r10], 1;
  st.global.u32 [%rd3], 1;
  mbarrier.try_wait.parity.shared.b64 %p5, [%r10], 0;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out)
    assert out.all()


def test_a_deadlock_of_many_blocks_is_told_in_a_line() -> None:
    body = PROLOGUE + "  bar.sync 1, 96;\n"
    with pytest.raises(DeadlockError) as caught:
        run(body, np.zeros(64, np.uint32), grid=(50, 1, 1), block=(64, 1, 1))
    (note,) = caught.value.notes
    assert note.startswith("warps 0–1 of block (0, 0, 0) wait at PTX line")
    assert note.endswith("; the same in 49 more blocks")
