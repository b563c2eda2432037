"""Barriers that blocks leave half used when they have run to their end.

Arrivals may be left over at an mbarrier: the last use of a pipeline's stages releases them to nobody. Bytes may not: no
copy will bring those that were announced. (Bytes that came unannounced are told of when they come.)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, cast

from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.checks.reports import merge_findings

if TYPE_CHECKING:
    from cutecc.emulator.instructions.mbarrier_object import Mbarrier
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program

_KIND: FindingKind = "mbarrier"


def report_leftovers(machine: Machine, program: Program) -> None:
    """Tells the machine what its blocks leave behind, if they have run to their end.

    After a deadlock nobody has exited, and everything is left over.
    """
    if any(block.live_warps for block in machine.blocks) or machine.pending:
        return
    for finding in merge_findings(_leftovers(machine, program)):
        machine.report(finding)


def _leftovers(machine: Machine, program: Program) -> Iterator[Finding]:
    """One finding for each mbarrier that misses bytes, at the last instruction that announces any."""
    announcing = [each for each in program.operations if each.form.opcode == "mbarrier" and each.form.has("expect_tx")]
    for block in machine.blocks:
        if not announcing:
            return
        for index, barrier in cast("dict[int, Mbarrier]", block.state.get("mbarriers", {})).items():
            if barrier.missing_bytes > 0:
                instruction = announcing[-1].instruction
                place = Place(instruction.location, instruction.line, instruction.text, block.index, None)
                text = f"an mbarrier is left behind with {barrier.missing()}"
                yield Finding(_KIND, text, place, _describe(machine, block, index))


def _describe(machine: Machine, block: Block, index: int) -> str:
    memory = machine.memory
    return f"{memory.describe('shared', index - block.slot * memory.shared_stride)} of {block.name}"
