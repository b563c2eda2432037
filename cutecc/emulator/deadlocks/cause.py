"""Of all that threads wait for, the one that is to be mended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecc.emulator.deadlocks.barriers import barrier_cause
from cutecc.emulator.deadlocks.mbarriers import all_wait_first, arrivals_cause, bytes_cause, some_arrived, wrong_phase
from cutecc.emulator.deadlocks.tensor_memory import is_alone, tensor_memory_cause
from cutecc.emulator.deadlocks.waits import Cause, Wait, Waits
from cutecc.emulator.instructions.block_barrier import Barrier
from cutecc.emulator.instructions.cluster_barrier import ClusterBarrier
from cutecc.emulator.instructions.mbarrier_object import Mbarrier

if TYPE_CHECKING:
    from cutecc.emulator.machine.fragment import Fragment
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program


def cause_of(program: Program, machine: Machine, stuck: Sequence[Fragment]) -> Cause | None:
    """Why the threads of these fragments, which are all there are, cannot go on; `None` where nothing is known.

    Bytes that do not fit are wrong whatever else is, and columns that a block itself has. Else it is what nobody would
    release even if all the others could go on; and where each waits for another one, the wait that has to pass first.
    """
    waits = Waits(program, machine, stuck)
    of_mbarriers = [(wait, wait.on) for wait in waits.all if isinstance(wait.on, Mbarrier)]
    for wait, barrier in of_mbarriers:
        if not waits.is_helped(wait) and (cause := bytes_cause(waits, barrier)):
            return cause
    for wait in waits.all:
        if is_alone(wait) and (cause := tensor_memory_cause(waits, wait)):
            return cause
    roots = [wait for wait in waits.all if not waits.is_helped(wait)]
    for wait in sorted(roots, key=_rank):
        if cause := _of(waits, wait):
            return cause
    return None if roots else _of_circle(waits, of_mbarriers)


def _rank(wait: Wait) -> tuple[bool, int]:
    """Barriers first: who waits at one has told no number that may be wrong."""
    return isinstance(wait.on, Mbarrier), wait.place


def _of(waits: Waits, wait: Wait) -> Cause | None:
    if isinstance(wait.on, Mbarrier):
        return arrivals_cause(waits, wait, wait.on) if wait.on.pending else None
    return barrier_cause(waits, wait) or tensor_memory_cause(waits, wait)


def _of_circle(waits: Waits, of_mbarriers: Sequence[tuple[Wait, Mbarrier]]) -> Cause | None:
    """Each waits for what another one would do that waits too."""
    for wait, barrier in of_mbarriers:
        if cause := wrong_phase(waits, wait, barrier):
            return cause
    for _, barrier in of_mbarriers:
        if 0 < barrier.pending < barrier.expected:
            return some_arrived(waits, barrier)
    for wait in waits.all:
        if cause := tensor_memory_cause(waits, wait):
            return cause
    at_barriers = [wait for wait in waits.all if isinstance(wait.on, Barrier | ClusterBarrier)]
    if at_barriers:
        return barrier_cause(waits, min(at_barriers, key=lambda wait: wait.place))
    untouched = [each for each in of_mbarriers if not each[1].phase and each[1].pending == each[1].expected]
    return all_wait_first(waits, untouched) if len(untouched) > 1 else None
