"""The model of shared memory descriptors: fields, swizzles, and addresses as layouts of CuTe have them."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from blackwell_model.shared_descriptor import (
    Major,
    SharedDescriptor,
    Storage,
    Swizzle,
    base_offset_of,
    refusal_of_absolute_leading,
    refusal_of_layout,
)

Mode = tuple[tuple[int, int], ...]
"""Extents and strides of one dimension of a layout, the fastest first."""


@dataclass(frozen=True)
class Made:
    """A descriptor that CuTe DSL makes of a matrix at the start of shared memory, and the matrix's layout."""

    bits: int
    major: Major
    storage: Storage
    mn: Mode
    k: Mode


K, MN = Major.K, Major.MN
MADE = {
    "k128": Made(0x4000404000010000, K, Storage.BITS16, ((128, 64),), ((16, 1),)),
    "k64": Made(-9223301530671579136 % (1 << 64), K, Storage.BITS16, ((128, 32),), ((16, 1),)),
    "k32": Made(-4611615580963667968 % (1 << 64), K, Storage.BITS16, ((128, 16),), ((16, 1),)),
    "k none, columns far": Made(70403112304640, K, Storage.BITS16, ((128, 8),), ((8, 1), (2, 1024))),
    "k none, rows far": Made(70506183655424, K, Storage.BITS16, ((8, 8), (16, 256)), ((8, 1), (2, 64))),
    "k128 e2m1": Made(4611756662049538048, K, Storage.BITS4, ((128, 256),), ((64, 1),)),
    "k128 tf32": Made(4611756662049538048, K, Storage.BITS32, ((64, 32),), ((8, 1),)),
    "mn128": Made(0x4000408000400000, MN, Storage.BITS16, ((64, 1), (2, 512)), ((8, 64), (2, 1024))),
    "mn128, k near": Made(4611756662083026944, MN, Storage.BITS16, ((64, 1), (2, 4096)), ((16, 64),)),
    "mn64": Made(-9223301118352687104 % (1 << 64), MN, Storage.BITS16, ((32, 1), (4, 256)), ((8, 32), (2, 1024))),
    "mn none, k far": Made(70403112304640, MN, Storage.BITS16, ((8, 1), (16, 64)), ((8, 8), (2, 1024))),
    "mn none, k near": Made(70506183655424, MN, Storage.BITS16, ((8, 1), (16, 256)), ((16, 8),)),
    "mn128 e4m3": Made(4611756662049472512, MN, Storage.BITS8, ((128, 1),), ((32, 128),)),
    "mn128 tf32": Made(0x2000402000400000, MN, Storage.BITS32, ((32, 1), (4, 256)), ((8, 32),)),
    "mn128 tf32, far": Made(2305913515413602304, MN, Storage.BITS32, ((32, 1), (4, 1024)), ((8, 32),)),
}


def offset(index: int, mode: Mode) -> int:
    total = 0
    for extent, stride in mode:
        index, inside = divmod(index, extent)
        total += inside * stride
    return total


def extent_of(mode: Mode) -> int:
    size = 1
    for extent, _ in mode:
        size *= extent
    return size


@pytest.mark.parametrize("name", MADE)
def test_elements_are_where_the_layout_has_them(name: str) -> None:
    made = MADE[name]
    descriptor = SharedDescriptor.decode(made.bits)
    for mn in range(extent_of(made.mn)):
        for k in range(extent_of(made.k)):
            bit = (offset(mn, made.mn) + offset(k, made.k)) * made.storage.bits
            expected = (descriptor.swizzle.apply(bit // 8), bit % 8)
            assert descriptor.element(made.major, made.storage, mn, k) == expected, (mn, k)


@pytest.mark.parametrize("name", MADE)
def test_descriptors_are_encoded_as_they_were(name: str) -> None:
    assert SharedDescriptor.decode(MADE[name].bits).encode() == MADE[name].bits


def test_invalid_descriptors_are_refused() -> None:
    valid = MADE["k128"].bits
    for bits in (valid ^ 1 << 47, valid | 1 << 53, valid | 1 << 14, 3 << 61 | 1 << 46, 5 << 61 | 1 << 46):
        with pytest.raises(ValueError):
            SharedDescriptor.decode(bits)


@pytest.mark.parametrize("swizzle", Swizzle)
def test_swizzles_permute_their_pattern(swizzle: Swizzle) -> None:
    pattern = swizzle.pattern
    assert sorted(swizzle.apply(4096 + each) for each in range(pattern)) == list(range(4096, 4096 + pattern))
    assert all(swizzle.apply(each + pattern) == swizzle.apply(each) + pattern for each in range(0, pattern, 16))


@pytest.mark.parametrize("swizzle", [Swizzle.B128, Swizzle.B64, Swizzle.B32])
def test_lines_of_a_core_matrix_are_in_different_banks(swizzle: Swizzle) -> None:
    """Eight rows of 16 bytes are eight times 16 bytes of 128: what swizzling is for."""
    descriptor = SharedDescriptor(0, 0, swizzle.pattern, swizzle)
    assert len({descriptor.k_major(row, 0) % 128 for row in range(8)}) == 8


def test_a_base_offset_moves_the_pattern() -> None:
    moved = SharedDescriptor(0x180, 0, 1024, Swizzle.B128, base_offset_of(0x180))
    still = SharedDescriptor(0, 0, 1024, Swizzle.B128)
    assert moved.base_offset == 3
    assert all(moved.k_major(row, 16) % 128 == still.k_major(row, 16) % 128 for row in range(8))


def test_a_start_within_an_atom_keeps_the_phase() -> None:
    whole, later = (SharedDescriptor(start, 0, 1024, Swizzle.B128) for start in (0, 32))
    assert all(later.k_major(row, byte) == whole.k_major(row, 32 + byte) for row in range(16) for byte in range(32))


def test_rows_of_48_bytes_go_on_in_the_second_chunk() -> None:
    descriptor = SharedDescriptor(96, 0x8000, 1024, Swizzle.B128, absolute_leading=True)
    second = SharedDescriptor(0x8000, 0, 1024, Swizzle.B128)
    first = SharedDescriptor(0, 0, 1024, Swizzle.B128)
    for row in range(16):
        assert [descriptor.k_major(row, byte) for byte in (0, 31)] == [first.k_major(row, byte) for byte in (96, 127)]
        assert [descriptor.k_major(row, byte) for byte in (32, 47)] == [second.k_major(row, byte) for byte in (0, 15)]
    assert refusal_of_absolute_leading(descriptor, K) is None
    assert refusal_of_absolute_leading(descriptor, MN) is not None
    assert refusal_of_absolute_leading(second, K) is None


@pytest.mark.parametrize("storage", Storage)
def test_elements_of_a_unit_do_not_overlap(storage: Storage) -> None:
    taken: set[int] = set()
    for index in range(2 * storage.in_a_unit):
        byte, bit = storage.place(index)
        bits = set(range(8 * byte + bit, 8 * byte + bit + storage.bits))
        assert not bits & taken
        taken |= bits
    assert max(taken) < 256
    assert len(taken) == 2 * storage.in_a_unit * storage.bits


def test_padding_is_after_sixteen_elements() -> None:
    assert Storage.BITS6_PADDED.place(15) == (11, 2)
    assert Storage.BITS6_PADDED.place(16) == (16, 0)
    assert Storage.BITS4_PADDED.place(15) == (7, 4)
    assert Storage.BITS4_PADDED.place(16) == (16, 0)


def test_layouts_by_the_size_of_elements() -> None:
    allowed = {
        (storage, swizzle) for storage in Storage for swizzle in Swizzle if not refusal_of_layout(storage, MN, swizzle)
    }
    wide = {(Storage.BITS32, Swizzle.B128_ATOM_32B)}
    others = {Swizzle.NONE, Swizzle.B32, Swizzle.B64, Swizzle.B128}
    assert allowed == wide | {(storage, each) for storage in (Storage.BITS8, Storage.BITS16) for each in others}
    assert not any(refusal_of_layout(storage, K, swizzle) for storage in Storage for swizzle in Swizzle)
