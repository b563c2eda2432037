"""Elements of 4 and 6 bits in rows of 16 bytes that hold 16 of them, and as bytes (PTX ISA, "Packing formats").

The copy from shared into tensor memory makes bytes of them, and so does a multiplication of `kind::f8f6f4` that reads
shared memory: what is behind the 8 or 12 bytes of elements in each row is padding.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array

UNPACKED: Final = {"b4x16_p64": 4, "b6x16_p32": 6}
"""Bits of an element, by the name of the format."""
UNPACKED_SHIFTS: Final = {"b4x16_p64": 2, "b6x16_p32": 0}
"""Where those bits are in the byte."""


def unpack(words: Array, source_format: str) -> Array:
    """Rows of 4 words each, in the last axis, with 16 elements in their first bytes, as 16 bytes with one each."""
    width = UNPACKED[source_format]
    data = words.view(np.uint8).reshape(*words.shape[:-1], -1, 16)
    bits = np.unpackbits(data[..., : 2 * width], axis=-1, bitorder="little")
    elements = bits.reshape(*bits.shape[:-1], 16, width)
    packed = np.packbits(elements, axis=-1, bitorder="little").reshape(*words.shape[:-1], -1)
    return np.ascontiguousarray(packed << UNPACKED_SHIFTS[source_format]).view(np.uint32)
