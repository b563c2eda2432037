"""Warps that are executed together: their registers, and where each of their threads is.

All instructions work on arrays of shape `(warps, 32)`. How many warps a gang has is the schedule's choice: to execute
all warps of a block in step is one of the orders in which hardware may execute them; a gang of one warp can be
executed at its own pace.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.machine.fragment import Fragment, Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.emulator.memory.spaces import CLUSTER_SHIFT, FIRST_RANK

if TYPE_CHECKING:
    from cutecc.emulator.instructions.warpgroup import InFlight
    from cutecc.emulator.machine.block import Block, Cluster
    from cutecc.emulator.machine.machine import Machine


class Gang:
    """Some warps of one or several blocks."""

    def __init__(self, machine: Machine, warps: Sequence[tuple[Block, int]], registers: list[Array]) -> None:
        """`warps` are blocks and warp numbers in them. The gang enters itself in their clusters."""
        self.machine = machine
        self.warps = len(warps)
        self.shape = (self.warps, WARP)
        self.registers = registers
        """By slot; arrays of shape `(warps, 32)`, bool or unsigned, that nobody changes in place."""
        self.blocks = [block for block, _ in warps]
        """Of each warp."""
        clusters = list(dict.fromkeys(block.cluster for block in self.blocks))
        self.cluster: Cluster | None = clusters[0] if len(clusters) == 1 else None
        """That of all its warps; `None` where they are of several."""
        for cluster in clusters:
            cluster.gangs.append(self)
        self.block_slots: Array = np.array([[block.slot] for block in self.blocks])
        """Shape `(warps, 1)`: which window of the shared memory is the warp's own."""
        ranks = np.array([[block.rank] for block in self.blocks], np.uint64)
        self.shared_base: Array = np.broadcast_to(ranks + np.uint64(FIRST_RANK) << np.uint64(CLUSTER_SHIFT), self.shape)
        """Of each thread: its block's shared memory, in addresses that say the rank."""
        self.warp_numbers: Array = np.array([[number] for _, number in warps])
        """Within the block, shape `(warps, 1)`."""
        self.threads: Array = self.warp_numbers * WARP + np.arange(WARP)
        """Linear index of each thread in its block."""
        self.agents: Array = self.block_slots * machine.agents_per_block + self.threads
        """The thread's number for `Watch`, unique among the blocks that are resident."""
        sizes = np.array([[block.threads] for block in self.blocks])
        self.alive: Mask = self.threads < sizes
        """Threads that exist and have not exited."""
        self.depth: Array = np.zeros(self.shape, np.int64)
        """Calls of functions that call themselves, each inside of another, that each thread is in."""
        self.stack: Array = np.zeros(self.shape, np.uint64)
        """Where local variables of such a function begin, in each thread's local memory."""
        self.fragments: list[Fragment] = []
        self.changes = 0
        """Grows whenever something happens that its threads may be waiting for."""
        self.is_idle = False
        """Whether it has no turn until something changes, or until nobody else can go on: then it may poll."""
        self.in_flight: list[InFlight] = []
        """Multiplications of warpgroups that its warps have started and not waited for, oldest first."""
        self.state: dict[str, Array] = {}
        """What instruction families keep per thread, by a name of theirs: `carry`."""
        self._special: dict[str, Array] = {}

    def mask(self, index: Any, threads: Mask | np.bool_ | bool = True) -> Mask:
        """A mask with these threads at an index (a row, several, or a row and a lane), and no others."""
        mask = np.zeros(self.shape, np.bool_)
        mask[index] = threads
        return mask

    def special(self, name: str) -> Array:
        """The value of a special register, unsigned, of shape `(warps, 32)`."""
        found = self._special.get(name)
        if found is None:
            from cutecc.emulator.instructions.special import read_special

            found, constant = read_special(self, name)
            if constant:
                self._special[name] = found
        return found

    def together(self, lanes: Lanes, members: Array | np.integer, what: str) -> Waiting | None:
        """Makes threads wait until all that `members` names are here; `None` when they are.

        For instructions that the threads of a warp execute together (`.sync`). `members` is a member mask, a bit a
        thread of the warp, as an array `(warps, 32)` or one number. Of threads that are not there, or have exited,
        nothing is asked.
        """
        if lanes.full:
            return None
        bits = np.arange(WARP, dtype=np.uint32)
        wanted = np.where(lanes.mask, members, 0).astype(np.uint32)
        named = (np.bitwise_or.reduce(wanted, axis=1, keepdims=True) >> bits & 1).astype(bool)
        absent = (named & self.alive & ~lanes.mask).any(axis=1, keepdims=True)
        if not absent.any():
            return None
        return Waiting(lanes.mask & absent, lambda row: what)
