"""What there is not of `tcgen05`: a fault that says what there is."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import product as pairs
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.numbers.instruction_descriptor import InstructionDescriptor
from cutecc.emulator.numbers.tensor_shapes import refusal_of_shape

sys.path[:0] = [str(Path(__file__).parent)]

from any_product import AnyProduct  # noqa: E402
from blackwell_model.cells import Cell, refusal_of_allocation  # noqa: E402
from blackwell_model.column_mask import ColumnMask  # noqa: E402
from blackwell_model.data_path import Layout  # noqa: E402
from blackwell_model.instruction_descriptor import Kind  # noqa: E402
from blackwell_model.matrix_shapes import Variant, is_legal  # noqa: E402
from blackwell_model.places import Block, Product, Scales  # noqa: E402
from blackwell_model.shared_descriptor import Swizzle  # noqa: E402
from blackwell_model.test_model_of_whole_products import Given  # noqa: E402
from chips import REGISTERS, Chip, text_of, values_of  # noqa: E402
from random_blocks import random_blocks  # noqa: E402

F16 = Given("f16", "f16", 128, 16, Variant(Kind.F16)).product
TF32 = Given("tf32", "tf32", 128, 16, Variant(Kind.TF32)).product
I8 = Given("s8", "s8", 128, 16, Variant(Kind.I8)).product
NARROW = Given("e2m1", "e4m3", 128, 16, Variant(Kind.F8F6F4)).product
MXF8 = Given("e4m3", "e4m3", 128, 16, Variant(Kind.MXF8F6F4)).product
NVF4 = Given("e2m1", "e2m1", 128, 16, Variant(Kind.MXF4NVF4), scales="block16").product
SPARSE = Given("bf16", "bf16", 64, 16, Variant(Kind.F16, sparse=True), in_tensor_memory=True).product
STATIONARY = Given("f16", "f16", 32, 64, Variant(Kind.F16, weight_stationary=True)).product
PAIR = Given("f16", "f16", 256, 32, Variant(Kind.F16, cta_group=2)).product


def empty_blocks(count: int = 1) -> list[Block]:
    return [Block(np.zeros(1 << 16, np.uint8), np.zeros((128, 512), np.uint32)) for _ in range(count)]


def refused(product: Product, target: str = "sm_100a", **values: int) -> str:
    """What is said of a multiplication."""
    chip = Chip(empty_blocks(product.variant.cta_group), REGISTERS, target=target)
    return chip.refusal(text_of(product), values_of(product) | {f"%{name}": value for name, value in values.items()})


def described(product: Product, **fields: int) -> Product:
    return replace(product, descriptor=replace(product.descriptor, **fields))


def with_b(product: Product, **fields: Any) -> Product:
    return replace(product, b=replace(product.b, **fields))


DESCRIPTORS = {
    "has 48 rows of A, where kind::f16 of one block has 64, 128": described(F16, m_sixteenths=3),
    "has 64 rows of A, where kind::f16 of a pair of blocks has 128, 256": described(PAIR, m_sixteenths=4),
    "has 8 columns of B, where kind::f16 of a pair of blocks has multiples of 16 up to 256": described(
        PAIR, n_eighths=1
    ),
    "has 32 columns of B, where kind::f16 of .ws has 64, 128, 256": described(STATIONARY, n_eighths=4),
    "has 40 columns of B, where kind::i8 of one block has 8, 16, 24, 32, 48, 64, 80": described(I8, n_eighths=5),
    "names the types 2 of A and 0 of B, which kind::f16 has not": described(F16, a_type=2),
    "names the type s32 of D, which kind::f16 has not": described(F16, d_type=2),
    "names the type f16 of D, which kind::f16 has not for A and B of f16 and bf16": described(F16, d_type=0, b_type=1),
    "saturates, which kind::f16 has not": described(F16, saturate=1),
    "negates A or B, which kind::i8 has not": described(I8, negate_a=1),
    "has A or B MN-major, which kind::mxf4nvf4 has not": described(NVF4, transpose_b=1),
    "has elements of 4 or 6 bits MN-major, which have to be K-major": described(NARROW, transpose_a=1),
    "selects metadata 1, which kind::f8f6f4 has not": described(NARROW, sparsity_selector=1),
    "names scales of ue4m3, which kind::mxf8f6f4 has not": described(MXF8, scale_type=0),
    "says that A is sparse, and the instruction that it is not": described(F16, sparse=1),
    "says that A is dense, and the instruction that it is not": described(SPARSE, sparse=0),
    "has scales from byte 2 of a cell on, where 4 of them begin at byte 0": described(NVF4, b_scale_id=2),
    "has K = 96, with which there is no .scale_vec::4X": described(
        replace(NVF4, scales=Scales(Cell(0, 400), Cell(0, 440), "scale_vec::4X")), k_is_96=1
    ),
    "has 64 rows of A, where .ashift is for 128 and 256": replace(
        SPARSE, variant=Variant(Kind.F16), descriptor=replace(SPARSE.descriptor, sparse=0), shifts_a=True
    ),
}


@pytest.mark.parametrize("text", DESCRIPTORS)
def test_instruction_descriptors(text: str) -> None:
    assert refused(DESCRIPTORS[text], "sm_103a").startswith(f"its instruction descriptor {text}")


PLACES = {
    "accumulates in lanes of tensor memory from 16 on: with this shape it has to be lane 0": replace(
        F16, d=Cell(16, 0)
    ),
    "accumulates in lanes of tensor memory from 8 on: with this shape it has to be lane 0 or 16": replace(
        SPARSE, d=Cell(8, 0)
    ),
    "reads A in lanes of tensor memory from 0 on, where it has to be lane 16, as that of D": replace(
        SPARSE, d=Cell(16, 0)
    ),
    "reads metadata in lanes of tensor memory from 0 on, where it has to be lane 16, as that of D": replace(
        SPARSE, d=Cell(16, 0), a=Cell(16, 300)
    ),
    "accumulates in columns 500 to 515 of tensor memory, which block (0, 0, 0) has not allocated": replace(
        F16, d=Cell(0, 500)
    ),
    "reads A in columns 510 to 517 of tensor memory, which": replace(SPARSE, a=Cell(0, 510)),
    "reads metadata in columns 512 to 512 of tensor memory, which": replace(SPARSE, metadata=Cell(0, 512)),
    "reads scales of A in columns 510 to 513 of tensor memory, which": replace(
        NVF4, scales=Scales(Cell(0, 510), Cell(0, 440), "block16")
    ),
    "reads scales of B in columns 512 to 512 of tensor memory, which": replace(
        NVF4, scales=Scales(Cell(0, 400), Cell(0, 512), "block16")
    ),
    "reads scales of A in lanes of tensor memory from 64 on, where scales begin at lane 0": replace(
        NVF4, scales=Scales(Cell(64, 400), Cell(0, 440), "block16")
    ),
    "reads scales of B in lanes of tensor memory from 32 on, where scales begin at lane 0": replace(
        NVF4, scales=Scales(Cell(0, 400), Cell(32, 440), "block16")
    ),
    "its shared memory descriptor names swizzle 3, which there is not": with_b(F16, swizzle=3),
    "its shared memory descriptor has an absolute leading offset, which is for swizzles of 128 bytes": with_b(
        F16, swizzle=Swizzle.B64, absolute_leading=True
    ),
    "reads B MN-major: of tf32 that has only swizzles that leave 32 bytes together": described(TF32, transpose_b=1),
    "reads A MN-major: of f16 that has no swizzles that leave 32 bytes together": described(
        replace(F16, a=replace(F16.a, swizzle=Swizzle.B128_ATOM_32B)), transpose_a=1
    ),
    "reads a matrix of 512 bytes that reaches outside of the block's shared memory": with_b(F16, start=0xFF00),
}


@pytest.mark.parametrize("text", PLACES)
def test_places(text: str) -> None:
    assert refused(PLACES[text]).startswith(text)


def test_what_only_sm_103a_has() -> None:
    deep = described(replace(NVF4, b=replace(NVF4.b, swizzle=Swizzle.B128)), k_is_96=1)
    assert refused(deep) == "its instruction descriptor has K = 96, which sm_103a alone has"
    assert not refused(deep, "sm_103a")
    absolute = with_b(deep, absolute_leading=True, leading=0xC000)
    assert not refused(absolute, "sm_103a")
    text = "its shared memory descriptor has an absolute leading offset, which sm_103a alone has"
    assert refused(described(absolute, k_is_96=0)) == text


def test_a_descriptor_of_wgmma() -> None:
    bits = F16.b.encode() & ~(1 << 46)
    assert "has 0 in bits 46 to 48, where tcgen05 has 1: it reads as one of wgmma" in refused(F16, db=bits)


def test_b_is_shifted_by_more_than_is_announced() -> None:
    shifted, further = (replace(STATIONARY, column_mask=ColumnMask(shift=each)) for each in (8, 17))
    assert refused(shifted) == "shifts B by 8 columns, where its instruction descriptor and M allow 0"
    assert "allow 16" in refused(described(further, max_shift=3))


def test_metadata_without_meaning() -> None:
    blocks = random_blocks(SPARSE)
    blocks[0].tensor[:, SPARSE.metadata.column] = 0x44444440
    chip = Chip(blocks, REGISTERS)
    text = chip.refusal(text_of(SPARSE), values_of(SPARSE))
    assert text == "reads metadata 0b0000 of a sparse A, which has no meaning with kind::f16"


def test_a_pair_without_a_pair() -> None:
    chip = Chip(empty_blocks(), REGISTERS)
    text = chip.refusal(text_of(PAIR), values_of(PAIR))
    assert text == "is an operation of a pair of blocks, and its cluster has none"


@pytest.mark.parametrize("kind", Kind)
def test_shapes(kind: Kind) -> None:
    """What is refused of all M and N of a kind is what the model has not."""
    given = AnyProduct(0, Layout.D, kind).product().descriptor
    given = replace(given, transpose_a=0, sparsity_selector=0, saturate=0, k_is_96=0)
    # Of elements that may be of 4 or 6 bits the types would count.
    majors = (0, 1) if kind in (Kind.F16, Kind.TF32, Kind.I8) else (0,)
    for group, stationary, sparse, transposed in pairs((1, 2), (False, True), (0, 1), majors):
        variant = Variant(kind, group, stationary, bool(sparse))
        if not variant.exists:
            continue
        for m, n in pairs(range(16, 272, 16), range(8, 264, 8)):
            fields = replace(given, m_sixteenths=m // 16, n_eighths=n // 8, sparse=sparse, transpose_b=transposed)
            decoded = InstructionDescriptor.decode(fields.encode(kind), kind.value)
            assert not isinstance(decoded, str)
            is_there = refusal_of_shape(decoded, pair=group == 2, stationary=stationary) is None
            eight_bits = bool(transposed) and kind is Kind.I8
            wanted = is_legal(variant, m, n, fields.k(kind), transposed_8_bit_b=eight_bits)
            assert is_there == wanted, (variant, m, n)


ALLOCATIONS = [[32], [48], [16], [1024], [512], [64, 64], [128, 64, 32], [64, 128], [256, 32, 64]]


@pytest.mark.parametrize("columns", ALLOCATIONS)
def test_allocations(columns: Sequence[int]) -> None:
    """Allowed are those that the model allows."""
    chip = Chip(empty_blocks(), {"%n": "b32", "%a": "b64"}, columns=0)
    text = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%a], %n;"
    refusals = [chip.refusal(text, {"%n": each, "%a": 1024}, alone=False) for each in columns]
    wanted = [refusal_of_allocation(each, columns[:place]) for place, each in enumerate(columns)]
    assert [bool(each) for each in refusals] == [bool(each) for each in wanted], refusals


def test_allocations_after_the_permit_is_given_up() -> None:
    chip = Chip(empty_blocks(), {"%a": "b64"}, columns=0)
    chip.do("tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;", {}, alone=False)
    text = "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%a], 32;"
    assert chip.refusal(text, {"%a": 1024}, alone=False).startswith("allocates tensor memory after its block has given")


def test_addresses_that_differ_within_a_warp() -> None:
    chip = Chip(empty_blocks(), {"%a": "b32", "%r": "b32"})
    text = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r}, [%a];"
    assert chip.refusal(text, {"%a": np.arange(32)}, alone=False).endswith("addresses that differ within a warp")
    assert not chip.refusal(text, {"%a": 7}, alone=False)
