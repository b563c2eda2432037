"""Which kernels are out of the model's reach: whose work depends on data, or that wait for other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.waves import cancels_clusters
from cutecc.errors import EstimateError
from cutecc.estimating.costs import registers_of_operation
from cutecc.ptx.syntax import Symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cutecc.emulator.instructions.form import Form
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program

_BRANCHES = ("bra", "brx")


def check_within_reach(program: Program) -> None:
    """Raise `EstimateError` for a program that the model cannot time, by what keeps it from that."""
    for operation in program.operations:
        if operation.form.opcode in ("atom", "red"):
            raise _refusal(
                operation,
                f"atomics under contention at {_line(operation)}: how many threads meet at one place depends on data",
            )
    if program.awaits_blocks or cancels_clusters(program):
        operation = program.operations[0]
        raise _refusal(operation, f"blocks of {program.name} wait for each other, or take work from each other")
    for operation in data_dependent_loops(program):
        raise _refusal(operation, f"a data-dependent loop at {_line(operation)}: its turns depend on what memory holds")


def _line(operation: Operation) -> str:
    """The error says the file."""
    location = operation.instruction.location
    return f"line {location.line}" if location else operation.where


def _refusal(operation: Operation, reason: str) -> EstimateError:
    return EstimateError(
        f"no estimate: {reason}",
        location=operation.instruction.location,
        hints=[_BENCH],
    )


def check_copies(copies: Operation | None, share: float) -> None:
    """Raise `EstimateError` where copies of rows that begin inside of sectors take this share of the time."""
    if copies is not None and share >= _DECIDES:
        raise _refusal(
            copies,
            f"rows that TMA reads at {_line(copies)} begin inside of sectors of 32 bytes, which takes longer; how much "
            "is not measured, and it is what decides",
        )


_DECIDES = 0.5
"""The share of the time that the L2 cache is busy from which on it matters."""


def check_launch(steps: Sequence[int], waves: float, cluster_blocks: int) -> None:
    """Raise `EstimateError` where it depends on which blocks run together, or on how fast clusters begin.

    `steps` are the instructions of some blocks, which run in so many waves.
    """
    if 1 < waves < _MANY and max(steps) > _UNEQUAL * min(steps):
        raise EstimateError(
            f"no estimate: blocks do different amounts of work, {min(steps):,} to {max(steps):,} instructions, in "
            f"{waves:.2f} waves: it depends on which of them share a multiprocessor",
            hints=[_BENCH],
        )
    if cluster_blocks > 1 and waves > _FEW:
        raise EstimateError(
            f"no estimate: {waves:.1f} waves of clusters of {cluster_blocks} blocks: how long a cluster takes to begin "
            "is not measured",
            hints=[_BENCH],
        )


_MANY, _FEW = 3.0, 2.0
"""Waves."""
_UNEQUAL = 1.5


def check_cache(read: float, different: float, l2_bytes: int) -> None:
    """Raise `EstimateError` where blocks read again what the L2 cache may just hold, or may not.

    `read` are bytes that the blocks which run together read, `different` those that a block has not read before.
    """
    if read > _AGAIN * different and _HALF_FULL < different / l2_bytes < 1:
        raise EstimateError(
            f"no estimate: blocks that run together read {different / 1e6:,.0f} MB several times, and the L2 cache has "
            f"{l2_bytes / 1e6:,.0f} MB: what it keeps is not predicted",
            hints=[_BENCH],
        )


_AGAIN, _HALF_FULL = 1.3, 0.6
_BENCH = "cutecc bench times it on a GPU"


def data_dependent_loops(program: Program) -> Iterator[Operation]:
    """The branches that end a loop, or go on with it, by a value that was loaded."""
    loaded = _loaded_registers(program)
    branches = list(_branches(program))
    loops = [(target, operation.index) for operation, target in branches if target <= operation.index]
    for operation, target in branches:
        guard, index = operation.instruction.guard, operation.index
        if guard is None or guard.register.name not in loaded:
            continue
        if any(start <= index <= end and (target <= index or target > end) for start, end in loops):
            yield operation


def _branches(program: Program) -> Iterator[tuple[Operation, int]]:
    """Each but those that poll, with the index of an operation that it goes to."""
    first: dict[int, int] = {}
    for each in program.operations:
        first.setdefault(id(each.scope), each.index)
    for operation in program.operations:
        if operation.form.opcode not in _BRANCHES or operation.index in program.polls:
            continue
        labels = operation.scope.function.labels
        for operand in operation.operands:
            if isinstance(operand, Symbol) and operand.name in labels:
                yield operation, labels[operand.name] + first[id(operation.scope)]


def _loaded_registers(program: Program) -> set[str]:
    """Registers whose value depends on what global memory holds."""
    found: set[str] = set()
    into_shared = False
    while True:
        before = len(found), into_shared
        for operation in program.operations:
            read, written = registers_of_operation(operation)
            form = operation.form
            depends = not found.isdisjoint(read)
            if form.opcode in ("ld", "ldu") and not _is_of_launch(form):
                depends = into_shared if _is_shared(form) else True
            elif form.opcode == "ldmatrix":
                depends = into_shared
            elif form.opcode in ("mbarrier", "elect"):
                depends = False
            if depends:
                found.update(written)
                into_shared = into_shared or (form.opcode == "st" and _is_shared(form))
        if before == (len(found), into_shared):
            return found


def _is_of_launch(form: Form) -> bool:
    return any(each.partition("::")[0] in ("param", "const") for each in form.modifiers)


def _is_shared(form: Form) -> bool:
    return any(each.partition("::")[0] == "shared" for each in form.modifiers)
