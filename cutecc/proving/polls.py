"""Looks at an mbarrier that do not wait: loops that look until the phase is over, and looks ahead of a wait.

A loop that does nothing but look is a wait. Of a look ahead, only a branch may depend on the answer, in which the warp
waits for the same phase where it was not over: whatever the answer, it goes on in the same way, and knows the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cutecc.proving.kernel import Block, Kernel, Operation, all_operations, operations_inside
from cutecc.proving.values import PREDICATES

LOOKS = tuple(
    f"nvvm.mbarrier.{each}"
    for each in ("try_wait.parity", "try_wait.parity.timelimit", "test.wait.parity", "wait.parity")
)
IsEvent = Callable[[Operation], bool]


@dataclass(frozen=True, slots=True)
class Polls:
    """What becomes of the answers of looks."""

    spinning: set[Operation] = field(default_factory=set[Operation])
    """Looks of loops that go on until the phase is over."""
    ahead: set[Operation] = field(default_factory=set[Operation])
    """Looks on whose answer nothing depends but whether to wait."""
    guarded: set[Operation] = field(default_factory=set[Operation])
    """Waits that a look ahead may have made superfluous."""


def polls_of(kernel: Kernel, is_event: IsEvent) -> Polls:
    """Those of a kernel; looks that are neither are left out."""
    uses = _Uses(kernel.body)
    found = Polls()
    looks = [each for each in all_operations(kernel.body) if each.name in LOOKS and each.results]
    for each in looks:
        if _spins(each, uses, is_event):
            found.spinning.add(each)
    for each in looks:
        if each not in found.spinning and (waits := _waits_behind(each, uses, found.spinning, is_event)) is not None:
            found.ahead.add(each)
            found.guarded.update(waits)
    return found


class _Uses:
    """Where values are used, and what operations are inside of."""

    def __init__(self, body: Block) -> None:
        self.of: dict[int, list[tuple[Operation, int]]] = {}
        self.parents: dict[Operation, tuple[Operation, int]] = {}
        self.definitions: dict[int, Operation] = {}
        for operation in all_operations(body):
            for position, value in enumerate(operation.operands):
                self.of.setdefault(value, []).append((operation, position))
            for result in operation.results:
                self.definitions[result] = operation
            for number, block in enumerate(operation.blocks):
                for inner in block.operations:
                    self.parents[inner] = operation, number


def _spins(look: Operation, uses: _Uses, is_event: IsEvent) -> bool:
    """Whether it is all that a loop does, which ends when the answer is yes."""
    loop, number = uses.parents.get(look, (look, 0))
    if loop.name != "scf.while" or number or loop.operands or loop.results:
        return False
    if [each for each in operations_inside(loop) if is_event(each)] != [look]:
        return False
    goes_on = uses.definitions.get(loop.blocks[0].operations[-1].operands[0])
    return goes_on is not None and look.results[0] in goes_on.operands and _negates(goes_on, uses)


def _negates(operation: Operation, uses: _Uses) -> bool:
    """Whether it makes no of yes, of one bit."""
    constants = [uses.definitions[value] for value in operation.operands if value in uses.definitions]
    values = [each.attributes["value"] & 1 for each in constants if each.name == "arith.constant"]
    if len(values) != 1:
        return False
    if operation.name == "arith.xori":
        return values[0] == 1
    if operation.name != "arith.cmpi":
        return False
    predicate = PREDICATES[int(operation.attributes["predicate"])]
    return (predicate, values[0]) in (("eq", 0), ("ne", 1))


def _waits_behind(look: Operation, uses: _Uses, spinning: set[Operation], is_event: IsEvent) -> set[Operation] | None:
    """The waits of the branches that depend on the answer; `None` where anything else does."""
    waits: set[Operation] = set()
    due, seen = [*look.results], set(look.results)
    while due:
        for user, position in uses.of.get(due.pop(), ()):
            if user.name == "scf.if":
                inside = [each for each in operations_inside(user) if is_event(each)]
                if any(each not in spinning and (each.name not in LOOKS or each.results) for each in inside):
                    return None
                waits.update(inside)
                handed: list[int] = []
            elif (found := _handed(user, position, uses)) is not None:
                handed = found
            else:
                return None
            due += [each for each in handed if each not in seen]
            seen.update(handed)
    return waits


def _handed(user: Operation, position: int, uses: _Uses) -> list[int] | None:
    """The values that are made of an operand; `None` where it does something else."""
    if user.name.startswith("arith."):
        return user.results
    if user.name == "scf.for" and position > 2:
        return [user.blocks[0].arguments[position - 2], user.results[position - 3]]
    if user.name == "scf.while":
        return [user.blocks[0].arguments[position]]
    if user.name == "scf.yield" or (user.name == "scf.condition" and position):
        return list(_yielded(user, position, *uses.parents[user]))
    return None


def _yielded(user: Operation, position: int, outer: Operation, number: int) -> Iterator[int]:
    if user.name == "scf.condition":
        yield outer.blocks[1].arguments[position - 1]
        yield outer.results[position - 1]
    elif outer.name == "scf.while":
        yield outer.blocks[0].arguments[position]
    else:
        yield outer.results[position]
        if outer.name == "scf.for":
            yield outer.blocks[number].arguments[position + 1]
