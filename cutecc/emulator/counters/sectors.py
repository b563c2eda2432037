"""Accesses of global memory: which sectors of 32 bytes a warp's request touches."""

from __future__ import annotations

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask

SECTOR = 32
"""Bytes."""
_NOWHERE = np.uint64(2**64 - 1)
"""Of threads that access nothing."""


def count_sectors(addresses: Array, mask: Mask, size: int) -> tuple[int, int, int]:
    """Requests, sectors, and the fewest sectors that would hold the same bytes.

    `addresses` and `mask` have the shape `(warps, 32)`; each thread accesses `size` bytes, a power of two, at a
    multiple of `size`. Every warp with a thread in `mask` makes one request.
    """
    unit = min(size, SECTOR)
    elements = np.where(mask, addresses.astype(np.uint64) // np.uint64(unit), _NOWHERE)
    elements.sort(axis=1)
    fewest = -(-_distinct(elements) * unit // SECTOR)
    sectors = np.where(elements == _NOWHERE, _NOWHERE, elements // np.uint64(SECTOR // unit))
    each = max(1, size // SECTOR)
    return int(np.count_nonzero(fewest)), int(_distinct(sectors).sum()) * each, int(fewest.sum()) * each


def _distinct(ascending: Array) -> Array:
    """How many different values each row has."""
    differs = np.ones(ascending.shape, np.bool_)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=differs[:, 1:])
    return np.count_nonzero(differs & (ascending != _NOWHERE), axis=1)
