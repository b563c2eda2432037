"""The order of tiles: each is computed once, and neighbours share operands."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cutecc.operations.kernels.rasterization import Rasterization
from cutecc.operations.swizzle import SWIZZLES

TILE = (64, 32)
problems = st.tuples(st.integers(1, 700), st.integers(1, 700), st.just(8), st.integers(1, 3))


def order(swizzle, problem):
    """The (m, n, batch) of the tile of each block of the grid, in the order in which they start."""
    rasterization = Rasterization(swizzle, TILE)
    x, y, z = rasterization.grid(problem)
    assert y == 1
    return [rasterization.of_block((i, 0, j), problem) for j in range(z) for i in range(x)]


@given(st.sampled_from(SWIZZLES), problems)
def test_every_tile_of_every_batch_is_computed_once(swizzle, problem):
    m, n, _, batches = problem
    tiles = itertools.product(range(-(-m // TILE[0])), range(-(-n // TILE[1])), range(batches))
    assert sorted(order(swizzle, problem)) == sorted(tiles)


@given(st.sampled_from([1, 2, 4, 8]), problems)
def test_a_strip_is_as_wide_as_the_swizzle_says_and_gone_down_row_by_row(width, problem):
    found = order(f"identity{width}", problem)
    ranks = [(batch, n // width, m, n) for m, n, batch in found]
    assert ranks == sorted(ranks)


def test_horizontal_goes_along_rows_and_batched_has_batches_along_z():
    assert order("horizontal", (128, 96, 8, 1)) == [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0), (1, 1, 0), (1, 2, 0)]
    assert Rasterization("batched", TILE).grid((128, 96, 8, 5)) == (6, 1, 5)
    assert Rasterization("identity4", TILE).grid((128, 96, 8, 5)) == (30, 1, 1)


def test_slices_of_k_are_along_z():
    assert Rasterization("identity1", TILE).grid((128, 96, 8, 1), 7) == (6, 1, 7)


@given(st.sampled_from(SWIZZLES), problems)
def test_a_block_that_takes_several_tiles_takes_them_in_the_same_order(swizzle, problem):
    rasterization = Rasterization(swizzle, TILE)
    found = order(swizzle, problem)
    assert [rasterization.split(index, problem) for index in range(len(found))] == found
