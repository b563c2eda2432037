"""One run of a cluster's traces: each warp goes on until it has to wait.

A wait that passes in one schedule passes in every other, as long as phases are waited for one after another. So where
nobody can go on here, nobody can in any schedule.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cutecc.memory_rules.warps import WARP, Array
from cutecc.passes.analysis.synchronisation.barriers import BlockBarrier, Mbarrier
from cutecc.passes.analysis.synchronisation.orders import Clocks
from cutecc.passes.analysis.synchronisation.sites import Kind, Site
from cutecc.passes.analysis.synchronisation.traces import RANK, Event, Trace, Traces

_ROW = 16
"""Bytes that a read by descriptor certainly touches: those at its start."""


@dataclass(eq=False)
class Write:
    """Shared memory that a warp has written."""

    warp: int
    at: int
    """When, of the warp's own doings."""
    site: Site
    places: Array
    size: int
    is_fenced: bool = False
    """For asynchronous proxies."""

    def overlaps(self, places: Array, size: int) -> bool:
        low, high = int(places.min()), int(places.max()) + size
        near = self.places[(self.places + self.size > low) & (self.places < high)]
        if not len(near):
            return False
        return bool(((near[:, None] + self.size > places) & (near[:, None] < places + size)).any())


@dataclass
class _Warp:
    trace: Trace
    next: int = 0
    has_proxy_fence: bool = False
    """Whether it has had a fence for asynchronous proxies."""
    is_arrived: bool = False
    """At the barrier of the block that it waits at."""
    cluster_turn: int = 0
    """Arrivals at the cluster's barrier."""

    @property
    def event(self) -> Event | None:
        return self.trace.events[self.next] if self.next < len(self.trace.events) else None

    @property
    def rest(self) -> list[Event]:
        return self.trace.events[self.next :]


@dataclass(frozen=True)
class Seen:
    """Something that is wrong whatever comes after it, in words of whoever looks for it."""

    what: str
    event: Event
    warp: int
    barrier: Mbarrier | None = None
    write: Write | None = None
    number: int = 0


@dataclass
class _Cluster:
    """Its barrier, turn by turn."""

    arrived: list[set[int]] = field(default_factory=list[set[int]])
    given: list[Array] = field(default_factory=list[Array])


class Run:
    """Of the traces of a kernel, from their begin to where nobody goes on."""

    def __init__(self, traces: Traces) -> None:
        self.traces = traces
        self.mbarriers: dict[int, Mbarrier] = {}
        self.seen: list[Seen] = []
        self.reads: dict[Site, int] = {}
        """Reads by asynchronous proxies, and how often each was looked at."""
        self.remote: dict[Site, int] = {}
        self.numbers: dict[tuple[int, int], set[int]] = {}
        """Threads that barriers are for, by block and number."""
        self.block_barriers: dict[tuple[int, int], BlockBarrier] = {}
        self._complete: dict[tuple[int, int], dict[int, dict[int, int]]] = {}
        """Of each barrier, by the threads that it was for: who came to it last, and when."""
        self._clocks = Clocks(len(traces.warps))
        self._warps = [_Warp(each) for each in traces.warps]
        self._writes: list[Write] = []
        self._cluster = _Cluster()
        self._inits = {
            address
            for each in traces.warps
            for event in each.events
            if event.site.kind == Kind.INIT
            for address in event.addresses or ()
        }
        moved = True
        while moved:
            moved = sum(self._go_on(number) for number in range(len(self._warps))) > 0

    @property
    def stuck(self) -> list[tuple[int, Event]]:
        """Warps that wait for ever, and where."""
        return [(number, each.event) for number, each in enumerate(self._warps) if each.event is not None]

    @property
    def cut(self) -> str | None:
        """Why it is not known what one of those does that have come to the end of what is known."""
        return next((each.trace.stopped for each in self._warps if each.event is None and each.trace.stopped), None)

    def rest(self, warp: int) -> list[Event]:
        """What a warp would do, from where it waits on."""
        return self._warps[warp].rest

    def _go_on(self, number: int) -> bool:
        warp = self._warps[number]
        begin = warp.next
        while (event := warp.event) is not None and self._does(number, warp, event):
            warp.next += 1
        return warp.next > begin

    def _does(self, number: int, warp: _Warp, event: Event) -> bool:  # one way for each kind
        """Have a warp do the next thing; false where it has to wait."""
        match event.site.kind:
            case Kind.INIT:
                self._initialise(number, event)
            case Kind.ARRIVE | Kind.COMMIT | Kind.ARRIVE_EXPECT | Kind.EXPECT | Kind.COPY:
                return self._change(number, event)
            case Kind.WAIT | Kind.TEST:
                return self._wait(number, event)
            case Kind.BARRIER | Kind.BARRIER_ARRIVE:
                return self._meet(number, warp, event)
            case Kind.CLUSTER_ARRIVE:
                self._arrive_at_cluster(number, warp, event)
            case Kind.CLUSTER_WAIT:
                return self._wait_for_cluster(number, warp)
            case Kind.WRITE | Kind.READ | Kind.REMOTE_READ:
                self._touch(number, event)
            case Kind.PROXY_FENCE | Kind.INIT_FENCE | Kind.FENCE:
                self._fence(number, warp, event)
            case _:
                pass
        return True

    # mbarriers.

    def _initialise(self, number: int, event: Event) -> None:
        for address in event.addresses or ():
            self.mbarriers[address] = Mbarrier(
                address, event.site, event.amount or 0, number, self._clocks.tick(number)
            )

    def _found(self, number: int, event: Event, address: int) -> Mbarrier | None:
        """The mbarrier; `None` where it is not initialised yet."""
        barrier = self.mbarriers.get(address)
        if barrier is None:
            return None
        if barrier.by != number and not self._clocks.has_seen(number, barrier.by, barrier.at):
            self.seen.append(Seen("unordered", event, number, barrier))
        if event.site.kind == Kind.COPY and not (barrier.is_fenced or self._warps[number].has_proxy_fence):
            self.seen.append(Seen("unfenced", event, number, barrier))
        return barrier

    def _change(self, number: int, event: Event) -> bool:
        addresses = event.addresses or {}
        if any(address in self._inits and address not in self.mbarriers for address in addresses):
            return False
        for address, threads in addresses.items():
            if barrier := self._found(number, event, address):
                self._change_one(number, event, barrier, threads)
                if barrier.unseen > 1:
                    self.seen.append(Seen("lapped", event, number, barrier))
        self._clocks.tick(number)
        return True

    def _change_one(self, number: int, event: Event, barrier: Mbarrier, threads: int) -> None:
        """What so many threads of a warp do at an mbarrier, without waiting."""
        given = self._clocks.given(number, is_relaxed=event.site.is_relaxed)
        amount, kind = (event.amount or 0) * threads, event.site.kind
        if kind == Kind.COPY:
            barrier.bring(event.site, number, threads, None if event.amount is None else amount, given)
            return
        if kind in (Kind.EXPECT, Kind.ARRIVE_EXPECT):
            barrier.announce(event.site, number, threads, amount)
            amount = threads
        if kind != Kind.EXPECT:
            excess = barrier.arrive(event.site, number, threads, amount, given)
            if excess and barrier.count:
                self.seen.append(Seen("excess", event, number, barrier, number=excess))

    def _wait(self, number: int, event: Event) -> bool:
        for address in event.addresses or ():
            if address in self._inits and address not in self.mbarriers:
                return False
            barrier = self._found(number, event, address)
            if barrier is None:
                continue
            if not barrier.is_past(event.parity or 0):
                return False
            if not barrier.phases:
                self.seen.append(Seen("fresh", event, number, barrier))
            else:
                barrier.passed += 1
                barrier.unseen = 0
            if barrier.given is not None:
                self._clocks.learn(number, barrier.given)
        return True

    # Barriers of the block and the cluster.

    def _meet(self, number: int, warp: _Warp, event: Event) -> bool:
        if warp.is_arrived:
            return False
        # Barriers count whole warps (PTX ISA, "bar").
        key = warp.trace.block, event.identifier
        threads = self.traces.threads if event.amount is None else event.amount
        self.numbers.setdefault(key, set()).add(threads)
        barrier = self.block_barriers.setdefault(key, BlockBarrier(event.identifier, threads, event.site))
        if (other := self._collides(number, key, threads, barrier.expected)) is not None:
            self.seen.append(Seen("counts", event, number, number=other))
        barrier.arrived += min(WARP, self.traces.threads - WARP * warp.trace.warp)
        barrier.times[number] = self._clocks.tick(number)
        barrier.join(self._clocks.given(number))
        waits = event.site.kind == Kind.BARRIER
        if waits:
            barrier.come[number] = event.site
        if barrier.arrived < barrier.expected:
            warp.is_arrived = waits
            return not waits
        del self.block_barriers[key]
        self._complete.setdefault(key, {})[barrier.expected] = barrier.times
        for other in barrier.come:
            assert barrier.given is not None
            self._clocks.learn(other, barrier.given)
            if other != number:
                self._warps[other].is_arrived = False
                self._warps[other].next += 1
        return True

    def _collides(self, number: int, key: tuple[int, int], threads: int, expected: int) -> int | None:
        """How many threads others wait for who may be at the barrier when a warp comes to it; `None` if as many."""
        if expected != threads:
            return expected
        for other, times in self._complete.get(key, {}).items():
            if other != threads and not all(self._clocks.has_seen(number, each, at) for each, at in times.items()):
                return other
        return None

    def _arrive_at_cluster(self, number: int, warp: _Warp, event: Event) -> None:
        turn = warp.cluster_turn
        warp.cluster_turn += 1
        if turn == len(self._cluster.arrived):
            self._cluster.arrived.append(set())
            self._cluster.given.append(np.zeros(len(self._warps), np.int64))
        self._cluster.arrived[turn].add(number)
        given = self._clocks.given(number, is_relaxed=event.site.is_relaxed)
        np.maximum(self._cluster.given[turn], given, out=self._cluster.given[turn])
        self._clocks.tick(number)

    def _wait_for_cluster(self, number: int, warp: _Warp) -> bool:
        turn = warp.cluster_turn - 1
        if turn < 0 or len(self._cluster.arrived[turn]) < len(self._warps):
            return False
        self._clocks.learn(number, self._cluster.given[turn])
        return True

    # Memory.

    def _fence(self, number: int, warp: _Warp, event: Event) -> None:
        if event.site.reaches_cluster:
            self._clocks.fence(number)
        for barrier in self.mbarriers.values():
            barrier.is_fenced |= self._clocks.has_seen(number, barrier.by, barrier.at)
        if event.site.kind == Kind.PROXY_FENCE:
            warp.has_proxy_fence = True
            for write in self._writes:
                write.is_fenced |= self._clocks.has_seen(number, write.warp, write.at)

    def _touch(self, number: int, event: Event) -> None:
        places = event.places
        if places is None or not len(places):
            return
        if event.site.kind == Kind.WRITE:
            size = event.amount or 1
            write = Write(number, self._clocks.tick(number), event.site, places, size)
            self._writes = [each for each in self._writes if not self._is_covered(each, write)]
            self._writes.append(write)
        elif event.site.kind == Kind.READ:
            self._read(number, event, places)
        else:
            self._read_remotely(number, event, places)

    def _is_covered(self, old: Write, new: Write) -> bool:
        """Whether a write is done again, by the same threads at the same place."""
        return old.warp == new.warp and old.site is new.site and np.array_equal(old.places, new.places)

    def _read(self, number: int, event: Event, places: Array) -> None:
        self.reads[event.site] = self.reads.get(event.site, 0) + 1
        size = _ROW if event.site.descriptors else max(event.amount or 0, _ROW)
        for write in self._writes:
            # What is not ordered before the read is a race, whatever fences there are.
            is_before = self._clocks.has_seen(number, write.warp, write.at)
            if is_before and not write.is_fenced and write.overlaps(places, size):
                self.seen.append(Seen("proxy", event, number, write=write))
                return

    def _read_remotely(self, number: int, event: Event, places: Array) -> None:
        block = self._warps[number].trace.block
        if not len(remote := places[places >> RANK != block]):
            return
        self.remote[event.site] = self.remote.get(event.site, 0) + 1
        for write in self._writes:
            if write.overlaps(remote, event.amount or 1) and not self._clocks.has_seen(number, write.warp, write.at):
                self.seen.append(Seen("relaxed", event, number, write=write))
                return
