"""What the copies of a warp by `cp.async` take: sectors of global memory and wavefronts of shared memory.

NVIDIA documents no rule for these. The ones here were found by measuring single instructions on an H200 (2026-11-21,
Nsight Compute, 354 patterns of addresses):

- `.ca` goes through L1. Sectors are those of a load. Threads go in parts of 128 bytes; a part takes as many wavefronts
  as the most threads with which one thread, itself among them, shares the bank of its source (its address in L1) or
  that of its destination. Equal in all 265 patterns.
- `.cg` goes past L1. Of threads with the same destination only the first counts. Two threads that copy both halves of a
  sector into both of another one share the transfer; all others take one each. Equal in all 89 patterns.
  Wavefronts move sectors from one line of 128 bytes to one, all of them rotated by as many sectors, or by the same
  exclusive or of their places, and with halves in place or exchanged. Equal in the 39 regular patterns and in 34 of 50
  random ones, which are off by at most 3.

All were copies of whole pieces. What happens to zeros is assumed: a thread that reads nothing touches no sector and no
bank of a source, and one that reads fewer bytes counts as if it read all; with `.cg` zeros go with what else is written
to their line, or take a wavefront if that is nothing.
"""

from __future__ import annotations

import numpy as np

from cutecc.memory_rules.banks import BANKS
from cutecc.memory_rules.sectors import SECTOR, count_sectors
from cutecc.memory_rules.warps import WARP, Array, Mask

Found = tuple[int, int, int]
"""Requests, sectors or wavefronts, and the fewest of those."""

_LINE = BANKS * 4
"""Bytes of a line in L1, and that the banks give in a wavefront."""
_PIECE = 16
"""Bytes a thread that `.cg` copies."""
_PIECES = _LINE // _PIECE
_SECTORS = _LINE // SECTOR
_EARLIER = np.tri(WARP, k=-1, dtype=np.bool_)
"""Threads before each thread."""


def count_through_l1(source: Array, reading: Mask, target: Array, mask: Mask, size: int) -> tuple[Found, Found]:
    """Sectors and wavefronts of `cp.async.ca`.

    Arrays have the shape `(warps, 32)`. Threads of `mask` write `size` bytes at `target`, multiples of `size` as the
    addresses are; those of them in `reading` read these bytes at `source`, others fill with zeros.
    """
    columns = _LINE // size
    shape = (len(mask), -1, columns)
    shared = _same(_banks(source, size).reshape(shape), reading.reshape(shape))
    shared |= _same(_banks(target, size).reshape(shape), mask.reshape(shape))
    wavefronts = np.count_nonzero(shared, axis=3).max(axis=2).sum()
    return count_sectors(source, reading, size), (_requests(mask), int(wavefronts), _fewest(mask, size, _LINE))


def count_past_l1(source: Array, reading: Mask, target: Array, mask: Mask) -> tuple[Found, Found]:
    """Sectors and wavefronts of `cp.async.cg`; the arrays as above."""
    counted = mask & ~(_same(target, mask) & _EARLIER).any(axis=2)
    moved = counted & reading
    source, target = source.astype(np.int64) // _PIECE, target.astype(np.int64) // _PIECE
    together = (source[:, :, None] ^ 1 == source[:, None]) & (target[:, :, None] ^ 1 == target[:, None])
    together &= moved[:, :, None] & moved[:, None] & _EARLIER
    sectors = np.count_nonzero(moved) - np.count_nonzero(together)
    zeros = _lines(target, counted) - _lines(target, moved)
    return (
        (_requests(reading), int(sectors), _fewest(moved, _PIECE, SECTOR)),
        (_requests(mask), _motions(source, target, moved) + zeros, _fewest(counted, _PIECE, _LINE)),
    )


def _lines(target: Array, mask: Mask) -> int:
    """Lines of shared memory that the warps write, each once a warp."""
    return len(np.unique(_numbered(np.nonzero(mask)[0], target[mask] // _PIECES)))


def _motions(source: Array, target: Array, moved: Mask) -> int:
    """For each pair of lines the motions that move everything, rotations or exclusive ors, whichever are fewer."""
    warps, _ = np.nonzero(moved)
    source, target = source[moved], target[moved]
    lines = _numbered(warps, source // _PIECES, target // _PIECES)
    halves = (source ^ target) & 1
    source, target = source // 2, target // 2
    rotations, exchanges = (
        np.bincount(np.unique((lines * _SECTORS + motion % _SECTORS) * 2 + halves) // (2 * _SECTORS))
        for motion in (source - target, source ^ target)
    )
    return int(np.minimum(rotations, exchanges).sum())


def _numbered(*columns: Array) -> Array:
    """The same small number for threads that are equal in all columns."""
    number = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, places = np.unique(column, return_inverse=True)
        _, number = np.unique(number * len(values) + places, return_inverse=True)
    return number


def _banks(addresses: Array, size: int) -> Array:
    return addresses.astype(np.uint64) % np.uint64(_LINE) // np.uint64(size)


def _same(values: Array, mask: Mask) -> Mask:
    """Which threads along the last axis have which others' value."""
    return (values[..., :, None] == values[..., None, :]) & mask[..., :, None] & mask[..., None, :]


def _requests(mask: Mask) -> int:
    return int(np.count_nonzero(mask.any(axis=1)))


def _fewest(mask: Mask, size: int, width: int) -> int:
    """How many times `width` bytes hold what the threads of each warp access, `size` bytes each."""
    return int((-(-np.count_nonzero(mask, axis=1) * size // width)).sum())
