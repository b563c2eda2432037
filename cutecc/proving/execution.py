"""One run of a cluster's warps, in one order, which stands for all orders if no condition fails.

Copies happen as soon as they are started, and warps go once around a loop at a time. What has to come before what is
kept in vector clocks (Fidge and Mattern, 1988). docs/proving.md has the conditions and why they suffice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING

from cutecc.proving.arithmetic import block_of
from cutecc.proving.barriers import Clock, Mbarrier, NamedBarrier, Waiter, join
from cutecc.proving.memory import TENSOR, Range, Record, SharedMemory
from cutecc.proving.modelled import MODELLED
from cutecc.proving.problems import Kind, Problem
from cutecc.proving.skeleton import is_ordered
from cutecc.proving.warps import NotKnown, Warp, make_warps

if TYPE_CHECKING:
    from cutecc.proving.kernel import Operation
    from cutecc.proving.numbers import Numbers
    from cutecc.proving.values import Value
    from cutecc.proving.warps import Program
    from cutecc.proving.windows import Repetition, Windows

_MOST_PROBLEMS = 8
_EVER = 1 << 62


@dataclass(slots=True)
class Groups:
    """Groups of operations that a warp commits, in their order."""

    component: int
    committed: int = 0
    done: int = 0
    """Groups that the warp has waited for."""
    is_open: bool = False
    """Whether something has been added since the last commit."""
    last: Operation | None = None
    perhaps: int | None = None
    """A component of clocks: how many groups may be over, though nobody has waited for them."""


_AHEAD = 3
"""Tiles that a warp may be ahead of others, where it need not be."""


class TimeIsOver(Exception):
    """A run has not come to its end by the deadline."""


@dataclass(eq=False)
class Execution:
    """The state of a run."""

    program: Program
    numbers: Numbers
    warps: list[Warp]
    clocks: list[Clock]
    components: int
    mbarriers: dict[int, Mbarrier] = field(default_factory=dict[int, Mbarrier])
    named: dict[tuple[int, int], NamedBarrier] = field(default_factory=dict[tuple[int, int], NamedBarrier])
    groups: dict[tuple[int, str], Groups] = field(default_factory=dict[tuple[int, str], Groups])
    memory: SharedMemory = field(default_factory=SharedMemory)
    problems: list[Problem] = field(default_factory=list[Problem])
    current: int = 0
    """Whose turn it is."""
    windows: Windows | Repetition | None = None
    """Of a loop inside of others: whether its steady state has been seen."""
    idle: int = 0
    """How many have had a turn since somebody went on."""
    events: int = 0
    words: dict[int, tuple[int, Value]] = field(default_factory=dict[int, tuple[int, "Value"]])
    """Of shared memory, what is known of what it holds: so many bytes, and a value."""
    requests: int = 0
    """For clusters that have not begun."""
    requester: int | None = None
    """The warp that asks for them."""
    columns: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict[int, tuple[tuple[int, int], ...]])
    """Of tensor memory, those that blocks have: the first, and how many."""
    asked: dict[int, int] = field(default_factory=dict[int, int])
    """How often blocks have asked for columns together with the other one of their pair."""

    @classmethod
    def begin(cls, program: Program, numbers: Numbers) -> Execution:
        """Before the first event."""
        warps = make_warps(program, numbers)
        found = cls(program, numbers, warps, [[0] * len(warps) for _ in warps], len(warps))
        for warp in warps:
            warp.begin()
        return found

    @property
    def live(self) -> list[int]:
        return [index for index, warp in enumerate(self.warps) if warp.event is not None]

    def run(self, deadline: float = math.inf) -> list[Problem]:
        """Go on to the end; returns what is wrong.

        Raises `NotKnown`, `NeedsPeriod` and `DependsOnPeriod`; `TimeIsOver` past the deadline, by the monotonic clock;
        and `Undecided`, after which it can be called again.
        """
        count = len(self.warps)
        # Once around without anybody who goes on, and once more with those who are ahead.
        while self.idle < 2 * count and len(self.problems) < _MOST_PROBLEMS:
            if time.monotonic() > deadline:
                raise TimeIsOver
            self._turn(self.current, self.warps[self.current])
            self.idle += 1
            self.current = (self.current + 1) % count
        self._end()
        return self.problems

    def _turn(self, index: int, warp: Warp) -> None:
        """Have a warp go on until it has to wait, or has gone once around a loop: that keeps loops in step."""
        if warp.is_between:
            self.idle = -1
            warp.proceed()
        elif warp.event is not None and warp.event.blocks:
            if self.idle < len(self.warps) and self._is_ahead(warp):
                return
            if self.windows is not None:
                self.windows.look(self, warp)
            self.idle = -1
            warp.proceed()
        while (event := warp.event) is not None and not event.blocks:
            effect = MODELLED.get(event.name)
            if effect is None:
                raise NotKnown(f"{event.name} is not modelled", event)
            if not effect(self, index):
                return
            self.events += 1
            self.idle = -1
            self.happened(index, event)
            warp.proceed()

    def _is_ahead(self, warp: Warp) -> bool:
        """Whether some other has tiles to go before it is where this one is: who has to wait for nobody waits for that.

        Otherwise it would be further ahead in each state than in all before.
        """
        tile = warp.tile
        if tile is None:
            return False
        return any(
            each.tile is not None and each.tile < tile - _AHEAD and each.event is not None for each in self.warps
        )

    def _end(self) -> None:
        if len(self.problems) >= _MOST_PROBLEMS:
            return
        for index in self.live:
            self.report("deadlock", index, f"{self.who(index)} waits for ever: {self._awaited(index)}")
        if self.live:
            return
        self._look_at_groups()
        self._look_at_mbarriers()
        self._look_at_exits()

    def _look_at_groups(self) -> None:
        """What warps have started is over before they exit."""
        for (index, kind), groups in self.groups.items():
            if groups.is_open and groups.last is not None and kind in ("bulk", "wgmma"):
                self.report("drain", index, f"{self.who(index)} exits with {kind} that no group has", groups.last)
            elif groups.done < groups.committed and kind == "bulk" and groups.last is not None:
                text = f"{self.who(index)} exits while a bulk copy may still read shared memory"
                self.report("drain", index, text, groups.last)

    def _look_at_mbarriers(self) -> None:
        """All that is announced has come, and somebody knows."""
        everybody: Clock = []
        for clock in self.clocks:
            join(everybody, clock)
        for barrier in self.mbarriers.values():
            for arrival in self.unseen(barrier)[:1]:
                text = f"{self.who(arrival.warp)} may arrive at a barrier of a block that has exited"
                self.report("drain", arrival.warp, text, arrival.operation, barrier.operation)
            known = everybody[barrier.component] if barrier.component < len(everybody) else 0
            if barrier.bytes:
                self.report("arrivals", 0, f"{barrier.bytes} bytes are announced and never copied", barrier.operation)
            elif known < barrier.complete and any(self._is_open(barrier)):
                self.report("drain", 0, "the block exits while a copy may still write shared memory", barrier.operation)

    def _look_at_exits(self) -> None:
        """Whoever accesses another block's shared memory is done before that block exits: one of its warps knows it."""
        if prod(self.program.kernel.cluster) == 1:
            return
        looked: set[tuple[int, Record]] = set()
        seen: set[tuple[int, int, int]] = set()
        for start, writes, reads in self.memory.open(self.known_to_all(range(len(self.warps)))):
            block = block_of(start)
            if (key := (block, id(writes), id(reads))) in seen:
                continue
            seen.add(key)
            others = {(block, each) for each in (*writes, *reads) if self.warps[each.warp].block != block}
            for _, record in others - looked if start < TENSOR else ():
                owner = (index for index, warp in enumerate(self.warps) if warp.block == block)
                known = any(self.knows(index, record.component) >= record.value for index in owner)
                if not known and record.is_in_doubt:
                    why = "its block may have exited before this access, and whether its branch is taken is not known"
                    raise NotKnown(why, record.operation)
                if not known:
                    text = f"block {block} may exit while {self.who(record.warp)} accesses its shared memory"
                    self.report("drain", record.warp, text, record.operation)
            looked |= others

    def _is_open(self, barrier: Mbarrier) -> list[bool]:
        """Whether copies that complete at a barrier are not known to be over."""
        known = self.known_to_all(range(len(self.warps)))
        return [
            True
            for _, writes, _ in self.memory.open(known)
            for record in writes
            if record.component == barrier.component
        ]

    def _awaited(self, index: int) -> str:
        event = self.warps[index].event
        assert event is not None
        if event.name.startswith("nvvm.mbarrier"):
            address = self.warps[index].given(0)
            barrier = self.mbarriers.get(address) if type(address) is int else None
            if barrier is not None:
                missing = f"{barrier.missing} arrivals and {barrier.bytes} bytes"
                return f"of an mbarrier with {barrier.complete} complete phases {missing} are missing"
        return f"{event.name.removeprefix('nvvm.')} of too few"

    def happened(self, index: int, event: Operation) -> None:
        """A warp's event has happened; for runs that keep their events."""

    # What effects are made of.

    def who(self, index: int) -> str:
        """A warp, in words."""
        warp = self.warps[index]
        return f"warp {warp.number}" + (f" of block {warp.block}" if prod(self.program.kernel.cluster) > 1 else "")

    def report(
        self, kind: Kind, index: int, text: str, operation: Operation | None = None, other: Operation | None = None
    ) -> None:
        """Something is wrong, where the warp is or at another operation."""
        event = operation or self.warps[index].event
        assert event is not None
        found = Problem(kind, text, event.location, other.location if other else None)
        if all(found.key != each.key for each in self.problems):
            self.problems.append(found)

    def component(self) -> int:
        """A new one of the clocks."""
        self.components += 1
        return self.components - 1

    def tick(self, index: int) -> int:
        """An event of a warp; returns its number."""
        clock = self.clocks[index]
        clock[index] += 1
        return clock[index]

    def knows(self, index: int, component: int) -> int:
        """How much of a component a warp knows to have happened."""
        clock = self.clocks[index]
        return clock[component] if component < len(clock) else 0

    def learns(self, index: int, component: int, value: int) -> None:
        clock = self.clocks[index]
        if component >= len(clock):
            clock.extend([0] * (component + 1 - len(clock)))
        clock[component] = max(clock[component], value)

    def known_to_all(self, indices: Sequence[int]) -> Callable[[Record], bool]:
        """Whether all of these warps know an access to be over."""
        # Where nobody is left, nothing can come too early.
        least = [min((self.knows(index, each) for index in indices), default=_EVER) for each in range(self.components)]
        return lambda record: least[record.component] >= record.value

    def group(self, index: int, kind: str) -> Groups:
        found = self.groups.get((index, kind))
        if found is None:
            found = self.groups[index, kind] = Groups(self.component())
        return found

    def access(
        self,
        index: int,
        ranges: Sequence[Range],
        component: int,
        value: int,
        *,
        writes: bool,
        clock: Clock | None = None,
    ) -> None:
        """A warp accesses, or starts an access of, memory, which is over at a value of a component.

        It comes after what the warp knows, or what a `clock` says. Raises `NotKnown` for a collision that is none if
        a branch is not taken.
        """
        operation = self.warps[index].event
        assert operation is not None
        clock = self.clocks[index] if clock is None else clock
        size = len(clock)

        def known(record: Record) -> bool:
            return record.component < size and clock[record.component] >= record.value

        if writes:
            self._forget_words(ranges)
        record = Record(component, value, index, operation, self.warps[index].is_in_doubt)
        collides = (self.memory.write if writes else self.memory.read)(ranges, record, known)
        if collides is not None:
            where = "tensor memory" if ranges[0][0] >= TENSOR else "shared memory"
            self._collide(record, collides, f"{'writes' if writes else 'reads'} {where}", clock)

    def _forget_words(self, ranges: Sequence[Range]) -> None:
        """What is known of words that are written over."""
        if self.words:
            kept = {at: each for at, each in self.words.items() if all(b <= at or at + each[0] <= a for a, b in ranges)}
            self.words = kept

    def _collide(self, record: Record, other: Record, what: str, clock: Clock) -> None:
        for each in (record, other):
            if each.is_in_doubt:
                raise NotKnown(
                    "nothing orders this access, and whether its branch is taken is not known", each.operation
                )
        if is_ordered(record.operation) and is_ordered(other.operation):
            raise NotKnown("what volatile or atomic accesses tell each other is not modelled", record.operation)
        perhaps = next((each.perhaps for each in self.groups.values() if each.component == other.component), None)
        if perhaps is not None and perhaps < len(clock) and clock[perhaps] >= other.value:
            raise NotKnown("whether what is loaded here has been used by then is not known", other.operation)
        text = f"{self.who(record.warp)} {what} that {self.who(other.warp)} accesses: nothing orders the two"
        self.report("race", record.warp, text, other=other.operation)

    def number(self, index: int, position: int, what: str) -> int:
        """An operand of a warp's event. Raises `NotKnown` when it is no number."""
        warp = self.warps[index]
        value = warp.given(position)
        if type(value) is not int:
            assert warp.event is not None
            raise NotKnown(f"{what} is not known", warp.event)
        return value

    def mbarrier(self, index: int, address: int) -> Mbarrier | None:
        """The mbarrier at an address; reports one that is not there for sure."""
        found = self.mbarriers.get(address)
        if found is None:
            self.report("initialisation", index, f"{self.who(index)} uses an mbarrier that nobody has initialised")
            return None
        warp, value = found.initialised
        if self.knows(index, warp) < value:
            text = f"{self.who(index)} uses an mbarrier, and nothing orders that after its initialisation"
            self.report("initialisation", index, text, other=found.operation)
        return found

    def arrive(self, index: int, barrier: Mbarrier, arrivals: int, clock: Clock, announced: int = 0) -> None:
        """Arrivals in the phase that goes on, which has to be the one that they are for."""
        known = clock[barrier.component] if barrier.component < len(clock) else 0
        if known < barrier.complete:
            text = f"{self.who(index)} may arrive one phase too early: nothing orders that after the phase before"
            self.report("phase", index, text, other=barrier.operation)
        join(barrier.arrived, clock)
        if arrivals and self.warps[index].block != self.warps[barrier.initialised[0]].block:
            operation = self.warps[index].event
            assert operation is not None
            barrier.remote[index] = Waiter(index, clock[index], operation)
        barrier.missing -= arrivals
        barrier.bytes += announced
        if barrier.missing < 0:
            text = f"{self.who(index)} arrives more often than the {barrier.expected} times of a phase"
            self.report("arrivals", index, text, other=barrier.operation)
            barrier.missing = 0
        self._complete(index, barrier)

    def unseen(self, barrier: Mbarrier) -> list[Waiter]:
        """Arrivals from other blocks that nobody knows of in the barrier's own: it may have exited before."""
        if barrier.remote:
            block = self.warps[barrier.initialised[0]].block
            there = [index for index, warp in enumerate(self.warps) if warp.block == block]
            for warp, arrival in [*barrier.remote.items()]:
                if any(self.knows(index, warp) >= arrival.value for index in there):
                    del barrier.remote[warp]
        return [*barrier.remote.values()]

    def _complete(self, index: int, barrier: Mbarrier) -> None:
        if barrier.missing or barrier.bytes:
            return
        for waiter in barrier.waiters:
            known = barrier.arrived[waiter.warp] if waiter.warp < len(barrier.arrived) else 0
            if known < waiter.value:
                text = f"{self.who(waiter.warp)} may miss a phase: the next one can be complete before it looks"
                self.report("phase", index, text, waiter.operation, barrier.operation)
        barrier.waiters = []
        barrier.complete += 1
        barrier.missing = barrier.expected
        passed = barrier.arrived
        if barrier.component >= len(passed):
            passed.extend([0] * (barrier.component + 1 - len(passed)))
        passed[barrier.component] = barrier.complete
        barrier.passed = passed
        # What phases order stays ordered.
        barrier.arrived = [*passed]

    def wait(self, index: int, barrier: Mbarrier, parity: int) -> bool:
        """Wait for the phase of a parity; whether the warp goes on."""
        if barrier.complete % 2 == parity % 2:
            return False
        if self.knows(index, barrier.component) < barrier.complete - 1:
            text = f"{self.who(index)} may pass one phase too early: nothing orders its wait after the phase before"
            self.report("phase", index, text, other=barrier.operation)
        operation = self.warps[index].event
        assert operation is not None
        barrier.waiters.append(Waiter(index, self.tick(index), operation))
        join(self.clocks[index], barrier.passed)
        return True

    def copy(self) -> Execution:
        """The same state, which goes its own way."""
        groups = {key: replace(each) for key, each in self.groups.items()}
        numbers = self.numbers.copy()
        return Execution(
            self.program, numbers, [warp.copy(numbers) for warp in self.warps], [[*clock] for clock in self.clocks],
            self.components,
            {key: each.copy() for key, each in self.mbarriers.items()},
            {key: each.copy() for key, each in self.named.items()},
            groups, self.memory.copy(), [*self.problems], self.current,
            self.windows.copy() if self.windows else None, self.idle, self.events, dict(self.words),
            self.requests, self.requester, dict(self.columns), dict(self.asked),
        )  # fmt: skip
