"""The model's products are those of the matrices that were put into the memories where its layouts say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pytest

from blackwell_model.cells import Cell
from blackwell_model.column_mask import ColumnMask
from blackwell_model.instruction_descriptor import OPERAND_TYPES, RESULT_TYPES, InstructionDescriptor, Kind
from blackwell_model.matrices import (
    Codes,
    Matrix,
    scale_type,
    value,
    write_a,
    write_b,
    write_d,
    write_metadata,
    write_scales,
)
from blackwell_model.matrix_shapes import Variant, is_legal
from blackwell_model.places import Block, Product, Scales
from blackwell_model.product import encoded, execute, result
from blackwell_model.scales import scale_of
from blackwell_model.shared_descriptor import SharedDescriptor, Swizzle
from blackwell_model.sparsity import MEANINGFUL_PAIRS, MEANINGFUL_SINGLES, granularity_of, stored_elements

A_IN_TENSOR_MEMORY = Cell(0, 300)
D = Cell(0, 0)
SCALES = Cell(0, 400), Cell(0, 440)
METADATA = Cell(0, 480)
B_ADDRESS = 0x8000
MN_MAJOR_32 = SharedDescriptor(B_ADDRESS, leading=4096, stride=512, swizzle=Swizzle.B128_ATOM_32B)


@dataclass(frozen=True)
class Given:
    a: str
    b: str
    m: int
    n: int
    variant: Variant
    k_is_96: bool = False
    in_tensor_memory: bool = False
    b_is_mn_major: bool = False
    scales: str | None = None

    @property
    def product(self) -> Product:
        kind = self.variant.kind
        of_d, of_a = RESULT_TYPES.get(kind, {"f32": 0}), OPERAND_TYPES[kind]
        descriptor = InstructionDescriptor(
            m_sixteenths=self.m // 16,
            n_eighths=self.n // 8,
            a_type=of_a[self.a],
            b_type=of_a[self.b],
            d_type=max(of_d.values()),
            sparse=int(self.variant.sparse),
            transpose_b=int(self.b_is_mn_major),
            k_is_96=int(self.k_is_96),
            # Of ue4m3 where it may be.
            scale_type=int(kind is not Kind.MXF4NVF4),
        )
        return Product(
            self.variant,
            descriptor,
            D,
            A_IN_TENSOR_MEMORY if self.in_tensor_memory else rows_of_128_bytes(0),
            MN_MAJOR_32 if self.b_is_mn_major else rows_of_128_bytes(B_ADDRESS),
            metadata=METADATA,
            scales=Scales(*SCALES, self.scales) if kind.is_scaled else None,
        )


def rows_of_128_bytes(start: int) -> SharedDescriptor:
    return SharedDescriptor(start, leading=16, stride=1024, swizzle=Swizzle.B128)


F16, TF32, I8, F8F6F4 = (Variant(each) for each in (Kind.F16, Kind.TF32, Kind.I8, Kind.F8F6F4))
MXF8F6F4, NVF4 = Variant(Kind.MXF8F6F4), Variant(Kind.MXF4NVF4)
GIVEN = {
    "D": Given("f16", "f16", 128, 16, F16),
    "F, A in tensor memory": Given("bf16", "bf16", 64, 24, F16, in_tensor_memory=True),
    "A": Given("u8", "s8", 256, 32, replace(I8, cta_group=2)),
    "B, A in tensor memory": Given("e3m2", "e2m1", 128, 16, replace(F8F6F4, cta_group=2), in_tensor_memory=True),
    "E": Given("e2m1", "e5m2", 64, 64, replace(F8F6F4, weight_stationary=True)),
    "G, A in tensor memory": Given(
        "tf32", "tf32", 32, 64, replace(TF32, weight_stationary=True), in_tensor_memory=True, b_is_mn_major=True
    ),
    "sparse C": Given("bf16", "bf16", 128, 16, replace(F16, cta_group=2, sparse=True)),
    "sparse E": Given("tf32", "tf32", 64, 64, replace(TF32, weight_stationary=True, sparse=True)),
    "sparse and scaled": Given("e2m1", "e2m1", 128, 8, replace(NVF4, sparse=True), scales="block16"),
    "scaled": Given("e4m3", "e2m3", 128, 16, MXF8F6F4),
    "scaled B": Given("e4m3", "e4m3", 128, 16, replace(MXF8F6F4, cta_group=2)),
    "scaled, K = 96": Given("e2m1", "e2m1", 128, 8, NVF4, k_is_96=True, scales="block16"),
}


def blocks_of(product: Product) -> list[Block]:
    """Full of ones, so that what is read beside an element changes the result."""
    return [
        Block(np.full(0x10000, 0xFF, np.uint8), np.full((128, 512), 0xFFFFFFFF, np.uint32))
        for _ in range(product.variant.cta_group)
    ]


def some_codes(random: np.random.Generator, dtype: str, *shape: int) -> Codes:
    """Of small integers, whose sums are exact."""
    table = {"f16": 0x3C00, "bf16": 0x3F80, "tf32": 0x3F800000, "f32": 0x3F800000, "s32": 1}
    if dtype in table:
        return random.integers(0, 2, shape).astype(np.uint32) * np.uint32(table[dtype])
    if dtype in ("u8", "s8"):
        return random.integers(0, 256, shape).astype(np.uint32)
    small = [code for code in range(256) if value_or_none(dtype, code) in (-2.0, -1.0, 0.0, 1.0, 2.0, 4.0)]
    return random.choice(np.array(small, np.uint32), shape)


def value_or_none(dtype: str, code: int) -> float | None:
    bits = {"e2m1": 4, "e3m2": 6, "e2m3": 6, "ue4m3": 7}.get(dtype, 8)
    return value(dtype, code) if code < 1 << bits else None


def values_of(dtype: str, codes: Codes) -> Matrix:
    return np.array([[value(dtype, int(code)) for code in line] for line in codes])


def expanded(kind: Kind, stored: Matrix, codes: Codes) -> Matrix:
    """What a sparse matrix is a matrix of."""
    granularity = granularity_of(kind)
    matrix = np.zeros((len(stored), codes.shape[1] * granularity.elements))
    for row in range(len(stored)):
        elements = [
            chunk * granularity.elements + element
            for chunk, code in enumerate(codes[row])
            for element in stored_elements(kind, int(code))
        ]
        matrix[row, elements] = stored[row]
    return matrix


def fill(blocks: Sequence[Block], product: Product) -> tuple[Matrix, Matrix]:
    """The two factors of what was put into memory."""
    random = np.random.default_rng(0)
    m, n, k, kind = product.descriptor.m, product.descriptor.n, product.k, product.kind
    of_a, of_b = some_codes(random, product.a_type, m, product.stored_k), some_codes(random, product.b_type, k, n)
    write_a(blocks, product, of_a)
    write_b(blocks, product, of_b)
    a, b = values_of(product.a_type, of_a), values_of(product.b_type, of_b)
    if product.variant.sparse:
        meaningful = MEANINGFUL_SINGLES if kind is Kind.TF32 else MEANINGFUL_PAIRS
        codes = random.choice(np.array(meaningful, np.uint32), (m, k // granularity_of(kind).elements))
        write_metadata(blocks, product, codes)
        a = expanded(kind, a, codes)
    if product.scales is None:
        return a, b
    count, dtype = product.vectors.count, scale_type(product)
    scales = some_codes(random, dtype, m, count), some_codes(random, dtype, n, count)
    write_scales(blocks, product, *scales)
    indices = [scale_of(product.vectors, each) for each in range(k)]
    return a * values_of(dtype, scales[0])[:, indices], b * values_of(dtype, scales[1])[:, indices].T


@pytest.mark.parametrize("name", GIVEN)
def test_products_of_what_is_in_memory(name: str) -> None:
    product = GIVEN[name].product
    assert is_legal(product.variant, product.descriptor.m, product.descriptor.n, product.k)
    blocks = blocks_of(product)
    a, b = fill(blocks, product)
    assert np.abs(a @ b).max() > 0
    np.testing.assert_array_equal(result(blocks, product), a @ b)


def test_results_are_added_to_a_scaled_d() -> None:
    product = replace(GIVEN["D"].product, enable_input_d=True, scale_input_d=2)
    blocks = blocks_of(product)
    a, b = fill(blocks, product)
    write_d(blocks, product, np.full((128, 16), np.float32(6.0).view(np.uint32)))
    np.testing.assert_array_equal(result(blocks, product), a @ b + 1.5)


def test_operands_may_be_negated() -> None:
    product = GIVEN["D"].product
    blocks = blocks_of(product)
    a, b = fill(blocks, product)
    negated = replace(product, descriptor=replace(product.descriptor, negate_a=1))
    np.testing.assert_array_equal(result(blocks, negated), -(a @ b))


def test_lanes_that_are_disabled_keep_what_they_have() -> None:
    product = replace(GIVEN["D"].product, disable_output_lane=(0b10, 0, 0, 0))
    blocks = blocks_of(product)
    a, b = fill(blocks, product)
    (after,) = execute(blocks, product)
    np.testing.assert_array_equal(after[1], blocks[0].tensor[1])
    np.testing.assert_array_equal(after[0, :16].view(np.float32), (a @ b)[0])


def test_columns_of_b_may_be_zero_and_shifted() -> None:
    mask = ColumnMask(generates=True, skip_span=0, use_span=0, shift=8)
    wide = replace(GIVEN["G, A in tensor memory"].product, column_mask=mask)
    blocks = blocks_of(wide)
    random = np.random.default_rng(1)
    of_a, of_b = some_codes(random, "tf32", 32, 8), some_codes(random, "tf32", 8, 72)
    write_a(blocks, wide, of_a)
    write_b(blocks, wide, of_b)
    shifted = values_of("tf32", of_b)[:, 8:].copy()
    # Every part has used and zero columns in turn, and 16 columns.
    shifted[:, 1::2] = 0
    np.testing.assert_array_equal(result(blocks, wide), values_of("tf32", of_a) @ shifted)


def test_a_may_be_shifted_by_a_row() -> None:
    given = replace(GIVEN["D"], in_tensor_memory=True)
    product = replace(given.product, shifts_a=True)
    blocks = blocks_of(product)
    a, b = fill(blocks, product)
    np.testing.assert_array_equal(result(blocks, product), np.vstack([a[1:], a[-1:]]) @ b)


@pytest.mark.parametrize(
    ("number", "dtype", "saturates", "bits"),
    [
        (1.5, "f16", False, 0x3E00),
        (1.5, "f32", False, 0x3FC00000),
        (2.0**31, "s32", False, 0x80000000),
        (2.0**31, "s32", True, 0x7FFFFFFF),
        (-3.0, "s32", True, 0xFFFFFFFD),
    ],
)
def test_elements_of_d(number: float, dtype: str, saturates: bool, bits: int) -> None:
    assert encoded(number, dtype, saturates=saturates) == bits
