"""What a cubin says of its kernels: which there are, the block size each is made for, its barriers, its code.

A cubin is an ELF file. Kernels are the function symbols marked STO_CUDA_ENTRY, and section `.nv.info.KERNEL` holds a
kernel's attributes; `cuobjdump -elf` prints both with these names, and the numbers here are those it prints them for.
"""

from __future__ import annotations

import contextlib
import math
import struct
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from cutecc.errors import ToolError

_SECTION = struct.Struct("<IIQQQQIIQQ")  # name, type, flags, address, offset, size, link, info, alignment, entry size
_SYMBOL = struct.Struct("<IBBHQQ")  # name, info, other, section, value, size
_CODE = ".text."
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
_BARRIERS = 0x4C
"""EIATTR_NUM_BARRIERS, from compute capability 10.0 on. Before, they are in the flags of the section of the code."""


@dataclass(frozen=True)
class _Section:
    name: str
    kind: int
    flags: int
    data: bytes
    link: int


def block_threads(cubin: bytes) -> dict[str, int | None]:
    """The threads of a block for each kernel in `cubin`: exact by `.reqntid`, else at most, by `.maxntid`, else `None`.

    Raises `ToolError` when `cubin` is not a cubin.
    """
    with _reading():
        sections = _sections(cubin)
        named = {section.name: section for section in sections}
        return {kernel: _threads(_attributes(named, kernel)) for kernel in _kernels(sections)}


def named_barriers(cubin: bytes) -> dict[str, int]:
    """How many named barriers each kernel in `cubin` uses; `ToolError` when it is not a cubin."""
    with _reading():
        sections = _sections(cubin)
        named = {section.name: section for section in sections}
        return {
            kernel: _attributes(named, kernel).get(_BARRIERS, (named[f"{_CODE}{kernel}"].flags >> 20) & 0x7F)
            for kernel in _kernels(sections)
        }


def code_sections(cubin: bytes) -> dict[str, bytes]:
    """The code of each kernel and device function in `cubin`, by its symbol; `ToolError` when it is not a cubin."""
    with _reading():
        return {
            section.name.removeprefix(_CODE): section.data
            for section in _sections(cubin)
            if section.name.startswith(_CODE)
        }


@contextlib.contextmanager
def _reading() -> Generator[None]:
    try:
        yield
    except (struct.error, LookupError, ValueError, OverflowError) as failure:
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
    return [_Section(_text(names, header[0]), header[1], header[2], content(header), header[6]) for header in headers]


def _kernels(sections: list[_Section]) -> Iterator[str]:
    for table in sections:
        if table.kind == _SYMBOL_TABLE:
            names = sections[table.link].data
            for name, info, other, *_ in _SYMBOL.iter_unpack(table.data):
                if info & 0xF == _FUNCTION and other & _ENTRY:
                    yield _text(names, name)


def _attributes(named: Mapping[str, _Section], kernel: str) -> dict[int, int]:
    """The attributes of a kernel that are numbers in their header, and the threads of blocks."""
    data = named[f".nv.info.{kernel}"].data if f".nv.info.{kernel}" in named else b""
    found: dict[int, int] = {}
    position = 0
    while position < len(data):
        form, attribute, size = struct.unpack_from("<BBH", data, position)
        position += 4
        if form != _SIZED_VALUE:
            found[attribute] = size
            continue
        if attribute in (_MAX_THREADS, _REQUIRED_THREADS):
            found[attribute] = math.prod(struct.unpack_from("<III", data, position))
        position += size
    return found


def _threads(attributes: Mapping[int, int]) -> int | None:
    return attributes.get(_REQUIRED_THREADS, attributes.get(_MAX_THREADS))


def _text(strings: bytes, offset: int) -> str:
    return strings[offset : strings.index(b"\0", offset)].decode()
