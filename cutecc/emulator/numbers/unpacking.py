"""Elements of 4 and 6 bits: one behind the other, the lowest bits first, and as bytes of their own.

Rows of 16 bytes that hold 16 of them have padding behind the 8 or 12 bytes of elements (PTX ISA, "Packing formats").
The copy from shared into tensor memory makes bytes of them, and so do a multiplication of `kind::f8f6f4` that reads
shared memory, and `ldmatrix`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array

UNPACKED: Final = {"b4x16_p64": 4, "b6x16_p32": 6}
"""Bits of an element, by the name of the format."""
_SHIFTS: Final = {"b4x16_p64": 2, "b6x16_p32": 0}
"""Where those bits are in the byte that a multiplication takes."""


def elements_in(data: Array, bits: int) -> Array:
    """The elements in the bytes of the last axis, each the lower bits of a byte."""
    if bits == 4:
        return np.stack([data & 15, data >> 4], axis=-1).reshape(*data.shape[:-1], -1)
    found = np.unpackbits(data, axis=-1, bitorder="little").reshape(*data.shape[:-1], -1, bits)
    return np.packbits(found, axis=-1, bitorder="little")[..., 0]


def packed(elements: Array, bits: int) -> Array:
    """Bytes with the elements of a flat array one behind the other: of each byte the lower bits."""
    found = np.unpackbits(elements[:, None], axis=1, bitorder="little")[:, :bits]
    return np.packbits(found.reshape(-1), bitorder="little")


def unpack(words: Array, source_format: str) -> Array:
    """Rows of 4 words each, in the last axis, with 16 elements in their first bytes, as 16 bytes with one each."""
    bits = UNPACKED[source_format]
    data = words.view(np.uint8).reshape(*words.shape[:-1], -1, 16)
    found = elements_in(data[..., : 2 * bits], bits).reshape(*words.shape[:-1], -1)
    return np.ascontiguousarray(found << _SHIFTS[source_format]).view(np.uint32)
