"""Copies of which some threads' addresses are wrong: the checks hear of the others, and go on."""

from __future__ import annotations

import pytest
from checked_kernels import findings

COPY = """
  add.s64 %rd4, %rd3, SOURCE;
  add.u32 %r8, %r5, TARGET;
  cp.async.ca.shared.global [%r8], [%rd4], 4;
  cp.async.wait_all;
  bar.sync 0;
  and.b32 %r9, %r4, 124;
  add.u32 %r9, %r9, %r3;
  ld.shared.b32 %r9, [%r9+TARGET];
  st.global.b32 [%rd3], %r9;
"""


@pytest.mark.parametrize("schedule", ["round-robin", "random"])
@pytest.mark.parametrize(
    ("source", "target"), [(896, 0), (4096, 0), (-64, 0), (0, 896), (896, 896)], ids=lambda offset: f"{offset:+}"
)
def test_a_cp_async_outside_of_memory_is_the_only_finding(source: int, target: int, schedule: str) -> None:
    found = findings(COPY.replace("SOURCE", str(source)).replace("TARGET", str(target)), schedule=schedule)
    assert {(each.kind, each.place.text.split(".")[0]) for each in found} == {("out-of-bounds", "cp")}


def test_a_bulk_copy_that_begins_inside_and_ends_outside_is_one_finding() -> None:
    body = """
  @!%p1 bra WAIT;
  mbarrier.init.shared.b64 [%r7], 1;
  fence.mbarrier_init.release.cluster;
  mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r7], 64;
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1+1008], 64, [%r7];
WAIT:
  bar.sync 0;
TRY:
  mbarrier.try_wait.parity.shared.b64 %p4, [%r7], 0;
  @!%p4 bra TRY;
"""
    assert [(each.kind, each.place.text.split(".")[0]) for each in findings(body)] == [("out-of-bounds", "cp")]
