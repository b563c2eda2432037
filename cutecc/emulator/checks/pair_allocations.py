"""Allocations of pairs of blocks: each block has to know that the other one is there (PTX ISA, "tcgen05.alloc").

The issuing warp makes sure that the other block has been launched. And a block that deallocates while the other one is
still at its allocation ends in a launch failure on sm_103a (a public measurement).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.clocks import ORDER, Clocks

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.memory.tensor_memory import TensorAllocation


@dataclass(eq=False)
class PairAllocations:
    """Those of one machine."""

    _clocks: Clocks
    _got: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict[tuple[int, int], tuple[int, int]])
    """By slot of the block and first column: which thread has got the columns, with serial, and when."""

    def wrong(self, thread: int, operation: Operation, allocation: TensorAllocation) -> str | None:
        """What is wrong with what a warp does, by a thread of it as in `Gang.agents`."""
        if not allocation.pair:
            return None
        clocks, block = self._clocks, allocation.block
        other = _other(block)
        view = int(clocks.view_of[thread])
        if operation.form.has("alloc"):
            agent = int(clocks.agents_of(np.array([thread]))[0])
            self._got[block.slot, allocation.first] = agent, clocks.now
            clocks.now += 1
            known = int(clocks.serials[other.slot]) in clocks.view(view).foreign
            return None if known else wording.pair_not_launched()
        got = self._got.get((other.slot, allocation.first))
        if got is not None and clocks.knows_one(view, *got, ORDER):
            return None
        return wording.pair_still_allocates()


def _other(block: Block) -> Block:
    return block.cluster.blocks[block.rank ^ 1]
