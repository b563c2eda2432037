"""Threads that may count twice in one phase of a block's barrier, because they arrive there and do not wait.

`bar.arrive` goes on at once. Who comes to the same barrier again has to know that the phase of its arrival is over:
that all have come to it, as whoever waited there knows and hands on. Otherwise it is up to the order of warps whether
both arrivals are of one phase. In that one a warp counts for two, and another one that has not come is not waited for:
the thread count is of all that participate (PTX ISA, "bar").

Where the thread count is of more warps than ever come there is nobody in whose place a warp could count: one that
arrives and then waits is meant to count twice, as the warp is that stores a tile and lets the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.clocks import Clocks, Numbers
from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.program import Program

_PHASES = 8
"""Whose arrivals are kept. Who comes later than that has been waited for, or is not told of."""
_NONE = -1


@dataclass(eq=False, slots=True)
class _Barrier:
    """One barrier of a block."""

    phase: NDArray[np.int64]
    """By thread, of its last arrival that did not wait; -1 for none."""
    operation: NDArray[np.int32]
    """What arrived then."""
    warps: set[int] = field(default_factory=set[int])
    """That have come."""
    unsure: list[tuple[int, Finding]] = field(default_factory=list["tuple[int, Finding]"])
    """What may count twice, if so many warps come."""
    arrivals: dict[int, list[tuple[Numbers, int]]] = field(default_factory=dict[int, "list[tuple[Numbers, int]]"])
    """By phase: who came, as numbers with serials, and when."""


class BarrierPhases:
    """The arrivals at all barriers of a machine's blocks. Threads are numbers as in `Gang.agents`."""

    def __init__(self, program: Program, clocks: Clocks, report: Callable[[Finding], None]) -> None:
        """`report` takes findings when they are made: of what comes of it, such as a deadlock, is told later."""
        self._program = program
        self._clocks = clocks
        self._report = report
        self._barriers: dict[tuple[int, int], _Barrier] = {}
        self._told: set[int] = set()
        """Numbers of barriers."""
        self.concerned = any(_goes_on(each) for each in program.operations)
        """Whether the program has arrivals that do not wait."""

    def arrive(
        self,
        threads: Numbers,
        operation: Operation,
        slot: int,
        number: int,
        phase: int,
        expected: int | None,
        make: Callable[[Operation, int, str], Finding],
    ) -> None:
        """Threads of a block come to a barrier, before they release to it what they have done.

        `expected` is how many threads the barrier waits for, if not for all; `make` makes the finding, of the arrival
        before and of one of the threads by its place.
        """
        clocks, columns = self._clocks, threads % self._clocks.agents_per_block
        barrier = self._barriers.get((slot, number))
        if barrier is None:
            size = clocks.agents_per_block
            barrier = self._barriers[slot, number] = _Barrier(np.full(size, _NONE), np.zeros(size, np.int32))
        barrier.warps.update(np.unique(columns >> 5).tolist())
        before = barrier.phase[columns]
        for last in np.unique(before[before != _NONE]).tolist():
            again = np.flatnonzero(before == last)
            unsure = again[~self._knows(barrier, threads[again], last)] if last < phase else again
            if len(unsure) and number not in self._told:
                first = int(unsure[0])
                earlier = self._program.operations[int(barrier.operation[columns[first]])]
                found = replace(make(earlier, first, wording.again_at_barrier(number)), count=len(unsure))
                barrier.unsure.append((0 if expected is None else expected >> 5, found))
        self._tell(barrier, number)
        barrier.phase[columns] = phase if _goes_on(operation) else _NONE
        barrier.operation[columns] = operation.index
        barrier.arrivals.setdefault(phase, []).append((clocks.agents_of(threads), clocks.now))
        barrier.arrivals.pop(phase - _PHASES, None)

    def _tell(self, barrier: _Barrier, number: int) -> None:
        for warps, found in barrier.unsure:
            if warps <= len(barrier.warps) and number not in self._told:
                # What is wrong with a barrier is wrong for all that come there: it is told once.
                self._told.add(number)
                self._report(found)

    def _knows(self, barrier: _Barrier, threads: Numbers, phase: int) -> NDArray[np.bool_]:
        """Whether each thread knows that all others have come to a phase."""
        views, own = self._clocks.view_of[threads], self._clocks.agents_of(threads)
        result = np.ones(len(threads), np.bool_)
        for agents, event in barrier.arrivals.get(phase, ()):
            mine, others = (each.reshape(-1) for each in np.broadcast_arrays(own[:, None], agents))
            all_views = np.repeat(views, len(agents))
            known = self._clocks.knows(all_views, others, np.full(len(others), event))
            # A warp counts once: for itself it need not know.
            known |= others >> 5 == mine >> 5
            result &= known.reshape(len(threads), len(agents)).all(axis=1)
        return result


def _goes_on(operation: Operation) -> bool:
    """Whether it arrives at a barrier of the block without waiting there."""
    form = operation.form
    return form.opcode in ("bar", "barrier") and form.has("arrive") and not form.has("cluster")
