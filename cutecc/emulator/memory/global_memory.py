"""Global memory: which allocation an address belongs to."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.allocations import Allocation, merged
from cutecc.emulator.memory.gaps import Gaps
from cutecc.emulator.memory.region import Region

_NEAR = 1 << 20
"""Bytes: an address farther than this from every tensor is said as a number."""


class GlobalMemory:
    """The allocations of a launch."""

    def __init__(self, allocations: Sequence[Allocation]) -> None:
        self.allocations = list(allocations)
        self.regions: list[Region] = merged(allocations)
        made = ((region, Gaps.of(region, self.allocations)) for region in self.regions)
        self.gaps: dict[Region, Gaps] = {region: gaps for region, gaps in made if gaps}
        """Of the regions that have some."""
        self._bases: Array = np.array([region.start for region in self.regions], np.uint64)
        self._sizes: Array = np.array([region.size for region in self.regions], np.int64)

    def find(self, addresses: Array, size: int) -> tuple[Array, Array]:
        """The region, by its number, that holds `size` bytes at each address of a flat array (-1 where none does), and
        the offset in it."""
        if not self.regions:
            return np.full(addresses.shape, -1), np.zeros(addresses.shape, np.int64)
        number = np.searchsorted(self._bases, addresses, side="right") - 1
        offsets = (addresses - self._bases[number]).view(np.int64)
        limit = self._sizes[number] - size
        inside = (number >= 0) & (offsets >= 0) & (offsets <= limit)
        return np.where(inside, number, -1), offsets

    def view(self, address: int, size: int) -> tuple[Allocation, int] | None:
        """The allocation that holds `size` bytes at an address, and the offset in it; the smallest of several."""
        best = min(
            (each for each in self.allocations if each.base <= address and address + size <= each.end),
            key=lambda each: each.size,
            default=None,
        )
        return None if best is None else (best, address - best.base)

    def describe(self, address: int) -> str:
        """What is at an address, or which tensor it is next to."""
        found = self.view(address, 1)
        if found is not None:
            allocation, offset = found
            return allocation.describe(offset)
        nearest = min(self.allocations, key=lambda each: _distance(each, address), default=None)
        if nearest is None or _distance(nearest, address) > _NEAR:
            return f"0x{address:x}, near no argument"
        return nearest.describe(address - nearest.base)


def _distance(allocation: Allocation, address: int) -> int:
    return max(allocation.base - address, address - allocation.end + 1, 0)
