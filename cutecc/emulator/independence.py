"""Whether the clusters of a launch have nothing to do with each other: then in which order they run shows nowhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program

_ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_OWN_SPACES = {"shared", "local", "param", "const"}


def are_independent(program: Program) -> bool:
    """Whether nothing in a program lets blocks of different clusters tell each other anything.

    What can: atomics and reductions on memory that is not the block's own, and ordered accesses to it.
    """
    return not any(_may_tell(operation) for operation in program.operations)


def _may_tell(operation: Operation) -> bool:
    opcode, modifiers = operation.form.opcode, {each.partition("::")[0] for each in operation.form.modifiers}
    if opcode in ("atom", "red"):
        return not modifiers & _OWN_SPACES
    if opcode in ("ld", "st"):
        return bool(modifiers & _ORDERED) and not modifiers & _OWN_SPACES
    if opcode == "multimem":
        return True
    # A reduction from shared into global memory: `cp.reduce.async.bulk.global.shared::cta…`, also of a tensor map.
    return opcode == "cp" and "reduce" in modifiers and "global" in modifiers
