"""Instructions that decide where threads go next: branches, calls, returns and exits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Target:
    """A function that a call may be of."""

    address: int
    first: int
    """Its first operation."""
    back: int
    """The operation that it returns to."""
    give: Callable[[Gang, Lanes], None]
    """Copies arguments to the function's parameters."""


def call(
    operation: Operation, targets: Sequence[Target], address: Reader | None, condition: Reader | None, end: int
) -> Control:
    """`call` of the only target, or of the one at an address. Another address is a fault, and the thread's end.

    Threads that call nothing go on at `end`.
    """

    def control(fragment: Fragment) -> list[Way]:
        gang = fragment.gang
        mask, ways = _apart(fragment, condition, end - 1)
        addresses = None if address is None else np.broadcast_to(address(gang), mask.shape)
        for target in targets:
            chosen = mask if addresses is None else mask & (addresses == target.address)
            if chosen.any():
                target.give(gang, Lanes(chosen))
                ways.append((target.first, chosen, (*fragment.returns, target.back)))
        if addresses is not None:
            wrong = mask & ~np.isin(addresses, [target.address for target in targets])
            if wrong.any():
                text = f"calls 0x{int(addresses[wrong][0]):x}, which is no function that it could call so"
                gang.machine.fault("out-of-bounds", text, operation, gang, wrong)
        return ways

    return control


def _apart(fragment: Fragment, condition: Reader | None, index: int) -> tuple[Mask, list[Way]]:
    """The threads for which a condition holds, and the way of the others: to the next operation."""
    if condition is None:
        return fragment.mask, []
    mask = fragment.mask & condition(fragment.gang)
    rest = fragment.mask & ~mask
    return mask, [(index + 1, rest, fragment.returns)] if rest.any() else []
