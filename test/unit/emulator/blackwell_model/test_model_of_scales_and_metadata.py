"""The model of scales, of metadata and of zero columns agrees with itself and with the manual's examples."""

from __future__ import annotations

import itertools

import pytest

from blackwell_model.cells import Cell
from blackwell_model.column_mask import ColumnMask, most_shifted, parts
from blackwell_model.data_path import Layout
from blackwell_model.instruction_descriptor import DENSE_K, Kind
from blackwell_model.scales import (
    ScaleVectors,
    columns_of,
    place_of_b_scale_in_halves,
    place_of_scale,
    scale_of,
    types_of,
    vectors_of,
)
from blackwell_model.sparsity import (
    MEANINGFUL_PAIRS,
    MEANINGFUL_SINGLES,
    columns_of_metadata,
    copies_of_metadata,
    granularity_of,
    place_of_code,
    stored_elements,
)

VECTORS = [
    vectors_of(Kind.MXF8F6F4, "scale_vec::1X", 32),
    vectors_of(Kind.MXF4, "block32", 64),
    vectors_of(Kind.MXF4, None, 96),
    vectors_of(Kind.MXF4NVF4, "block16", 64),
    vectors_of(Kind.MXF4NVF4, "block16", 96),
]
ZERO = Cell(0, 0)


def test_scales_of_a_row() -> None:
    assert [(each.count, each.block) for each in VECTORS] == [(1, 32), (2, 32), (3, 32), (4, 16), (6, 16)]
    assert [scale_of(VECTORS[4], k) for k in (0, 15, 16, 95)] == [0, 0, 1, 5]
    assert types_of(Kind.MXF4NVF4, VECTORS[3]) == ("ue8m0", "ue4m3") and types_of(Kind.MXF4, VECTORS[1]) == ("ue8m0",)


@pytest.mark.parametrize(
    ("kind", "qualifier", "k"),
    [
        (Kind.MXF4NVF4, None, 64),
        (Kind.MXF4, "block16", 64),
        (Kind.MXF8F6F4, "scale_vec::2X", 32),
        (Kind.MXF4NVF4, "scale_vec::4X", 96),
        (Kind.F8F6F4, None, 32),
    ],
)
def test_scales_that_do_not_exist(kind: Kind, qualifier: str | None, k: int) -> None:
    with pytest.raises(ValueError, match="has"):
        vectors_of(kind, qualifier, k)


@pytest.mark.parametrize("rows", [8, 64, 128, 192, 256])
@pytest.mark.parametrize("vectors", VECTORS)
def test_every_scale_has_a_byte(vectors: ScaleVectors, rows: int) -> None:
    for scale_id in vectors.ids:
        places = [
            place_of_scale(ZERO, rows, row, scale_id, index, partition)
            for row, index, partition in itertools.product(range(rows), range(vectors.count), range(4))
        ]
        assert len(set(places)) == len(places)
        assert max(each.cell.column for each in places) + 1 == columns_of(rows, vectors, scale_id)


def test_ids_of_a_word_share_it() -> None:
    """Four instructions with one scale a row use the four bytes of the same words, two with two scales the halves."""
    for vectors in VECTORS[:2]:
        bits = {
            (place.cell, place.first)
            for scale_id, index in itertools.product(vectors.ids, range(vectors.count))
            for place in [place_of_scale(ZERO, 128, 5, scale_id, index)]
        }
        assert bits == {(Cell(5, 0), first) for first in (0, 8, 16, 24)}


@pytest.mark.parametrize(("rows", "apart"), [(128, 4), (256, 8)])
def test_scales_of_96_go_on_in_a_further_word(rows: int, apart: int) -> None:
    """Six from the third byte on: two in the first word, four in the second."""
    places = [place_of_scale(ZERO, rows, 40, 2, index) for index in range(6)]
    assert [(each.cell.column, each.first) for each in places] == [
        (1, 16),
        (1, 24),
        *((1 + apart, first) for first in (0, 8, 16, 24)),
    ]
    assert all(each.cell.lane == 8 for each in places)


def test_scales_of_b_in_halves() -> None:
    lower = place_of_b_scale_in_halves(ZERO, 256, 127, 0, 0)
    upper = place_of_b_scale_in_halves(ZERO, 256, 128, 0, 0, partition=1)
    assert (lower.cell, upper.cell) == (Cell(31, 3), Cell(96, 0))


def test_codes_of_pairs() -> None:
    assert stored_elements(Kind.F16, 0b0100) == (0, 1)
    assert stored_elements(Kind.I8, 0b1110) == (2, 3)
    assert stored_elements(Kind.F8F6F4, 0b1001) == (1, 2)
    assert stored_elements(Kind.MXF4, 0b1101) == (2, 3, 6, 7)
    assert stored_elements(Kind.TF32, 0b0100) == (0,) and stored_elements(Kind.TF32, 0b1110) == (1,)


@pytest.mark.parametrize("kind", Kind)
def test_codes_store_as_many_as_the_ratio_says(kind: Kind) -> None:
    granularity = granularity_of(kind)
    for code in MEANINGFUL_SINGLES if kind is Kind.TF32 else MEANINGFUL_PAIRS:
        stored = stored_elements(kind, code)
        assert len(set(stored)) == granularity.stored and max(stored) < granularity.elements
    with pytest.raises(ValueError, match="no meaning"):
        stored_elements(kind, 0b0000)


@pytest.mark.parametrize("layout", [Layout.C, Layout.D, Layout.E, Layout.F, Layout.G])
@pytest.mark.parametrize("kind", Kind)
def test_every_code_has_four_bits(kind: Kind, layout: Layout) -> None:
    """Exactly those of the rows' lanes in as many columns as the metadata has."""
    rows = layout.rows_of_a_block
    chunks = 2 * DENSE_K[kind] // granularity_of(kind).elements
    places = {
        place_of_code(kind, layout, ZERO, row, chunk) for row, chunk in itertools.product(range(rows), range(chunks))
    }
    assert len(places) == rows * chunks == rows * columns_of_metadata(kind) * 8
    assert len({each.cell for each in places}) == rows * columns_of_metadata(kind)


def test_examples_of_metadata() -> None:
    assert place_of_code(Kind.F16, Layout.D, ZERO, 8, 5, selector=1).cell == Cell(8, 1)
    assert place_of_code(Kind.F16, Layout.D, ZERO, 8, 5).first == 20
    assert place_of_code(Kind.I8, Layout.F, ZERO, 17, 9).cell == Cell(33, 1)
    assert copies_of_metadata(Layout.D) == (0,) and copies_of_metadata(Layout.G) == (0, 32, 64, 96)


def masks(mask: ColumnMask, m: int, n: int, count: int) -> list[str]:
    """The first bits of each part, as the manual's examples write them; the first column is the leftmost here."""
    width = n // parts(m)
    return [
        "".join(str(int(mask.is_zero(m, n, part * width + column))) for column in range(count))
        for part in range(parts(m))
    ]


def test_manual_example_without_zeros() -> None:
    mask = ColumnMask(skip_span=2, use_span=3, shift=2)
    assert masks(mask, 128, 128, 128) == ["0" * 128]
    assert (mask.source_column(0), mask.source_column(127)) == (2, 129)


def test_manual_example_of_one_mask() -> None:
    mask = ColumnMask(generates=True, skip_span=2, use_span=3)
    assert masks(mask, 128, 128, 14) == ["00001110000111"]


def test_manual_example_of_two_masks() -> None:
    mask = ColumnMask(first_spans=(1, 0, 0, 0), generates=True, skip_span=2, use_span=3)
    assert masks(mask, 64, 128, 10) == ["1110000111", "0000111000"]


def test_manual_example_of_four_masks() -> None:
    mask = ColumnMask((0, 1, 2, 1), (1, 1, 0, 0), generates=True, skip_span=2, use_span=3, shift=2)
    assert masks(mask, 32, 256, 10) == ["1110000111", "1100001110", "0011100001", "0001110000"]
    assert [most_shifted(m) for m in (32, 64, 128)] == [16, 32, 32]


@pytest.mark.parametrize(
    "mask", [ColumnMask((1, 2, 3, 255), (1, 0, 1, 0), True, 7, 200, 32), ColumnMask(), ColumnMask(shift=63)]
)
def test_masks_are_read_as_written(mask: ColumnMask) -> None:
    assert ColumnMask.decode(mask.encode()) == mask
