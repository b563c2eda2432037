"""Tensor copies that sm_100 adds: of four rows, of elements narrower than a byte, with wider swizzles, for pairs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from async_kernels import aligned, map_of, run
from test_tensor_copy import LOAD, START, STORE, numbered

from cutecc.emulator.tensor_map import INVALID_VALUE, decode, encode, pack
from cutecc.emulator.tensor_map import replace as replace_field
from cutecc.errors import EmulatorError
from cutecc.runtime.launch import TensorMap

GATHER = LOAD.replace(".tile.", ".tile::gather4.")
SCATTER = STORE.replace(".tile.", ".tile::scatter4.")
B4, B4_PADDED, B6_PADDED = 13, 14, 15
ATOM_32, ATOM_32_FLIPPED, ATOM_64 = 4, 5, 6
BEGIN = START + "  fence.mbarrier_init.release.cluster;\n"


def start(body: str, *arrays: np.ndarray[Any, Any], maps: list[TensorMap], shared: int = 8192, **launch: Any) -> Any:
    described = [pack(each) for each in maps]
    return run(BEGIN + body, *arrays, maps=described, shared=shared, target="sm_100a", **launch)


@pytest.mark.parametrize("schedule", ["round-robin", "adversarial"])
@pytest.mark.parametrize("swizzle", [0, 3])
def test_four_rows_are_gathered_and_scattered(swizzle: int, schedule: str) -> None:
    """In any order, one of them twice; those outside are zeros, and dropped."""
    a, b = numbered((40, 128), np.float16), aligned((10, 128), np.float16)
    b[...] = -1
    maps = [map_of(a, (64, 1), swizzle=swizzle), map_of(b, (64, 1), swizzle=swizzle)]
    body = GATHER.format(bytes=512, rank=2, at="64, 7, -3, 39, 7")
    body += SCATTER.format(what="", rank=2, op="", at="32, 9, 1, 12, 4")
    start(body, a, b, maps=maps, schedule=schedule)
    expected = np.full_like(b, -1)
    expected[9, 32:96], expected[1, 32:96], expected[4, 32:96] = a[7, 64:], 0, a[7, 64:]
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(
    "mode", ["2d.L2.global.tile::gather4", "3d.L2.global.im2col::w", "3d.L2.global.im2col::w::128"]
)
def test_prefetches_do_nothing(mode: str) -> None:
    at, info = ("0, 1, 2, 3, 4", "") if mode.startswith("2d") else ("0, 1, 2", ", {%h1, %h1}")
    a = numbered((40, 128), np.float16)
    before = a.copy()
    start(f"cp.async.bulk.prefetch.tensor.{mode} [%rd3, {{{at}}}]{info};", a, maps=[map_of(a, (64, 1))] * 2)
    np.testing.assert_array_equal(a, before)


@pytest.mark.parametrize(
    ("body", "box", "message"),
    [
        (GATHER.format(bytes=512, rank=2, at="0, 1, 2, 3, 4"), (64, 2), "single rows by a descriptor whose box has 2"),
        (GATHER.format(bytes=512, rank=2, at="4, 1, 2, 3, 4"), (64, 1), "begins 8 bytes into the tensor's rows"),
        (SCATTER.format(what="", rank=2, op="", at="0, 1, -2, 3, 4"), (64, 1), "stores a box that begins at"),
        (GATHER.format(bytes=512, rank=2, at="0, 1"), (64, 1), "has 5 operands in braces here"),
    ],
)
def test_wrong_rows_are_a_fault(body: str, box: tuple[int, int], message: str) -> None:
    a = numbered((40, 128), np.float16)
    with pytest.raises(EmulatorError, match=message):
        start(body, a, maps=[map_of(a, box)] * 2)


def narrow(
    array: np.ndarray[Any, Any], elements: int, box: tuple[int, int], data_type: int, swizzle: int = 0
) -> TensorMap:
    """Of rows of so many elements."""
    made = map_of(array, (16, 1), swizzle=swizzle)
    return replace(made, data_type=data_type, sizes=(elements, len(array)), box=box)


SHARED = """
  ld.param.u64 %rd1, [a1];
  mov.u32 %r1, 0;
NEXT:
  add.s32 %r2, %r9, %r1;
  ld.shared.u32 %r3, [%r2+1024];
  cvt.u64.u32 %rd5, %r1;
  add.s64 %rd5, %rd1, %rd5;
  st.global.u32 [%rd5], %r3;
  add.s32 %r1, %r1, 4;
  setp.lt.u32 %p3, %r1, {bytes};
  @%p3 bra NEXT;
"""
"""Shared memory from 1024 on, in `a1`."""


@pytest.mark.parametrize("swizzle", [0, 3])
def test_elements_of_4_bits_are_copied_packed(swizzle: int) -> None:
    """Coordinates and sizes are elements; a row has 100 of them, and zeros from there on."""
    a, b = numbered((8, 64), np.uint8), aligned((8, 64), np.uint8)
    maps = [narrow(a, 100, (64, 4), B4, swizzle=swizzle), narrow(b, 128, (64, 4), B4, swizzle=swizzle)]
    body = LOAD.format(bytes=128, rank=2, at="64, 2") + STORE.format(what="", rank=2, op="", at="32, 4")
    start(body, a, b, maps=maps)
    expected = np.zeros_like(b)
    expected[4:, 16 : 16 + 18] = a[2:6, 32:50]
    np.testing.assert_array_equal(b, expected)


@pytest.mark.parametrize(("data_type", "packed"), [(B4_PADDED, 8), (B6_PADDED, 12)])
def test_sixteen_elements_begin_at_each_chunk(data_type: int, packed: int) -> None:
    """The mbarrier counts what comes from global memory."""
    a, b = numbered((4, 16 * packed), np.uint8), aligned((512,), np.uint8)
    a[...] = np.random.default_rng(1).integers(0, 256, a.shape)
    maps = [narrow(a, 256, (128, 4), data_type)] * 2
    start(LOAD.format(bytes=4 * 8 * packed, rank=2, at="128, 0") + SHARED.format(bytes=512), a, b, maps=maps)
    expected = a[:, 8 * packed :].reshape(-1, packed)
    np.testing.assert_array_equal(b.reshape(-1, 16)[:, :packed], expected)


def test_bytes_are_stored_as_6_bits() -> None:
    a, b = numbered((2, 128), np.uint8), aligned((2, 96), np.uint8)
    a[...] = np.random.default_rng(2).integers(0, 256, a.shape)
    maps = [map_of(a, (128, 2)), narrow(b, 128, (128, 2), B6_PADDED)]
    start(LOAD.format(bytes=256, rank=2, at="0, 0") + STORE.format(what="", rank=2, op="", at="0, 0"), a, b, maps=maps)
    bits = [format(each & 63, "06b")[::-1] for each in a.reshape(-1)]
    expected = int("".join(bits)[::-1], 2).to_bytes(192, "little")
    assert b.tobytes() == expected


@pytest.mark.parametrize(("swizzle", "atom"), [(ATOM_32, 32), (ATOM_32_FLIPPED, 32), (ATOM_64, 64)])
def test_swizzles_leave_32_or_64_bytes_together(swizzle: int, atom: int) -> None:
    a, b = numbered((8, 32), np.uint32), aligned((256,), np.uint32)
    maps = [map_of(a, (32, 8), swizzle=swizzle)] * 2
    start(LOAD.format(bytes=1024, rank=2, at="0, 0") + SHARED.format(bytes=1024), a, b, maps=maps)
    found, data = b.view(np.uint8), a.reshape(-1).view(np.uint8)
    for row in range(8):
        for byte in range(128):
            place = byte ^ row % (128 // atom) * atom
            if swizzle == ATOM_32_FLIPPED and row % 2:
                place ^= 8
            assert found[row * 128 + place] == data[row * 128 + byte]


@pytest.mark.parametrize(
    ("data_type", "swizzle", "message"),
    [
        (B4_PADDED, 0, "stores elements of type b4x16_p64"),
        (B6_PADDED, ATOM_32_FLIPPED, "stores with a swizzle that flips 8 bytes"),
    ],
)
def test_some_are_only_loaded(data_type: int, swizzle: int, message: str) -> None:
    a = numbered((4, 192), np.uint8)
    maps = [narrow(a, 256, (128, 4), data_type, swizzle=swizzle)] * 2
    with pytest.raises(EmulatorError, match=message):
        start(STORE.format(what="", rank=2, op="", at="0, 0"), a, maps=maps)


FP4 = TensorMap(B4, 0x7F0000001000, (256, 64), (128,), (256, 8), (1, 1), 0, 3, 2, 0)


@pytest.mark.parametrize(
    ("change", "refused"),
    [
        ({}, False),
        ({"swizzle": ATOM_32}, False),
        ({"swizzle": 7}, True),
        ({"box": (16, 8)}, True),
        ({"data_type": B4_PADDED, "box": (128, 8)}, False),
        ({"data_type": B4_PADDED}, True),
        ({"data_type": B6_PADDED, "box": (128, 8), "strides": (192,)}, False),
        ({"data_type": B6_PADDED, "box": (128, 8), "strides": (208,)}, True),
        ({"data_type": B6_PADDED, "box": (128, 8), "strides": (192,), "swizzle": 2}, True),
        ({"data_type": 16}, True),
    ],
)
def test_descriptors_of_newer_gpus(change: dict[str, Any], refused: bool) -> None:
    wanted = replace(FP4, **change)
    made = encode(wanted, 100)
    assert made == INVALID_VALUE if refused else decode(pack(wanted)) == wanted == decode(bytes(made))  # type: ignore[arg-type]
    assert encode(wanted) == INVALID_VALUE


@pytest.mark.parametrize(
    ("name", "value", "change"),
    [
        ("swizzle_atomicity", 1, {"swizzle": ATOM_32}),
        ("swizzle_atomicity", 3, {"swizzle": ATOM_64}),
        ("elemtype", 15, {"data_type": B6_PADDED}),
        ("elemtype", 11, {"data_type": 11}),
        ("elemtype", 12, {"data_type": 12}),
    ],
)
def test_fields_are_replaced_as_ptxas_does(name: str, value: int, change: dict[str, Any]) -> None:
    assert decode(replace_field(pack(FP4), name, 0, value)) == replace(FP4, **change)


PAIRS = """
  mov.u32 %r1, %cluster_ctarank;
  mapa.shared::cluster.u32 %r5, %r9, {barrier};
  barrier.cluster.arrive;
  barrier.cluster.wait;
  setp.ne.u32 %p3, %r1, {issuer};
  @%p3 bra LOADED;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{modifiers}
    [%r9+1024], [%rd3, {{0, 0}}], [%r5]{mask};
LOADED:
  setp.ne.u32 %p4, %r1, {waits};
  @%p4 bra END;
  mbarrier.arrive.expect_tx.shared.b64 _, [%r9], {bytes};
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p2, [%r9], 0;
  @!%p2 bra WAIT;
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
"""


def in_pairs(group: str, barrier: int, issuer: int, waits: int, bytes_: int, mask: str = "", cluster: int = 4) -> Any:
    a = numbered((8, 16), np.uint32)
    modifiers = (".multicast::cluster" if mask else "") + group
    fields = {"barrier": barrier, "issuer": issuer, "waits": waits, "bytes": bytes_}
    body = PAIRS.format(modifiers=modifiers, mask=f", {mask}" if mask else "", **fields)
    maps = [map_of(a, (16, 8))] * 2
    return start(body, a, maps=maps, blocks=cluster, cluster=cluster, check=frozenset({"barriers"})).findings


def test_a_copy_of_a_pair_ends_at_either_ones_mbarrier() -> None:
    """Of block 1 at the mbarrier of block 0; multicast to 2 and 3 twice at one of those, even or odd."""
    assert not in_pairs(".cta_group::2", 0, 1, 0, 512)
    assert not in_pairs(".cta_group::2", 0, 1, 2, 1024, "12")
    assert not in_pairs(".cta_group::2", 1, 1, 3, 1024, "12")


def test_a_copy_of_one_block_ends_at_its_own_mbarrier() -> None:
    (found,) = in_pairs("", 0, 1, 0, 512)
    assert found.message.endswith("it has to be one of the block")
    (found,) = in_pairs(".cta_group::2", 2, 1, 2, 512)
    assert found.message.endswith("it has to be one of the block or its pair")
