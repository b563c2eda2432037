"""What a finding says: who it was, where, and what mends it."""

from __future__ import annotations

from dataclasses import replace

import checked_kernels as kernels
import pytest

from cutecc.emulator.checks.finding import HINTS, hint_of

COPY = "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 256; cp.async.bulk.commit_group;"
LOAD = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 256, [%r7];"
STORED = "st.shared.b32 [%r5], %r1; setp.eq.u32 %p3, %r1, 5;"


def test_the_thread_that_started_a_copy() -> None:
    """And those that wrote what it reads."""
    body = STORED + f"bar.sync 0; @!%p3 bra END; {COPY} cp.async.bulk.wait_group 0; END:"
    (found,) = kernels.findings(body)
    assert found.kind == "missing-proxy-fence" and found.address == "shared+0"
    assert found.place.thread == (5, 0, 0)
    assert found.other is not None and (found.other.thread, found.other.what) == ((0, 0, 0), "written")


def test_the_copy_that_was_not_waited_for() -> None:
    """No single thread's: the operation itself has written."""
    body = f"""
      @%p1 mbarrier.init.shared.b64 [%r7], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
      @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 256; @%p1 {LOAD}
      ld.shared.b32 %r8, [%r5]; st.global.b32 [%rd3+512], %r8; bar.sync 0;
      AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r7], 0; @!%p3 bra AGAIN;
    """
    found = [each for each in kernels.findings(body, threads=32) if each.kind == "race"]
    assert [each.other and (each.other.thread, each.other.what) for each in found] == [(None, "written by a bulk copy")]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("st.shared.b32 [%r5], 1;", "st.shared.b32 [%r6], 2;", "writes shared memory that another thread has written:"),
        ("ld.shared.b32 %r8, [%r5];", "st.shared.b32 [%r6], %r1;", "that another thread may still be reading:"),
        (
            "st.shared.b32 [%r5], 1;",
            "ld.shared.b32 %r8, [%r6];",
            "reads shared memory that another thread has written:",
        ),
    ],
)
def test_what_the_two_did(first: str, second: str, text: str) -> None:
    found = kernels.findings(f"st.shared.b32 [%r5], 0; bar.sync 0; {first} {second}")
    assert [each.kind for each in found] == ["race"] and text in found[0].message


def test_hints() -> None:
    """By kind; not where the message itself says more."""
    (found,) = kernels.findings("ld.shared.b32 %r8, [%r5]; st.global.b32 [%rd3], %r8;")
    assert found.message == "reads shared memory that nothing has written" and found.address == "shared+0"
    assert hint_of(found) == HINTS["uninitialised-shared"]
    assert hint_of(replace(found, message="reads\nas it does")) is None
    assert hint_of(replace(found, kind="race")) is None


def test_which_fence_it_takes() -> None:
    """That of the memory that was written."""
    (shared,) = kernels.findings(STORED + f"bar.sync 0; @!%p3 bra END; {COPY} cp.async.bulk.wait_group 0; END:")
    assert 'fence_proxy("async.shared", space="cta")' in shared.message
    body = f"""
      st.global.b32 [%rd3], %r1;
      @%p1 mbarrier.init.shared.b64 [%r7], 1; fence.mbarrier_init.release.cluster; bar.sync 0;
      @!%p1 bra END;
      mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 256; {LOAD}
      AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r7], 0; @!%p3 bra AGAIN;
      END:
    """
    (found,) = kernels.findings(body)
    assert found.kind == "missing-proxy-fence" and 'fence_proxy("async") before' in found.message
