"""What the threads of a deadlock wait for, and which of them would go on to release others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from cutecc.emulator.checks.registers import successors
from cutecc.emulator.instructions.block_barrier import Barrier
from cutecc.emulator.instructions.cluster_barrier import ClusterBarrier
from cutecc.emulator.instructions.mbarrier_object import Mbarrier
from cutecc.emulator.instructions.tcgen05_allocation import ColumnsWanted, PeerAwaited
from cutecc.emulator.machine.lanes import rows_of
from cutecc.ptx.syntax import Immediate

if TYPE_CHECKING:
    from cutecc.emulator.instructions.mbarrier_ledger import Deed, Entry
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.fragment import Fragment
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program


@dataclass(frozen=True, slots=True)
class Cause:
    """Why no thread can go on."""

    text: str
    """A sentence behind `no thread can go on:`."""
    evidence: list[str]
    mend: str
    """What to write instead, at the line of `operation` unless it names another."""
    operation: Operation
    agent: int | None = None
    """A thread that executed it, as in `Gang.agents`; `None` for those that wait there."""


@dataclass(slots=True, eq=False)
class Wait:
    """One thing that threads wait for."""

    on: object
    """An `Mbarrier`, `Barrier`, `ClusterBarrier`, `ColumnsWanted` or `PeerAwaited`; `None` for threads of the own warp,
    and for other things."""
    rows: list[tuple[Fragment, int]] = field(default_factory=list["tuple[Fragment, int]"])
    """Threads of fragments, each by the row of its warp in the gang."""

    @property
    def place(self) -> int:
        """The first instruction at which anybody waits for it."""
        return min(fragment.place for fragment, _ in self.rows)


class Waits:
    """Those of one deadlock."""

    def __init__(self, program: Program, machine: Machine, stuck: Sequence[Fragment]) -> None:
        self.program = program
        self.machine = machine
        self.stuck = stuck
        self._successors = successors(program)
        self._reached: dict[int, set[int]] = {}
        self.all = self._group()

    def _group(self) -> list[Wait]:
        found: dict[object, Wait] = {}
        for fragment in self.stuck:
            for row in rows_of(fragment.mask):
                waiting = fragment.waiting
                on = waiting.on(row) if waiting is not None and waiting.on is not None else None
                key = (id(fragment.gang), row, fragment.place) if on is None else id(on)
                found.setdefault(key, Wait(on)).rows.append((fragment, row))
        return list(found.values())

    def is_helped(self, wait: Wait) -> bool:
        """Whether others would come to something that releases these, if only they could go on themselves."""
        own = {(id(fragment), row) for fragment, row in wait.rows}
        others = [
            each
            for each in self.stuck
            if any((id(each), row) not in own and self._may_release(each, row, wait) for row in rows_of(each.mask))
        ]
        return any(
            self._releases(self.program.operations[index], wait) for each in others for index in self.reach(each)
        )

    def _may_release(self, fragment: Fragment, row: int, wait: Wait) -> bool:
        """Whether a warp has to do with what these threads wait for: other blocks have barriers of their own."""
        block = fragment.gang.blocks[row]
        match wait.on:
            case Mbarrier() as barrier:
                owner = self.machine.blocks[barrier.index // self.machine.memory.shared_stride]
                return block.cluster is owner.cluster
            case Barrier() as barrier:
                return block is barrier.block
            case ClusterBarrier() as barrier:
                return block.cluster is barrier.cluster
            case ColumnsWanted(memories=memories):
                return any(each.block is block for memory in memories for each in memory.allocations)
            case PeerAwaited(other=other):
                return block is other
            case _:
                return any(fragment.gang is other.gang and row == own for other, own in wait.rows)

    def reach(self, fragment: Fragment) -> set[int]:
        """Operations that threads may come to behind the one that they wait at."""
        found = self._reached.get(fragment.place)
        if found is None:
            found = self._reached[fragment.place] = set()
            work = [*self._successors[fragment.place]]
            while work:
                index = work.pop()
                if index not in found:
                    found.add(index)
                    work += self._successors[index]
        return found

    def _releases(self, operation: Operation, wait: Wait) -> bool:
        """Whether an operation may be what these threads wait for."""
        match wait.on:
            case Mbarrier() as barrier:
                return arrives(operation) if barrier.pending else brings(operation)
            case Barrier(number=number):
                return comes_to_barrier(operation, number)
            case ClusterBarrier():
                return operation.form.opcode == "barrier" and operation.form.modifiers[:2] == ("cluster", "arrive")
            case ColumnsWanted():
                return operation.form.opcode == "tcgen05" and operation.form.has("dealloc")
            case PeerAwaited(does=does):
                return operation.form.opcode == "tcgen05" and operation.form.has(does)
            case _:
                return operation.index == wait.place

    # What mbarriers know of each other.

    def mbarriers(self) -> Iterator[Mbarrier]:
        """Of all blocks that are resident."""
        for block in self.machine.blocks:
            yield from cast("dict[int, Mbarrier]", block.state.get("mbarriers", {})).values()

    def entries(self, deed: Deed, but: Mbarrier | None = None) -> Iterator[tuple[Mbarrier, Entry]]:
        """What was done at all of them but one."""
        for barrier in self.mbarriers():
            if barrier is not but:
                for entry in barrier.ledger.altogether(deed):
                    yield barrier, entry

    def never_executed(self, deed: Deed) -> list[Operation]:
        """Instructions that would do this, and that nobody has come to, nor can once the waits are over.

        Those of a line of which another copy, as unrolling makes them, has been executed are none.
        """
        is_one = arrives if deed == "arrives" else brings
        executed = [entry.operation for _, entry in self.entries(deed)] + [*self.machine.faulted]
        behind = {index for fragment in self.stuck for index in self.reach(fragment)}
        return [
            each
            for each in self.program.operations
            if is_one(each) and each.index not in behind and not any(is_same_line(each, one) for one in executed)
        ]

    def name(self, barrier: Mbarrier) -> str:
        """`the mbarrier at shared+16`."""
        memory = self.machine.memory
        slot, offset = divmod(barrier.index, memory.shared_stride)
        of = f" of {self.machine.blocks[slot].name}" if len(self.machine.blocks) > 1 else ""
        return f"the mbarrier at {memory.describe('shared', offset)}{of}"


def is_same_line(one: Operation, two: Operation) -> bool:
    """Whether two instructions are the same, or of the same line of Python."""
    a, b = one.instruction.location, two.instruction.location
    return one is two or (a is not None and b is not None and (a.file, a.line) == (b.file, b.line))


def arrives(operation: Operation) -> bool:
    """Whether it arrives at an mbarrier."""
    form = operation.form
    if form.opcode == "mbarrier":
        return form.modifiers[0] in ("arrive", "arrive_drop")
    if form.opcode == "tcgen05":
        return form.modifiers[0] == "commit"
    return form.opcode == "cp" and form.modifiers[:2] == ("async", "mbarrier")


def brings(operation: Operation) -> bool:
    """Whether it completes bytes at an mbarrier."""
    form = operation.form
    return form.has("mbarrier::complete_tx::bytes") or (form.opcode == "mbarrier" and form.has("complete_tx"))


def comes_to_barrier(operation: Operation, number: int) -> bool:
    """Whether it may come to this barrier of its block."""
    form = operation.form
    if form.opcode not in ("bar", "barrier") or form.modifiers[0] in ("warp", "cluster"):
        return False
    which = operation.operands[1 if form.has("red") else 0]
    return not isinstance(which, Immediate) or which.bits == number


def counted(count: int, what: str) -> str:
    """`1 thread`, `32 threads`."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def listed(words: Iterable[str]) -> str:
    """`a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
