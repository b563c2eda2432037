"""Bulk copies of bytes: every direction, reductions, groups, faults, and what the watch is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, run

from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.errors import EmulatorError

START = """
  ld.param.u64 %rd1, [a0];
  ld.param.u64 %rd2, [a1];
  setp.ne.u32 %p1, %r0, 0;
"""
INIT = "mbarrier.init.shared.b64 [%r9], 1; mbarrier.arrive.expect_tx.shared.b64 _, [%r9], {bytes};"
WAIT = "WAIT: mbarrier.try_wait.parity.shared.b64 %p2, [%r9], {parity}; @!%p2 bra WAIT;"
LOAD = "cp.async.bulk.{space}.global.mbarrier::complete_tx::bytes{hint} [%r9+1024], [%rd1], 512, [%r9]{policy};"
COMMIT = "cp.async.bulk.commit_group; cp.async.bulk.wait_group{read} 0;"


def source() -> np.ndarray[Any, Any]:
    data = aligned((128,), np.int32)
    data[:] = np.arange(128) * 3 - 7
    return data


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("space", ["shared::cta", "shared::cluster"])
@pytest.mark.parametrize(("hint", "policy"), [("", ""), (".L2::cache_hint", ", %rd5")])
def test_bytes_go_through_shared_memory_and_back(space: str, hint: str, policy: str, schedule: str) -> None:
    a, b = source(), aligned((128,), np.int32)
    body = START + "@%p1 exit;" + INIT.format(bytes=512) + LOAD.format(space=space, hint=hint, policy=policy)
    body += WAIT.format(parity=0) + "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r9+1024], 512;"
    body += COMMIT.format(read=".read")
    run(body, a, b, schedule=schedule, seed=3)
    np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_thread_copies_a_part(schedule: str) -> None:
    a, b = source(), aligned((128,), np.int32)
    body = """
  shl.b32 %r1, %r0, 4;
  cvt.u64.u32 %rd3, %r1;
  add.s64 %rd4, %rd1, %rd3;
  add.s64 %rd5, %rd2, %rd3;
  add.u32 %r2, %r9, %r1;
  @%p1 bra INITIALISED;
  mbarrier.init.shared.b64 [%r9], 32;
INITIALISED:
  bar.warp.sync -1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 16;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r2+1024], [%rd4], 16, [%r9];
"""
    body = START + body + WAIT.format(parity=0)
    body += "cp.async.bulk.global.shared::cta.bulk_group [%rd5], [%r2+1024], 16;" + COMMIT.format(read="")
    run(body, a, b, schedule=schedule, seed=1)
    np.testing.assert_array_equal(a, b)


def test_a_mask_chooses_bytes_of_each_sixteen() -> None:
    a, b = source(), aligned((128,), np.int32)
    b[:] = -1
    body = START + "@%p1 exit;" + INIT.format(bytes=512) + LOAD.format(space="shared::cta", hint="", policy="")
    body += WAIT.format(parity=0) + "mov.b16 %h1, 0xf00f;"
    body += "cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd2], [%r9+1024], 512, %h1;" + COMMIT.format(read="")
    run(body, a, b)
    np.testing.assert_array_equal(b, np.where(np.isin(np.arange(128) % 4, (0, 3)), a, -1))


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_multicast_reaches_the_blocks_of_its_mask(schedule: str) -> None:
    """Block 0 loads for blocks 0, 2 and 3 of the cluster; block 1 has nothing to wait for."""
    a, b = source(), aligned((4, 128), np.int32)
    body = """
  mov.u32 %r1, %cluster_ctarank;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%r9], 1;
  setp.eq.u32 %p3, %r1, 1;
  @!%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 512;
READY:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.b16 %h1, 13;
  setp.ne.u32 %p3, %r1, 0;
  or.pred %p3, %p3, %p1;
  @!%p3 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster
    [%r9+1024], [%rd1], 512, [%r9], %h1;
  setp.eq.u32 %p3, %r1, 1;
  or.pred %p3, %p3, %p1;
  @%p3 bra END;
  mul.wide.u32 %rd3, %r1, 512;
  add.s64 %rd3, %rd3, %rd2;
"""
    body = START + body + WAIT.format(parity=0)
    body += "cp.async.bulk.global.shared::cta.bulk_group [%rd3], [%r9+1024], 512;" + COMMIT.format(read="")
    run(body + "END: barrier.cluster.arrive; barrier.cluster.wait;", a, b, blocks=4, cluster=4, schedule=schedule)
    np.testing.assert_array_equal(b, np.stack([a, 0 * a, a, a]))


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(
    "form", ["cp.async.bulk{}", "cp.reduce.async.bulk{}.add.u32", "cp.reduce.async.bulk{}.max.s32"]
)
def test_a_block_sends_to_its_neighbour(form: str, schedule: str) -> None:
    """Each thread of each block has a number in shared memory, and block 1 gets those of block 0."""
    b = aligned((2, 32), np.int32)
    body = f"""
  ld.param.u64 %rd2, [a0];
  mov.u32 %r1, %cluster_ctarank;
  setp.ne.u32 %p1, %r0, 0;
  shl.b32 %r2, %r0, 2;
  add.u32 %r2, %r9, %r2;
  mad.lo.u32 %r3, %r1, 100, %r0;
  st.shared.u32 [%r2+128], %r3;
  st.shared.u32 [%r2+256], 20;
  fence.proxy.async.shared::cta;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%r9], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 128;
READY:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  xor.b32 %r4, %r1, 1;
  mapa.shared::cluster.u32 %r5, %r9, %r4;
  @!%p1 {form.format(".shared::cluster.shared::cta.mbarrier::complete_tx::bytes")} [%r5+256], [%r9+128], 128, [%r5];
{WAIT.format(parity=0)}
  ld.shared.u32 %r6, [%r2+256];
  mad.lo.u32 %r7, %r1, 32, %r0;
  mul.wide.u32 %rd3, %r7, 4;
  add.s64 %rd3, %rd3, %rd2;
  st.global.u32 [%rd3], %r6;
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""
    run(body, b, blocks=2, cluster=2, schedule=schedule)
    sent = np.stack([np.arange(32) + 100, np.arange(32)])
    expected = {"add": sent + 20, "max": np.maximum(sent, 20)}.get(form.split(".")[-2], sent)
    np.testing.assert_array_equal(b, expected)


REDUCTIONS = [
    ("add.u32", np.uint32, lambda old, new: old + new),
    ("add.s32", np.int32, lambda old, new: old + new),
    ("add.u64", np.uint64, lambda old, new: old + new),
    ("add.f32", np.float32, lambda old, new: old + new),
    ("add.f64", np.float64, lambda old, new: old + new),
    ("add.noftz.f16", np.float16, lambda old, new: old + new),
    ("min.s32", np.int32, np.minimum),
    ("max.u64", np.uint64, np.maximum),
    ("min.s64", np.int64, np.minimum),
    ("max.f16", np.float16, np.maximum),
    ("and.b32", np.uint32, np.bitwise_and),
    ("or.b64", np.uint64, np.bitwise_or),
    ("xor.b32", np.uint32, np.bitwise_xor),
    ("inc.u32", np.uint32, lambda old, new: np.where(old >= new, 0, old + 1)),
    ("dec.u32", np.uint32, lambda old, new: np.where((old == 0) | (old > new), new, old - 1)),
]


@pytest.mark.parametrize(("form", "dtype", "model"), REDUCTIONS, ids=[each[0] for each in REDUCTIONS])
def test_a_reduction_combines_with_what_is_there(form: str, dtype: Any, model: Any) -> None:
    random = np.random.default_rng(3)
    a, b = aligned((512 // np.dtype(dtype).itemsize,), dtype), aligned((512 // np.dtype(dtype).itemsize,), dtype)
    a[:], b[:] = random.integers(0, 50, a.shape), random.integers(0, 50, b.shape)
    expected = model(b.copy(), a).astype(dtype)
    body = START + "@%p1 exit;" + INIT.format(bytes=512) + LOAD.format(space="shared::cta", hint="", policy="")
    body += (
        WAIT.format(parity=0) + f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{form} [%rd2], [%r9+1024], 512;"
    )
    run(body + COMMIT.format(read=""), a, b)
    np.testing.assert_array_equal(b, expected)


def test_bf16_is_added_and_rounded() -> None:
    a, b = aligned((256,), np.uint16), aligned((256,), np.uint16)
    values = np.random.default_rng(5).normal(size=(2, 256)).astype(np.float32)
    a[:], b[:] = (values.view(np.uint32) >> 16).astype(np.uint16)
    old, new = ((each.astype(np.uint32) << 16).view(np.float32) for each in (b, a))
    bits = (old + new).view(np.uint32)
    expected = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    body = START + "@%p1 exit;" + INIT.format(bytes=512) + LOAD.format(space="shared::cta", hint="", policy="")
    body += WAIT.format(parity=0)
    body += "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.noftz.bf16 [%rd2], [%r9+1024], 512;"
    run(body + COMMIT.format(read=""), a, b)
    np.testing.assert_array_equal(b, expected)


def test_waiting_leaves_the_last_groups_alone() -> None:
    """Two groups; once the first is over, shared memory is overwritten, which the second then reads."""
    b = aligned((8,), np.int32)
    body = """
  ld.param.u64 %rd2, [a0];
  st.shared.v4.u32 [%r9], {1, 1, 1, 1};
  cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r9], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r9], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 1;
  st.shared.v4.u32 [%r9], {2, 2, 2, 2};
  cp.async.bulk.wait_group 0;
"""
    body = body.replace("{", "{ ").replace("[%r9], { 1, 1, 1, 1}", "[%r9], {%r1, %r1, %r1, %r1}")
    body = body.replace("[%r9], { 2, 2, 2, 2}", "[%r9], {%r2, %r2, %r2, %r2}")
    body = "setp.ne.u32 %p1, %r0, 0; @%p1 exit; mov.u32 %r1, 1; mov.u32 %r2, 2;" + body
    run(body, b, schedule="adversarial")
    np.testing.assert_array_equal(b, np.repeat([1, 2], 4))
    run(body, b)
    np.testing.assert_array_equal(b, np.full(8, 1))


@pytest.mark.parametrize(
    ("copy", "message"),
    [
        ("[%r9+1024], [%rd1+8], 512, [%r9]", "global address is not a multiple of 16 at a0\\[2\\]"),
        ("[%r9+1032], [%rd1], 512, [%r9]", "shared address that is not a multiple of 16 at shared\\+1032"),
        ("[%r9+1024], [%rd1], 500, [%r9]", "copies 500 bytes, which are not a multiple of 16"),
        ("[%r9+1024], [%rd1], 528, [%r9]", "reads from outside of all memory that the kernel was given at a0"),
        ("[%r9+4000], [%rd1], 512, [%r9]", "outside of the block's shared memory"),
        ("[%r9+1024], [%rd1], 512, [%r9+4]", "the address of an mbarrier is not a multiple of 8"),
        ("[%r9+1024], [%rd1], 512, [%r9+8]", "uses an mbarrier that nobody has initialised"),
    ],
)
def test_a_wrong_copy_is_a_fault(copy: str, message: str) -> None:
    body = START + "@%p1 exit;" + INIT.format(bytes=512)
    with pytest.raises(EmulatorError, match=message):
        run(body + f"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes {copy};", source(), source())


@pytest.mark.parametrize(
    "copy",
    [
        "cta.global [%r9+1024], [%rd1+8], 512, [%r9]",
        "cta.global [%r9+1024], [%rd1], 512, [%r9+4]",
        "cta.global [%r9+1024], [%rd1], 512, [%r9+8]",
        "cta.global [%r9+1024], [%rd1], 528, [%r9]",
        "cluster.shared::cta [%r9+1024], [%r9+4000], 512, [%r9]",
        "cluster.shared::cta [%r9+4000], [%r9+1024], 512, [%r9]",
        "cluster.shared::cta [%r9+1024], [%r9+2048], 512, [%r9+8]",
        "cluster.shared::cta [%r9+1024], [%r9+2048], 500, [%r9]",
    ],
)
def test_a_wrong_copy_is_left_out_where_faults_are_findings(copy: str) -> None:
    out = aligned((128,), np.int32)
    direction, _, operands = copy.partition(" ")
    body = START + "@%p1 exit;" + INIT.format(bytes=512) + "fence.mbarrier_init.release.cluster;"
    body += "mov.u32 %r1, 5; st.shared.u32 [%r9+2048], %r1;"
    body += f"cp.async.bulk.shared::{direction}.mbarrier::complete_tx::bytes {operands};"
    body += "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r9+1024], 512;" + COMMIT.format(read="")
    finding, *rest = run(body, source(), out, check=frozenset({"bounds"})).findings
    assert finding.kind in ("misaligned", "mbarrier", "out-of-bounds")
    left = "an mbarrier is left behind with 512 bytes missing"
    more = "the copies bring 16 bytes more than are announced to the mbarrier"
    assert {each.message.splitlines()[0] for each in rest} <= {left, more}
    assert (out == 0x7FFF_FFFF).all(), "nothing was copied to what nothing has written"


def test_a_store_past_the_end_is_a_fault() -> None:
    body = START + "cp.async.bulk.global.shared::cta.bulk_group [%rd2+16], [%r9], 512;" + COMMIT.format(read="")
    with pytest.raises(EmulatorError, match="writes to outside of all memory"):
        run(body, source(), source())


def test_read_only_memory_is_not_written() -> None:
    b = source()
    b.flags.writeable = False
    body = START + "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r9], 512;" + COMMIT.format(read="")
    with pytest.raises(EmulatorError, match="read-only"):
        run(body, source(), b)


def test_variables_of_the_module_are_copied() -> None:
    a, b = source(), aligned((128,), np.int32)
    module = ".global .align 16 .b32 table[4] = {5, 6, 7, 8};"
    body = """
  mov.b64 %rd6, table;
  cvta.global.u64 %rd6, %rd6;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r9+1024], [%rd6], 16, [%r9];
"""
    body = START + "@%p1 exit;" + INIT.format(bytes=16) + body + WAIT.format(parity=0)
    body += "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd6], [%r9+1024], 16;"
    body += COMMIT.format(read="") + INIT.replace("%r9", "%r9+8").format(bytes=16)
    body += "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r9+1024], [%rd6], 16, [%r9+8];"
    body += WAIT.replace("WAIT", "AGAIN").replace("%r9", "%r9+8").format(parity=0)
    body += "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r9+1024], 16;" + COMMIT.format(read="")
    run(body, a, b, module=module)
    np.testing.assert_array_equal(b[:4], [10, 12, 14, 16])
    with pytest.raises(EmulatorError, match="outside of all memory that the kernel was given at module"):
        run(body.replace("16, [%r9];", "32, [%r9];"), a, b, module=module)


def test_a_prefetch_is_no_access() -> None:
    """Other threads may write meanwhile."""
    a, b = source(), source()
    body = START + "cp.async.bulk.prefetch.L2.global [%rd1], 512; st.global.u32 [%rd1], %r0;"
    assert not run(body.replace("st.", "@!%p1 st."), a, b, threads=64, check=frozenset({"races"})).findings
    np.testing.assert_array_equal(a, [0, *source()[1:]])
    np.testing.assert_array_equal(b, source())
