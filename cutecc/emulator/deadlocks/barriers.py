"""Deadlocks at barriers of a block, a cluster and a warp: who does not come, and where they are instead."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, cast

import numpy as np

from cutecc.emulator.deadlocks.waits import Cause, Wait, Waits, counted
from cutecc.emulator.instructions.block_barrier import Barrier, Barriers
from cutecc.emulator.instructions.cluster_barrier import ClusterBarrier
from cutecc.emulator.machine.lanes import WARP, Mask
from cutecc.emulator.machine.stuck import ranges

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang


def barrier_cause(waits: Waits, wait: Wait) -> Cause | None:
    """`None` for what is no barrier."""
    match wait.on:
        case Barrier() as barrier:
            return _of_block(waits, wait, barrier)
        case ClusterBarrier() as barrier:
            return _of_cluster(waits, wait, barrier)
        case _:
            return _of_warp(waits, wait)


def _of_block(waits: Waits, wait: Wait, barrier: Barrier) -> Cause:
    operation = waits.program.operations[wait.place]
    block, number = barrier.block, barrier.number
    come = {**barrier.comers, **{int(each.gang.warp_numbers[row, 0]): operation for each, row in wait.rows}}
    missing = [warp for warp in _living(waits, block) if warp not in come]
    name = "sync_threads()" if number == 0 and barrier.expected is None else f"barrier {number}"
    waited = "all warps of the block" if barrier.expected is None else counted(barrier.expected, "thread")
    if (barrier.partly or _come_in_part(wait)) and not missing:
        text = f"{name} waits for all threads of a warp, and a part of them takes another way"
        return Cause(text, [], "move the barrier to where all threads of the warp come", operation)
    if other := _another_barrier(block, barrier):
        return _elsewhere(name, waited, barrier, other, missing, _comer(other) or operation)
    threads = WARP * len(come)
    text = f"{name} waits for {waited}, and {counted(threads, 'thread')} come{_who_does_not(missing)}"
    evidence = [_absent(waits, block, missing)] if missing else []
    if barrier.expected is None:
        own = f"barrier(barrier_id=1, number_of_threads={threads})"
        mend = f"the warps that come need a barrier of their own: {own}; or have all warps come to {name}"
        return Cause(text, evidence, mend, operation)
    evidence += _gone(waits, block, come)
    return Cause(text, evidence, f"count those that come: number_of_threads={threads}", operation)


def _elsewhere(name: str, waited: str, barrier: Barrier, other: Barrier, missing: list[int], comer: Operation) -> Cause:
    """Warps that come to another barrier, by the operation `comer`."""
    warps = sorted(other.comers) or missing
    they = f"warps {ranges(warps)} come" if len(warps) > 1 else f"warp {ranges(warps)} comes"
    text = f"{name} waits for {waited}, and {they} to barrier {other.number} instead"
    one = "sync_threads()" if name == "sync_threads()" else f"barrier_id={barrier.number}"
    return Cause(text, [f"they come there at {comer.where}"], f"have all come to the same one: {one}", comer)


def _who_does_not(missing: list[int]) -> str:
    if not missing:
        return ""
    return f": warp{'s' * (len(missing) > 1)} {ranges(missing)} {'do' if len(missing) > 1 else 'does'} not"


def _gone(waits: Waits, block: Block, come: Collection[int]) -> list[str]:
    """A line about the warps that are neither here nor anywhere else, if there are any."""
    gone = sorted(set(range(-(-block.threads // WARP))) - set(_living(waits, block)) - set(come))
    return [f"warp{'s' * (len(gone) > 1)} {ranges(gone)} {'have' if len(gone) > 1 else 'has'} exited"] if gone else []


def _come_in_part(wait: Wait) -> bool:
    """Whether of a warp that waits there some threads are elsewhere. (A barrier that does not count does not know.)"""
    here: dict[tuple[Gang, int], Mask] = {}
    for fragment, row in wait.rows:
        key = fragment.gang, row
        here[key] = here.get(key, False) | fragment.mask[row]
    return any((gang.alive[row] & ~mask).any() for (gang, row), mask in here.items())


def _living(waits: Waits, block: Block) -> list[int]:
    """Warps that have not exited."""
    return sorted(
        int(gang.warp_numbers[row, 0])
        for gang in waits.machine.gangs
        for row, owner in enumerate(gang.blocks)
        if owner is block and gang.alive[row].any()
    )


def _absent(waits: Waits, block: Block, warps: list[int]) -> str:
    """Where warps are that do not come."""
    places: dict[str, list[int]] = {}
    for fragment in waits.stuck:
        for row in np.flatnonzero(fragment.mask.any(axis=1)):
            warp = int(fragment.gang.warp_numbers[row, 0])
            if fragment.gang.blocks[row] is block and warp in warps:
                places.setdefault(waits.program.operations[fragment.place].where, []).append(warp)
    parts = [f"warp{'s' * (len(each) > 1)} {ranges(sorted(each))} at {place}" for place, each in places.items()]
    return f"elsewhere: {'; '.join(parts)}"


def _another_barrier(block: Block, barrier: Barrier) -> Barrier | None:
    """One of the block that others have come to, and that is not complete."""
    barriers = cast("Barriers | None", block.state.get("barriers"))
    if barriers is None:
        return None
    return next((each for each in barriers if each is not barrier and each.has_arrivals), None)


def _comer(barrier: Barrier) -> Operation | None:
    return next(iter(barrier.comers.values()), None)


def _of_cluster(waits: Waits, wait: Wait, barrier: ClusterBarrier) -> Cause:
    operation = waits.program.operations[wait.place]
    come = {(each.gang.blocks[row].name, int(each.gang.warp_numbers[row, 0])) for each, row in wait.rows}
    missing: dict[str, list[int]] = {}
    for block in barrier.cluster.blocks:
        if warps := [warp for warp in _living(waits, block) if (block.name, warp) not in come]:
            missing[block.name] = warps
    evidence = [
        f"{_absent(waits, block, missing[block.name])}, of {block.name}"
        for block in barrier.cluster.blocks
        if block.name in missing
    ]
    text = "the barrier of the cluster waits for all threads of all its blocks, and some do not come"
    mend = (
        "cluster_arrive() and cluster_wait() are for all threads of the cluster's blocks: move them out of the branch"
    )
    return Cause(text, evidence, mend, operation)


def _of_warp(waits: Waits, wait: Wait) -> Cause | None:
    fragment, row = wait.rows[0]
    operation = waits.program.operations[fragment.place]
    if fragment.waiting is None or not fragment.gang.alive[row][~fragment.mask[row]].any():
        return None
    if "thread" not in fragment.waiting.what(row):
        return None
    others = [
        waits.program.operations[each.place].where
        for each in waits.stuck
        if each.gang is fragment.gang and each is not fragment and each.mask[row].any()
    ]
    text = f"threads of a warp wait for others of it that do not come to {operation.form}"
    evidence = [f"the others are at {', '.join(dict.fromkeys(others))}"] if others else []
    mend = "let the mask name those threads alone that come, or move it to where all do"
    return Cause(text, evidence, mend, operation)
