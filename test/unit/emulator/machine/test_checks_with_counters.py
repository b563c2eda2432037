"""Checks and counters at the same time."""

from __future__ import annotations

import numpy as np
import pytest
from small_kernels import PROLOGUE, run

from cutecc.emulator.checks.selection import CHECK_NAMES


@pytest.mark.parametrize("check", CHECK_NAMES)
def test_each_check_goes_with_counters(check: str) -> None:
    body = PROLOGUE + "  bar.sync 0;\n  st.global.u32 [%rd3], %r4;\n"
    out = np.zeros(64, np.uint32)
    found = run(body, out, block=(64, 1, 1), check=frozenset({check}), counters=True)
    assert found.counters is not None
    assert found.counters.total().warps
    assert not found.findings
    assert np.array_equal(out, np.arange(64))


def test_asynchronous_copies_are_told_to_both() -> None:
    """All of the block read what a bulk copy writes, and may still be writing unless they wait for it."""
    body = (
        PROLOGUE
        + """
  .shared .align 16 .b8 tile[128];
  .shared .align 8 .b64 barrier;
  mov.u32 %r6, tile;
  mov.u32 %r7, barrier;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra READ;
  mbarrier.init.shared.b64 [%r7], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r7], 128;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [%rd1], 128, [%r7];
READ:
  bar.sync 0;
  WAITING
  ld.shared.u32 %r5, [%r6];
  st.global.u32 [%rd3], %r5;
"""
    )
    for waits in (True, False):
        text = "LOOK: mbarrier.try_wait.parity.shared.b64 %p2, [%r7], 0; @!%p2 bra LOOK;" if waits else ""
        found = run(body.replace("WAITING", text), np.zeros(32, np.uint32), check=frozenset({"races"}), counters=True)
        assert {each.kind for each in found.findings} == (set() if waits else {"race"})
        assert found.counters is not None
        assert found.counters.total().shared_bytes_read == 32 * 4


def test_what_is_left_behind_is_told_at_the_end() -> None:
    body = PROLOGUE + "  .shared .align 8 .b64 barrier;\n  mbarrier.init.shared.b64 [barrier], 1;\n"
    body += "  mbarrier.expect_tx.relaxed.cta.shared.b64 [barrier], 64;\n"
    found = run(body, np.zeros(1, np.uint32), block=(1, 1, 1), check=frozenset({"barriers"}), counters=True)
    assert [each.message for each in found.findings] == [
        "an mbarrier is left behind with 64 bytes and 1 arrival missing"
    ]
