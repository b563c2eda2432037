"""Whether others may know of an mbarrier: the thread that initialised it has to execute a fence behind that.

Only looked at where findings are collected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.machine.lanes import Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine

MISSING = "that nobody has announced: behind mbarrier.init belongs a fence.mbarrier_init by the same thread"


def initialised(gang: Gang, mask: Mask, index: int) -> None:
    """Threads have initialised the mbarrier at a place in `Memory.shared`."""
    if gang.machine.collect is not None:
        _table(_owner(gang.machine, index))[index] = int(gang.agents[mask][-1])


def announce(gang: Gang, lanes: Lanes) -> None:
    """The threads execute a fence."""
    if gang.machine.collect is None:
        return
    for block in {gang.blocks[row] for row in lanes.rows}:
        table = _table(block)
        if table:
            agents = set(gang.agents[lanes.mask].tolist())
            for index in [index for index, agent in table.items() if agent in agents]:
                del table[index]


def is_missed(machine: Machine, index: int) -> bool:
    """Whether the mbarrier is not announced; says so once."""
    return machine.collect is not None and _table(_owner(machine, index)).pop(index, None) is not None


def _owner(machine: Machine, index: int) -> Block:
    return machine.blocks[index // machine.memory.shared_stride]


def _table(block: Block) -> dict[int, int]:
    """The block's mbarriers that are not announced, by index: who initialised them."""
    return block.state.setdefault("unannounced mbarriers", {})
