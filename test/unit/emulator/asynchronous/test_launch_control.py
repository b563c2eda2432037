"""Clusters that have not begun are cancelled, and their work is done by those that have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import run
from blackwell_model.launch_control import Response

from cutecc.emulator.instructions.launch_control import answer
from cutecc.emulator.launch import BlocksRun
from cutecc.emulator.machine.schedule import SCHEDULES

ALL = frozenset({"bounds", "barriers", "initialisation", "races", "proxies"})
QUERY = "clusterlaunchcontrol.query_cancel"
DECLARED = "  .reg .b128 %q<2>;\n  .reg .b64 %w<3>;\n"
COUNT = """
  ld.param.u64 %rd1, [a0];
  mul.wide.u32 %rd2, %r2, 4;
  add.s64 %rd2, %rd1, %rd2;
  red.global.add.u32 [%rd2], 1;
"""
"""The element of `a0` of the block %r2 grows by one."""
PERSISTENT = (
    DECLARED
    + """
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r1, %cluster_ctarank;
  mov.u32 %r3, 0;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra BEGIN;
  mbarrier.init.shared.b64 [%r9], 1;
  fence.mbarrier_init.release.cluster;
BEGIN:
  barrier.cluster.arrive;
  barrier.cluster.wait;
NEXT:
  @%p0 bra WORK;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra WORK;
  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes{multicast}.b128 [%r9+16], [%r9];
WORK:
  @%p0 bra WAIT;
{count}
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], %r3;
  @!%p2 bra WAIT;
{decode}
  setp.eq.u32 %p4, %r4, 0;
  @%p4 bra DONE;
  add.s32 %r2, %r5, %r1;
  xor.b32 %r3, %r3, 1;
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  bra NEXT;
DONE:
"""
)
DECODES = {
    "register": f"""
  ld.shared.b128 %q0, [%r9+16];
  {QUERY}.is_canceled.pred.b128 %p3, %q0;
  selp.u32 %r4, 1, 0, %p3;
  @%p3 {QUERY}.get_first_ctaid.v4.b32.b128 {{%r5, %r6, %r7, _}}, %q0;
""",
    "packed": f"""
  ld.shared.v2.b64 {{%w0, %w1}}, [%r9+16];
  mov.b128 %q0, {{%w0, %w1}};
  mov.b128 %q1, %q0;
  {QUERY}.is_canceled.pred.b128 %p3, %q1;
  {QUERY}.get_first_ctaid::x.b32.b128 %r5, %q1;
  selp.u32 %r4, 1, 0, %p3;
""",
}


def persistent(
    blocks: int, decode: str = "register", cluster: int = 1, **launch: Any
) -> tuple[np.ndarray[Any, Any], BlocksRun]:
    """How often the work of each block was done."""
    done = np.zeros(blocks, np.uint32)
    multicast = ".multicast::cluster::all" if cluster > 1 else ""
    body = PERSISTENT.format(multicast=multicast, count=COUNT, decode=DECODES[decode])
    found = run(body, done, blocks=blocks, cluster=cluster, target="sm_100a", **launch)
    return done, found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("cluster", "decode"), [(1, "register"), (1, "packed"), (2, "register")])
def test_each_block_is_done_once(cluster: int, decode: str, schedule: str) -> None:
    for seed in range(2):
        done, found = persistent(12, decode, cluster, schedule=schedule, seed=seed, check=ALL, threads=64)
        assert (done == 1).all()
        assert not found.findings and not found.stopped
        assert found.blocks == 12


def test_clusters_are_left_to_be_cancelled_and_requests_fail_for_no_reason() -> None:
    """A block's last request always fails; of others some do."""
    begun = np.zeros(1, np.uint32)
    count = "ld.param.u64 %rd1, [a0];\nsetp.eq.u32 %p5, %r0, 0;\n@%p5 red.global.add.u32 [%rd1], 1;\n"
    body = count + PERSISTENT.format(multicast="", count="", decode=DECODES["register"])
    numbers: dict[str, list[int]] = {}
    for schedule in SCHEDULES:
        for seed in range(4):
            begun[:] = 0
            run(body, begun, blocks=16, target="sm_100a", schedule=schedule, seed=seed)
            numbers.setdefault(schedule, []).append(int(begun[0]))
    assert numbers["round-robin"] == [8] * 4
    assert min(numbers["random"]) < 8 and min(numbers["adversarial"]) < 4
    # More than began at first: their turn came when requests had failed.
    assert max(numbers["random"]) > 4 and max(numbers["adversarial"]) > 2


@pytest.mark.parametrize("first", [None, (0, 0, 0), (7, 1, 2), (2**31 - 2, 65534, 65533)])
def test_the_answer_is_the_models(first: tuple[int, int, int] | None) -> None:
    assert answer(first) == Response(first).encode()
    assert Response.decode(answer(first)) == Response(first)


ONE = (
    DECLARED
    + """
  setp.ne.u32 %p0, %r0, 0;
  @%p0 exit;
  mbarrier.init.shared.b64 [%r9], 1;
  fence.mbarrier_init.release.cluster;
  mov.u32 %r2, 0;
"""
)
REQUEST = f"""
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
  clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%r9+{{place}}], [%r9];
WAIT{{parity}}:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], {{parity}};
  @!%p2 bra WAIT{{parity}};
  ld.shared.b128 %q0, [%r9+16];
  {QUERY}.is_canceled.pred.b128 %p3, %q0;
"""
USE = "ld.param.u64 %rd1, [a0];\nst.global.u32 [%rd1], %r2;\n"
FIRST = f"{QUERY}.get_first_ctaid.v4.b32.b128 {{%r2, %r3, %r4, _}}, %q0;\n"


def findings(body: str) -> list[str]:
    """Of one block, so that all requests fail."""
    out = np.zeros(4, np.uint32)
    found = run(ONE + body, out, target="sm_100a", check=ALL)
    assert not found.stopped
    return [f"{each.kind}: {each.message}" for each in found.findings]


def test_a_request_after_one_that_failed_is_found() -> None:
    (found,) = findings(REQUEST.format(parity=0, place=16) + REQUEST.format(parity=1, place=16))
    assert "launch-control: requests a cluster after its block has seen a request fail, at PTX line" in found


def test_the_block_of_a_request_that_failed_is_found_where_it_is_used() -> None:
    request = REQUEST.format(parity=0, place=16)
    (found,) = findings(request + FIRST + USE)
    assert found.startswith("launch-control: takes the first block of a cluster from a request that failed")
    assert not findings(request + f"@%p3 {FIRST}" + USE)
    # Who decodes first and decides then does not use it.
    assert not findings(request + FIRST + "@!%p3 bra DONE;\n" + USE + "DONE:\n")


def test_the_answer_has_to_be_waited_for() -> None:
    early = REQUEST.format(parity=0, place=16).replace("WAIT0:", "ld.shared.u32 %r7, [%r9+16];\nWAIT0:")
    (found,) = findings(early + "st.shared.u32 [%r9+64], %r7;")
    assert "race: reads shared memory that a clusterlaunchcontrol.try_cancel has written" in found


def test_the_answer_lies_at_a_multiple_of_16() -> None:
    found = findings(REQUEST.format(parity=0, place=24).replace("@!%p2 bra WAIT0;", ""))
    assert any(each.startswith("misaligned: copies from or to a shared address") for each in found)
