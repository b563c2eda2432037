"""Orders of execution: fairness, waiting for other blocks, asynchronous operations, determinism."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.emulator.machine.fragment import Fragment
from cutecc.emulator.machine.run import Run
from cutecc.emulator.machine.schedule import SCHEDULES, ScheduleName, make_schedule
from cutecc.errors import DeadlockError

FLAG = (
    PROLOGUE
    + """
  ld.param.u64 %rd5, [a1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra WAIT;
  st.global.u32 [%rd3], 5;
  membar.gl;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra END;
  st.release.gpu.global.u32 [%rd5], 1;
  bra END;
WAIT:
  ld.acquire.gpu.global.u32 %r5, [%rd5];
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra WAIT;
  st.global.u32 [%rd3], 6;
END:
"""
)


@pytest.mark.parametrize("schedule", ["round-robin", "random", "adversarial"])
def test_a_block_can_wait_for_one_behind_it(schedule: str) -> None:
    out, flag = np.zeros(128, np.uint32), np.zeros(1, np.uint32)
    run(FLAG, out, flag, grid=(2, 1, 1), block=(64, 1, 1), schedule=schedule, seed=3)
    assert np.array_equal(out, np.repeat([6, 5], 64))


def test_a_flag_that_nobody_sets_is_a_deadlock() -> None:
    body = FLAG.replace("[%rd5], 1;", "[%rd5], 0;")
    with pytest.raises(DeadlockError) as caught:
        run(body, np.zeros(128, np.uint32), np.zeros(1, np.uint32), grid=(2, 1, 1), block=(64, 1, 1))
    assert "warps 0–1 of block (0, 0, 0) wait at PTX line" in "\n".join(caught.value.notes)


def test_threads_of_one_warp_can_wait_for_one_another() -> None:
    body = (
        PROLOGUE
        + """
  ld.param.u64 %rd5, [a1];
  setp.eq.u32 %p1, %r1, 7;
  @%p1 bra SET;
WAIT:
  ld.volatile.global.u32 %r5, [%rd5];
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra WAIT;
  bra END;
SET:
  st.volatile.global.u32 [%rd5], 1;
END:
  st.global.u32 [%rd3], 6;
"""
    )
    out = np.zeros(32, np.uint32)
    run(body, out, np.zeros(1, np.uint32))
    assert (out == 6).all()


RACE = (
    PROLOGUE
    + """
  shr.u32 %r5, %r1, 5;
  st.global.u32 [%rd1], %r5;
  st.global.u32 [%rd1+4], %r5;
  st.global.u32 [%rd1+8], %r5;
  st.global.u32 [%rd1+12], %r5;
"""
)


def outcome(schedule: str, seed: int) -> tuple[int, ...]:
    out = np.zeros(256, np.uint32)
    run(RACE, out, block=(256, 1, 1), schedule=schedule, seed=seed)
    return tuple(out[:4].tolist())


@pytest.mark.parametrize("schedule", ["random", "adversarial"])
def test_a_seed_decides_the_order_and_repeats_it(schedule: str) -> None:
    outcomes = [outcome(schedule, seed) for seed in range(12)]
    assert outcomes == [outcome(schedule, seed) for seed in range(12)]
    assert len(set(outcomes)) > 3


COPY = (
    PROLOGUE
    + """
  .shared .align 16 .b8 tile[128];
  ld.param.u64 %rd5, [a1];
  add.s64 %rd6, %rd5, %rd2;
  shl.b32 %r5, %r1, 2;
  mov.u32 %r6, tile;
  add.u32 %r6, %r6, %r5;
  st.shared.u32 [%r6], 1;
  cp.async.ca.shared.global [%r6], [%rd6], 4;
  ld.shared.u32 %r7, [%r6];
  cp.async.wait_all;
  ld.shared.u32 %r8, [%r6];
  mad.lo.s32 %r9, %r7, 1000, %r8;
  st.global.u32 [%rd3], %r9;
"""
)


def test_asynchronous_copies_happen_at_once_or_at_the_last_moment() -> None:
    source = np.arange(32, dtype=np.uint32) + 2
    at_once, late = np.zeros(32, np.uint32), np.zeros(32, np.uint32)
    run(COPY, at_once, source)
    run(COPY, late, source, schedule="adversarial")
    assert np.array_equal(at_once, source * 1001)
    assert np.array_equal(late, source + 1000)


@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_gives_every_gang_its_turns(name: ScheduleName) -> None:
    gangs: list[Any] = [object() for _ in range(10)]
    schedule = make_schedule(name, seed=4)
    for gang in gangs:
        schedule.add(gang)
    for _ in range(3):
        gang = schedule.take()
        assert gang is not None
        schedule.add(gang)
    assert {id(schedule.take()) for _ in range(10)} == {id(gang) for gang in gangs}
    assert schedule.take() is None


def test_the_adversary_seldom_takes_its_priority_from_a_warp() -> None:
    schedule = make_schedule("adversarial", seed=4)
    gangs: list[Any] = [object(), object()]
    for gang in gangs:
        schedule.add(gang)
    last, changes = None, 0
    for _ in range(1000):
        gang = schedule.take()
        assert gang is not None
        schedule.stopped(Fragment(gang, 0, np.ones((1, 32), np.bool_)))
        schedule.add(gang)
        changes += gang is not last
        last = gang
    assert 100 < changes < 300


GRID_BARRIER = (
    PROLOGUE
    + """
  ld.param.u64 %rd5, [a1];
  mov.u32 %r5, 0;
AGAIN:
  bar.sync 0;
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p1, %r5, 5;
  @%p1 bra AGAIN;
  setp.ne.u32 %p2, %r1, 0;
  @%p2 bra JOIN;
  atom.add.release.gpu.global.u32 %r7, [%rd5], 1;
WAIT:
  ld.acquire.gpu.global.u32 %r8, [%rd5];
  setp.lt.u32 %p3, %r8, BLOCKS;
  @%p3 bra WAIT;
JOIN:
  bar.sync 0;
  st.global.u32 [%rd3], 7;
"""
)


@pytest.mark.parametrize("schedule", ["random", "adversarial"])
def test_turns_grow_as_the_grid_does(schedule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens in a block makes no other look again."""
    turns = 0
    turn = Run._turn

    def counted(run: Run, fragment: Fragment, operations: int) -> None:
        nonlocal turns
        turns += 1
        turn(run, fragment, operations)

    monkeypatch.setattr(Run, "_turn", counted)

    def turns_of(blocks: int) -> int:
        nonlocal turns
        turns = 0
        out, count = np.zeros(64 * blocks, np.uint32), np.zeros(1, np.uint32)
        body = GRID_BARRIER.replace("BLOCKS", str(blocks))
        run(body, out, count, grid=(blocks, 1, 1), block=(64, 1, 1), cooperative=True, schedule=schedule, seed=1)
        assert (out == 7).all()
        return turns

    assert turns_of(40) < 6 * turns_of(8)


LATE_FLAGS = (
    PROLOGUE
    + """
  .shared .align 16 .b8 tile[128];
  .shared .align 8 .b64 barrier;
  ld.param.u64 %rd5, [a1];
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra END;
  mul.wide.u32 %rd6, %r2, 4;
  add.u64 %rd7, %rd5, %rd6;
  setp.eq.u32 %p2, %r2, 2;
  @%p2 bra COPY;
WAIT:
  ld.acquire.gpu.global.b32 %r5, [%rd7];
  setp.eq.u32 %p3, %r5, 0;
  @%p3 bra WAIT;
  bra END;
COPY:
  mov.u32 %r6, tile;
  mov.u32 %r7, barrier;
  mbarrier.init.shared.b64 [%r7], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 128, [%r7];
ARRIVAL:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r7], 0;
  @!%p4 bra ARRIVAL;
  st.release.gpu.global.u32 [%rd5], 1;
  st.release.gpu.global.u32 [%rd5+4], 1;
END:
  st.global.u32 [%rd3], 6;
"""
)


def test_threads_that_have_looked_often_look_again_when_others_have_done_something() -> None:
    for seed in range(6):
        out, flags = np.zeros(96, np.uint32), np.zeros(2, np.uint32)
        run(LATE_FLAGS, out, flags, grid=(3, 1, 1), schedule="adversarial", seed=seed)
        assert flags.all()
        assert (out == 6).all()


MEET = (
    PROLOGUE
    + """
  .shared .align 16 .b8 tile[256];
  shl.b32 %r5, %r1, 2;
  mov.u32 %r6, tile;
  add.u32 %r6, %r6, %r5;
  st.shared.u32 [%r6], 1;
  bar.sync 0;
  ld.shared.u32 %r7, [%r6];
  st.global.u32 [%rd3], %r7;
"""
)


@pytest.mark.parametrize("schedule", ["random", "adversarial"])
def test_blocks_that_have_nothing_to_do_with_each_other_go_together(
    schedule: ScheduleName, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of their warps at its own pace, and that warp of all of them at once: the turns are those of one block."""
    turns: list[Fragment] = []
    turn = Run._turn
    monkeypatch.setattr(
        Run, "_turn", lambda run, fragment, operations: (turns.append(fragment), turn(run, fragment, operations))
    )
    numbers: list[int] = []
    for blocks in (1, 40):
        turns.clear()
        out = np.zeros(64 * blocks, np.uint32)
        run(MEET, out, grid=(blocks, 1, 1), block=(64, 1, 1), schedule=schedule, seed=1)
        assert (out == 1).all()
        numbers.append(len(turns))
    assert numbers[0] == numbers[1] > 2
