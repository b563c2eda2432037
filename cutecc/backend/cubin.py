"""What a cubin says of its kernels besides their code: which there are, and the block size each is made for.

A cubin is an ELF file. Kernels are the function symbols marked STO_CUDA_ENTRY, and section `.nv.info.KERNEL` holds a
kernel's attributes; `cuobjdump -elf` prints both with these names, and the numbers here are those it prints them for.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cutecc.errors import ToolError

_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, entry size
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_SYMBOL_TABLE = 2
_FUNCTION = 2
_ENTRY = 0x10
"""STO_CUDA_ENTRY, in a symbol's `other`."""
_SIZED_VALUE = 4
"""EIFMT_SVAL: a value of as many bytes as its header says. The other formats keep theirs in the header."""
_MAX_THREADS = 0x05
"""EIATTR_MAX_THREADS: the block of `.maxntid`, three 32-bit extents."""
_REQUIRED_THREADS = 0x10
"""EIATTR_REQNTID: the block of `.reqntid`."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    data: bytes
    link: int


def block_threads(cubin: bytes) -> dict[str, int | None]:
    """The threads of a block for each kernel in `cubin`: exact by `.reqntid`, else at most, by `.maxntid`, else `None`.

    Raises `ToolError` when `cubin` is not a cubin.
    """
    try:
        sections = _sections(cubin)
        attributes = {section.name: section.data for section in sections if section.name.startswith(".nv.info.")}
        return {kernel: _threads(attributes.get(f".nv.info.{kernel}", b"")) for kernel in _kernels(sections)}
    except (struct.error, IndexError, ValueError, OverflowError) as failure:
        raise ToolError(f"this is not a cubin: {failure}") from None


def _sections(cubin: bytes) -> list[_Section]:
    if not cubin.startswith(b"\x7fELF\x02\x01"):
        raise ValueError("it does not begin as a 64-bit little-endian ELF file")
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    entry_size, count, names_index = struct.unpack_from("<HHH", cubin, 0x3A)
    headers = [_SECTION.unpack_from(cubin, table + index * entry_size) for index in range(count)]

    def content(header: tuple[int, ...]) -> bytes:
        return cubin[header[4] : header[4] + header[5]]

    names = content(headers[names_index])
    return [_Section(_text(names, header[0]), header[1], content(header), header[6]) for header in headers]


def _kernels(sections: list[_Section]) -> Iterator[str]:
    for table in sections:
        if table.kind == _SYMBOL_TABLE:
            names = sections[table.link].data
            for name, info, other, *_ in _SYMBOL.iter_unpack(table.data):
                if info & 0xF == _FUNCTION and other & _ENTRY:
                    yield _text(names, name)


def _threads(attributes: bytes) -> int | None:
    extents: dict[int, int] = {}
    position = 0
    while position < len(attributes):
        form, attribute, size = struct.unpack_from("<BBH", attributes, position)
        position += 4
        if form == _SIZED_VALUE:
            if attribute in (_MAX_THREADS, _REQUIRED_THREADS):
                extents[attribute] = math.prod(struct.unpack_from("<III", attributes, position))
            position += size
    return extents.get(_REQUIRED_THREADS, extents.get(_MAX_THREADS))


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode()
