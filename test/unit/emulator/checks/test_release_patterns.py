"""What hands on a release: a strong write ends what an earlier one began, an atomic goes on with it."""

from __future__ import annotations

import checked_kernels as kernels
import pytest

RELAY = """
  setp.eq.u32 %p3, %r2, 1; @%p3 bra SECOND;
  setp.eq.u32 %p4, %r2, 2; @%p4 bra THIRD;
  st.global.b32 [%rd1+64], 7; RAISE bra END;
  SECOND: ld.relaxed.gpu.global.b32 %r9, [%rd1]; setp.eq.u32 %p5, %r9, 0; @%p5 bra SECOND;
  PASS bra END;
  THIRD: ld.relaxed.gpu.global.b32 %r9, [%rd1]; setp.lt.u32 %p5, %r9, 2; @%p5 bra THIRD;
  ld.acquire.gpu.global.b32 %r9, [%rd1];
  ld.global.b32 %r8, [%rd1+64]; st.global.b32 [%rd1+128], %r8;
  END:
"""


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
@pytest.mark.parametrize(
    ("hand_on", "racy"),
    [
        ("atom.relaxed.gpu.global.add.u32 %r9, [%rd1], 1;", False),
        ("st.relaxed.gpu.global.b32 [%rd1], 2;", True),
        # Its own release is of what it knows: it has not acquired.
        ("st.release.gpu.global.b32 [%rd1], 2;", True),
        ("fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%rd1], 2;", False),
    ],
)
def test_flag_that_goes_through_another_block(hand_on: str, racy: bool, schedule: str) -> None:
    """Block 0 raises it, block 1 raises it further, block 2 acquires and reads what block 0 wrote."""
    body = RELAY.replace("PASS", hand_on).replace("RAISE", "st.release.gpu.global.b32 [%rd1], 1;")
    found = kernels.kinds(body, blocks=3, threads=1, schedule=schedule)
    assert found == ([("race", "ld", "st")] if racy else [])


@pytest.mark.parametrize(
    ("raises", "racy"),
    [
        ("st.async.release.gpu.global.b32 [%rd1], 2;", False),
        ("red.async.release.gpu.global.add.u32 [%rd1], 2;", False),
        ("st.relaxed.gpu.global.b32 [%rd1], 2;", True),
    ],
)
def test_asynchronous_stores_that_release(raises: str, racy: bool) -> None:
    body = f"""
      setp.eq.u32 %p3, %r2, 1; @%p3 bra SECOND;
      st.global.b32 [%rd1+64], 7; {raises} bra END;
      SECOND: ld.acquire.gpu.global.b32 %r9, [%rd1]; setp.lt.u32 %p5, %r9, 2; @%p5 bra SECOND;
      ld.global.b32 %r8, [%rd1+64]; st.global.b32 [%rd1+128], %r8;
      END:
    """
    found = kernels.kinds(body, blocks=2, threads=1)
    assert found == ([("race", "ld", "st")] if racy else [])


def test_zeros_in_bulk() -> None:
    """The threads of a warp may all write the same ones; who reads them waits, and finds something there."""
    body = """
      st.bulk.shared::cta [%r3], 256, 0; BARRIER
      ld.shared.b32 %r9, [%r6]; st.global.b32 [%rd3], %r9;
    """
    assert kernels.kinds(body.replace("BARRIER", "bar.sync 0;"), threads=32) == []
    assert [kind for kind, *_ in kernels.kinds(body.replace("BARRIER", ""), threads=32)] == ["race"]


def test_zeros_in_bulk_over_what_another_warp_writes() -> None:
    body = """
      @!%p2 st.shared.b32 [%r6], %r1; BARRIER
      @%p2 st.bulk.shared::cta [%r3], 256, 0;
    """
    body = "setp.ge.u32 %p2, %r1, 32; " + body
    assert [kind for kind, *_ in kernels.kinds(body.replace("BARRIER", ""))] == ["race"]
    assert kernels.kinds(body.replace("BARRIER", "bar.sync 0;")) == []


def test_mbarriers_among_atomics_of_the_block() -> None:
    """Whatever scope atomics name: arrivals at an mbarrier do not race with each other."""
    body = """
      atom.relaxed.cta.global.add.u32 %r9, [%rd1], 1;
      @%p1 mbarrier.init.shared.b64 [%r7], 128; bar.sync 0;
      mbarrier.arrive.shared.b64 %rd9, [%r7]; mbarrier.arrive.shared.b64 %rd9, [%r7];
      AGAIN: mbarrier.try_wait.parity.shared.b64 %p3, [%r7], 0; @!%p3 bra AGAIN;
    """
    assert kernels.kinds(body) == []


def test_an_old_state_of_an_mbarrier_is_no_access() -> None:
    body = """
      @%p1 mbarrier.init.shared.b64 [%r7], 64; bar.sync 0;
      mbarrier.arrive.shared.b64 %rd9, [%r7]; mbarrier.pending_count.b64 %r8, %rd9; st.global.b32 [%rd3], %r8;
    """
    assert kernels.kinds(body) == []
