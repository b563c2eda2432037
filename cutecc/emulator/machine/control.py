"""Instructions that decide where threads go next: branches, calls, returns and exits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.machine.lanes import Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation, Reader
    from cutecc.emulator.machine.fragment import Fragment
    from cutecc.emulator.machine.gang import Gang

Way = tuple[int, Mask, tuple[int, ...]]
"""Where some threads go: index of operation, the threads, and where their calls return to."""
Control = Callable[["Fragment"], list[Way]]
"""Sends the threads of a fragment on their ways. Threads on no way have exited."""


def branch(index: int, target: int, condition: Reader | None) -> Control:
    """`bra`: to `target` where the condition holds, else to the next operation."""
    if condition is None:
        return lambda fragment: [(target, fragment.mask, fragment.returns)]

    def control(fragment: Fragment) -> list[Way]:
        mask = fragment.mask
        taken = mask & condition(fragment.gang)
        if not taken.any():
            return [(index + 1, mask, fragment.returns)]
        rest = mask & ~taken
        if not rest.any():
            return [(target, mask, fragment.returns)]
        return [(index + 1, rest, fragment.returns), (target, taken, fragment.returns)]

    return control


def branch_indexed(operation: Operation, targets: list[int], number: Reader, condition: Reader | None) -> Control:
    """`brx.idx`: to the target of this number. One that there is not is a fault, and the end of the thread."""

    def control(fragment: Fragment) -> list[Way]:
        gang = fragment.gang
        mask, others = _apart(fragment, condition, operation.index)
        numbers = np.broadcast_to(number(gang), mask.shape)
        wrong = mask & (numbers >= len(targets))
        if wrong.any():
            text = f"branches to number {numbers[wrong][0]} of {len(targets)} targets, counted from 0"
            gang.machine.fault("out-of-bounds", text, operation, gang, wrong)
        ways = [(target, mask & (numbers == each), fragment.returns) for each, target in enumerate(targets)]
        return [way for way in ways if way[1].any()] + others

    return control


def leave(index: int, condition: Reader | None, exits: bool) -> Control:
    """`ret` and `exit`: back behind the call, or the end of the thread."""

    def control(fragment: Fragment) -> list[Way]:
        mask, ways = _apart(fragment, condition, index)
        if fragment.returns and not exits and mask.any():
            ways.append((fragment.returns[-1], mask, fragment.returns[:-1]))
        return ways

    return control


def call(
    operation: Operation, target: int, condition: Reader | None, pass_arguments: Callable[[Gang, Lanes], None]
) -> Control:
    """`call` of a function of the program; `pass_arguments` copies them to the function's parameters."""

    def control(fragment: Fragment) -> list[Way]:
        mask, ways = _apart(fragment, condition, operation.index)
        if mask.any():
            pass_arguments(fragment.gang, Lanes(mask))
            ways.append((target, mask, (*fragment.returns, operation.index + 1)))
        return ways

    return control


def _apart(fragment: Fragment, condition: Reader | None, index: int) -> tuple[Mask, list[Way]]:
    """The threads for which a condition holds, and the way of the others: to the next operation."""
    if condition is None:
        return fragment.mask, []
    mask = fragment.mask & condition(fragment.gang)
    rest = fragment.mask & ~mask
    return mask, [(index + 1, rest, fragment.returns)] if rest.any() else []
