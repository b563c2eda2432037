"""Matrices of which every second element is zero and not stored (PTX ISA, "Sparse matrix storage")."""

from __future__ import annotations

import numpy as np

from cutecc.emulator.machine.lanes import Array


def dense(stored: Array, metadata: Array, element_bits: int) -> Array:
    """`(…, rows, K / 2)` stored elements with zeros between them, `(…, rows, K)`.

    `metadata` holds numbers of 4 bits along K, one for two elements stored out of four (of 4-bit elements: two pairs
    out of four; of 32-bit ones: one out of two). The lower two bits are the place of the first among the four, the
    upper two that of the second. Of 32-bit elements they are places of halves: 0b0100 is the first element, 0b1110 the
    second. Other patterns, and two equal places, have no defined meaning.
    """
    places = np.arange(4, dtype=metadata.dtype)
    if element_bits == 32:
        chosen = (metadata[..., None] >> 1 & 1) == places[:2]
        values = np.where(chosen, stored[..., None], 0)
        return values.reshape(*stored.shape[:-1], -1)
    # Of 4-bit elements neighbours are zero, or stored, together.
    alike = 2 if element_bits == 4 else 1
    pairs = stored.reshape(*metadata.shape, 2, 1, alike)
    first = (metadata[..., None] & 3) == places
    second = (metadata[..., None] >> 2 & 3) == places
    values = np.where(first[..., None], pairs[..., 0, :, :], np.where(second[..., None], pairs[..., 1, :, :], 0))
    return values.reshape(*stored.shape[:-1], -1)


def nibbles(words: Array, bits: int) -> Array:
    """The metadata of `bits` bits, 16 or 32, in each word as numbers of 4 bits, lowest first, in one more axis."""
    return words[..., None] >> np.arange(0, bits, 4, dtype=np.uint32) & np.uint32(15)
