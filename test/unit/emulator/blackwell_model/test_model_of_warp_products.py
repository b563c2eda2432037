"""The model of `mma.sync` of narrow formats agrees with itself and with the manual's formulas."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from blackwell_model.instruction_descriptor import Kind
from blackwell_model.loads_and_stores import Words
from blackwell_model.matrices import value
from blackwell_model.warp_products import (
    THREADS,
    M,
    N,
    Operand,
    RegisterBits,
    ScaleSelector,
    a_element,
    a_scale,
    b_element,
    b_scale,
    d_element,
    k_of,
    product,
    scale_types,
    selectors,
    write,
)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [(Kind.F8F6F4, "e4m3"), (Kind.F8F6F4, "e2m3"), (Kind.MXF8F6F4, "e2m1"), (Kind.MXF4, "e2m1")],
)
def test_elements_are_where_the_formulas_have_them(kind: Kind, dtype: str) -> None:
    """Element i of a thread, from the low bits of its first register on, by the manual's formulas."""
    word = 8 if kind.is_4_bit else 4
    for lane, i in itertools.product(range(THREADS), range(4 * word)):
        group, thread = divmod(lane, 4)
        row = group if i < word or 2 * word <= i < 3 * word else group + 8
        k = thread * word + i % word + (4 * word if i >= 2 * word else 0)
        place = a_element(kind, dtype, row, k)
        assert (place.thread, place.register, place.first // (32 // word)) == (lane, i // word, i % word)
    for lane, i in itertools.product(range(THREADS), range(2 * word)):
        group, thread = divmod(lane, 4)
        k = thread * word + i % word + (4 * word if i >= word else 0)
        place = b_element(kind, dtype, k, group)
        assert (place.thread, place.register, place.first // (32 // word)) == (lane, i // word, i % word)


def test_results_are_where_the_formula_has_them() -> None:
    for lane, i in itertools.product(range(THREADS), range(4)):
        row, column = lane // 4 + 8 * (i >= 2), lane % 4 * 2 + i % 2
        assert d_element(row, column) == RegisterBits(lane, i, 0, 32)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_scales_of_all_selectors_are_all_bytes(count: int) -> None:
    """Rows of A in one pair of threads of each four, columns of B in one thread, and every byte of them."""
    of_a = [a_scale(row, index, each) for each in selectors(count, "a") for row in range(M) for index in range(count)]
    of_b = [
        b_scale(column, index, each) for each in selectors(count, "b") for column in range(N) for index in range(count)
    ]
    assert len(set(of_a)) == len(of_a) == THREADS * 4
    assert len(set(of_b)) == len(of_b) == THREADS * 4


def test_threads_that_have_scales() -> None:
    assert {a_scale(row, 0, ScaleSelector(thread=1)).thread % 4 for row in range(M)} == {2, 3}
    assert {b_scale(column, 0, ScaleSelector(thread=3)).thread % 4 for column in range(N)} == {3}
    assert (a_scale(3, 0, ScaleSelector()).thread, a_scale(11, 0, ScaleSelector()).thread) == (12, 13)


def test_types_of_scales() -> None:
    assert scale_types(Kind.MXF4NVF4, 4) == ("ue8m0", "ue4m3") and scale_types(Kind.MXF4NVF4, 2) == ("ue8m0",)
    assert not scale_types(Kind.MXF4, 4) and not scale_types(Kind.F8F6F4, 1)


def registers(number: int) -> Words:
    return np.full((number, THREADS), 0xFFFFFFFF, np.uint32)


@pytest.mark.parametrize(
    ("kind", "a_type", "b_type", "count", "scale_type"),
    [
        (Kind.MXF8F6F4, "e4m3", "e2m1", 1, "ue8m0"),
        (Kind.MXF4, "e2m1", "e2m1", 2, "ue8m0"),
        (Kind.MXF4NVF4, "e2m1", "e2m1", 4, "ue4m3"),
    ],
)
def test_products_of_fragments(kind: Kind, a_type: str, b_type: str, count: int, scale_type: str) -> None:
    random = np.random.default_rng(0)
    k = k_of(kind)
    # Codes of numbers up to 2, and scales of 1 to 8, whose sums are exact.
    of_a, of_b = (random.integers(0, 5, shape) for shape in ((M, k), (k, N)))
    scales = {"ue8m0": range(127, 131), "ue4m3": (0x38, 0x40, 0x48, 0x50)}[scale_type]
    of_rows, of_columns = random.choice(scales, (M, count)), random.choice(scales, (N, count))
    selector_a, selector_b = selectors(count, "a")[-1], selectors(count, "b")[-1]
    a = Operand(a_type, registers(4), registers(1), selector_a)
    b = Operand(b_type, registers(2), registers(1), selector_b)
    assert a.scales is not None and b.scales is not None
    for (row, column), code in np.ndenumerate(of_a):
        write(a.registers, a_element(kind, a_type, row, column), int(code))
    for (row, column), code in np.ndenumerate(of_b):
        write(b.registers, b_element(kind, b_type, row, column), int(code))
    for (row, index), code in np.ndenumerate(of_rows):
        write(a.scales, a_scale(row, index, selector_a), int(code))
    for (column, index), code in np.ndenumerate(of_columns):
        write(b.scales, b_scale(column, index, selector_b), int(code))

    def matrix(
        dtype: str, codes: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
    ) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        return np.array([[value(dtype, int(code)) for code in line] for line in codes])

    block = k // count
    left = matrix(a_type, of_a) * np.repeat(matrix(scale_type, of_rows), block, axis=1)
    right = matrix(b_type, of_b) * np.repeat(matrix(scale_type, of_columns), block, axis=1).T
    np.testing.assert_array_equal(product(kind, a, b, scale_type, count), left @ right)
