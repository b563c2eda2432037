"""A zip archive in one fixed form: the same entries give the same bytes, and no other bytes are read.

Entries are stored, not compressed, so that a reader in C can point into the file and no entry can grow when it is
read. There are no times, attributes, comments or features beyond the first version of the format: everything but names
and contents is determined, and a reader compares it. Each entry's data begins at a multiple of 16 bytes.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from typing import NamedTuple

from cutecc.errors import RecordError

_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_END = struct.Struct("<4s4H2LH")
_ALIGNMENT = 16
"""Bytes: what `malloc` gives, and no less than what a cubin's ELF header wants."""
_ALIGNMENT_FIELD = 0xD935
"""The extra field that zip tools know as padding."""
_VERSION, _DATE = 10, 0x21
"""What a reader has to understand: version 1.0 of the format. 1 January 1980, the first date that there is."""

LONGEST = 1 << 30
"""Bytes of the largest archive that is written or read."""
MOST_ENTRIES = 65_534


class Entry(NamedTuple):
    """Where an entry's bytes are."""

    name: str
    offset: int
    size: int
    crc: int


def pack(entries: Iterable[tuple[str, bytes]]) -> bytes:
    """The archive that holds `entries` in this order. Raises `RecordError` for more or larger ones than it can hold."""
    parts: list[bytes] = []
    placed: list[Entry] = []
    offset = 0
    for name, data in entries:
        if len(placed) == MOST_ENTRIES or offset + len(data) > LONGEST:
            raise RecordError(f"a bundle holds at most {MOST_ENTRIES} files and {LONGEST} bytes; these are more")
        crc = zlib.crc32(data)
        header = _local_header(name, len(data), crc, offset)
        offset += len(header)
        placed.append(Entry(name, offset, len(data), crc))
        parts += [header, data]
        offset += len(data)
    return b"".join([*parts, _directory(placed, offset)])


def unpack(data: bytes, where: str) -> list[Entry]:
    """The entries of an archive that `pack` made, in order.

    Raises `RecordError`, which names `where`, for any other bytes. Checks every header and checksum, and allocates
    nothing by what they say.
    """
    end = len(data) - _END.size
    if end < 0 or data[end : end + 4] != b"PK\x05\x06":
        raise RecordError(f"{where} is cut short, or something was added to it", hints=[*REMEDIES])
    _, _, _, _, count, size, start, _ = _END.unpack_from(data, end)
    if start + size != end:
        raise RecordError(f"{where} is damaged: its directory of {size} bytes is not where it says", hints=[*REMEDIES])
    entries: list[Entry] = []
    position = start
    offset = 0
    for _ in range(count):
        if position + _CENTRAL.size > end:
            raise RecordError(f"{where} is damaged: its directory ends early", hints=[*REMEDIES])
        fields = _CENTRAL.unpack_from(data, position)
        crc, length, name_length = fields[7], fields[9], fields[10]
        position += _CENTRAL.size
        name = data[position : position + name_length].decode("ascii", errors="replace")
        position += name_length
        if not name.isascii():
            raise RecordError(f"{where} is damaged: it has an entry whose name is not plain", hints=[*REMEDIES])
        header = _local_header(name, length, crc, offset)
        offset += len(header)
        if offset + length > start or data[offset - len(header) : offset] != header:
            raise RecordError(f"{where} is damaged at byte {offset - len(header)}, before '{name}'", hints=[*REMEDIES])
        entries.append(Entry(name, offset, length, crc))
        offset += length
    if offset != start or data[start:] != _directory(entries, start):
        raise RecordError(f"{where} is damaged: its directory is not the one of its entries", hints=[*REMEDIES])
    view = memoryview(data)
    for entry in entries:
        if zlib.crc32(view[entry.offset : entry.offset + entry.size]) != entry.crc:
            raise RecordError(f"{where} is damaged in '{entry.name}': its checksum differs", hints=[*REMEDIES])
    return entries


def first_entry(data: bytes) -> tuple[bytes, bytes] | None:
    """Name and content of the first entry of a zip file, which may be of a later form; `None` when there is none."""
    if len(data) < _LOCAL.size or data[:4] != b"PK\x03\x04":
        return None
    *_, method, _, _, _, size, _, name_length, extra_length = _LOCAL.unpack_from(data)
    start = _LOCAL.size + name_length + extra_length
    if method != 0 or start + size > len(data):
        return None
    return data[_LOCAL.size : _LOCAL.size + name_length], data[start : start + size]


REMEDIES = ["copy or build the file again; one that another program has unpacked and zipped is refused too"]


def _local_header(name: str, size: int, crc: int, offset: int) -> bytes:
    """What stands before the data of an entry at `offset`, padding included."""
    raw = name.encode("ascii")
    extra = -(offset + _LOCAL.size + len(raw)) % _ALIGNMENT
    if 0 < extra < 6:
        extra += _ALIGNMENT
    padding = struct.pack("<3H", _ALIGNMENT_FIELD, extra - 4, _ALIGNMENT).ljust(extra, b"\0") if extra else b""
    return _LOCAL.pack(b"PK\x03\x04", _VERSION, 0, 0, 0, _DATE, crc, size, size, len(raw), len(padding)) + raw + padding


def _directory(entries: list[Entry], offset: int) -> bytes:
    """The central directory at `offset`, and the record that ends the archive."""
    records = bytearray()
    start = 0
    for entry in entries:
        raw = entry.name.encode("ascii")
        sizes = (entry.crc, entry.size, entry.size, len(raw))
        records += _CENTRAL.pack(b"PK\x01\x02", _VERSION, _VERSION, 0, 0, 0, _DATE, *sizes, 0, 0, 0, 0, 0, start) + raw
        start = entry.offset + entry.size
    count = len(entries)
    return bytes(records) + _END.pack(b"PK\x05\x06", 0, 0, count, count, len(records), offset, 0)
