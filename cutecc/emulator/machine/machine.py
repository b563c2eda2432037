"""The machine: resident blocks, the gangs of their warps, asynchronous operations, and what goes wrong."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.grid import Dim3, index_of
from cutecc.emulator.machine.lanes import Mask
from cutecc.emulator.machine.watch import Watch
from cutecc.errors import FaultError

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block, Cluster
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.memory.memory import Memory
    from cutecc.emulator.memory.tensor_memory import TensorMemory

Where = Callable[[int, int], str] | str
"""What the thread at a row and lane of a gang accesses, in words; or what all threads do."""


def _first(choices: int) -> int:
    return 0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a launch is like, for all of its blocks."""

    grid: Dim3
    block: Dim3
    cluster: Dim3 = (1, 1, 1)
    dynamic_shared_bytes: int = 0
    shared_bytes: int = 0
    """Of a block, with its static shared memory."""
    target: str = "sm_90a"
    grid_workspace: int = 0
    """The address of what the blocks of a cooperative launch meet by; 0 for others."""

    @property
    def threads(self) -> int:
        """Of a block."""
        return math.prod(self.block)


@dataclass(eq=False, slots=True)
class Pending:
    """An asynchronous operation that was started and may happen at any time from then on."""

    action: Callable[[], None]
    what: Callable[[], str]
    cluster: Cluster | None
    """Whose threads have started it; `None` where they are of several."""
    tells: bool = True
    """Whether it arrives at an mbarrier, or brings bytes there: when it happens shows at once, to who waits."""
    done: bool = False


@dataclass(eq=False)
class Machine:
    """What the blocks that are resident at one time share."""

    shape: Shape
    memory: Memory
    watch: Watch
    print: Callable[[str], None]
    """Takes what the kernel prints."""
    collect: Callable[[Finding], None] | None = None
    """Takes faults and findings; without it a fault is an error."""
    schedule_name: str = "round-robin"
    seed: int = 0
    eager: bool = True
    """Whether asynchronous operations happen when they are started."""
    in_step: bool = True
    """Whether the clusters have gangs in common."""
    choose: Callable[[int], int] = _first
    """Of so many things that hardware may do, the number of the one that happens."""
    cancel: Callable[[], Dim3 | None] = lambda: None
    """Cancels a cluster that has not begun: the index of its first block, `None` when it cancels none."""
    taken: int = 0
    """Bytes that the blocks have taken beside the call's arrays (`Limits.memory`)."""
    tensor_memories: dict[int, TensorMemory] = field(default_factory=dict[int, "TensorMemory"])
    """By the multiprocessor's number."""
    blocks: list[Block] = field(default_factory=list["Block"])
    """By slot."""
    gangs: list[Gang] = field(default_factory=list["Gang"])
    faulted: dict[Operation, None] = field(default_factory=dict["Operation", None])
    """Instructions that some threads were left out of, for a fault that was found."""
    pending: list[Pending] = field(default_factory=list[Pending])
    """Started and not over, oldest first."""
    state: int = 0
    """Grows whenever something happens: threads that gave up waiting in vain may do so again."""
    woken: list[Gang] = field(default_factory=list["Gang"])
    """Gangs that were idle, and may be able to go on."""
    impatient: bool = False
    """Whether instructions that wait with a time limit (`Waiting.gives_up`) are to give up: nobody else can go on."""

    @property
    def agents_per_block(self) -> int:
        """Numbers that a block takes for its threads, see `Gang.agents`."""
        return -(-self.shape.threads // 32) * 32

    def changed(self, cluster: Cluster | None) -> None:
        """Something happens that threads of a cluster may be waiting for, or of any: those look again."""
        self.state += 1
        for gang in self.gangs if cluster is None else cluster.gangs:
            gang.changes += 1
            if gang.is_idle:
                gang.is_idle = False
                self.woken.append(gang)

    def post(
        self, action: Callable[[], None], what: Callable[[], str], cluster: Cluster | None, *, tells: bool = False
    ) -> Pending:
        """Start an asynchronous operation: `action` happens now or later, as the schedule has it.

        `action` must do the operation as a whole, with what completes it (bytes at an mbarrier), and tell `watch`.
        With `tells` something of that is at an mbarrier.
        """
        operation = Pending(action, what, cluster, tells)
        if self.eager:
            self._perform(operation)
        else:
            self.pending.append(operation)
            self.watch.posted(operation)
        return operation

    def finish(self, operation: Pending) -> None:
        """Have an operation happen now if it has not yet: a thread waits for just this one."""
        if not operation.done:
            self.pending.remove(operation)
            self._perform(operation)

    def let_happen(self, number: int) -> None:
        """Have a pending operation happen, by its number.

        Where clusters go in step, also what stands at its place among the operations of each other one.
        """
        chosen = self.pending[number]
        if chosen.cluster is None or not self.in_step:
            self.finish(chosen)
            return
        place = sum(each.cluster is chosen.cluster for each in self.pending[:number])
        places: dict[Cluster, int] = {}
        alike: list[Pending] = []
        for each in self.pending:
            if each.cluster is not None:
                at = places.get(each.cluster, 0)
                places[each.cluster] = at + 1
                if at == place:
                    alike.append(each)
        for each in alike:
            self.finish(each)

    def _perform(self, operation: Pending) -> None:
        operation.done = True
        self.watch.happens(operation)
        operation.action()
        self.watch.happened(operation)
        # Who waits for it does so at an mbarrier, which has told them.
        self.state += 1

    # What goes wrong.

    def fault(
        self,
        kind: FindingKind,
        message: str,
        operation: Operation,
        gang: Gang,
        mask: Mask,
        address: Where | None = None,
    ) -> None:
        """Threads do what hardware answers with a fault: an error, or a finding where those are collected.

        If this returns, the caller leaves those threads out and goes on.
        """
        finding = self.finding(kind, message, operation, gang, mask, address)
        if self.collect is None:
            raise self.error(finding, operation)
        self.faulted[operation] = None
        self.collect(finding)

    def finding(
        self,
        kind: FindingKind,
        message: str,
        operation: Operation,
        gang: Gang,
        mask: Mask,
        address: Where | None = None,
        other: Place | None = None,
    ) -> Finding:
        """A finding at the first of these threads."""
        row, lane = divmod(int(mask.argmax()), 32)
        return Finding(
            kind,
            message,
            self.place(operation, gang, row, lane),
            address(row, lane) if callable(address) else address,
            other,
            self.schedule_name,
            self.seed,
            int(mask.sum()),
        )

    def place(self, operation: Operation, gang: Gang, row: int, lane: int | None, what: str = "") -> Place:
        """Where a thread of a gang is."""
        thread = None if lane is None else self.thread_index(int(gang.threads[row, lane]))
        return Place.of(operation.instruction, gang.blocks[row].index, thread, what)

    def thread_index(self, linear: int) -> Dim3:
        """`%tid` of a thread by its linear index in the block."""
        return index_of(linear, self.shape.block)

    def block_and_thread(self, agent: int) -> tuple[Dim3, Dim3]:
        """`%ctaid` and `%tid` of a thread by its number, see `Gang.agents`."""
        slot, thread = divmod(agent, self.agents_per_block)
        return self.blocks[slot].index, self.thread_index(thread)

    def report(self, finding: Finding) -> None:
        """Something wrong that is not a fault: only told where findings are collected."""
        if self.collect is not None:
            self.collect(replace(finding, schedule=self.schedule_name, seed=self.seed))

    def error(self, finding: Finding, operation: Operation) -> FaultError:
        """A fault as an error, with what mends it as hints."""
        message, *mends = finding.message.splitlines()
        where = f"block {finding.place.block}, thread {finding.place.thread}"
        if others := finding.count - 1:
            where += f" and {others:,} more thread{'' if others == 1 else 's'}"
        at = f" at {finding.address}" if finding.address else ""
        error = operation.error(f"{where}: {message}{at}")
        return FaultError(error.message, error.location, error.notes, mends)
