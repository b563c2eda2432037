"""Races: two accesses to the same byte, one of them a write, that nothing orders.

What counts as ordered, beside what `clocks` says:

- Strong accesses (atomics, `.relaxed`, `.acquire`, `.release`, `.volatile`) do not race with each other, within the
  scope that they name (PTX ISA, "Morally strong operations").
- Threads of one warp are not ordered by going in step; `bar.warp.sync` orders them. But after an instruction that a
  whole warp executes together (`.sync`), a write of one thread does not race with a read of another thread before
  it: that read has taken its value. (A read after a write still does; PTX promises nothing, and compilers use that.)
- Threads of one warp that write the same value to the same byte in one instruction do not race; nor do the bulk copies
  that they start by one instruction: whole warps start one that is the same for all of them.
- In shared memory a store of the value that is there already does not race with the store that put it there: whichever
  comes last, the same remains. Compilers have all warps write what all of them hold.

Of global memory not every reader is remembered (`shadow.GlobalShadow`), so a race of a write with an earlier read can
be missed where many threads have read the same byte, and the last of them are ordered before the write. A race that is
reported is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.clocks import INITS, ORDER, PROXY_TENSOR_MAP, Clocks, Numbers
from cutecc.emulator.checks.finding import RELATIONS, Finding, Place, Relation
from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.order import OF_BLOCK, WEAK, WIDE, is_initialisation, strength
from cutecc.emulator.checks.reports import Reports
from cutecc.emulator.checks.shadow import AGENT_MASK, Shadow
from cutecc.emulator.checks.signals import Signals
from cutecc.emulator.checks.updates import writes_back
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.watch import AccessKind, Space

_WARP, _BLOCK, _CLUSTER, _GRID = range(1, len(RELATIONS))
"""In `RELATIONS`."""


@dataclass(eq=False)
class Races:
    """Compares each access with those before it, and notes it."""

    _clocks: Clocks
    _history: History
    _program: Program
    _reports: Reports
    _which: frozenset[str]
    """Names of `CheckName`."""
    _place: Callable[[int, Operation, str], Place]
    """Where an agent was when it executed an operation."""
    _bursts: Mapping[int, int]
    """Of `Agents`."""
    _cluster: tuple[int, int, int]
    _signals: Signals | None = None
    """What blocks have told each other."""
    _narrow: Mapping[int, tuple[int, Operation]] = field(default_factory=dict[int, tuple[int, Operation]])
    """Of `Synchronisation`."""

    def __post_init__(self) -> None:
        self._operations = operations = self._program.operations
        self._races, self._proxies = "races" in self._which, "proxies" in self._which
        self._strength = np.array([strength(operation) for operation in operations], np.int8)
        self._initialises = np.array([is_initialisation(operation) for operation in operations], np.bool_)
        self._scopes_differ = bool((self._strength == OF_BLOCK).any())
        self._granules: Numbers = np.zeros((0, 0), np.int64)
        """Of the access that is compared, shape `(parts, granules of each)`."""
        self._updates: dict[tuple[int, int], Space] = {}
        """Loads and the stores that write back what comes of them, which have collided, and where."""
        self._are_updates = np.zeros(len(operations), np.bool_)
        """By store: whether a thread that has read stores at the same place at the same time as one that it races."""
        self.together = np.zeros(len(self._clocks.serials) * self._clocks.agents_per_block // 32, np.int64)
        """By warp, as `Gang.agents // 32`: when all of its threads last executed an instruction together."""

    def note(self, shadow: Shadow, granules: Numbers, access: Access) -> None:
        """One access to granules of shape `(parts, granules of each)`."""
        event = self._clocks.now
        self._clocks.now += 1
        self._granules = granules
        self._history.note(event, access.operation.index)
        stamps = (event << 32) | access.agents
        shadow.threads_of_one_block &= not access.asynchronous and access.owners is None
        strong = access.kind == "atomic" or (access.kind == "write" and self._strength[access.operation.index] != WEAK)
        writers: Numbers | None = None
        if shadow.was_written:
            writers = shadow.writers[granules]
            self._compare(shadow, writers, access, "write")
        if shadow.atomics is not None:
            atomics = shadow.atomics[granules]
            if not strong or self._scopes_differ:
                self._compare(shadow, atomics, access, "atomic")
            writers = atomics if writers is None else np.maximum(writers, atomics)
        if access.kind != "write" and access.space == "shared" and "initialisation" in self._which:
            self._check_written(writers, access)
        if access.kind == "read":
            if self._races:
                shadow.remember_reads(granules, access, event)
            return
        if self._races and (readers := shadow.reads(granules, access)) is not None:
            self._judge(*readers, access, "read")
        if strong:
            shadow.remember_atomics(granules, stamps)
            return
        shadow.was_written = True
        shadow.writers[granules] = stamps[:, None]
        if self._races and len(stamps) > 1 and not (granules[1:, 0] > granules[:-1, -1]).all():
            self._check_own_writes(shadow.writers[granules], stamps, access)

    def _check_written(self, writers: Numbers | None, access: Access) -> None:
        """Find what is read in shared memory before anything has written it."""
        if writers is None:
            writers = np.zeros(self._granules.shape, np.int64)
        if not writers.all():
            self._uninitialised(writers, access)

    def _check_own_writes(self, last: Numbers, stamps: Numbers, access: Access) -> None:
        """Find threads whose writes others of the same instruction have overwritten."""
        lost = last != stamps[:, None]
        if lost.any():
            self._in_one_instruction(last, lost, access)

    def _compare(self, shadow: Shadow, stamps: Numbers, access: Access, did: AccessKind) -> None:
        """Find earlier writes that are not known to be over; `stamps` is of shape `(parts, any)`."""
        latest = int(stamps.max()) >> 32
        if not latest or (shadow.threads_of_one_block and latest <= self._clocks.floor(access.views)):
            return
        if access.asynchronous and self._is_behind(int(stamps.min()), int(stamps.max()), access):
            return
        others = stamps & AGENT_MASK
        if access.proxy == PROXY_TENSOR_MAP:
            self._own_descriptors(others, stamps >> 32, access)
        parts, which = np.nonzero((stamps != 0) & (others != access.agents[:, None]))
        if len(parts):
            self._judge(parts, stamps[parts, which], access, did)

    def _judge(self, parts: Numbers, stamps: Numbers, access: Access, did: AccessKind) -> None:
        """Find those of earlier accesses that are not known to be over; `parts` are those that access the same."""
        agents, events = stamps & AGENT_MASK, stamps >> 32
        views = access.views[parts]
        known = self._clocks.knows(views, agents, events, ORDER)
        if self._clocks.copies:
            known |= self._clocks.own_copies(access.agents[parts], agents, events)
            if access.owners is not None:
                known |= (access.owners[parts] == agents) & (events < access.since)
        if self._races and not known.all():
            bad = np.flatnonzero(~known)
            bad = bad[self._is_race(access, parts[bad], agents[bad], events[bad], did)]
            if len(bad):
                self._report(access, parts[bad], agents[bad], events[bad], did)
        if self._proxies and access.proxy is not None and did != "read":
            generic = known & ~self._clocks.is_asynchronous(agents)
            if generic.any():
                generic &= ~self._clocks.knows(views, agents, events, access.proxy)
                bad = np.flatnonzero(generic)
                if len(bad):
                    self._report_proxy(access, parts[bad], agents[bad], events[bad])

    def _is_behind(self, first: int, last: int, access: Access) -> bool:
        """Whether an asynchronous operation's access comes after the only write that there was, with all fences."""
        if first != last:
            return False
        agent, event = last & AGENT_MASK, last >> 32
        if agent == access.agents[0]:
            return True
        view = int(access.views[0])
        if not self._clocks.knows_one(view, agent, event, ORDER):
            return False
        if not self._proxies or agent in self._bursts or access.proxy is None:
            return True
        return self._clocks.knows_one(view, agent, event, access.proxy)

    def _own_descriptors(self, agents: Numbers, events: Numbers, access: Access) -> None:
        """Find threads that use a descriptor which they have written themselves without a fence."""
        fenced = self._clocks.fenced[PROXY_TENSOR_MAP, self._clocks.threads_of(access.agents)]
        parts, which = np.nonzero((agents == access.agents[:, None]) & (events > fenced[:, None]))
        if len(parts) and self._proxies:
            self._report_proxy(access, parts, agents[parts, which], events[parts, which])

    def _is_race(
        self, access: Access, parts: Numbers, agents: Numbers, events: Numbers, did: AccessKind
    ) -> NDArray[np.bool_]:
        mine = access.agents[parts]
        shift = self._clocks.shift
        strong = self._strength[self._history.operations(events)]
        own_strength = int(self._strength[access.operation.index])
        if own_strength == WEAK and access.kind == "atomic":
            own_strength = WIDE
        harmless = (strong > 0) & (own_strength > 0)
        if harmless.any():
            harmless &= (mine >> shift == agents >> shift) | ((strong == WIDE) & (own_strength == WIDE))
        if did == "write" and access.changes is not None:
            harmless |= ~access.changes(parts)
        inits = self._initialises[self._history.operations(events)]
        if inits.any():
            harmless[inits] |= self._clocks.knows(access.views[parts[inits]], agents[inits], events[inits], INITS)
        if did == "read" and not access.asynchronous:
            near = mine >> 5 == agents >> 5
            if near.any():
                warps = self._clocks.threads_of(mine) >> 5
                harmless |= near & (events <= self.together[warps])
        if access.asynchronous and access.owners is None:
            own = self._bursts.get(int(mine[0]))
            for agent in np.unique(agents[self._clocks.is_asynchronous(agents)]).tolist():
                if self._bursts.get(agent) == own:
                    harmless |= agents == agent
        return ~harmless

    def _report(self, access: Access, parts: Numbers, agents: Numbers, events: Numbers, did: AccessKind) -> None:
        by = access.operation if access.asynchronous or access.owners is not None else None
        for other, chosen in self._by_operation(events):
            if by is None:
                self._note_update(access, other, parts[chosen], agents[chosen])

            first, near, relations = self._widest(access.agents[parts[chosen]], agents[chosen])

            def make(other: Operation = other, first: int = int(chosen[first]), near: Relation = near) -> Finding:
                agent = int(agents[first])
                others = None if self._clocks.is_thread(agent) else other
                place = self._place(agent, other, wording.done(did, others))
                if by is None and other is access.operation and access.kind == did == "write":
                    text = wording.same_line(access.space, near)
                else:
                    text = wording.race(access.space, access.kind, by, did, others, near)
                    if near == "grid" and by is None and others is None and self._signals is not None:
                        event, mine = int(events[first]), int(access.agents[parts[first]])
                        why = self._signals.explain(other, agent, event, access.operation, mine)
                        text = text if why is None else wording.told(text, why)
                narrow = self._narrow.get(agent)
                if narrow is not None and narrow[0] > int(events[first]):
                    text = wording.told(text, wording.narrow_arrival(narrow[1]))
                found = access.finding(text, int(parts[first]), place, "race")
                if (
                    by is not None
                    and others is None
                    and (found.place.block, found.place.thread) == (place.block, place.thread)
                ):
                    return replace(
                        found,
                        message=wording.own_copy(access.space, access.kind, by, did),
                        relations=frozenset[Relation]({"thread"}),
                    )
                return replace(found, message=text)

            threads = len(np.unique(parts[chosen]))
            self._reports.add("race", access.operation.index, other.index, threads, make, relations)

    def _note_update(self, access: Access, other: Operation, parts: Numbers, agents: Numbers) -> None:
        """Two accesses may be threads that each read a place and write it back."""
        found = writes_back(self._program, access.operation, other)
        if found is None:
            return
        load, store = found
        self._updates.setdefault((load.index, store.index), access.space)
        if store is access.operation and not self._are_updates[store.index]:
            # Who has read stores right here as well: those of one warp may even store the same.
            order = np.argsort(access.agents)
            rows = order[np.searchsorted(access.agents, agents, sorter=order) % len(order)]
            stores = access.agents[rows] == agents
            same = (self._granules[rows] == self._granules[parts]).any(axis=1)
            self._are_updates[store.index] = bool((stores & same).any())

    def settle(self) -> None:
        """Say of threads that read a place and write it back that they do: one finding for all of their collisions.

        They are several if their stores collide as well.
        """
        for (load, store), space in self._updates.items():
            if self._are_updates[store] or self._reports.has("race", store, store):
                self._reports.reword("race", load, store, wording.update(space))
                self._reports.leave_out("race", store, store)

    def _widest(self, ones: Numbers, others: Numbers) -> tuple[int, Relation, frozenset[Relation]]:
        """Of pairs of agents the first of those that have the least in common, what that is, and what all have."""
        columns = self._clocks.stride - 1
        both = np.maximum(ones & columns, others & columns) < self._clocks.agents_per_block
        numbers = np.where(both & (ones >> 5 == others >> 5), _WARP, _BLOCK)
        shift = self._clocks.shift
        for pair in np.flatnonzero(ones >> shift != others >> shift).tolist():
            blocks = [self._history.blocks[int(each[pair]) >> shift] for each in (ones, others)]
            first, second = [
                tuple(at // size for at, size in zip(block, self._cluster, strict=True)) for block in blocks
            ]
            numbers[pair] = _CLUSTER if first == second else _GRID
        widest = int(numbers.argmax())
        distinct: list[int] = np.unique(numbers).tolist()
        return widest, RELATIONS[int(numbers[widest])], frozenset(RELATIONS[each] for each in distinct)

    def _report_proxy(self, access: Access, parts: Numbers, agents: Numbers, events: Numbers) -> None:
        for other, chosen in self._by_operation(events):

            def make(other: Operation = other, first: int = int(chosen[0])) -> Finding:
                agent = int(agents[first])
                others = None if self._clocks.is_thread(agent) else other
                place = self._place(agent, other, wording.done("write", others))
                if access.proxy == PROXY_TENSOR_MAP:
                    text = wording.descriptor(access.operation)
                else:
                    text = wording.proxy(access.space, access.kind, access.operation)
                return access.finding(text, int(parts[first]), place, "missing-proxy-fence")

            self._reports.add("missing-proxy-fence", access.operation.index, other.index, 1, make)

    def _by_operation(self, events: Numbers) -> Iterator[tuple[Operation, Numbers]]:
        """The operations that made accesses at these events, each with which they are."""
        operations = self._history.operations(events)
        for index in np.unique(operations).tolist():
            yield self._operations[index], np.flatnonzero(operations == index)

    def _in_one_instruction(self, last: Numbers, lost: NDArray[np.bool_], access: Access) -> None:
        parts, which = np.nonzero(lost)
        winners = last[parts, which] & AGENT_MASK
        order = np.argsort(access.agents)
        others = order[np.searchsorted(access.agents, winners, sorter=order)]
        same = np.zeros(len(parts), np.bool_) if access.same_value is None else access.same_value(parts, others)
        near = access.agents[parts] >> 5 == access.agents[others] >> 5
        bad = ~(same & (near | (access.changes is not None)))
        parts, others, same = parts[bad], others[bad], same[bad]
        # Those that matter come first.
        order = np.argsort(same, kind="stable")
        parts, others = parts[order], others[order]
        if not len(parts):
            return
        operation = access.operation
        first, near, relations = self._widest(access.agents[parts], access.agents[others])

        def make() -> Finding:
            place = self._place(int(access.agents[others[first]]), operation, wording.done("write", None))
            text = wording.one_instruction(access.space) if near == "warp" else wording.same_line(access.space, near)
            return access.finding(text, int(parts[first]), place, "race")

        self._reports.add("race", operation.index, operation.index, len(np.unique(parts)), make, relations)

    def _uninitialised(self, writers: Numbers, access: Access) -> None:
        if access.operation.form.operation in ("mbarrier", "ld", "ldmatrix", "wmma.load"):
            # An mbarrier's instruction itself tells of an object that nobody has initialised; what a load reads is
            # followed (`undefined`).
            return
        missing = writers == 0
        parts = np.flatnonzero(missing.any(axis=1))
        if not len(parts):
            return
        by = access.operation if access.asynchronous or access.owners is not None else None

        def make() -> Finding:
            text = wording.uninitialised(access.space, by)
            return access.finding(text, int(parts[0]), None, "uninitialised-shared")

        self._reports.add("uninitialised-shared", access.operation.index, -1, len(parts), make)
