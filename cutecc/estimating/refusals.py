"""Which kernels are out of the model's reach: whose work depends on data, or that wait for other blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.waves import cancels_clusters
from cutecc.errors import EstimateError
from cutecc.estimating.loaded_data import LoadedData

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program


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
    loaded = LoadedData(program)
    for operation in loaded.loops():
        raise _refusal(operation, f"a data-dependent loop at {_line(operation)}: its turns depend on what memory holds")
    for operation in loaded.addresses():
        raise _refusal(
            operation,
            f"a data-dependent address at {_line(operation)}: which memory is accessed depends on what memory holds",
        )


def assumptions(program: Program) -> list[str]:
    """What is taken to be so of a program within reach, where data may say otherwise: which branches are taken."""
    lines = dict.fromkeys(_line(each) for each in LoadedData(program).decided())
    if not lines:
        return []
    return [f"what is executed at {', '.join(lines)} depends on data; here it is as on zeros"]


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
