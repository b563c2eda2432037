"""The model of loads, stores, copies and allocations agrees with itself and with the manual's tables and examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blackwell_model.cells import Cell, decode_address, encode_address, lanes_of_warp, refusal_of_allocation
from blackwell_model.copies import (
    Compression,
    CopyShape,
    copy,
    decompress,
    destination_column,
    destination_lanes,
    shift_down,
    source_bytes,
)
from blackwell_model.loads_and_stores import (
    COUNTS,
    THREADS,
    Shape,
    Words,
    columns,
    fragment,
    load,
    pieces,
    reduce,
    registers,
    store,
)

FORMS = [(shape, count) for shape, count in itertools.product(Shape, COUNTS) if registers(shape, count)]


def numbered() -> Words:
    """Each cell has its own number."""
    return np.arange(128 * 512, dtype=np.uint32).reshape(128, 512)


def test_addresses_have_lane_and_column() -> None:
    assert decode_address(0x0020_0007) == Cell(32, 7)
    assert encode_address(Cell(96, 511)) == 0x0060_01FF
    assert not Cell(128, 0).exists and not Cell(0, 512).exists


def test_warps_share_the_lanes_by_rank() -> None:
    assert [lanes_of_warp(warp)[0] for warp in range(8)] == [0, 32, 64, 96] * 2


@pytest.mark.parametrize(
    ("size", "earlier", "relinquished", "allowed"),
    [
        (32, (), False, True),
        (512, (), False, True),
        (16, (), False, False),
        (96, (), False, False),
        (1024, (), False, False),
        (64, (128, 64), False, True),
        (128, (128, 64), False, False),
        (32, (), True, False),
    ],
)
def test_allocations(size: int, earlier: tuple[int, ...], relinquished: bool, allowed: bool) -> None:
    assert (refusal_of_allocation(size, earlier, relinquished=relinquished) is None) is allowed


def test_registers_are_those_of_the_table() -> None:
    assert [registers(Shape.S32X32B, count) for count in COUNTS] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert [registers(Shape.S16X128B, count) for count in COUNTS] == [2, 4, 8, 16, 32, 64, 128, None]
    assert [registers(Shape.S16X256B, count) for count in COUNTS] == [4, 8, 16, 32, 64, 128, None, None]


@pytest.mark.parametrize(("shape", "count"), FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_cell_is_one_threads(shape: Shape, count: int, packed: bool) -> None:
    split = columns(shape, count, packed=packed)
    width = split * (2 if shape is Shape.S16X32BX2 else 1)
    number = registers(shape, count) or 0
    found = [
        (each.memory.cell.lane, each.memory.cell.column, each.memory.first, each.memory.count)
        for thread, register in np.ndindex(THREADS, number)
        for each in pieces(0, shape, thread, register, packed=packed, half_split=split)
    ]
    assert sorted(found) == [
        (lane, column, 0, 16 if packed else 32) for lane in range(shape.lanes) for column in range(width)
    ]


@pytest.mark.parametrize(
    ("shape", "thread", "register", "expected"),
    [
        (Shape.S32X32B, 5, 3, Cell(5, 3)),
        (Shape.S16X64B, 1, 0, Cell(8, 0)),
        (Shape.S16X64B, 2, 1, Cell(0, 3)),
        (Shape.S16X128B, 6, 3, Cell(9, 6)),
        (Shape.S16X256B, 5, 2, Cell(9, 2)),
        (Shape.S16X256B, 31, 7, Cell(15, 15)),
    ],
)
def test_some_fragments(shape: Shape, thread: int, register: int, expected: Cell) -> None:
    assert fragment(shape, thread, register) == expected


def test_the_second_half_is_elsewhere() -> None:
    loaded = load(numbered(), encode_address(Cell(16, 10)), Shape.S16X32BX2, 2, half_split=100)
    assert loaded[1, 3] == 19 * 512 + 11
    assert loaded[1, 19] == 19 * 512 + 111


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", Shape)
def test_what_is_stored_is_loaded(shape: Shape, packed: bool) -> None:
    number = registers(shape, 4) or 0
    values = np.random.default_rng(0).integers(0, 1 << 32, (number, THREADS), np.uint32)
    address = encode_address(Cell(64, 40))
    stored = store(numbered(), address, shape, values, packed=packed, half_split=64)
    assert np.array_equal(load(stored, address, shape, 4, packed=packed, half_split=64), values)


def test_packing_takes_low_halves_of_neighbours() -> None:
    memory = np.zeros((128, 512), np.uint32)
    memory[3, 8:12] = (0xAAAA0001, 0xBBBB0002, 0xCCCC0003, 0xDDDD0004)
    loaded = load(memory, 8, Shape.S32X32B, 2, packed=True)
    assert [int(each) for each in loaded[:, 3]] == [0x00020001, 0x00040003]


def test_outside_is_refused() -> None:
    with pytest.raises(ValueError, match="outside"):
        load(numbered(), encode_address(Cell(0, 510)), Shape.S32X32B, 4)
    with pytest.raises(ValueError, match="x128"):
        load(numbered(), 0, Shape.S16X256B, 128)


ONE, MINUS_TWO, NAN, MINUS_ZERO = 0x3F800000, 0xC0000000, 0x7FC00000, 0x80000000


@pytest.mark.parametrize(
    ("expected", "values", "options"),
    [
        (ONE, (ONE, MINUS_TWO, NAN), {}),
        (0x7FFFFFFF, (ONE, MINUS_TWO, NAN), {"nan": True}),
        (0x40000000, (ONE, MINUS_TWO), {"absolute": True}),
        (0x7FFFFFFF, (NAN, NAN), {}),
        (0, (MINUS_ZERO, 0), {}),
    ],
)
def test_reductions_of_floats(expected: int, values: tuple[int, ...], options: dict[str, bool]) -> None:
    assert reduce(values, "max", "f32", **options) == expected


def test_reductions_of_integers() -> None:
    assert reduce((1, 0xFFFFFFFF), "max", "u32") == 0xFFFFFFFF
    assert reduce((1, 0xFFFFFFFF), "min", "s32") == 0xFFFFFFFF
    assert reduce((MINUS_ZERO, 0), "min", "f32") == MINUS_ZERO


@pytest.mark.parametrize("shape", CopyShape)
def test_copies_write_each_lane_once(shape: CopyShape) -> None:
    lanes = [lane for row in range(shape.rows) for lane in destination_lanes(shape, row)]
    expected = range(0, 128, 32) if shape is CopyShape.S4X256B else range(128)
    assert sorted(lanes) == list(expected)


def test_pairs_of_warps_have_the_same_half() -> None:
    assert destination_lanes(CopyShape.S64X128B_02_13, 33) == (33, 97)
    assert destination_lanes(CopyShape.S64X128B_01_23, 33) == (65, 97)
    assert destination_lanes(CopyShape.S32X128B, 1) == (1, 33, 65, 97)


def test_copies_keep_the_order_of_bytes() -> None:
    rows = [bytes(range(row, row + 16)) for row in range(32)]
    after = copy(numbered(), Cell(0, 4), CopyShape.S32X128B, rows)
    assert int(after[96 + 2, 5]) == 0x09080706
    column, bit = destination_column(7)
    assert int(after[0, 4 + column]) >> bit & 0xFF == 7


@pytest.mark.parametrize("compression", Compression)
def test_decompression_is_of_single_elements(compression: Compression) -> None:
    unit = bytes(np.random.default_rng(1).integers(0, 256, 16, np.uint8))
    shift = 2 if compression is Compression.B4X16_P64 else 0
    for element, byte in enumerate(decompress(compression, unit)):
        first, bit, count = source_bytes(compression, element)
        assert byte >> shift == int.from_bytes(unit[first : first + 2], "little") >> bit & (1 << count) - 1
    assert source_bytes(compression, 16)[0] == 16


def test_a_shift_leaves_the_last_lane_of_its_warp() -> None:
    before = numbered()
    after = shift_down(before, Cell(32, 8))
    assert np.array_equal(after[32:63, 8:16], before[33:64, 8:16])
    assert np.array_equal(after[63:], before[63:])
    assert np.array_equal(after[:, 16:], before[:, 16:])
