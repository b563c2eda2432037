"""Sectors and wavefronts of single requests."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.memory_rules.banks import count_wavefronts
from cutecc.memory_rules.sectors import count_sectors

LANES = np.arange(32, dtype=np.uint64)
ALL = np.ones((1, 32), np.bool_)
sizes = st.sampled_from([1, 2, 4, 8, 16])


def sectors(offsets: np.ndarray, size: int, mask: np.ndarray = ALL) -> tuple[int, int, int]:
    return count_sectors(np.broadcast_to(offsets, mask.shape).astype(np.uint64) + np.uint64(1 << 40), mask, size)


def wavefronts(offsets: np.ndarray, size: int, mask: np.ndarray = ALL, **options: bool) -> tuple[int, int, int]:
    return count_wavefronts(np.broadcast_to(offsets, mask.shape).astype(np.uint64), mask, size, **options)


# Global memory.


@pytest.mark.parametrize(
    ("offsets", "size", "expected"),
    [
        (LANES * 4, 4, (1, 4, 4)),
        (LANES * 16, 16, (1, 16, 16)),
        (LANES * 2, 2, (1, 2, 2)),
        (LANES * 4 + 4, 4, (1, 5, 4)),
        (LANES * 8, 4, (1, 8, 4)),
        (LANES * 128, 4, (1, 32, 4)),
        (LANES * 0, 4, (1, 1, 1)),
        ((31 - LANES) * 4, 4, (1, 4, 4)),
        (LANES * 32, 32, (1, 32, 32)),
    ],
)
def test_sectors(offsets: np.ndarray, size: int, expected: tuple[int, int, int]) -> None:
    assert sectors(offsets, size) == expected


def test_sectors_of_some_threads_and_several_warps() -> None:
    offsets = np.stack([LANES * 4, LANES * 128, LANES * 4])
    mask = np.stack([LANES < 9, LANES == 3, LANES < 0])
    assert sectors(offsets, 4, mask) == (2, 2 + 1, 2 + 1)


@given(st.lists(st.integers(0, 60), min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32), sizes)
def test_sectors_are_those_that_the_bytes_lie_in(elements: list[int], active: list[bool], size: int) -> None:
    starts = [element * size for element, on in zip(elements, active, strict=True) if on]
    touched = {start + byte for start in starts for byte in range(size)}
    found = sectors(np.array(elements, np.uint64) * np.uint64(size), size, np.array([active]))
    sectors_touched = len({byte // 32 for byte in touched})
    assert found == (bool(touched), sectors_touched, min(sectors_touched, -(-len(starts) * size // 32)))


# Shared memory.


@pytest.mark.parametrize(
    ("offsets", "size", "expected"),
    [
        (LANES * 4, 4, (1, 1, 1)),
        (LANES * 0, 4, (1, 1, 1)),
        (LANES * 8, 4, (1, 2, 1)),
        (LANES * 128, 4, (1, 32, 1)),
        (LANES * 132, 4, (1, 1, 1)),
        (LANES * 2, 2, (1, 1, 1)),
        (LANES, 1, (1, 1, 1)),
        (LANES * 8, 8, (1, 2, 2)),
        (LANES * 16, 8, (1, 4, 2)),
        (LANES * 16, 16, (1, 4, 4)),
        (LANES * 32, 16, (1, 8, 4)),
        (LANES * 128, 16, (1, 32, 4)),
        # Pairs of threads with the same address: halves are served together.
        (LANES // 2 * 8, 8, (1, 1, 1)),
        (LANES * 0, 8, (1, 1, 1)),
        (LANES // 2 * 16, 16, (1, 2, 2)),
        (LANES * 0, 16, (1, 2, 2)),
        ((LANES // 4 * 2 + LANES % 2) * 8, 8, (1, 1, 1)),
        (LANES // 4 * 8, 8, (1, 1, 1)),
        ((LANES + 1) // 2 * 8, 8, (1, 2, 2)),
    ],
)
def test_wavefronts(offsets: np.ndarray, size: int, expected: tuple[int, int, int]) -> None:
    assert wavefronts(offsets, size) == expected


def test_rows_of_matrices_are_served_eight_at_a_time() -> None:
    rows = LANES * 16
    assert wavefronts(rows, 16, merge=False) == (1, 4, 4)
    assert wavefronts(rows, 16, (LANES < 8)[None], merge=False) == (1, 1, 1)
    assert wavefronts(LANES * 128, 16, merge=False) == (1, 32, 4)
    # Rows of 128 bytes whose chunks are exchanged by the 128-byte swizzle.
    assert wavefronts(LANES * 128 + (LANES % 8) * 16, 16, merge=False) == (1, 4, 4)
    assert wavefronts(LANES // 8 * 16, 16, merge=False) == (1, 4, 4)


def test_atomics_to_one_word_happen_one_after_another() -> None:
    assert wavefronts(LANES * 4, 4, atomic=True) == (1, 1, 1)
    assert wavefronts(LANES * 0, 4, atomic=True) == (1, 32, 1)
    assert wavefronts(LANES % 4 * 4, 4, atomic=True) == (1, 8, 1)


def test_warps_do_not_meet() -> None:
    offsets = np.stack([LANES * 4, LANES * 4 + 128, LANES * 8])
    assert wavefronts(offsets, 4, np.broadcast_to(ALL, (3, 32))) == (3, 4, 3)
    assert wavefronts(offsets, 4, np.zeros((3, 32), np.bool_)) == (0, 0, 0)


@given(st.lists(st.integers(0, 99), min_size=32, max_size=32), st.lists(st.booleans(), min_size=32, max_size=32), sizes)
def test_wavefronts_are_the_words_of_the_busiest_bank(elements: list[int], active: list[bool], size: int) -> None:
    """Counted the slow way, a part of the warp after the other."""
    lanes_of_part = min(32, 128 // size)
    total = parts = 0
    for start in range(0, 32, lanes_of_part):
        words: dict[int, set[int]] = defaultdict(set)
        for lane in range(start, start + lanes_of_part):
            for byte in range(elements[lane] * size, (elements[lane] + 1) * size) if active[lane] else ():
                words[byte // 4 % 32].add(byte // 4)
        total += max(map(len, words.values()), default=0)
        parts += bool(words)
    found = wavefronts(np.array(elements, np.uint64) * np.uint64(size), size, np.array([active]), merge=False)
    assert found == (any(active), total, parts)
    merged = wavefronts(np.array(elements, np.uint64) * np.uint64(size), size, np.array([active]))
    assert merged[1] <= found[1]
    assert merged[2] <= found[2]
