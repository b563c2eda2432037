"""Steps with checks around them, where an instruction needs more than it tells the watch by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from cutecc.emulator.checks.registers import uses_of
from cutecc.emulator.checks.spreading import Hook, guard_hook, hooks, undefined_registers
from cutecc.emulator.instructions.tcgen05_transfer import finish_loads
from cutecc.emulator.machine.lanes import Lanes

if TYPE_CHECKING:
    from cutecc.emulator.checks.checker import Checker
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import Program

_ARRIVALS = {"arrive", "arrive_drop"}


Call = Callable[[Callable[[], None], "Operation | None"], None]
"""Has the checks do something, for an operation."""


def instrument(program: Program, checker: Checker, call: Call) -> list[Step | None]:
    """The program's steps for this checker, which `call` has do its part: most are the same."""
    steps = list(program.steps)
    undefined = checker.undefined
    maybe = frozenset[int]() if undefined is None else undefined_registers(program)[1]
    uses = uses_of(program)
    for operation in program.operations:
        step = steps[operation.index]
        if step is None or operation.index in program.refused:
            continue
        before, after = _hooks(operation, checker)
        guard: Hook | None = None
        if undefined is not None:
            earlier, later = hooks(operation, step, uses[operation.index], undefined, maybe)
            before, after = [*earlier, *before], [*later, *after]
            guard = guard_hook(operation, undefined, maybe)
        if before or after or guard:
            if late := program.late.get(operation.index):
                # Before anything looks at what is in them.
                before.insert(0, partial(finish_loads, operation=operation, slots=late))
            steps[operation.index] = _around(
                operation,
                step,
                guard and _called(guard, operation, call),
                [_called(hook, operation, call) for hook in before],
                [_called(hook, operation, call) for hook in after],
            )
    return steps


def _hooks(operation: Operation, checker: Checker) -> tuple[list[Hook], list[Hook]]:
    """What to do before and after an operation, but for undefined registers."""
    before: list[Hook] = []
    after: list[Hook] = []
    accumulators = checker.accumulators
    if accumulators is not None and accumulators.concerns(operation):
        before.append(partial(accumulators.before, operation=operation))
    if "races" in checker.which and operation.form.opcode == "mbarrier":
        # What an arrival does to the object is over before others see the phase complete.
        (before if operation.form.modifiers[0] in _ARRIVALS else after).append(_mbarrier(operation, checker))
    if operation.form.has("sync") and operation.form.opcode not in ("bar", "barrier"):
        after.append(checker.together)
    return before, after


def _called(hook: Hook, operation: Operation, call: Call) -> Hook:
    return lambda gang, lanes: call(lambda: hook(gang, lanes), operation)


def _around(operation: Operation, step: Step, guard: Hook | None, before: list[Hook], after: list[Hook]) -> Step:
    condition = operation.condition()

    def checked(gang: Gang, lanes: Lanes) -> Waiting | None:
        if guard is not None:
            guard(gang, lanes)
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
