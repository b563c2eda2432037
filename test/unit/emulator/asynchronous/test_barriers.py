"""Barriers of blocks, warps and clusters: who waits for whom, deadlocks, and misuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import STORE, run, stored

from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.errors import DeadlockError, EmulatorError

CHECKS = frozenset({"barriers"})

SHIFTED = """
  shl.b32 %r1, %r0, 2;
  add.u32 %r2, %r9, %r1;
  st.shared.u32 [%r2], %r0;
  {barrier}
  mov.u32 %r3, %ntid.x;
  sub.u32 %r3, %r3, %r0;
  shl.b32 %r3, %r3, 2;
  add.u32 %r3, %r9, %r3;
  ld.shared.u32 %r8, [%r3+-4];
"""
"""Each thread reads what another one of the block has written."""


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "barrier",
    [
        "bar.sync 0;",
        "bar.sync 15, 128;",
        "barrier.sync 3;",
        "barrier.cta.sync.aligned 1, 128;",
        "mov.u32 %r4, 2; bar.cta.sync %r4;",
        "mov.u32 %r4, 2; mov.u32 %r5, 128; barrier.sync %r4, %r5;",
        "barrier.cluster.arrive; barrier.cluster.wait;",
        "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;",
    ],
)
def test_a_barrier_has_all_threads_wait(barrier: str, schedule: str) -> None:
    out = stored(SHIFTED.format(barrier=barrier), threads=128, blocks=2, schedule=schedule, seed=4)
    np.testing.assert_array_equal(out, np.tile(np.arange(127, -1, -1), 2))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_producer_arrives_without_waiting(schedule: str) -> None:
    """Warp 0 writes and arrives, goes on and exits; the others wait for it, three times."""
    body = """
  mov.u32 %r8, 0;
  mov.u32 %r6, 0;
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra CONSUMER;
PRODUCER:
  st.shared.u32 [%r9], %r6;
  bar.arrive 1, 128;
  bar.sync 2, 128;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 3;
  @%p2 bra PRODUCER;
  bra END;
CONSUMER:
  bar.sync 1, 128;
  ld.shared.u32 %r5, [%r9];
  shl.b32 %r8, %r8, 4;
  or.b32 %r8, %r8, %r5;
  bar.sync 2, 128;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 3;
  @%p2 bra CONSUMER;
END:
"""
    out = stored(body, threads=128, schedule=schedule, seed=2)
    np.testing.assert_array_equal(out, np.repeat([0, 0x012], [32, 96]))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("popc.u32 %r8, 0, %p1", 43),
        ("popc.u32 %r8, 0, !%p1", 85),
        ("and.pred %p3, 0, %p1", 0),
        ("and.pred %p3, 0, 128, %p2", 1),
        ("or.pred %p3, 0, %p1", 1),
        ("or.pred %p3, 0, !%p2", 0),
        ("or.pred %p3, 0, %p4", 1),
        ("and.pred %p3, 0, !%p4", 0),
    ],
)
def test_a_reduction_is_over_all_threads(reduction: str, expected: int, schedule: str) -> None:
    """%p1 holds for every third thread, %p2 for all, %p4 for one of the first warp."""
    body = f"""
  rem.u32 %r1, %r0, 3;
  setp.eq.u32 %p1, %r1, 0;
  setp.lt.u32 %p2, %r0, 1000;
  setp.eq.u32 %p4, %r0, 5;
  bar.red.{reduction};
  {"selp.u32 %r8, 1, 0, %p3;" if "pred" in reduction else ""}
"""
    out = stored(body, threads=128, schedule=schedule, seed=1)
    np.testing.assert_array_equal(out, np.full(128, expected))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_reductions_of_many_phases_do_not_mix(schedule: str) -> None:
    body = """
  mov.u32 %r8, 0;
  mov.u32 %r6, 0;
AGAIN:
  setp.lt.u32 %p1, %r0, %r6;
  barrier.red.popc.aligned.u32 %r5, 1, %p1;
  mad.lo.u32 %r8, %r8, 3, %r5;
  add.u32 %r6, %r6, 1;
  setp.lt.u32 %p2, %r6, 9;
  @%p2 bra AGAIN;
"""
    out = stored(body, threads=96, schedule=schedule, seed=3)
    expected = 0
    for each in range(9):
        expected = expected * 3 + each
    np.testing.assert_array_equal(out, np.full(96, expected))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_exited_warps_are_not_waited_for(schedule: str) -> None:
    body = """
  mov.u32 %r8, 7;
  setp.ge.u32 %p1, %r0, 64;
  @%p1 exit;
  bar.sync 0;
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""
    out = stored(body, threads=128, schedule=schedule)
    np.testing.assert_array_equal(out, np.repeat([7, 0], 64))


def test_a_last_warp_that_is_not_full_counts() -> None:
    out = stored(SHIFTED.format(barrier="bar.sync 0;"), threads=70)
    np.testing.assert_array_equal(out, np.arange(69, -1, -1))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_halves_of_a_warp_synchronise_apart(schedule: str) -> None:
    body = """
  and.b32 %r1, %r0, 16;
  setp.ne.u32 %p1, %r1, 0;
  mov.u32 %r8, 1;
  @%p1 bra HIGH;
  bar.warp.sync 0x0000ffff;
  mov.u32 %r8, 2;
  bra END;
HIGH:
  bar.warp.sync 0xffff0000;
END:
  bar.warp.sync -1;
"""
    out = stored(body, threads=64, schedule=schedule)
    np.testing.assert_array_equal(out, np.tile(np.repeat([2, 1], 16), 2))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_threads_meet_at_different_synchronisations_of_a_warp(schedule: str) -> None:
    """What counts is the member mask; each part reads what the other has written before it, twice."""
    out = np.zeros(64, np.int32)
    body = """
  shl.b32 %r1, %r0, 2;
  add.u32 %r1, %r9, %r1;
  xor.b32 %r2, %r1, 64;
  and.b32 %r3, %r0, 16;
  setp.ne.u32 %p1, %r3, 0;
  add.u32 %r4, %r0, 100;
  @%p1 bra HIGH;
  st.shared.u32 [%r1], %r0;
  bar.warp.sync -1;
  ld.shared.u32 %r5, [%r2];
  bar.warp.sync -1;
  st.shared.u32 [%r1], %r4;
  bar.warp.sync -1;
  ld.shared.u32 %r6, [%r2];
  bra END;
HIGH:
  st.shared.u32 [%r1], %r0;
  mov.u32 %r7, 0xffffffff;
  bar.warp.sync %r7;
  ld.shared.u32 %r5, [%r2];
  bar.warp.sync %r7;
  st.shared.u32 [%r1], %r4;
  bar.warp.sync %r7;
  ld.shared.u32 %r6, [%r2];
END:
  sub.u32 %r8, %r6, %r5;
  mad.lo.u32 %r8, %r8, 1000, %r5;
"""
    checks = frozenset({"races"})
    result = run(body + STORE, out, threads=64, schedule=schedule, check=checks)
    assert not result.findings
    np.testing.assert_array_equal(out, 100_000 + (np.arange(64) ^ 16))


def test_parts_of_a_warp_with_different_masks_do_not_meet() -> None:
    body = "setp.lt.u32 %p1, %r0, 16; @%p1 bra LOW; bar.warp.sync -1; LOW: @!%p1 bra END; bar.warp.sync 0x1ffff; END:"
    with pytest.raises(DeadlockError, match=r"waits at .* for the other threads of its warp at bar.warp.sync"):
        run(body)


def test_a_deadlock_says_how_many_warps_have_come() -> None:
    body = "setp.ge.u32 %p1, %r0, 64; @%p1 bra END; bar.sync 1, 128; END:"
    with pytest.raises(DeadlockError) as caught:
        run(body, threads=128)
    assert "barrier 1 of block (0, 0, 0): 2 of 4 warps have arrived" in str(caught.value)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_deadlock_of_parts_of_warps_says_so(schedule: str) -> None:
    """One half of each warp waits for the block, the other one for the warp."""
    body = "and.b32 %r1, %r0, 16; setp.eq.u32 %p1, %r1, 0; @%p1 bra LOW;"
    body += "bar.sync 0; bra END; LOW: bar.warp.sync -1; END:"
    with pytest.raises(DeadlockError, match="waits for all threads of a warp, and a part of them takes another way"):
        run(body, threads=128, schedule=schedule)


def test_a_deadlock_says_of_each_warp_what_it_waits_for() -> None:
    """Two warps of each of two blocks go in step to barriers of different numbers."""
    body = "shr.u32 %r1, %r0, 5; add.u32 %r1, %r1, 1; bar.sync %r1, 64;"
    with pytest.raises(DeadlockError) as caught:
        run(body, threads=64, blocks=2)
    assert str(caught.value).count("barrier 1 waits for 64 threads, and warp 1 comes to barrier 2 instead") == 1
    assert caught.value.hints == ["have all come to the same one: barrier_id=1"]
    notes = [
        note.split(" waits at ")[0] + note.split(" for ")[1] for note in caught.value.notes if " waits at " in note
    ]
    assert notes == [
        f"warp {warp} of block (0, 0, 0)barrier {warp + 1} of block (0, 0, 0): 1 of 2 warps have arrived"
        "; the same in 1 more block"
        for warp in (0, 1)
    ]


def test_a_deadlock_of_a_cluster_says_so() -> None:
    body = """
  mov.u32 %r1, %cluster_ctarank;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra END;
  barrier.cluster.arrive;
END:
  bar.sync 0;
  @!%p1 barrier.cluster.wait;
  @%p1 bar.sync 3, 128;
"""
    for blocks in (2, 4):
        with pytest.raises(DeadlockError) as caught:
            run(body, threads=64, blocks=blocks, cluster=2)
        assert "the barrier of cluster (0, 0, 0): 2 of 4 warps have arrived" in str(caught.value)


def test_there_are_sixteen_barriers() -> None:
    with pytest.raises(EmulatorError, match="names a barrier beyond 15"):
        run("bar.sync 16;")


def found(body: str, **options: Any) -> list[tuple[str, str]]:
    """Kind and message of the findings, deadlocks by their first line."""
    result = run(body, check=CHECKS, **options)
    return [(each.kind, each.message.splitlines()[0]) for each in result.findings]


def test_different_thread_counts_are_reported() -> None:
    body = """
  setp.ge.u32 %p1, %r0, 32;
  @%p1 bra OTHER;
  bar.sync 1, 64;
  bra END;
OTHER:
  bar.sync 1;
END:
"""
    assert found(body, threads=64) == []
    assert found(body, threads=96) == [
        ("barrier", "comes to barrier 1 for all threads, while others wait there for 64")
    ]


def test_a_count_that_is_no_multiple_of_a_warp_is_reported() -> None:
    kinds = found("bar.sync 1, 40;", threads=64)
    assert ("barrier", "gives 40 threads, which are no multiple of 32") in kinds


def test_parts_of_a_warp_at_different_barriers_are_reported() -> None:
    body = """
  and.b32 %r1, %r0, 1;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra ODD;
  bar.sync 0;
  bra END;
ODD:
  bar.sync 0;
END:
"""
    kinds = found(body, threads=64)
    assert {kind for kind, _ in kinds} == {"divergent-barrier"}
    assert found(body.replace("bar.sync", "barrier.sync"), threads=64) == []


def test_a_barrier_that_half_a_warp_passes_by_is_reported() -> None:
    body = "setp.lt.u32 %p1, %r0, 16; @!%p1 bra END; bar.sync 0; END:"
    kinds = found(body, threads=32)
    assert [kind for kind, _ in kinds] == ["divergent-barrier"]


def test_divergence_that_ends_before_the_barrier_is_fine() -> None:
    body = """
  setp.lt.u32 %p1, %r0, 16;
  @%p1 bra LOW;
  mov.u32 %r1, 5;
LOW:
  bar.sync 0;
  @%p1 bra END;
  bar.warp.sync 0xffff0000;
END:
  bar.sync 0;
"""
    for schedule in SCHEDULES:
        assert found(body, threads=32, schedule=schedule) == []


def test_misuse_of_the_cluster_barrier_is_reported() -> None:
    assert found("barrier.cluster.wait;") == [("barrier", "waits at the cluster's barrier without having arrived")]
    twice = "barrier.cluster.arrive; barrier.cluster.arrive; barrier.cluster.wait;"
    assert found(twice, blocks=2, cluster=2)[0][1].startswith("arrives at the cluster's barrier again")


def test_a_block_does_not_wait_for_the_threads_of_another() -> None:
    """Block 1 looks for what block 0 stores behind a barrier, before it comes to its own."""
    out, flag = np.zeros(128, np.int32), np.zeros(1, np.int32)
    body = """
  ld.param.u64 %rd5, [a1];
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r8, 3;
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra BARRIER;
LOOK:
  ld.acquire.gpu.global.u32 %r2, [%rd5];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra LOOK;
BARRIER:
  bar.sync 0;
  @!%p1 bra END;
  st.release.gpu.global.u32 [%rd5], 1;
END:
"""
    for schedule in SCHEDULES:
        flag[:] = 0
        run(body + STORE, out, flag, threads=64, blocks=2, schedule=schedule)
        np.testing.assert_array_equal(out, np.full(128, 3))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_warps_come_to_a_barrier_of_a_function_by_different_calls(schedule: str) -> None:
    module = ".func together() { bar.sync 4; ret; }"
    body = """
  mov.u32 %r8, 1;
  setp.lt.u32 %p1, %r0, 32;
  @%p1 bra LOW;
  call together, ();
  mov.u32 %r8, 2;
  bra END;
LOW:
  call together, ();
END:
  call together, ();
"""
    out = stored(body, threads=64, module=module, schedule=schedule)
    np.testing.assert_array_equal(out, np.repeat([1, 2], 32))


def test_different_barriers_of_one_number_meet() -> None:
    """Warps come to barrier 0 by two instructions, and one of them by a reduction."""
    out = np.zeros(96, np.int32)
    body = """
  setp.lt.u32 %p1, %r0, 32;
  setp.lt.u32 %p2, %r0, 64;
  mov.u32 %r8, 1;
  @%p1 bra FIRST;
  @%p2 bra SECOND;
  bar.sync 0;
  bra END;
FIRST:
  bar.sync 0;
  bra END;
SECOND:
  bar.red.popc.u32 %r8, 0, %p2;
END:
"""
    for schedule in SCHEDULES:
        run(body + STORE, out, threads=96, schedule=schedule)
        np.testing.assert_array_equal(out, np.repeat([1, 32, 1], 32))
