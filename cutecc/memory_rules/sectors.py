"""Accesses of global memory: which sectors of 32 bytes a warp's request touches."""

from __future__ import annotations

import numpy as np

from cutecc.memory_rules.warps import Array, Mask

SECTOR = 32
"""Bytes."""
_NOWHERE = np.uint64(2**64 - 1)
"""Of threads that access nothing."""


def count_sectors(addresses: Array, mask: Mask, size: int) -> tuple[int, int, int]:
    """Requests, sectors, and the sectors that the requests would touch if their threads accessed bytes side by side.

    `addresses` and `mask` have the shape `(warps, 32)`; each thread accesses `size` bytes, a power of two, at a
    multiple of `size`. Every warp with a thread in `mask` makes one request. Threads with the same address may touch
    fewer sectors than side by side; then it is those.
    """
    sectors = np.where(mask, addresses.astype(np.uint64) // np.uint64(SECTOR), _NOWHERE)
    if (sectors[:, 1:] < sectors[:, :-1]).any():
        sectors.sort(axis=1)
    touched = _distinct(sectors) * max(1, size // SECTOR)
    side_by_side = -(-np.count_nonzero(mask, axis=1) * size // SECTOR)
    return int(np.count_nonzero(touched)), int(touched.sum()), int(np.minimum(touched, side_by_side).sum())


def _distinct(ascending: Array) -> Array:
    """How many different values each row has."""
    differs = np.ones(ascending.shape, np.bool_)
    np.not_equal(ascending[:, 1:], ascending[:, :-1], out=differs[:, 1:])
    return np.count_nonzero(differs & (ascending != _NOWHERE), axis=1)
