"""What the SIMT family says of itself: shared memory, threads, and which descriptions it refuses."""

from __future__ import annotations

import pytest
from launching import simt

from cutecc.operations.kernels.simt import (
    accepts,
    blocks_per_sm,
    plans,
    shared_memory_bytes,
    shared_memory_percentage,
    vector,
)


def test_the_rows_of_a_tile_are_contiguous_in_shared_memory():
    description = simt("f32:row:4", "f32:row:4", tile="128x64x8:stages=4:warps=2x2x1")
    a, b = plans(description)
    assert (a.vector, a.copying, a.row_stride) == (1, (16, 8), 132)
    assert (b.vector, b.copying, b.row_stride) == (4, (16, 8), 64)
    assert shared_memory_bytes(description) == 4 * 4 * 8 * (132 + 64)


def test_a_thread_reads_16_bytes_at_a_time_where_its_part_has_them():
    assert vector(simt(tile="128x128x8:stages=4:warps=2x4x1")) == (4, 4)
    assert vector(simt("f64:row:1", "f64:row:1", "f64:row:1", None, tile="128x128x8:stages=4:warps=2x4x1")) == (2, 2)
    assert vector(simt(tile="16x32x8:stages=3:warps=1x1x1")) == (2, 4)


def test_two_blocks_of_the_largest_tile_share_the_registers_of_an_sm():
    description = simt(tile="128x128x8:stages=4:warps=2x4x1")
    assert blocks_per_sm(description) == 2
    assert shared_memory_percentage(description) == 41


@pytest.mark.parametrize(
    ("tile", "part"),
    [
        ("32x32x8:stages=3:warps=1x1x2", "tile.warps"),
        ("32x32x8:stages=1:warps=1x1x1", "tile.stages"),
        ("24x36x8:stages=3:warps=2x1x1", "tile.m"),
        ("32x24x12:stages=3:warps=4x2x1", "tile.k"),
    ],
)
def test_what_does_not_divide_is_refused(tile, part):
    refusal = accepts(simt(tile=tile))
    assert refusal is not None
    assert part in refusal.parts


def test_what_divides_is_accepted():
    assert accepts(simt(tile="64x32x8:stages=2:warps=2x1x1")) is None
