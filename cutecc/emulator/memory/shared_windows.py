"""What addresses of shared memory mean: each block's window among those of all resident blocks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import Array, Mask
from cutecc.emulator.memory.names import Names
from cutecc.emulator.memory.spaces import CLUSTER_OFFSET_MASK, CLUSTER_SHIFT, FIRST_RANK, SHARED_ADDRESS_MASK

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang


@dataclass(eq=False)
class SharedWindows:
    """The windows, one after the other by the slots of their blocks. Sizes are in bytes."""

    size: int
    stride: int
    """From one to the next."""
    reserved: int
    """What is the system's at the start of each."""
    names: Names
    """Of what lies in dynamic shared memory."""
    dynamic: int
    """Where that begins."""
    _starts: dict[Gang, Array] = field(default_factory=dict["Gang", Array])
    _slots: dict[Gang, Array] = field(default_factory=dict["Gang", Array])

    def starts(self, gang: Gang) -> Array:
        """Where the window of each warp's block begins, shape `(warps, 1)`."""
        found = self._starts.get(gang)
        if found is None:
            self._starts[gang] = found = gang.block_slots * self.stride
        return found

    def index(self, gang: Gang, offsets: Array, size: int) -> tuple[Array, Mask]:
        """Where addresses without aperture are, and which of them have `size` bytes inside of a block's window."""
        inside = offsets <= self.size - size
        if inside.all():
            return offsets + self.starts(gang), inside
        table = self._slots_of_cluster(gang)
        ranks = offsets >> CLUSTER_SHIFT
        known = ranks <= table.shape[1] - 1
        slots = np.take_along_axis(table, np.where(known, ranks, 0), axis=1)
        offsets = offsets & CLUSTER_OFFSET_MASK
        inside = (offsets <= self.size - size) & known & (slots >= 0)
        return offsets + slots * self.stride, inside

    def _slots_of_cluster(self, gang: Gang) -> Array:
        """Of each warp, by what addresses say: its own block's slot, those of its cluster's by rank; else -1."""
        table = self._slots.get(gang)
        if table is None:
            ranks = max(len(block.cluster.blocks) for block in gang.blocks)
            table = np.full((gang.warps, FIRST_RANK + ranks), -1)
            for row, block in enumerate(gang.blocks):
                slots = [each.slot for each in block.cluster.blocks]
                table[row, 0] = block.slot
                table[row, FIRST_RANK : FIRST_RANK + len(slots)] = slots
            self._slots[gang] = table
        return table

    def describe(self, address: int) -> str:
        """An address in words: `shared+1040`, `tile[3, 17] (shared+1040)`, `shared+4220, just past the end of 4220
        bytes`."""
        rank, offset = divmod(address & SHARED_ADDRESS_MASK, 1 << CLUSTER_SHIFT)
        # The kernel's own memory begins behind what is reserved for the system.
        own = offset - self.reserved
        text = f"shared+{own}" if own >= 0 else f"byte {offset} of the system's shared memory"
        if name := self.names.shared(offset, self.dynamic):
            text = f"{name} ({text})"
        if rank:
            text += f" of the cluster's block {rank - FIRST_RANK}"
        past = offset - self.size
        if past >= 0:
            text += f", {f'{past} bytes' if past else 'just'} past the end of {self.size - self.reserved} bytes"
        return text
