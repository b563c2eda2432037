"""Writing protobuf messages by hand: as much as a trace needs (protobuf.dev, "Encoding")."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_VARINT, _FIXED64, _BYTES = 0, 1, 2
PADDED = 8
"""Bytes of a padded varint: any number below 2^56."""


def varint(value: int) -> bytes:
    """A number that is not negative, seven bits a byte, the lowest first."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that is an integer, of an enumeration or a bool."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A field of eight bytes."""
    return varint(field << 3 | _FIXED64) + value.to_bytes(8, "little")


def message(field: int, *parts: bytes) -> bytes:
    """A field that is a message of these fields, or bytes."""
    body = b"".join(parts)
    return varint(field << 3 | _BYTES) + varint(len(body)) + body


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def padded(values: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Varints that all have `PADDED` bytes, which readers take as well: shape `(len(values), PADDED)`."""
    found = (values[:, None] >> (7 * np.arange(PADDED)) & 0x7F).astype(np.uint8)
    found[:, :-1] |= 0x80
    return found
