"""A stretch of bytes that is accessed as arrays of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutecc.emulator.machine.lanes import Array

_GRANULE = 32
"""Bytes: the widest access of one thread."""


def value_dtype(size: int) -> np.dtype[Any]:
    """The dtype of values of so many bytes. For 16, complex numbers: of that size, and NumPy moves them as they are."""
    return np.dtype(np.complex128) if size == 16 else np.dtype(f"u{size}")


class Region:
    """Bytes at consecutive addresses. Gathers and scatters neither check bounds nor alignment: `Memory` has."""

    def __init__(self, base: int, data: Array) -> None:
        """`data` is flat, `uint8`, and the memory itself: what is stored is stored there."""
        self.start = np.uint64(base)
        self.size = int(data.size)
        self.data = data
        self.writable = bool(data.flags.writeable)
        self.lead = base % _GRANULE
        """Bytes from an address to which every access is aligned to the base."""
        self._rows: dict[tuple[int, int], tuple[Array, int, int]] = {}

    def gather(self, offsets: Array, size: int, count: int) -> list[Array]:
        """At each offset `count` values of `size` bytes; `offsets` are `int64`, in bytes from the base."""
        if count & (count - 1):  # rows of so many are at no power of two
            return [self.gather(offsets + number * size, size, 1)[0] for number in range(count)]
        rows, shift, first = self._view(size, count)
        index = self._index(offsets, shift, first)
        if count == 1:
            return [rows[index]]
        found = rows.take(index, axis=0)
        return list(np.ascontiguousarray(np.moveaxis(found, -1, 0)))

    def scatter(self, offsets: Array, size: int, values: Sequence[Array]) -> None:
        """The counterpart of `gather`. Of equal offsets the last one counts."""
        count = len(values)
        if count == 1:
            rows, shift, first = self._view(size, 1)
            rows[self._index(offsets, shift, first)] = values[0]
            return
        packed = np.empty((*offsets.shape, count), f"u{size}")
        for number, value in enumerate(values):
            packed[..., number] = value
        row = size * count
        if row in (2, 4, 8, 16):
            rows, shift, first = self._view(row, 1)
            rows[self._index(offsets, shift, first)] = packed.view(value_dtype(row))[..., 0]
        else:
            rows, shift, first = self._view(size, count)
            rows[self._index(offsets, shift, first)] = packed

    def _index(self, offsets: Array, shift: int, first: int) -> Array:
        if not self.lead:
            return offsets >> shift if shift else offsets
        return ((offsets + self.lead) >> shift) - first

    def _view(self, size: int, count: int) -> tuple[Array, int, int]:
        """The bytes as rows of `count` elements at the addresses that are multiples of a row; the shift from bytes to
        rows; and the number of the first row."""
        found = self._rows.get((size, count))
        if found is None:
            row = size * count
            first = -(-self.lead // row)
            start = first * row - self.lead
            stop = max(start, start + (self.size - start) // row * row)
            rows = self.data[start:stop].view(value_dtype(size))
            found = rows.reshape(-1, count) if count > 1 else rows, row.bit_length() - 1, first
            self._rows[size, count] = found
        return found
