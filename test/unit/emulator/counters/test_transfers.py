"""What copies of a warp by `cp.async` take, on an H200 and by the rules.

`h200_copies.npz` has single instructions: `kind` (0, 1, 2: `.ca` of 4, 8 and 16 bytes; 3: `.cg`), for each thread the
offsets `source` and `target` from multiples of 1024 bytes, the `mask` of threads, and `measured`: sectors, the fewest
sectors, wavefronts, the fewest wavefronts (`memory_l2_theoretical_sectors_global`, `memory_l1_wavefronts_shared` and
their `_ideal`). They are all regular patterns, and the random ones that the rules meet.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.memory_rules.transfers import Found, count_past_l1, count_through_l1

LANES = np.arange(32, dtype=np.uint64)
ALL = np.ones((1, 32), np.bool_)
SIZES = (4, 8, 16, 16)
PAST_L1 = 3
lists = st.lists(st.integers(0, 99), min_size=32, max_size=32)
masks = st.lists(st.booleans(), min_size=32, max_size=32)


def count(
    kind: int, source: np.ndarray, target: np.ndarray, mask: np.ndarray = ALL, reading: np.ndarray = ALL
) -> tuple[Found, Found]:
    source, target = (np.broadcast_to(each, mask.shape).astype(np.uint64) for each in (source, target))
    source = source + np.uint64(1 << 46)
    if kind == PAST_L1:
        return count_past_l1(source, mask & reading, target, mask)
    return count_through_l1(source, mask & reading, target, mask, SIZES[kind])


def test_as_the_h200() -> None:
    file = np.load(Path(__file__).with_name("h200_copies.npz"))
    masks = (file["mask"][:, None] >> np.arange(32)) & 1 != 0
    failed: list[str] = []
    for case, kind in enumerate(file["kind"]):
        source, target, mask = (each[case][None] for each in (file["source"], file["target"], masks))
        sectors, wavefronts = count(kind, source, target, mask)
        if [*sectors[1:], *wavefronts[1:]] != file["measured"][case].tolist() or (sectors[0], wavefronts[0]) != (1, 1):
            failed.append(f"{case}: {sectors}, {wavefronts}; on an H200 {file['measured'][case]}")
    assert not failed, "\n".join(failed[:20])
    assert np.bincount(file["kind"]).tolist() == [88, 88, 89, 73]
    # All at once, as a gang of many warps.
    for kind in range(4):
        of_kind = file["kind"] == kind
        found = count(kind, file["source"][of_kind], file["target"][of_kind], masks[of_kind])
        expected = file["measured"][of_kind].sum(axis=0).tolist()
        assert found == ((of_kind.sum(), *expected[:2]), (of_kind.sum(), *expected[2:]))


def test_zeros_past_l1() -> None:
    def past(reading: np.ndarray) -> tuple[Found, Found]:
        return count(PAST_L1, LANES * 16, LANES * 16, reading=reading[None])

    assert past(LANES < 32) == ((1, 16, 16), (1, 4, 4))
    assert past(LANES < 8) == ((1, 4, 4), (1, 4, 4))
    assert past(LANES % 8 == 0) == ((1, 4, 2), (1, 4, 4))
    assert past(LANES > 31) == ((0, 0, 0), (1, 4, 4))


def test_zeros_through_l1() -> None:
    def through(source: np.ndarray, reading: np.ndarray) -> tuple[Found, Found]:
        return count(0, source, LANES * 4, reading=reading[None])

    assert through(LANES * 128, LANES < 32) == ((1, 32, 4), (1, 32, 1))
    assert through(LANES * 128, LANES < 8) == ((1, 8, 1), (1, 8, 1))
    assert through(LANES * 128, LANES > 31) == ((0, 0, 0), (1, 1, 1))


@pytest.mark.parametrize("kind", range(4))
def test_no_threads(kind: int) -> None:
    assert count(kind, LANES * 16, LANES * 16, ~ALL) == ((0, 0, 0), (0, 0, 0))


@given(st.integers(0, 3), lists, lists, masks, masks)
def test_never_less_than_the_fewest(
    kind: int, source: list[int], target: list[int], mask: list[bool], reading: list[bool]
) -> None:
    places = (np.array(each) * SIZES[kind] for each in (source, target))
    for _, found, fewest in count(kind, *places, np.array([mask]), np.array([reading])):
        assert found >= fewest
