"""Which operations of a program are points of synchronisation: where the order of warps may matter."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Literal

from cutecc.emulator.checks.order import WEAK, strength
from cutecc.ptx.syntax import Sink

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program

Point = Literal["wait", "test", "peek", "barrier", "memory", "other"]
"""`wait`: a loop that looks at one mbarrier until its phase is over. `test`: another look, of either outcome. `peek`: a
`try_wait` that is no loop's, and may give up. `barrier`: a named barrier with a number of threads. `memory`: an atomic
or ordered access. `other`: arrivals, initialisation, and starting what will arrive."""

_COMMUTING = ("add", "and", "or", "xor", "min", "max")
"""Updates that come to the same in any order; sums of floating-point numbers do but for their rounding."""
_PROGRAMS = 16


@lru_cache(maxsize=_PROGRAMS)
def points_of(program: Program) -> dict[int, Point]:
    """By index of operation."""
    loops = [range(first, last + 1) for last, first in program.polls.items()]
    found: dict[int, Point] = {}
    for operation in program.operations:
        if program.steps[operation.index] is not None and (point := _point(program, operation, loops)) is not None:
            found[operation.index] = point
    return found


@lru_cache(maxsize=_PROGRAMS)
def polling(program: Program) -> frozenset[int]:
    """Operations of loops that only look whether something has changed."""
    return frozenset(index for last, first in program.polls.items() for index in range(first, last + 1))


def _point(program: Program, operation: Operation, loops: list[range]) -> Point | None:
    form = operation.form
    match form.opcode:
        case "mbarrier" if form.modifiers[0] in ("test_wait", "try_wait"):
            return _look(program, operation, loops)
        case "mbarrier":
            return None if form.modifiers[0] == "pending_count" else "other"
        case "bar" | "barrier":
            return "barrier" if _counts_threads(operation) else None
        case "clusterlaunchcontrol":
            return "other" if form.has("try_cancel") else None
        case "tcgen05":
            return "other" if form.modifiers[0] == "commit" else None
        case "cp" | "st" | "red" if arrives(operation):
            return "other"
        case "ld" | "st" | "atom" | "red":
            return "memory" if strength(operation) != WEAK and not form.has("async") else None
        case _:
            return None


def _look(program: Program, operation: Operation, loops: list[range]) -> Point:
    around = [loop for loop in loops if operation.index in loop]
    blocks = operation.form.modifiers[0] == "try_wait"
    if not around:
        return "peek" if blocks else "test"
    inner = min(around, key=len)
    looks = [index for index in inner if _is_look(program.operations[index])]
    return "wait" if blocks and len(looks) == 1 else "test"


def _is_look(operation: Operation) -> bool:
    form = operation.form
    if form.opcode == "mbarrier":
        return form.modifiers[0] in ("test_wait", "try_wait")
    return form.opcode in ("ld", "atom") and strength(operation) != WEAK


def _counts_threads(operation: Operation) -> bool:
    """Whether the barrier is for a number of threads: others may come instead of those that are meant."""
    form = operation.form
    if form.has("warp") or form.has("cluster"):
        return False
    behind = 2 if form.has("red") else 0  # a reduction has a result before the barrier, and a value behind
    return form.has("arrive") or len(operation.operands) > 1 + behind


def arrives(operation: Operation) -> bool:
    """Whether an operation that is started ends at an mbarrier."""
    form = operation.form
    return any(each in ("mbarrier", "mbarrier::complete_tx::bytes", "mbarrier::arrive::one") for each in form.modifiers)


def kind_of_access(operation: Operation) -> str:
    """As `dependence.Access` has it."""
    form = operation.form
    if form.opcode == "ld":
        return "read"
    unasked = form.opcode == "red" or (form.opcode == "atom" and isinstance(operation.operands[0], Sink))
    update = form.one_of(*_COMMUTING)
    return f"{update}.{form.type}" if unasked and update else "write"
