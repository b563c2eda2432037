"""Deadlocks at allocations of tensor memory: columns that nobody gives back, a block of a pair that does not come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.deadlocks.waits import Cause, Wait, Waits, counted
from cutecc.emulator.instructions.tcgen05_allocation import ColumnsWanted, PeerAwaited
from cutecc.emulator.memory.tensor_memory import COLUMNS

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block

_CALLS: Final = {"alloc": "cute.arch.alloc_tmem", "dealloc": "cute.arch.dealloc_tmem"}


def is_alone(wait: Wait) -> bool:
    """Whether a block waits for columns that it has itself: it does not get them, whatever others give back."""
    if not isinstance(wait.on, ColumnsWanted):
        return False
    wanted = wait.on
    return any(
        wanted.columns + sum(each.columns for each in memory.allocations if each.block is wanted.block) > COLUMNS
        for memory in wanted.memories
    )


def tensor_memory_cause(waits: Waits, wait: Wait) -> Cause | None:
    """`None` for what is none of this."""
    match wait.on:
        case ColumnsWanted() as wanted:
            return _of_columns(waits, wait, wanted)
        case PeerAwaited() as awaited:
            return _of_peer(waits, wait, awaited)
        case _:
            return None


def _of_columns(waits: Waits, wait: Wait, wanted: ColumnsWanted) -> Cause:
    operation = waits.program.operations[wait.place]
    evidence = [f"of {COLUMNS} columns, {wanted.holders}"]
    text = f"{wanted.block.name} waits for {counted(wanted.columns, 'column')} of tensor memory, and gets none"
    holders = [each for memory in wanted.memories for each in memory.allocations]
    own = next((each for each in holders if each.block in (wanted.block, *_peers(wanted.block))), None)
    if own is None:
        at = holders[0].operation
        mend = f"those who allocate at {at.where} deallocate, {_CALLS['dealloc']}, before they wait for others or exit"
        return Cause(text, evidence, mend, at)
    mend = f"deallocate those of {own.operation.where} before, or allocate all at once there"
    if not is_alone(wait):
        mend = f"blocks of one processor wait for one another: allocate all at once, at {own.operation.where}"
    return Cause(text, evidence, mend, operation)


def _peers(block: Block) -> list[Block]:
    return [each for each in block.cluster.blocks if each.rank ^ 1 == block.rank]


def _of_peer(waits: Waits, wait: Wait, awaited: PeerAwaited) -> Cause:
    operation, other, call = waits.program.operations[wait.place], awaited.other, _CALLS[awaited.does]
    text = f"tcgen05.{awaited.does} of a pair of blocks waits for a warp of {other.name} to do the same"
    places = {
        waits.program.operations[each.place].where
        for each in waits.stuck
        for row in np.flatnonzero(each.mask.any(axis=1)).tolist()
        if each.gang.blocks[row] is other
    }
    if not other.live_warps:
        evidence = [f"{other.name} has exited"]
        mend = f"a warp of each block of the pair calls {call}, before the block exits"
        return Cause(text, evidence, mend, operation)
    evidence = [f"{other.name} waits at {', '.join(sorted(places))}"]
    mend = f"a warp of each block of the pair calls {call}, with the same columns"
    if awaited.does == "dealloc":
        mend += ", after the last barrier that the two have in common"
    return Cause(text, evidence, mend, operation)
