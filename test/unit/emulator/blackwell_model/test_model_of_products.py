"""The model of products agrees with itself, and with the manual's tables: descriptors, shapes, where D and A are."""

from __future__ import annotations

import itertools
from dataclasses import fields, replace

import pytest

from blackwell_model.cells import Cell
from blackwell_model.data_path import (
    Layout,
    bits_of_a,
    bits_of_d,
    block_and_lane,
    columns_of_b_block,
    columns_of_d,
    layout_of,
    place_of_d,
    places_of_a_row,
    rows_of_a_block,
    shifted_row,
    writes_lane,
)
from blackwell_model.instruction_descriptor import (
    InstructionDescriptor,
    Kind,
    decode,
    fields_of,
    operand_type,
    refusal_of_fields,
)
from blackwell_model.matrix_shapes import Variant, columns, depths, is_legal, may_shift_a, rows
from blackwell_model.pipelines import Issued, Operation, are_pipelined, peer

ROWS = {Layout.A: 256, Layout.B: 128, Layout.C: 128, Layout.D: 128, Layout.E: 64, Layout.F: 64, Layout.G: 32}


def test_a_known_descriptor_is_read() -> None:
    """One that a public kernel has: bf16 operands of which B is transposed, f32 results."""
    descriptor = decode(0x04410490, Kind.F16)
    assert (descriptor.m, descriptor.n, descriptor.k(Kind.F16)) == (64, 256, 16)
    assert (descriptor.d_type, operand_type(Kind.F16, descriptor.a_type)) == (1, "bf16")
    assert (descriptor.transpose_a, descriptor.transpose_b) == (0, 1)
    assert refusal_of_fields(Kind.F16, descriptor) is None


@pytest.mark.parametrize("kind", Kind)
def test_descriptors_are_read_as_written(kind: Kind) -> None:
    for each in fields_of(kind):
        for value in (1, (1 << each.count) - 1):
            descriptor = replace(InstructionDescriptor(8, 32, 0, 0), **{each.name: value})
            assert decode(descriptor.encode(kind), kind) == descriptor


@pytest.mark.parametrize("kind", Kind)
def test_fields_do_not_overlap(kind: Kind) -> None:
    bits = [bit for each in fields_of(kind) for bit in range(each.first, each.first + each.count)]
    assert len(set(bits)) == len(bits) and max(bits) < 32


@pytest.mark.parametrize(
    ("kind", "reserved"),
    [
        *((Kind.F16, bit) for bit in (6, 23, 29)),
        *((Kind.MXF8F6F4, bit) for bit in (0, 1, 3, 6, 31)),
        *((Kind.MXF4, bit) for bit in (0, 1, 3, 6, 12)),
    ],
)
def test_reserved_bits_are_refused(kind: Kind, reserved: int) -> None:
    with pytest.raises(ValueError, match="reserved"):
        decode(1 << reserved, kind)


def test_every_field_is_in_a_descriptor() -> None:
    named = {each.name for kind in Kind for each in fields_of(kind)}
    assert named == {each.name for each in fields(InstructionDescriptor)}


@pytest.mark.parametrize(
    ("kind", "changes", "refused"),
    [
        (Kind.F16, {"a_type": 1, "d_type": 1}, False),
        (Kind.F16, {"a_type": 1}, True),
        (Kind.TF32, {"a_type": 2, "b_type": 2, "d_type": 1}, False),
        (Kind.TF32, {"d_type": 1}, True),
        (Kind.F8F6F4, {"a_type": 4, "b_type": 5, "d_type": 1}, False),
        (Kind.F8F6F4, {"a_type": 2}, True),
        (Kind.I8, {"d_type": 2, "saturate": 1}, False),
        (Kind.I8, {"d_type": 2, "negate_a": 1}, True),
        (Kind.F16, {"saturate": 1}, True),
        (Kind.MXF8F6F4, {"scale_type": 1, "transpose_a": 1}, False),
        (Kind.MXF8F6F4, {}, True),
        (Kind.MXF4NVF4, {"a_type": 1, "b_type": 1}, False),
        (Kind.MXF4NVF4, {"a_type": 1, "b_type": 1, "transpose_b": 1}, True),
        (Kind.MXF4, {"a_type": 1, "b_type": 1}, True),
        (Kind.MXF4, {"a_type": 1, "b_type": 1, "scale_type": 1, "k_is_96": 1, "sparse": 1}, True),
    ],
)
def test_fields_have_meanings_by_kind(kind: Kind, changes: dict[str, int], refused: bool) -> None:
    descriptor = replace(InstructionDescriptor(8, 32, 0, 0), **changes)
    assert (refusal_of_fields(kind, descriptor) is not None) is refused


def test_shapes_of_the_table() -> None:
    f16, i8, mxf4 = Variant(Kind.F16), Variant(Kind.I8), Variant(Kind.MXF4)
    assert rows(f16) == (64, 128) and columns(f16) == tuple(range(8, 257, 8)) and depths(f16, 64) == (16,)
    assert rows(replace(f16, cta_group=2)) == (128, 256)
    assert columns(replace(f16, cta_group=2))[:2] == (16, 32)
    assert columns(i8)[:6] == (8, 16, 24, 32, 48, 64)
    assert columns(replace(i8, cta_group=2)) == (32, 64, 96, 128, 160, 192, 224, 256)
    assert rows(mxf4) == (128,) and rows(replace(mxf4, sparse=True, cta_group=2)) == (256,)
    assert depths(replace(mxf4, cta_group=2), 256) == (64, 96)
    assert depths(replace(mxf4, cta_group=2), 128) == (64,)
    assert depths(replace(f16, sparse=True), 64) == (32,)


def test_shapes_of_a_stationary_b() -> None:
    stationary = Variant(Kind.TF32, weight_stationary=True)
    assert rows(stationary) == (32, 64, 128) and columns(stationary) == (64, 128, 256)
    assert columns(replace(stationary, sparse=True)) == (64, 128)
    assert not rows(replace(stationary, cta_group=2))
    assert not columns(replace(stationary, kind=Kind.MXF4))


def test_transposed_elements_of_8_bits_have_coarser_steps() -> None:
    narrow = Variant(Kind.F8F6F4)
    assert is_legal(narrow, 64, 8, 32) and not is_legal(narrow, 64, 8, 32, transposed_8_bit_b=True)
    assert is_legal(narrow, 64, 16, 32, transposed_8_bit_b=True)


def test_a_is_shifted_in_whole_lanes() -> None:
    assert may_shift_a(Variant(Kind.F16), 128) and not may_shift_a(Variant(Kind.F16), 64)
    assert [shifted_row(row) for row in (0, 126, 127)] == [1, 127, 127]


@pytest.mark.parametrize(
    ("variant", "m", "layout"),
    [
        (Variant(Kind.F16, 2), 256, Layout.A),
        (Variant(Kind.F16, 2), 128, Layout.B),
        (Variant(Kind.F16, 2, sparse=True), 128, Layout.C),
        (Variant(Kind.F16), 128, Layout.D),
        (Variant(Kind.F16, weight_stationary=True), 128, Layout.D),
        (Variant(Kind.F16, weight_stationary=True), 64, Layout.E),
        (Variant(Kind.F16), 64, Layout.F),
        (Variant(Kind.F16, weight_stationary=True), 32, Layout.G),
    ],
)
def test_layouts(variant: Variant, m: int, layout: Layout) -> None:
    assert layout_of(variant, m) is layout and ROWS[layout] == m


@pytest.mark.parametrize("n", [16, 48])
@pytest.mark.parametrize("layout", Layout)
def test_every_element_of_d_has_a_cell(layout: Layout, n: int) -> None:
    blocks = ROWS[layout] // layout.rows_of_a_block
    for first in layout.lane_alignments:
        address = Cell(first, 32)
        places = {
            place_of_d(layout, address, row, column, n)
            for row, column in itertools.product(range(ROWS[layout]), range(n))
        }
        assert len(places) == ROWS[layout] * n
        assert all(each.cell.exists for each in places)
        assert {each.block for each in places} == set(range(blocks))
        taken = {each.cell.column for each in places}
        assert taken == set(range(32, 32 + columns_of_d(layout, n)))


@pytest.mark.parametrize("layout", Layout)
def test_lanes_of_d(layout: Layout) -> None:
    """All of each block, or 16 of each 32: which are free for another D at the other alignment."""
    lanes = {
        place_of_d(layout, Cell(0, 0), row, column, 64).cell.lane
        for row, column in itertools.product(range(ROWS[layout]), range(64))
    }
    assert lanes == {lane for lane in range(128) if not layout.uses_half_of_the_lanes or lane % 32 < 16}


def test_examples_of_the_pictures() -> None:
    zero = Cell(0, 0)
    assert block_and_lane(Layout.A, 200) == (1, 72)
    assert block_and_lane(Layout.C, 64) == (1, 0)
    assert block_and_lane(Layout.F, 16) == (0, 32)
    assert place_of_d(Layout.B, zero, 63, 64, 128).cell == Cell(127, 0)
    assert place_of_d(Layout.E, zero, 0, 40, 64).cell == Cell(64, 8)
    assert place_of_d(Layout.G, zero, 31, 127, 128).cell == Cell(127, 31)


@pytest.mark.parametrize("layout", Layout)
def test_rows_of_a_are_where_those_of_d_are(layout: Layout) -> None:
    for row in range(ROWS[layout]):
        lanes = [(each.block, each.cell.lane) for each in places_of_a_row(layout, Cell(0, 0), row)]
        parts = [place_of_d(layout, Cell(0, 0), row, part * 64 // layout.parts, 64) for part in range(layout.parts)]
        assert lanes == [(each.block, each.cell.lane) for each in parts]


def test_packing() -> None:
    assert bits_of_a(Kind.F16, "bf16", 5) == (2, 16, 16)
    assert bits_of_a(Kind.TF32, "tf32", 5) == (5, 0, 32)
    assert bits_of_a(Kind.F8F6F4, "e4m3", 5) == (1, 8, 8)
    assert bits_of_a(Kind.F8F6F4, "e3m2", 5) == (1, 8, 6)
    assert bits_of_a(Kind.MXF8F6F4, "e2m1", 5) == (1, 10, 4)
    assert bits_of_a(Kind.MXF4, "e2m1", 13) == (1, 20, 4)
    assert (bits_of_d(Cell(0, 0), "f16").count, bits_of_d(Cell(0, 0), "s32").count) == (16, 32)


def test_a_pair_shares_rows_of_a_and_columns_of_b() -> None:
    assert [rows_of_a_block(2, 256, block) for block in (0, 1)] == [range(128), range(128, 256)]
    assert [columns_of_b_block(2, 64, block) for block in (0, 1)] == [range(32), range(32, 64)]


def test_lanes_of_d_may_be_kept() -> None:
    words = [0, 0b10, 0, 0, 1, 0, 0, 0]
    kept = [(block, lane) for block in (0, 1) for lane in range(128) if not writes_lane(words, block, lane)]
    assert kept == [(0, 33), (1, 0)]


def test_order_of_instructions() -> None:
    product = Issued(Operation.MMA, shape="128x64", kind="f16", accumulator=64)
    copy = Issued(Operation.CP, shape="128x256b")
    assert are_pipelined(product, product)
    assert not are_pipelined(product, replace(product, accumulator=0))
    assert not are_pipelined(product, replace(product, cta_group=2))
    assert are_pipelined(copy, product) and not are_pipelined(product, copy)
    assert are_pipelined(Issued(Operation.SHIFT), replace(copy, shape="4x256b"))
    assert not are_pipelined(Issued(Operation.SHIFT), copy)
    assert not are_pipelined(product, Issued(Operation.LD))
    assert are_pipelined(product, Issued(Operation.COMMIT))
    assert are_pipelined(Issued(Operation.LD), Issued(Operation.WAIT_LD))
    assert not are_pipelined(Issued(Operation.LD), Issued(Operation.WAIT_ST))
    assert [peer(rank) for rank in range(4)] == [1, 0, 3, 2]
