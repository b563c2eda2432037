"""What the checks remember of a launch, over all blocks that run in this process, one machine after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.clocks import Clocks
from cutecc.emulator.checks.shadow import GlobalShadow
from cutecc.emulator.grid import Dim3
from cutecc.emulator.machine.block import Block
from cutecc.emulator.memory.allocations import Allocation, merged
from cutecc.emulator.memory.spaces import MODULE_APERTURE

_Shadowed = tuple[GlobalShadow, NDArray[Any] | None, NDArray[Any]]
"""A shadow, which of some addresses lie in it, and their offsets."""


class History:
    """Blocks by serial number, the operation of each event, and the shadow of global memory."""

    def __init__(self) -> None:
        self.now = 1
        """The event that comes next."""
        self.blocks: list[Dim3] = []
        """The index in the grid of every block so far, by its serial number."""
        self.is_broken = False
        """Whether the checks have failed, so that accesses are missing from here on."""
        self._operations = np.zeros(1024, np.int32)
        self._bases: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._ends: NDArray[np.uint64] = np.zeros(0, np.uint64)
        self._shadows: list[GlobalShadow | None] = []
        self._shift = self._warps = 0
        """Of agents' numbers, and of a block: the same in all machines of a launch."""

    def start_block(self, block: Block) -> int:
        """Gives a block its serial number."""
        self.blocks.append(block.index)
        return len(self.blocks) - 1

    def note(self, event: int, operation: int) -> None:
        """An event is an access by the operation of this index."""
        if event >= len(self._operations):
            self._operations = np.concatenate([self._operations, np.zeros(event, np.int32)])
        self._operations[event] = operation

    def operations(self, events: NDArray[Any]) -> NDArray[np.int32]:
        """The operations of accesses."""
        return self._operations[events]

    def map(self, allocations: Sequence[Allocation], module_bytes: int, clocks: Clocks) -> None:
        """Say which global memory there is. Allocations may overlap. What is known already is kept."""
        if self._shadows:
            return
        self._shift, self._warps = clocks.shift, clocks.agents_per_block // 32
        spans = [(int(each.start), int(each.start) + each.size) for each in merged(allocations)]
        if module_bytes:
            spans.append((MODULE_APERTURE, MODULE_APERTURE + module_bytes))
        # Granules are the same wherever a stretch starts.
        self._bases = np.array([start & ~15 for start, _ in spans], np.uint64)
        self._ends = np.array([end for _, end in spans], np.uint64)
        self._shadows = [None for _ in spans]

    def global_shadows(self, addresses: NDArray[np.uint64]) -> list[_Shadowed]:
        """The shadows that flat addresses lie in: which of them (`None` for all), and their offsets."""
        if not self._shadows:
            return []
        numbers = np.searchsorted(self._bases, addresses, side="right") - 1
        first = int(numbers[0])
        if bool((numbers == first).all()):
            return [(self._shadow(first), None, (addresses - self._bases[first]).view(np.int64))] if first >= 0 else []
        found: list[_Shadowed] = []
        for number in np.unique(numbers[numbers >= 0]).tolist():
            chosen = np.flatnonzero(numbers == number)
            found.append((self._shadow(number), chosen, (addresses[chosen] - self._bases[number]).view(np.int64)))
        return found

    def forget(self, address: int, size: int) -> None:
        """Memory is given anew, of which nothing is known any more."""
        for shadow, _, offsets in self.global_shadows(np.array([address], np.uint64)):
            shadow.forget(int(offsets[0]), size)

    def _shadow(self, number: int) -> GlobalShadow:
        found = self._shadows[number]
        if found is None:
            size = int(self._ends[number] - self._bases[number])
            found = GlobalShadow(size, self._shift, self._warps)
            self._shadows[number] = found
        return found
