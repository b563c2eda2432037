"""The device's heap: what `malloc` in a kernel gives (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and
Operations").

It lies behind the module's variables and lives as long as they do: what one launch has allocated the next one may use
and free. Memory that was freed is given again only when the end of the heap has been reached.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask
from cutecc.emulator.memory.poison import poison
from cutecc.emulator.memory.spaces import MODULE_APERTURE

HEAP_BYTES: Final = 8 << 20
"""As many as a GPU has unless its host asks for more (`cudaLimitMallocHeapSize`)."""
_UNIT: Final = 16
"""Bytes that allocations are aligned to, and made of."""
_UNITS: Final = HEAP_BYTES // _UNIT
_WORD: Final = 4
_BOOK_WORDS: Final = 2 * _UNITS + _UNIT // _WORD
Refusal = Literal["freed", "inside", "never"]
"""What an address is that cannot be freed."""


IMAGE_BYTES: Final = _BOOK_WORDS * _WORD + HEAP_BYTES
"""With its books, all zeros before anything is allocated."""


class Heap:
    """The heap in the memory of the module's variables, which holds its books as well."""

    def __init__(self, module: Array, start: int) -> None:
        """Its image begins at this byte of the module's memory."""
        books = module[start : start + _BOOK_WORDS * _WORD].view(np.uint32)
        self._owners: Array = books[:_UNITS]
        """By unit: the first unit of the allocation that it belongs to, plus 1; 0 where it is free."""
        self._sizes: Array = books[_UNITS : 2 * _UNITS]
        """By first unit: the bytes of the allocation, also of one that was freed, plus 1."""
        self._next: Array = books[2 * _UNITS : 2 * _UNITS + 1]
        """The unit behind the last allocation."""
        self._books = start
        self.start = start + _BOOK_WORDS * _WORD
        """Where in the module's memory its own begins."""
        self._data = module[self.start : self.start + HEAP_BYTES]

    def allocate(self, size: int) -> int:
        """The address of so many bytes, poisoned; 0 when there is no room."""
        count = max(1, -(-size // _UNIT))
        first = self._room(count)
        if first is None:
            return 0
        self._owners[first : first + count] = first + 1
        self._sizes[first] = size + 1
        self._next[0] = first + count
        poison(self._data[first * _UNIT : (first + count) * _UNIT])
        return MODULE_APERTURE | (self.start + first * _UNIT)

    def _room(self, count: int) -> int | None:
        """The first of so many free units: behind the last allocation, else anywhere."""
        after = int(self._next[0])
        if after + count <= _UNITS and not self._owners[after : after + count].any():
            return after
        taken = np.flatnonzero(np.concatenate([[True], self._owners != 0, [True]]))
        fitting = np.flatnonzero(np.diff(taken) > count)
        return int(taken[fitting[0]]) if len(fitting) else None

    def release(self, address: int) -> Refusal | None:
        """Free what begins at an address; what else the address is, if that cannot be."""
        offset = address - (MODULE_APERTURE | self.start)
        if not 0 <= offset < HEAP_BYTES:
            return "never"
        unit, within = divmod(offset, _UNIT)
        if size := self.size_of(address):
            self._owners[unit : unit + size // _UNIT] = 0
            return None
        if self._owners[unit]:
            return "inside"
        return "freed" if self._sizes[unit] and not within else "never"

    def size_of(self, address: int) -> int:
        """Bytes of the allocation that begins at an address, rounded up to whole units; 0 where none does."""
        unit, within = divmod(address - (MODULE_APERTURE | self.start), _UNIT)
        begins = 0 <= unit < _UNITS and not within and int(self._owners[unit]) == unit + 1
        return self._units(unit) * _UNIT if begins else 0

    def _units(self, first: int) -> int:
        return max(1, -(-(int(self._sizes[first]) - 1) // _UNIT))

    def outside(self, offsets: Array, size: int) -> Mask:
        """Which accesses of `size` bytes, at offsets in the module's memory, are to the heap and in no allocation."""
        places = offsets - self.start
        there = (places + size > self._books - self.start) & (places < HEAP_BYTES)
        if not there.any():
            return there
        first = np.clip(places // _UNIT, 0, _UNITS - 1)
        owner = self._owners[first].astype(np.int64)
        ends = (owner - 1) * _UNIT + self._sizes[np.maximum(owner - 1, 0)] - 1
        return there & ((places < 0) | (owner == 0) | (places + size > ends))

    def holds(self, offset: int) -> bool:
        """Whether a byte of the module's memory is the heap's."""
        return self._books <= offset < self.start + HEAP_BYTES

    def describe(self, offset: int) -> str:
        """A byte of the heap, by its offset in the module's memory, in words."""
        place = offset - self.start
        if place < 0:
            return "the books of the heap"
        owners = np.flatnonzero(self._owners[: place // _UNIT + 1])
        if not len(owners):
            return f"heap+{place}"
        first = int(self._owners[owners[-1]]) - 1
        size, begin = int(self._sizes[first]) - 1, first * _UNIT
        if place < begin + size:
            return f"heap+{place}, byte {place - begin} of {size} that were allocated at heap+{begin}"
        return f"heap+{place}, {place - begin - size} bytes past the end of {size} that were allocated at heap+{begin}"
