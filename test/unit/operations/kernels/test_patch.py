"""The elements of a thread as rows × columns, and the layouts that are found in their distances."""

from __future__ import annotations

import itertools

import cutlass
from hypothesis import given
from hypothesis import strategies as st

from cutecc.operations.kernels.patch import Patch, strided

modes = st.lists(st.tuples(st.integers(2, 4), st.integers(1, 60)), max_size=3)


def patch(columns: tuple[int, ...], run: int) -> Patch:
    rows = (0, 8)
    return Patch(rows, columns, {place: i for i, place in enumerate(itertools.product(rows, columns))}, run)


@given(modes, st.integers(0, 100))
def test_the_offsets_of_a_layout_are_strided(modes, first):
    offsets = [first]
    for size, stride in modes:
        offsets = [offset + i * stride for i in range(size) for offset in offsets]
    found = strided(tuple(offsets))
    assert found is not None
    again = [first]
    for size, stride in zip(*found, strict=True):
        again = [offset + i * stride for i in range(size) for offset in again]
    assert again == offsets


def test_what_no_layout_describes_is_none():
    assert strided((0, 1, 5, 7)) is None


def test_vectors_are_as_wide_as_the_run_the_alignment_and_16_bytes_allow():
    found = patch((0, 1, 2, 3, 32, 33, 34, 35), 4)
    widths = [found.width(dtype, alignment) for dtype, alignment in ((cutlass.Float32, 8), (cutlass.Float32, 2))]
    assert [*widths, found.width(cutlass.Float64, 2), found.width(cutlass.Int8, 16)] == [4, 2, 2, 4]


def test_groups_are_of_whole_runs():
    found = patch((0, 1, 8, 9, 16, 17, 24, 25), 2)
    assert found.groups(4) == [(0, 1, 8, 9), (16, 17, 24, 25)]
    assert found.groups(3) == [(0, 1), (8, 9), (16, 17), (24, 25)]
