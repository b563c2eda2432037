"""A write meets all readers before it, also those that others of their warp or block came after."""

from __future__ import annotations

import checked_kernels as kernels
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecc.emulator.checks.readers import Readers

WAIT = "{ .reg .pred q; AGAIN: mbarrier.try_wait.parity.shared.b64 q, [%r7], 0; @!q bra AGAIN; }"
READ = "ld.shared.b32 %r8, [%r3]; st.global.b32 [%rd3], %r8;"
RACE = [("race", "st", "ld")]


@pytest.mark.parametrize(("mask", "leave", "found"), [("0xffff0000", "@%p3 bra END;", RACE), ("-1", "", [])])
def test_half_of_a_warp(mask: str, leave: str, found: list[tuple[str, str, str]]) -> None:
    """All lanes read a word; half of them synchronise before one of these writes it."""
    body = f"""
      @%p1 st.shared.b32 [%r3], 5; bar.sync 0; {READ}
      setp.lt.u32 %p3, %r1, 16; {leave}
      bar.warp.sync {mask};
      setp.eq.u32 %p4, %r1, 16; @%p4 st.shared.b32 [%r3], 6;
      END:
    """
    assert kernels.kinds(body, threads=32) == found


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
@pytest.mark.parametrize(("first", "found"), [(16, RACE), (0, [])])
def test_half_of_a_warp_arrives(first: int, found: list[tuple[str, str, str]], schedule: str) -> None:
    """At the mbarrier that another warp waits at before it writes."""
    body = f"""
      @%p1 mbarrier.init.shared.b64 [%r7], {32 - first}; @%p1 st.shared.b32 [%r3], 5; bar.sync 0;
      setp.ge.u32 %p3, %r1, 32; @%p3 bra WRITER;
      {READ} setp.ge.u32 %p4, %r1, {first}; @%p4 mbarrier.arrive.shared.b64 _, [%r7]; bra END;
      WRITER: {WAIT} setp.eq.u32 %p5, %r1, 32; @%p5 st.shared.b32 [%r3], 6;
      END:
    """
    assert kernels.kinds(body, schedule=schedule) == found


@pytest.mark.parametrize(("first", "found"), [(96, RACE), (0, [])])
def test_one_warp_of_another_block_arrives(first: int, found: list[tuple[str, str, str]]) -> None:
    """Four warps read a block's memory from the other block of its cluster, and only one says so."""
    body = f"""
      @%p1 mbarrier.init.shared.b64 [%r7], {128 - first}; @%p1 st.shared.b32 [%r3], 5;
      barrier.cluster.arrive; barrier.cluster.wait;
      @%p2 bra OWNER;
      mov.u32 %r12, 0; mapa.shared::cluster.u32 %r11, %r3, %r12; mapa.shared::cluster.u32 %r13, %r7, %r12;
      ld.shared::cluster.b32 %r8, [%r11]; st.global.b32 [%rd3], %r8; setp.ge.u32 %p4, %r1, {first};
      @%p4 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r13];
      bra MEET;
      OWNER: {WAIT} @%p1 st.shared.b32 [%r3], 6;
      MEET: barrier.cluster.arrive; barrier.cluster.wait;
    """
    assert kernels.kinds(body, blocks=2, cluster=2, threads=128) == found


@pytest.mark.parametrize("left_out", range(3))
def test_warps_that_read_global_memory(left_out: int) -> None:
    """Four warps read an element; one of the first three does not come to the barrier before it is written."""
    body = f"""
      ld.global.b32 %r8, [%rd1+768]; st.shared.b32 [%r5], %r8;
      shr.u32 %r9, %r1, 5; setp.eq.u32 %p3, %r9, {left_out}; @%p3 bra END;
      bar.sync 1, 96;
      setp.eq.u32 %p4, %r1, 96; @%p4 st.global.b32 [%rd1+768], 6;
      END:
    """
    assert kernels.kinds(body, threads=128) == RACE


@pytest.mark.parametrize(("wait", "found"), [("", [("race", "st", "cp")]), ("cp.async.bulk.wait_group.read 0;", [])])
def test_two_copies_of_one_source(wait: str, found: list[tuple[str, str, str]]) -> None:
    """A thread starts two, and waits for the second before it writes their source."""
    body = f"""
      st.shared.b32 [%r5], %r1; @%p1 mbarrier.init.shared.b64 [%r7], 1; fence.proxy.async; bar.sync 0;
      @!%p1 bra END;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256; cp.async.bulk.commit_group;
      mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 256;
      cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r3+512], [%r3], 256, [%r7];
      {WAIT} {wait} st.shared.b32 [%r3], 9; cp.async.bulk.wait_group 0;
      END:
    """
    assert kernels.kinds(body) == found


ROWS, GRANULES = 2, 3
COLUMNS = [0, 1, 30, 31]
READS = st.tuples(
    st.integers(0, ROWS - 1),
    st.lists(st.tuples(st.sampled_from(COLUMNS), st.integers(0, GRANULES - 1)), min_size=1, max_size=4),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(READS, max_size=12), st.lists(READS, max_size=12), st.integers(0, 6))
def test_the_last_read_of_each_is_known(
    coarse: list[tuple[int, list[tuple[int, int]]]], fine: list[tuple[int, list[tuple[int, int]]]], over: int
) -> None:
    """Also when granules become smaller in between; of those that are over nothing is asked."""
    readers = Readers(ROWS, GRANULES)
    expected: dict[tuple[int, int], int] = {}
    event = 0
    for times, reads in ((2, coarse), (1, fine)):
        if times == 1:
            readers.refine(2)
        for row, lanes in reads:
            event += 1
            columns, granules = np.array(lanes).T
            readers.remember(np.full(len(columns), row), columns, granules[:, None], event, min(over, event - 1))
            for column, granule in lanes:
                for piece in range(granule * times, (granule + 1) * times):
                    expected[piece, row * 32 + column] = event
    parts = np.arange(2 * GRANULES)
    floors = np.full((len(parts), ROWS), over)
    found: dict[tuple[int, int], int] = {}
    for part, reader, then in zip(*readers.find(np.arange(ROWS), parts[:, None], floors, np.full(6, 1)), strict=True):
        found[part, reader] = max(then, found.get((part, reader), 0))
    assert found == {key: then for key, then in expected.items() if then > over and key[1] != 1}
