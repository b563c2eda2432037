"""Barriers that blocks leave half used when they have run to their end, and tensor memory that they keep.

Arrivals may be left over at an mbarrier: the last use of a pipeline's stages releases them to nobody. Bytes mostly may
not: no copy will bring those that were announced, and those that came unannounced have had no wait wait for them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.checks.reports import merge_findings
from cutecc.emulator.deadlocks.mbarriers import too_many_bytes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.mbarrier_object import Mbarrier
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.machine import Machine

_KIND: FindingKind = "mbarrier"


def report_leftovers(machine: Machine) -> None:
    """Tells the machine what its blocks leave behind, if they have run to their end.

    After a deadlock nobody has exited, and everything is left over.
    """
    if any(block.live_warps for block in machine.blocks) or machine.pending:
        return
    for finding in merge_findings(_leftovers(machine)):
        machine.report(finding)


def _leftovers(machine: Machine) -> Iterator[Finding]:
    """One finding for each mbarrier at which the bytes that were announced are not those that came, and allocation."""
    for block in machine.blocks:
        for index, barrier in cast("dict[int, Mbarrier]", block.state.get("mbarriers", {})).items():
            address = _describe(machine, block, index)
            if _is_acquired(barrier):
                continue
            if barrier.missing_bytes > 0 and (announcing := barrier.ledger.altogether("announces")):
                last = announcing[-1]
                text = f"an mbarrier is left behind with {barrier.missing()}"
                yield Finding(_KIND, text, _place(machine, last.operation, max(last.agents)), address)
            elif barrier.missing_bytes < 0 and barrier.ledger.altogether("brings"):
                cause = too_many_bytes(barrier, "the mbarrier")
                place = _place(machine, cause.operation, cause.agent or 0)
                yield Finding(_KIND, "\n".join([cause.text, cause.mend, *cause.evidence]), place, address)

    for memory in machine.tensor_memories.values():
        for each in memory.allocations:
            place = Place.of(each.operation.instruction, each.block.index, None)
            yield Finding("tensor-memory", wording.kept_columns(each.columns), place)


def _is_acquired(barrier: Mbarrier) -> bool:
    """Whether it has served, and bytes are announced for a phase of which none came.

    A producer that acquires its stages once more before it exits, so that consumers of other blocks are done with them,
    announces what it never copies.
    """
    return barrier.phase > 0 and barrier.missing_bytes > 0 and not barrier.ledger.present("brings")


def _place(machine: Machine, operation: Operation, agent: int) -> Place:
    return Place.of(operation.instruction, *machine.block_and_thread(agent))


def _describe(machine: Machine, block: Block, index: int) -> str:
    memory = machine.memory
    return f"{memory.describe('shared', index - block.slot * memory.shared_stride)} of {block.name}"
