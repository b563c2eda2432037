"""Kernels with `tcgen05` instructions of one block and others of a pair.

All of a kernel have the same `.cta_group`; else what they do is undefined (PTX ISA, "tcgen05.alloc", "tcgen05.mma" and
the others that have one). That is so whether or not a run comes to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.finding import Finding, Place

if TYPE_CHECKING:
    from cutecc.emulator.checks.reports import Reports
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program

_ONE, _PAIR = "cta_group::1", "cta_group::2"


def report_mixed_groups(program: Program, block: tuple[int, int, int], reports: Reports) -> None:
    """Report the first instruction that has not the `.cta_group` of those before it, as one of a block."""
    firsts: dict[str, Operation] = {}
    for operation in program.operations:
        if operation.form.opcode == "tcgen05" and (group := operation.form.one_of(_ONE, _PAIR)):
            firsts.setdefault(group, operation)
    if len(firsts) < 2:
        return
    other, first = firsts.values()
    text = wording.mixed_groups(first.form.one_of(_ONE, _PAIR), other.form.one_of(_ONE, _PAIR))
    place = Place.of(first.instruction, block, None)
    beside = Place.of(other.instruction, block, None)
    reports.add(
        "tensor-memory", first.index, other.index, 1, lambda: Finding("tensor-memory", text, place, other=beside)
    )
