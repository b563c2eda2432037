"""Which bytes of shared memory an event accesses.

Of matrix descriptors, the PTX ISA: start address, leading and stride byte offset are in units of 16 bytes; the layout
type says how wide rows are, in whose groups of eight a matrix is stored. A swizzle flips bits of the address that are
within a row: what is read of a row stays there, wherever the rows begin.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cutecc.proving.memory import Range
from cutecc.proving.values import WARP, Lanes, Value

_WGMMA = re.compile(r"wgmma\.mma_async(?:\.sp)?\.sync\.aligned\.m64n(\d+)k(\d+)\.(\w+)\.(\w+)(?:\.(\w+))?")
_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
_ROWS = 8
"""Of a group."""
_FIELD = 0x3FFF
_ROW_BYTES = {0: 16, 1: 128, 2: 64, 3: 32}
"""By the layout type."""
_WARPS = 4
"""Of a warpgroup."""
_WARP_ROWS = 16


@dataclass(frozen=True, slots=True)
class Product:
    """A `wgmma`."""

    columns: int
    depth: int
    bits: int
    """Of an element of A and B."""


def product_of(assembly: str) -> Product | None:
    """The `wgmma` in a piece of assembly."""
    found = _WGMMA.search(assembly)
    if found is None:
        return None
    bits = _BITS.get(found[4]) or _BITS.get(found[5] or "")
    return Product(int(found[1]), int(found[2]), bits or 16)


def operand_a(product: Product, descriptor: int, warp: int, *, is_transposed: bool) -> list[Range]:
    """What a warp reads of A: its own 16 rows, where rows are stored one behind another."""
    if is_transposed:
        return _across(product, descriptor, 64)
    first = warp % _WARPS * (_WARP_ROWS // _ROWS)
    return _rows(product, descriptor, range(first, first + _WARP_ROWS // _ROWS))


def operand_b(product: Product, descriptor: int, *, is_transposed: bool) -> list[Range]:
    """What a warp reads of B: all of it."""
    if is_transposed:
        return _across(product, descriptor, product.columns)
    return _rows(product, descriptor, range(product.columns // _ROWS))


def _fields(descriptor: int) -> tuple[int, int, int, int]:
    start, leading, stride = (((descriptor >> at) & _FIELD) << 4 for at in (0, 16, 32))
    return start, leading, stride, descriptor >> 62 & 3


def _rows(product: Product, descriptor: int, groups: Iterable[int]) -> list[Range]:
    start, leading, stride, layout = _fields(descriptor)
    width = _ROW_BYTES[layout]
    start -= start % width
    wide = -(-product.depth * product.bits // 8 // width) if not layout else 1
    found = [start + group * stride + part * leading for group in groups for part in range(wide)]
    return merged((at, at + _ROWS * width) for at in found)


def _across(product: Product, descriptor: int, length: int) -> list[Range]:
    """Of a matrix whose rows are along the other mode."""
    start, leading, stride, layout = _fields(descriptor)
    width = _ROW_BYTES[layout]
    atoms = -(-length * product.bits // 8 // width)
    start -= start % width
    groups = -(-product.depth // _ROWS)
    found = [start + atom * leading + group * stride for atom in range(atoms) for group in range(groups)]
    return merged((at, at + _ROWS * width) for at in found)


def of_lanes(address: Value, size: int, mask: int, rows: int = WARP) -> list[Range] | None:
    """What lanes access, each `size` bytes at its address; `None` where that is not known."""
    if type(address) is int:
        return [(address, address + size)]
    if not isinstance(address, Lanes):
        return None
    return merged((each, each + size) for lane, each in enumerate(address[:rows]) if mask >> lane & 1)


def merged(ranges: Iterable[Range]) -> list[Range]:
    """The same bytes, in as few ranges as can be."""
    found: list[Range] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def in_block(ranges: Sequence[Range], base: int) -> list[Range]:
    """Ranges of a block's own shared memory, in the cluster's."""
    return [(start + base, end + base) for start, end in ranges]
