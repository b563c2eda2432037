"""`barrier.cluster.arrive` and `.wait`: the barrier of all threads of a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.block_barrier import barriers_of
from cutecc.emulator.instructions.mbarrier_object import announce
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block, Cluster
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine


@dataclass(slots=True, eq=False)
class ClusterBarrier:
    """The barrier of one cluster. Threads that have exited are not waited for."""

    cluster: Cluster
    phase: int = 0
    arrivals: dict[int, Array] = field(default_factory=dict[int, Array])
    """By rank of the block, for each thread of its warps: how often it has arrived, `(warps, 32)`."""
    waits: dict[int, Array] = field(default_factory=dict[int, Array])
    """The same for how often it has gone on."""

    @property
    def key(self) -> tuple[str, tuple[int, int, int], int]:
        """Who acquires it sees what was done before this phase completed."""
        return ("cluster", self.cluster.index, self.phase)

    def counts(self, block: Block) -> tuple[Array, Array]:
        """How often each thread of a block has arrived, and gone on."""
        if block.rank not in self.arrivals:
            shape = (-(-block.threads // WARP), WARP)
            self.arrivals[block.rank], self.waits[block.rank] = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        return self.arrivals[block.rank], self.waits[block.rank]

    def settle(self, machine: Machine) -> None:
        """End the phase if all have arrived."""
        if not any(missing for missing, _ in self._progress()):
            self.phase += 1
            machine.changed(self.cluster)

    def _progress(self) -> Iterator[tuple[int, int]]:
        """By warp: threads that this phase waits for, and all that have not exited."""
        for gang in self.cluster.gangs:
            for barriers, rows in barriers_of(gang):
                if barriers.block.cluster is self.cluster:
                    arrivals, _ = self.counts(barriers.block)
                    for row in rows:
                        alive = gang.alive[row]
                        late = alive & (arrivals[gang.warp_numbers[row, 0]] <= self.phase)
                        yield int(np.count_nonzero(late)), int(np.count_nonzero(alive))

    def describe(self) -> str:
        """What threads wait for: `the barrier of cluster (0, 0, 0): 3 of 8 warps have arrived`."""
        progress = [each for each in self._progress() if each[1]]
        arrived = sum(not missing for missing, _ in progress)
        return f"the barrier of cluster {self.cluster.index}: {arrived} of {len(progress)} warps have arrived"


def _barrier_of(cluster: Cluster) -> ClusterBarrier:
    return cluster.state.setdefault("barrier", ClusterBarrier(cluster))


def _parts(gang: Gang, lanes: Lanes) -> Iterator[tuple[ClusterBarrier, Block, Array, Mask]]:
    """By block: the barrier, the block, which rows of the gang are its warps, and the threads in those."""
    for barriers, rows in barriers_of(gang):
        mask = lanes.mask[rows]
        if mask.any():
            yield _barrier_of(barriers.block.cluster), barriers.block, rows, mask


@instruction("barrier.cluster.arrive.{release,relaxed}?.aligned?")
def arrive(operation: Operation) -> Step:
    announces = not operation.form.has("relaxed")

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        machine = gang.machine
        for barrier, block, rows, mask in _parts(gang, lanes):
            arrivals, waits = barrier.counts(block)
            warps = gang.warp_numbers[rows, 0]
            twice = mask & (arrivals[warps] > waits[warps])
            if twice.any():
                _report(operation, gang, rows, twice, "arrives at the cluster's barrier again without having waited")
            if machine.watch.listens:
                machine.watch.release(gang, Lanes(gang.mask(rows, mask)), operation, barrier.key)
            arrivals[warps] += mask & ~twice
        if announces:
            announce(gang, lanes)
        for barrier in {barrier for barrier, *_ in _parts(gang, lanes)}:
            barrier.settle(machine)

    return step


@instruction("barrier.cluster.wait.acquire?.aligned?")
def wait(operation: Operation) -> Step:
    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        machine = gang.machine
        waiting = np.zeros(gang.shape, np.bool_)
        for barrier, block, rows, mask in _parts(gang, lanes):
            arrivals, waits = barrier.counts(block)
            warps = gang.warp_numbers[rows, 0]
            absent = mask & (arrivals[warps] <= waits[warps])
            if absent.any():
                _report(operation, gang, rows, absent, "waits at the cluster's barrier without having arrived")
            if (mask & (arrivals[warps] > barrier.phase)).any():
                # Others may have exited since.
                barrier.settle(machine)
            free = mask & ~absent & (arrivals[warps] <= barrier.phase)
            if free.any() and machine.watch.listens:
                key = (*barrier.key[:2], int(arrivals[warps][free][0]) - 1)
                machine.watch.acquire(gang, Lanes(gang.mask(rows, free)), operation, key)
            waits[warps] += free
            waiting[rows] = mask & ~absent & ~free
        if not waiting.any():
            return None

        def awaited(row: int) -> ClusterBarrier:
            return _barrier_of(gang.blocks[row].cluster)

        return Waiting(waiting, lambda row: awaited(row).describe(), on=awaited)

    return step


def _report(operation: Operation, gang: Gang, rows: Array, mask: Mask, text: str) -> None:
    machine = gang.machine
    if machine.collect is not None:
        machine.report(machine.finding("barrier", text, operation, gang, gang.mask(rows, mask)))
