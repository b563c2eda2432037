"""Tensor copies as kernels make them; `test_tensor_box` has the geometry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, map_of, run

from cutecc.emulator.machine.schedule import SCHEDULES
from cutecc.emulator.tensor_map import pack
from cutecc.errors import EmulatorError
from cutecc.runtime.launch import TensorMap

START = """
  mov.b64 %rd3, m0;
  cvta.param.u64 %rd3, %rd3;
  mov.b64 %rd4, m1;
  cvta.param.u64 %rd4, %rd4;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 exit;
  mbarrier.init.shared.b64 [%r9], 1;
"""
LOAD = """
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], {bytes};
  cp.async.bulk.tensor.{rank}d.shared::cta.global.tile.mbarrier::complete_tx::bytes
    [%r9+1024], [%rd3, {{{at}}}], [%r9];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
"""
STORE = """
  cp.{what}async.bulk.tensor.{rank}d.global.shared::cta{op}.tile.bulk_group [%rd4, {{{at}}}], [%r9+1024];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
"""


def numbered(shape: tuple[int, ...], dtype: Any) -> np.ndarray[Any, Any]:
    data = aligned(shape, dtype)
    data.reshape(-1)[:] = np.arange(data.size) % 1021
    return data


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("swizzle", [0, 1, 2, 3])
def test_a_tile_is_copied_with_its_edges(swizzle: int, schedule: str) -> None:
    """A box that hangs over the tensor: zeros come in, and nothing goes out."""
    a, b = numbered((40, 64), np.float16), aligned((40, 64), np.float16)
    row = (64, 16, 32, 64)[swizzle]
    maps = [map_of(each, (row, 16), swizzle=swizzle) for each in (a, b)]
    body = START + LOAD.format(bytes=row * 32, rank=2, at="8, 32") + STORE.format(what="", rank=2, op="", at="8, 32")
    run(body, a, b, maps=maps, shared=8192, schedule=schedule)
    expected = np.zeros_like(a)
    expected[32:40, 8 : 8 + row] = a[32:40, 8 : 8 + row]
    np.testing.assert_array_equal(b, expected)


def test_negative_coordinates_are_outside() -> None:
    a, b = numbered((32, 16), np.float32), aligned((32, 16), np.float32)
    maps = [map_of(each, (16, 8)) for each in (a, b)]
    body = START + LOAD.format(bytes=512, rank=2, at="-4, -2") + STORE.format(what="", rank=2, op="", at="0, 0")
    run(body, a, b, maps=maps)
    expected = np.zeros_like(a)
    expected[2:8, 4:16] = a[:6, :12]
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(("what", "op"), [("", ""), ("reduce.", ".add")])
def test_only_loads_begin_before_the_tensor(what: str, op: str) -> None:
    a, b = numbered((32, 16), np.float32), aligned((32, 16), np.float32)
    body = START + STORE.format(what=what, rank=2, op=op, at="0, -2")
    with pytest.raises(EmulatorError, match=r"stores a box that begins at \[0, -2\]"):
        run(body, a, b, maps=[map_of(each, (16, 8)) for each in (a, b)])


def test_stores_take_whole_chunks() -> None:
    """Rows of 15 elements, 16 apart: the one between two rows is written too."""
    a, b = numbered((8, 16), np.uint32), aligned((8, 16), np.uint32)
    maps = [map_of(a, (16, 4)), replace(map_of(b, (16, 4)), sizes=(15, 8))]
    body = START + LOAD.format(bytes=256, rank=2, at="0, 2") + STORE.format(what="", rank=2, op="", at="0, 2")
    run(body, a, b, maps=maps)
    np.testing.assert_array_equal(b[2:6], a[2:6])
    assert not b[:2].any() and not b[6:].any()


def test_reductions_take_whole_chunks() -> None:
    a, b = numbered((8, 16), np.uint32), aligned((8, 16), np.uint32)
    maps = [map_of(a, (16, 4)), replace(map_of(b, (16, 4)), sizes=(15, 8))]
    body = START + LOAD.format(bytes=256, rank=2, at="0, 2")
    run(body + STORE.format(what="reduce.", rank=2, op=".add", at="0, 2"), a, b, maps=maps)
    np.testing.assert_array_equal(b[2:6], a[2:6])


def test_a_last_chunk_that_ends_behind_the_memory_is_found_by_checks() -> None:
    """Five elements, and no memory behind them: hardware writes eight."""
    a, memory = numbered((16,), np.uint32), aligned((8,), np.uint32)
    b = memory[:5]
    maps = [map_of(a, (16,)), map_of(b, (16,))]
    body = START + LOAD.format(bytes=64, rank=1, at="0") + STORE.format(what="", rank=1, op="", at="0")
    run(body, a, b, maps=maps)
    np.testing.assert_array_equal(memory, [*a[:5], 0, 0, 0])
    found = run(body, a, b, maps=maps, check=frozenset({"bounds"}))
    assert "out-of-bounds" in {finding.kind for finding in found.findings}


def test_rows_that_overlap_are_all_added() -> None:
    a, b = numbered((4, 16), np.uint32), aligned((4, 16), np.uint32)
    maps = [map_of(a, (4, 2)), replace(map_of(b, (4, 2)), sizes=(4, 2), strides=(0,))]
    body = START + LOAD.format(bytes=32, rank=2, at="4, 1")
    run(body + STORE.format(what="reduce.", rank=2, op=".add", at="0, 0"), a, b, maps=maps)
    np.testing.assert_array_equal(b[0, :4], a[1, 4:8] + a[2, 4:8])


@pytest.mark.parametrize("rank", [1, 2, 3, 4, 5])
def test_every_rank_has_its_coordinates(rank: int) -> None:
    shape = (2, 3, 4, 5, 16)[5 - rank :]
    a, b = numbered(shape, np.int32), aligned(shape, np.int32)
    maps = [map_of(each, (8, 2, 2, 2, 1)[:rank]) for each in (a, b)]
    at = ", ".join(("4", "1", "2", "1", "1")[:rank])
    size = 4 * int(np.prod((8, 2, 2, 2, 1)[:rank]))
    body = START + LOAD.format(bytes=size, rank=rank, at=at) + STORE.format(what="", rank=rank, op="", at=at)
    run(body, a, b, maps=maps)
    where = (slice(1, 2), slice(1, 3), slice(2, 4), slice(1, 3), slice(4, 12))[5 - rank :]
    expected = np.zeros_like(a)
    expected[where] = a[where]
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(
    ("op", "dtype", "model"),
    [
        ("add", np.float32, lambda old, new: old + new),
        ("add", np.float16, lambda old, new: old + new),
        ("add", np.uint64, lambda old, new: old + new),
        ("min", np.int32, np.minimum),
        ("max", np.uint32, np.maximum),
        ("and", np.uint32, np.bitwise_and),
        ("xor", np.uint64, np.bitwise_xor),
    ],
)
def test_a_reduction_has_the_type_of_the_tensor(op: str, dtype: Any, model: Any) -> None:
    a, b = numbered((16, 16), dtype), numbered((16, 16), dtype)
    b[:] = b[::-1]
    expected = b.copy()
    expected[4:12] = model(b[4:12], a[4:12])
    maps = [map_of(each, (16, 8)) for each in (a, b)]
    size = 128 * np.dtype(dtype).itemsize
    body = START + LOAD.format(bytes=size, rank=2, at="0, 4")
    run(body + STORE.format(what="reduce.", rank=2, op=f".{op}", at="0, 4"), a, b, maps=maps)
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_multicast_reaches_both_blocks(schedule: str) -> None:
    """Each block of two loads a half of the tile for both."""
    a, b = numbered((16, 64), np.float16), aligned((2, 16, 64), np.float16)
    maps = [map_of(a, (64, 8), swizzle=3), map_of(b.reshape(32, 64), (64, 16), swizzle=3)]
    body = """
  mov.u32 %r1, %cluster_ctarank;
  mov.b64 %rd3, m0;
  cvta.param.u64 %rd3, %rd3;
  mov.b64 %rd4, m1;
  cvta.param.u64 %rd4, %rd4;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  mbarrier.init.shared.b64 [%r9], 1;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], 2048;
READY:
  barrier.cluster.arrive;
  barrier.cluster.wait;
  @%p1 bra END;
  mov.b16 %h1, 3;
  shl.b32 %r2, %r1, 3;
  shl.b32 %r3, %r1, 10;
  add.u32 %r3, %r9, %r3;
  mov.u32 %r5, 0;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint
    [%r3+1024], [%rd3, {%r5, %r2}], [%r9], %h1, %rd9;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
  shl.b32 %r2, %r1, 4;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd4, {%r5, %r2}], [%r9+1024];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""
    run(body, a, b, maps=maps, blocks=2, cluster=2, schedule=schedule, shared=8192)
    np.testing.assert_array_equal(b, np.stack([a, a]))


CHANGE_DESCRIPTOR = """
  mov.b64 %rd3, m0;
  mov.b64 %rd4, m1;
  cvta.param.u64 %rd4, %rd4;
  cvta.param.u64 %rd5, %rd3;
  ld.param.u64 %rd6, [a1];
  ld.param.u64 %rd7, [a2];
  shl.b32 %r1, %r0, 2;
  cvt.u64.u32 %rd8, %r1;
  add.s64 %rd8, %rd4, %rd8;
  ld.b32 %r2, [%rd8];
  add.u32 %r3, %r9, %r1;
  st.shared.b32 [%r3+128], %r2;
  bar.warp.sync -1;
  setp.ne.u32 %p1, %r0, 0;
  @%p1 bra READY;
  tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%r9+128], %rd6;
  mov.u32 %r4, 10;
  tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%r9+128], 1, %r4;
READY:
  bar.warp.sync -1;
  tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd7], [%r9+128], 128;
  @%p1 exit;
  fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;
  mbarrier.init.shared.b64 [%r9], 1;
  fence.mbarrier_init.release.cluster;
  mov.b64 %rd3, %rd5;
  mov.b64 %rd4, %rd7;
"""
"""Copies a descriptor to shared memory, gives it another address and height, and puts it into global memory."""


@pytest.mark.parametrize("mode", ["5", "0x7fffffff", "-1"])
def test_a_descriptor_has_five_modes(mode: str) -> None:
    a = aligned((16, 16), np.int32)
    change = f"tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%r9], {mode}, %r9;"
    with pytest.raises(EmulatorError, match=r"has mode .*: a descriptor has modes 0 to 4"):
        run(change, a, a, maps=[map_of(a, (16, 16))])


def test_a_kernel_changes_a_descriptor() -> None:
    """And copies by it."""
    a, b, store = numbered((16, 16), np.int32), aligned((16, 16), np.int32), aligned((128,), np.uint8)
    maps = [map_of(a, (16, 16)), map_of(a, (16, 16))]
    copies = LOAD.format(bytes=1024, rank=2, at="0, 0") + STORE.format(what="", rank=2, op="", at="0, 0")
    checks = frozenset({"races", "proxies"})
    assert run(CHANGE_DESCRIPTOR + copies, a, b, store, maps=maps, check=checks).findings == []
    expected = np.zeros_like(a)
    expected[:10] = a[:10]
    np.testing.assert_array_equal(b, expected)
    fence = "fence.proxy.tensormap::generic.acquire.gpu [%rd7], 128;"
    for replacement in ("", "fence.proxy.async;"):
        wrong = CHANGE_DESCRIPTOR.replace(fence, replacement) + copies
        (found,) = run(wrong, a, b, store, maps=maps, check=checks).findings
        assert found.kind == "missing-proxy-fence" and "descriptor" in found.message
        assert found.other is not None and found.other.text.startswith("tensormap.cp_fenceproxy")


def test_the_second_half_of_a_descriptor_may_be_anything() -> None:
    """Kernels copy 64 of its 128 bytes, and change and publish all of it; the first half has to be there."""
    maps = [map_of(numbered((16, 16), np.int32), (16, 16))] * 2
    for words, complete in ((16, True), (15, False)):
        some = CHANGE_DESCRIPTOR.replace(
            "st.shared.b32 [%r3+128], %r2;", f"setp.lt.u32 %p3, %r0, {words};\n  @%p3 st.shared.b32 [%r3+128], %r2;"
        )
        arrays = numbered((16, 16), np.int32), aligned((16, 16), np.int32), aligned((128,), np.uint8)
        found = run(some, *arrays, maps=maps, check=frozenset({"initialisation", "races"})).findings
        assert {each.kind for each in found} == (set() if complete else {"uninitialised-shared"})


def two(change: dict[str, Any] | None = None) -> list[TensorMap | bytes]:
    a = numbered((16, 16), np.int32)
    made = map_of(a, (16, 16))
    return [pack(replace(made, **(change or {}))), pack(made)]


@pytest.mark.parametrize(
    ("body", "change", "message"),
    [
        (LOAD.format(bytes=1024, rank=3, at="0, 0, 0"), {}, "for 3 dimensions, and finds a tensor of rank 2"),
        (LOAD.format(bytes=1024, rank=2, at="0, 0"), {"sizes": (16, 20)}, "outside of all memory .* at a0"),
        (LOAD.format(bytes=1024, rank=2, at="0, 0").replace("+1024", "+1040"), {}, "not a multiple of 128"),
        ("add.s64 %rd3, %rd3, 16;" + LOAD.format(bytes=1024, rank=2, at="0, 0"), {}, "not a multiple of 64"),
        (LOAD.format(bytes=1024, rank=2, at="3, 0"), {}, "begins 12 bytes into the tensor's rows: no multiple of 16"),
        ("mov.b64 %rd3, 0;" + LOAD.format(bytes=1024, rank=2, at="0, 0"), {}, "outside of all memory"),
    ],
)
def test_a_wrong_copy_is_a_fault(body: str, change: dict[str, Any], message: str) -> None:
    a = numbered((16, 16), np.int32)
    made = map_of(a, (16, 20))
    maps = [pack(replace(made, **change)), pack(made)]
    with pytest.raises(EmulatorError, match=message):
        run(START + body, a, maps=maps)


def test_bytes_that_are_no_descriptor_are_a_fault() -> None:
    with pytest.raises(EmulatorError, match="finds no descriptor of a tensor for tiles"):
        run(START + LOAD.format(bytes=1024, rank=2, at="0, 0"), maps=[b"\xff" * 128, b"\xff" * 128])


def test_what_is_not_modelled_says_so() -> None:
    copy = "cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes.mbarrier::report::disabled"
    body = f"{START} {copy} [%r9+1024], [%rd3, {{%r1, %r1}}], [%r9];"
    with pytest.raises(EmulatorError, match=r"does not model 'cp\.async\.bulk\.tensor\.2d.*report::disabled"):
        run(body, maps=two())


@pytest.mark.parametrize(
    ("data_type", "op"), [(0, "and"), (1, "add"), (3, "inc"), (5, "add"), (6, "xor"), (7, "min"), (8, "max")]
)
def test_elements_are_not_reduced_by_what_hardware_has_not(data_type: int, op: str) -> None:
    maps = two({"data_type": data_type})
    body = STORE.format(what="reduce.", rank=2, op=f".{op}", at="0, 0")
    with pytest.raises(EmulatorError, match=f"reduces elements of type .* by {op}, which there is not"):
        run(START + body, maps=[maps[1], maps[0]])


@pytest.mark.parametrize(
    "prefetch",
    ["2d.L2.global.tile [%rd3, {0, 0}]", "4d.L2.global.im2col.L2::cache_hint [%rd3, {0, 0, 0, 0}], {1, 1}, %rd5"],
)
def test_a_prefetch_is_no_access(prefetch: str) -> None:
    """Other threads may write meanwhile."""
    a = numbered((16, 8), np.uint32)
    body = f"""
  mov.b64 %rd3, m0;
  cvta.param.u64 %rd3, %rd3;
  ld.param.u64 %rd1, [a0];
  cp.async.bulk.prefetch.tensor.{prefetch};
  setp.eq.u32 %p1, %r0, 40;
  @%p1 st.global.u32 [%rd1], %r0;
"""
    assert not run(body, a, maps=[map_of(a, (8, 8))], threads=64, check=frozenset({"races"})).findings
    np.testing.assert_array_equal(a.reshape(-1), [40, *range(1, 128)])
