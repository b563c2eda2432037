"""Steps with checks around them, where an instruction needs more than it tells the watch by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.checks.registers import accumulators_of, unproven_reads, use_of
from cutecc.emulator.machine.lanes import Lanes, Mask
from cutecc.ptx.syntax import Not

if TYPE_CHECKING:
    from cutecc.emulator.checks.checker import Checker
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.waiting import Waiting

Hook = Callable[["Gang", Lanes], None]


def instrument(program: Program, checker: Checker) -> list[Step | None]:
    """The program's steps for this checker: most are the same."""
    steps = list(program.steps)
    registers = _Registers(program, checker) if "initialisation" in checker.which else None
    mbarriers = "races" in checker.which
    for operation in program.operations:
        step = steps[operation.index]
        if step is None:
            continue
        before: list[Hook] = []
        after: list[Hook] = []
        if registers is not None:
            before += registers.before(operation)
            after += registers.after(operation)
        accumulators = checker.accumulators
        if accumulators is not None and accumulators.concerns(operation):
            before.append(_bound(accumulators.before, operation))
        if mbarriers and operation.form.opcode == "mbarrier":
            after.append(_mbarrier(operation, checker))
        if operation.form.has("sync") and operation.form.opcode not in ("bar", "barrier"):
            after.append(checker.together)
        if before or after:
            steps[operation.index] = _around(operation, step, before, after)
    return steps


def _bound(hook: Callable[[Gang, Lanes, Operation], None], operation: Operation) -> Hook:
    return lambda gang, lanes: hook(gang, lanes, operation)


def _around(operation: Operation, step: Step, before: list[Hook], after: list[Hook]) -> Step:
    condition = _condition(operation)

    def checked(gang: Gang, lanes: Lanes) -> Waiting | None:
        active = lanes if condition is None else lanes.only(condition(gang))
        if before and active.any():
            for hook in before:
                hook(gang, active)
        waiting = step(gang, lanes)
        if after:
            done = active if waiting is None else active.only(~waiting.mask)
            if done.any():
                for hook in after:
                    hook(gang, done)
        return waiting

    return checked


def _condition(operation: Operation) -> Reader | None:
    guard = operation.instruction.guard
    if guard is None:
        return None
    return operation.reader(Not(guard.register) if guard.negated else guard.register, "pred")


def _mbarrier(operation: Operation, checker: Checker) -> Hook:
    """The object is memory too: to initialise it is a write, all else an atomic access."""
    if operation.form.modifiers[0] == "pending_count":
        return lambda gang, lanes: None
    first = operation.operands[0]
    has_result = operation.form.modifiers[0] not in ("init", "inval", "expect_tx", "complete_tx")
    address = operation.address(operation.operands[1] if has_result else first)
    kind = "write" if operation.form.modifiers[0] in ("init", "inval") else "atomic"

    def hook(gang: Gang, lanes: Lanes) -> None:
        memory = gang.machine.memory
        places = memory.shared_index(gang, lanes, address(gang))
        inside = lanes.only((places >= 0) & (places % 8 == 0) & (places + 8 <= memory.shared.size))
        if inside.any():
            checker.access(gang, inside, operation, kind, "shared", places, 8)

    return hook


class _Registers:
    """Looks at those reads of registers of which it is not certain that a write came before."""

    def __init__(self, program: Program, checker: Checker) -> None:
        self._checker = checker
        self._reads = unproven_reads(program)
        self._slots = frozenset(slot for slots in self._reads.values() for slot in slots)
        self._names = [name for names in program.registers.values() for name in names]
        self._written: WeakKeyDictionary[Gang, dict[int, Mask]] = WeakKeyDictionary()

    def before(self, operation: Operation) -> list[Hook]:
        slots = sorted(self._reads.get(operation.index, ()))
        if not slots:
            return []
        added = accumulators_of(operation)
        adds = operation.reader(_scale(operation), "pred") if added else None

        def hook(gang: Gang, lanes: Lanes) -> None:
            written = self._of(gang)
            for slot in slots:
                mask = lanes.mask & ~written[slot]
                if adds is not None and slot in added:
                    mask &= adds(gang)
                if mask.any():
                    self._checker.unwritten_register(gang, mask, operation, self._names[slot])
                    return

        return [hook]

    def after(self, operation: Operation) -> list[Hook]:
        slots = sorted(use_of(operation).writes & self._slots)
        if not slots:
            return []

        def hook(gang: Gang, lanes: Lanes) -> None:
            written = self._of(gang)
            for slot in slots:
                written[slot] = written[slot] | lanes.mask

        return [hook]

    def _of(self, gang: Gang) -> dict[int, Mask]:
        found = self._written.get(gang)
        if found is None:
            found = self._written[gang] = dict.fromkeys(self._slots, np.zeros(gang.shape, np.bool_))
        return found


def _scale(operation: Operation):
    """`scale-d`: behind D, A and B, of a sparse A also its metadata and selector."""
    return operation.operands[5 if operation.form.has("sp") else 3]
