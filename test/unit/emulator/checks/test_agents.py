"""Threads and operations of one thread: what it knows of its own, and several memories that it accesses at once."""

from __future__ import annotations

import checked_kernels as kernels
import pytest
import thread_traces as traces


@pytest.mark.parametrize(
    ("fence", "found"), [("fence.proxy.async.shared::cta;", []), ("", [("missing-proxy-fence", "cp", "cp")])]
)
def test_a_bulk_copy_of_what_the_same_thread_copied(fence: str, found: list[tuple[str, str, str]]) -> None:
    """Its own fence behind its own wait is enough: no barrier is needed."""
    body = f"""
      cp.async.ca.shared.global [%r3], [%rd1], 16; cp.async.commit_group; cp.async.wait_group 0; {fence}
      cp.async.bulk.global.shared::cta.bulk_group [%rd1+256], [%r3], 16; cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
    """
    assert kernels.kinds(body, threads=1) == found


@pytest.mark.parametrize(("offset", "found"), [(0, []), (16, [("race", "ld", "st")])])
def test_threads_that_access_two_memories_at_once(offset: int, found: list[tuple[str, str, str]]) -> None:
    """Odd threads the second half of `a0`, even ones the first; then what they wrote, or what another did."""
    body = f"""
      and.b32 %r8, %r1, 1; shl.b32 %r8, %r8, 9; shl.b32 %r9, %r1, 3; add.u32 %r8, %r8, %r9;
      cvt.u64.u32 %rd4, %r8; add.s64 %rd5, %rd1, %rd4;
      st.global.v2.b32 [%rd5], {{%r1, %r1}};
      ld.global.b32 %r9, [%rd5+{offset}]; st.shared.b32 [%r5], %r9;
    """
    assert kernels.kinds(body, threads=16, allocations=2) == found


def test_a_copy_of_one_vector() -> None:
    """Races with the one store of that vector."""
    body = """
      @%p1 st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};
      setp.eq.u32 %p3, %r1, 1; @!%p3 bra END;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 16; cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
      END:
    """
    assert kernels.kinds(body, threads=32) == [("race", "cp", "st")]


@pytest.mark.parametrize(("second", "found"), [(1, []), (32, [("race", "cp", "cp")]), (64, [("race", "cp", "cp")])])
def test_two_threads_start_the_same_copy(second: int, found: list[tuple[str, str, str]]) -> None:
    """By one instruction: whole warps do so, but what two warps write nothing orders."""
    body = f"""
      st.shared.b32 [%r5], %r1; fence.proxy.async.shared::cta; bar.sync 0;
      setp.eq.or.u32 %p3, %r1, {second}, %p1; @!%p3 bra END;
      cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256; cp.async.bulk.commit_group;
      cp.async.bulk.wait_group 0;
      END:
    """
    assert kernels.kinds(body, threads=96) == found


def test_who_acquires_later_gets_the_same_view() -> None:
    """One warp after the other comes to know the same: there is one view for both."""
    checked = traces.Checked()
    everyone = tuple(range(traces.PER_BLOCK))
    checked.step(0, ("write", everyone, 0))
    checked.step(1, ("release", everyone, 0))
    checked.step(2, ("acquire", everyone[:32], 0))
    checked.step(3, ("acquire", everyone[32:], 0))
    assert len(set(checked.clocks.view_of[: traces.PER_BLOCK].tolist())) == 1
