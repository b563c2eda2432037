"""The memory of a host program: its allocations, at fixed addresses far from each other and from any pointer.

Allocation `n` begins at address 2**62 + n * 2**24. Device and host pointers lie below 2**57.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from cutecc.errors import LaunchError
from cutecc.record.host_program import Allocation

_BASE: Final = 1 << 62
_SPACING_BITS: Final = 24


def address_of(allocation: int) -> int:
    """The address of an allocation's first byte."""
    return _BASE + (allocation << _SPACING_BITS)


class AddressSpace:
    """Where allocations lie: by address, and by offset in one buffer that holds them all, one after the other."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self.sizes = [allocation.size for allocation in allocations]
        self.offsets: list[int] = []
        """Of each allocation in the buffer."""
        self.total = 0
        """Bytes of the buffer."""
        for size in self.sizes:
            self.offsets.append(self.total)
            self.total += size

    def locate(self, address: int, size: int) -> tuple[int, int]:
        """The allocation that holds `size` bytes at `address`, and the offset in it; `LaunchError` if none does."""
        allocation = (address - _BASE) >> _SPACING_BITS
        offset = (address - _BASE) & ((1 << _SPACING_BITS) - 1)
        if not 0 <= allocation < len(self.sizes) or offset + size > self.sizes[allocation]:
            self._outside(allocation, offset, address, size)
        return allocation, offset

    def offset(self, address: int, size: int) -> int:
        """Where `size` bytes at `address` lie in the buffer; `LaunchError` if outside every allocation."""
        allocation, offset = self.locate(address, size)
        return self.offsets[allocation] + offset

    def _outside(self, allocation: int, offset: int, address: int, size: int) -> NoReturn:
        if 0 <= allocation < len(self.sizes):
            where = f"at offset {offset} of allocation {allocation}, which has {self.sizes[allocation]} bytes"
        else:
            where = f"at address {address:#x}, which is none of its own"
        # The DSL traces x[0] = 1.0 in a host function too, for tensors of the CPU: compiling warned of the line.
        hint = "a tensor here is in the GPU's memory: only a kernel reads and writes elements of it"
        raise LaunchError(f"the host program uses {size} bytes {where}", hints=[hint])
