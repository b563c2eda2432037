"""What a watched trace knows of the user's program, as a file."""

from __future__ import annotations

import zlib

import msgspec

from cutecc.errors import RecordError
from cutecc.record.stages import UserLines

_MOST_BYTES = 1 << 28


def encode(lines: UserLines) -> bytes:
    """`lines` for a file."""
    return zlib.compress(msgspec.json.encode(lines), 1)


def decode(data: bytes) -> UserLines:
    """The reverse of `encode`. Raises `RecordError` for a file that is damaged."""
    try:
        return msgspec.json.decode(zlib.decompressobj().decompress(data, _MOST_BYTES), type=UserLines)
    except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as failure:
        raise RecordError(f"the lines of a watched kernel cannot be read: {failure}") from None
