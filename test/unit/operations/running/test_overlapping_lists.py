"""Matrices of lists that share memory are refused, wherever they begin; those between each other's rows are not."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import hypothesis
import numpy as np
import pytest
from attacks import attacks
from hypothesis import strategies as st

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError
from cutecc.operations.hazards import are_woven, extent
from cutecc.operations.overlaps import check_lists

PITCH = 12


def block(row: int, column: int, rows: int, columns: int, pitch: int = PITCH) -> Array:
    """A part of a matrix of f32 that begins at 4096."""
    return Array("float32", (rows, columns), (pitch, 1), 4096 + 4 * (row * pitch + column))


def bytes_of(array: Array) -> set[int]:
    rows, columns = (np.arange(size) * step for size, step in zip(array.shape, array.stride, strict=True))
    return {array.address + 4 * int(each) for each in (rows[:, None] + columns[None]).flat}


def refused(*lists: Any, same: frozenset[str] = frozenset()) -> str:
    try:
        check_lists(*lists, same)
    except ArgumentError as error:
        return str(error)
    return ""


def test_a_single_row_lies_between_the_rows_of_a_matrix() -> None:
    matrix = block(0, 0, 5, 4)
    for column, columns, fits in ((4, 8, True), (4, 9, False), (3, 2, False), (11, 2, False)):
        row = block(2, column, 1, columns)
        assert are_woven(matrix, row) == are_woven(row, matrix) == fits
        assert fits != bool(refused({"D": [matrix]}, {"A": [row]}))
    assert not are_woven(block(0, 0, 1, 4), block(0, 3, 1, 4))
    assert are_woven(block(0, 0, 4, 4), block(0, 4, 2, 4, pitch=2 * PITCH))


def test_blocks_of_a_matrix_share_nothing() -> None:
    blocks = [block(8 * i, 4 * j, 8, 4) for i in range(3) for j in range(3)]
    assert not refused({"D": blocks}, {})
    wider = [*blocks[:4], block(8, 4, 8, 5), *blocks[5:]]
    assert "D[4] is written and shares memory with D[5]" in refused({"D": wider}, {})
    assert "D[7] is written and shares memory with A[0]" in refused({"D": blocks[1:]}, {"A": [block(23, 11, 1, 1)]})
    assert not refused({"D": blocks[1:]}, {"A": [blocks[0]] * 4})  # what is read may be the same


def test_rows_in_reverse_lie_below_their_address() -> None:
    result = block(0, 0, 4, 4, pitch=4)
    for rows, meets in ((4, True), (2, False)):
        backwards = Array("float32", (rows, 4), (-4, 1), 4096 + 96)
        assert meets == bool(refused({"D": [result]}, {"scales_a": [backwards]}))


def test_a_source_may_be_the_result_at_its_place() -> None:
    first, second = block(0, 0, 4, 4), block(4, 0, 4, 4)
    source = frozenset("C")
    assert not refused({"D": [first, second]}, {"C": [first, second]}, same=source)
    message = refused({"D": [first, second]}, {"C": [first, block(4, 1, 4, 4)]}, same=source)
    assert "D[1] is written and shares memory with C[1]" in message and "D[1] may be C[1] itself" in message
    assert "shares memory with C[1]" in refused({"D": [first, second]}, {"C": [second, first]}, same=source)
    assert "shares memory with A[0]" in refused({"D": [first]}, {"A": [first]}, same=source)


Blocks = st.tuples(*(st.integers(0, 9), st.integers(0, 8)), *(st.integers(0, 4), st.integers(1, 4)))


@hypothesis.settings(max_examples=attacks(30), deadline=None)
@hypothesis.given(st.lists(Blocks, max_size=6), st.lists(Blocks, max_size=4))
def test_what_shares_an_element_is_refused_and_nothing_else(written: list[Any], read: list[Any]) -> None:
    outputs, inputs = [block(*each) for each in written], [block(*each) for each in read]
    pairs = [*combinations(outputs, 2), *((output, each) for output in outputs for each in inputs)]
    shares = any(bytes_of(first) & bytes_of(second) for first, second in pairs)
    assert bool(refused({"D": outputs}, {"A": inputs})) == shares


def test_many_columns_of_a_matrix_are_held_against_each_other_at_once() -> None:
    count = 600
    columns = [block(0, 2 * i, 3, 2, pitch=2 * count) for i in range(count)]
    assert not refused({"D": columns}, {})
    assert extent(columns[0])[1] > 8 * count
    with pytest.raises(ArgumentError, match=r"shares memory with D\[600\]"):
        check_lists({"D": [*columns, columns[-1]]}, {}, frozenset())
