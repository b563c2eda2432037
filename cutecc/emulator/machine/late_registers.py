"""Registers that `tcgen05.ld` brings some time later: who uses one waits for its load alone.

PTX ISA, "Register dependencies, same thread": an ordering through true register dependency is respected without any
`tcgen05.wait::ld`. Which operations may come to a register before its load is over is known from the program: mostly
none, or the first that uses it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecc.emulator.checks.registers import Use, successors, uses_of
from cutecc.emulator.instructions.tcgen05_transfer import finish_loads
from cutecc.emulator.machine.lanes import Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.control import Control, Way
    from cutecc.emulator.machine.fragment import Fragment, Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import Program


def wait_for_registers(program: Program) -> None:
    """Have operations of a program wait for loads whose registers they use."""
    loads = [each for each in program.operations if is_load(each) and each.index not in program.refused]
    if not loads:
        return
    for index, slots in _early_uses(program, loads).items():
        if index in program.refused:
            continue
        program.late[index] = slots
        operation, step, way = program.operations[index], program.steps[index], program.controls[index]
        if step is not None:
            program.steps[index] = _waiting(step, operation, slots)
        elif way is not None:
            program.controls[index] = _going(way, operation, slots)


def is_load(operation: Operation) -> bool:
    return operation.form.opcode == "tcgen05" and operation.form.has("ld")


def _waiting(step: Step, operation: Operation, slots: frozenset[int]) -> Step:
    def waits(gang: Gang, lanes: Lanes) -> Waiting | None:
        finish_loads(gang, lanes, operation, slots)
        return step(gang, lanes)

    return waits


def _going(way: Control, operation: Operation, slots: frozenset[int]) -> Control:
    """Of a call that hands over such a register, or takes it for an address, and of a branch to a target by number."""

    def waits(fragment: Fragment) -> list[Way]:
        finish_loads(fragment.gang, Lanes(fragment.mask), operation, slots)
        return way(fragment)

    return waits


def _early_uses(program: Program, loads: Sequence[Operation]) -> dict[int, frozenset[int]]:
    """By operation: the registers that it uses, and that a load which was not waited for may still bring."""
    uses, follows = uses_of(program), successors(program)
    brought = {each.index: uses[each.index].writes for each in loads}
    along = _along(brought)
    late: dict[int, frozenset[int]] = dict.fromkeys(_starts(follows, [*brought]), frozenset())
    found: dict[int, frozenset[int]] = {}
    work = sorted(late, reverse=True)
    while work:
        index = work.pop()
        state = late[index]
        while True:
            used = _touched(uses[index]) & state
            if used:
                found[index] = found.get(index, frozenset()) | used
            state = _after(program.operations[index], state, used, along) | brought.get(index, frozenset())
            if follows[index] != (index + 1,) or index + 1 in late:
                break
            index += 1
        for target in follows[index]:
            if not state <= late.get(target, frozenset()):
                late[target] = state | late.get(target, frozenset())
                work.append(target)
    return found


def _touched(use: Use) -> frozenset[int]:
    return use.reads | use.writes


def _after(
    operation: Operation, state: frozenset[int], used: frozenset[int], along: dict[int, frozenset[int]]
) -> frozenset[int]:
    """What may be late behind an operation that uses some of it."""
    if not state or operation.instruction.guard is not None:
        return state
    if operation.form.opcode == "tcgen05" and operation.form.has("wait::ld"):
        return frozenset()
    for slot in used:
        state = state - along[slot]
    return state


def _along(brought: dict[int, frozenset[int]]) -> dict[int, frozenset[int]]:
    """By register: which ones come with it, whichever load it is of."""
    found: dict[int, frozenset[int]] = {}
    for registers in brought.values():
        for slot in registers:
            found[slot] = registers if slot not in found else found[slot] & registers
    return found


def _starts(follows: Sequence[tuple[int, ...]], loads: Sequence[int]) -> set[int]:
    """Where ways meet or begin; and the loads, from where on there is something to know."""
    jumps = {target for index, targets in enumerate(follows) for target in targets if target != index + 1}
    return jumps | set(loads)
