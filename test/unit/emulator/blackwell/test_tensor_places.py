"""Where each element is against the independent model, of all layouts and of larger sizes than whole products have."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from cutecc.emulator.numbers.column_mask import ColumnMask
from cutecc.emulator.numbers.scale_factors import scale_places
from cutecc.emulator.numbers.sparse_metadata import codes, metadata_columns
from cutecc.emulator.numbers.swizzle import CHUNK, MatrixDescriptor
from cutecc.emulator.numbers.tensor_layouts import layout_of

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[3])]

from attacks import attacks  # noqa: E402
from blackwell_model import column_mask, data_path, matrix_shapes, scales, sparsity  # noqa: E402
from blackwell_model.cells import Cell  # noqa: E402
from blackwell_model.instruction_descriptor import Kind  # noqa: E402
from blackwell_model.shared_descriptor import Major, SharedDescriptor, Storage, Swizzle  # noqa: E402

ORIGIN = Cell(0, 0)
VARIANTS = [
    matrix_shapes.Variant(Kind.F16, group, stationary, sparse)
    for group, stationary in ((1, False), (2, False), (1, True))
    for sparse in (False, True)
]


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_layouts(variant: matrix_shapes.Variant) -> None:
    for m in matrix_shapes.rows(variant):
        n = matrix_shapes.columns(variant)[-1]
        wanted = data_path.layout_of(variant, m)
        found = layout_of(
            m, n, pair=variant.cta_group == 2, stationary=variant.weight_stationary, sparse=variant.sparse
        )
        assert found is not None
        assert (found.name, found.lanes) == (wanted.name, wanted.lane_alignments)
        where = {
            (row, column): (part.block, int(part.lanes[row - part.rows.start]), column - part.columns.start)
            for part in found.parts
            for row in range(part.rows.start, part.rows.stop, 7)
            for column in range(part.columns.start, part.columns.stop, 13)
        }
        for (row, column), (block, lane, inside) in where.items():
            assert data_path.place_of_d(wanted, ORIGIN, row, column, n) == data_path.Place(block, Cell(lane, inside))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_scales(count: int) -> None:
    vectors = scales.ScaleVectors(count, 16)
    for rows in (8, 32, 64, 72, 128, 136, 256):
        for first in vectors.ids:
            found = scale_places(rows, first, count)
            for row in {0, 7, rows // 2, rows - 1}:
                for index in range(count):
                    place = scales.place_of_scale(ORIGIN, rows, row, first, index)
                    cell = Cell(int(found.lanes[row, index]), int(found.columns[row, index]))
                    assert (cell, 8 * found.bytes[row, index]) == (place.cell, place.first)
            assert found.width == scales.columns_of(rows, vectors, first)


@pytest.mark.parametrize("kind", [Kind.F16, Kind.TF32, Kind.F8F6F4, Kind.MXF4])
def test_metadata(kind: Kind) -> None:
    random = np.random.default_rng(0)
    assert metadata_columns(kind.value) == sparsity.columns_of_metadata(kind)
    words = random.integers(0, 1 << 32, (128, metadata_columns(kind.value)), np.uint32)
    found = codes(words, kind.value)
    for row, chunk in np.ndindex(*found.shape):
        place = sparsity.place_of_code(kind, data_path.Layout.D, ORIGIN, row, chunk)
        assert found[row, chunk] == words[place.cell.lane, place.cell.column] >> place.first & 15


@pytest.mark.parametrize("seed", range(attacks(20)))
def test_column_masks(seed: int) -> None:
    bits = int(np.random.default_rng(seed).integers(0, 1 << 63)) | 1 << 39
    found, wanted = ColumnMask.decode(bits), column_mask.ColumnMask.decode(bits)
    assert found.shift == wanted.shift
    for m, n in ((32, 128), (64, 256), (128, 64)):
        zeros = found.is_zero(n, column_mask.parts(m))
        assert zeros.tolist() == [wanted.is_zero(m, n, column) for column in range(n)]


def test_column_mask_of_the_manual() -> None:
    """Its fourth example: M = 32, parts of 16 columns, from their first one on."""
    given = column_mask.ColumnMask((0, 1, 2, 1), (1, 1, 0, 0), generates=True, skip_span=2, use_span=3, shift=2)
    found = ColumnMask.decode(given.encode()).is_zero(64, 4).reshape(4, 16)
    parts = ["".join(str(int(zero)) for zero in part[:14]) for part in found]
    assert parts == ["11100001110000", "11000011100001", "00111000011100", "00011100001110"]


@pytest.mark.parametrize("swizzle", Swizzle)
@pytest.mark.parametrize("major", Major)
def test_matrices_in_shared_memory(major: Major, swizzle: Swizzle) -> None:
    """As many rows, and as far along K, as there are."""
    random = np.random.default_rng(list(Swizzle).index(swizzle))
    for _ in range(attacks(2)):
        start, leading, stride = (16 * int(each) for each in random.integers(1, 4096, 3))
        base_offset = int(random.integers(0, 8)) if swizzle else 0
        given = SharedDescriptor(start, leading, stride, swizzle, base_offset)
        decoded = MatrixDescriptor.decode_tcgen05(given.encode())
        assert not isinstance(decoded, str)
        if major is Major.K:
            origin, offsets = decoded.chunks("k", 256, min(swizzle.width // CHUNK, 4))
            places = [(row, chunk) for row in range(0, 256, 5) for chunk in range(offsets.shape[1])]
            wanted = [given.k_major(row, CHUNK * chunk) for row, chunk in places]
        else:
            origin, offsets = decoded.chunks("mn", 32, 16)
            places = [(line, chunk) for line in range(32) for chunk in range(16)]
            wanted = [given.mn_major(CHUNK * chunk, line) for line, chunk in places]
        assert [origin + int(offsets[place]) for place in places] == wanted


@pytest.mark.parametrize("start", [0, 32, 64, 80, 96, 112])
def test_absolute_leading_offsets(start: int) -> None:
    """Of 48 bytes along K, those that do not fit into a line of 128 bytes are in another one."""
    given = SharedDescriptor(0x4000 + start, 0x2000, 1024, Swizzle.B128, absolute_leading=True)
    decoded = MatrixDescriptor.decode_tcgen05(given.encode())
    assert not isinstance(decoded, str)
    origin, offsets = decoded.chunks("k", 128, 3)
    for row, chunk in np.ndindex(128, 3):
        address, _ = given.element(Major.K, Storage.BITS4, row, 32 * chunk)
        assert origin + offsets[row, chunk] == address
