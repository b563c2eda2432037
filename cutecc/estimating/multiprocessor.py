"""A multiprocessor as a few queues: warps issue their instructions in order, and wait for what these need.

Each resource (a scheduler's issue, its pipes, shared memory, the way to the L2 cache, the share of DRAM) serves what
it is asked for one after the other, at a measured rate. Results come a measured latency later. Whoever may go on first
goes first.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from cutecc.estimating.costs import PIPES, Cost
from cutecc.estimating.devices import SCHEDULERS
from cutecc.estimating.scheduling import Item
from cutecc.estimating.trace import SECTOR, Access

_MERGED = 8
"""Instructions of a warp within which its stores to one sector are one."""
_WINDOW = 4096.0
"""Cycles over which the load of DRAM is taken."""
_MOST_LOAD = 0.9
"""Of DRAM, that was measured."""


@dataclass(frozen=True)
class Rates:
    """What a multiprocessor gets of what it shares, and how late things are. Bytes in a cycle, and cycles."""

    read: float
    """From the L2 cache by loads."""
    bulk: float
    """From the L2 cache by bulk copies."""
    write: float
    """To the L2 cache."""
    partial: float
    """What a store takes that writes parts of sectors, in times of one that writes whole ones."""
    dram: float
    """Of DRAM, both ways."""
    crowding: float
    """How much later DRAM answers while it is busy: of its latency, at half of its rate."""
    from_dram: float
    """The part of what is read past the L1 cache that comes from DRAM, 0 to 1."""
    l1_bytes: int
    l2_bytes: int
    """Of the L2 cache, as much as there is for one multiprocessor."""
    l1: float
    l2: float
    latency_dram: float
    bulk_l2: float
    bulk_dram: float
    bulk_issue: float
    store_read: float
    barrier: float
    test: float
    wake: float
    drain: float
    """From the last product of a group to who waits for it."""
    apart: float
    """Between two blocks that begin."""
    start: float
    """From the end of a block to the first instruction of the next."""


@dataclass(eq=False)
class _Mbarrier:
    count: int
    pending: int
    bytes: int = 0
    phase: int = 0
    waiting: list[tuple[int, _Warp]] = field(default_factory=list["tuple[int, _Warp]"])


@dataclass(eq=False)
class _Block:
    live: int
    number: int
    barriers: dict[int, list[_Warp]] = field(default_factory=dict[int, "list[_Warp]"])
    arrived: Counter[int] = field(default_factory=Counter[int])
    expected: dict[int, int] = field(default_factory=dict[int, int])
    mbarriers: dict[int, _Mbarrier] = field(default_factory=dict[int, _Mbarrier])
    cluster_arrived: int = 0
    cluster_phase: int = 0
    cluster_waiting: list[_Warp] = field(default_factory=list["_Warp"])


@dataclass(eq=False)
class _Warp:
    block: _Block
    steps: Sequence[Item]
    scheduler: int
    place: int = 0
    time: float = 0.0
    ready: dict[int, float] = field(default_factory=dict[int, float])
    """When what an instruction computes is there, by its number."""
    number: int = 0
    """Of the instruction at hand."""
    copies: float = 0.0
    """When what was copied since the last commit is there."""
    groups: deque[float] = field(default_factory=deque[float])
    products: float = 0.0
    product_groups: deque[float] = field(default_factory=deque[float])
    bulk: float = 0.0
    bulk_groups: deque[float] = field(default_factory=deque[float])
    cluster_phase: int = 0
    stored_at: int = -_MERGED
    """The place of its last store, and what that wrote."""
    stored: Sequence[int] = ()


@dataclass
class Outcome:
    """What came of it."""

    cycles: float
    """From the first block's start to the last one's end."""
    busy: dict[str, float]
    """Cycles of each resource, of the four schedulers the mean."""
    steps: int
    """Instructions simulated."""
    total_steps: int
    """All that there are; `cycles` are extrapolated where these are more."""
    waits: dict[str, float]
    """Cycles that warps waited for something, by what."""
    period: float
    """Cycles between two turns of the pipelined loop, 0 where there is none."""
    period_line: int | None


class Multiprocessor:
    """One, with the blocks that it is to run."""

    def __init__(
        self, rates: Rates, blocks: Sequence[Sequence[Sequence[Item]]], resident: int, total_steps: int, most_steps: int
    ) -> None:
        """`blocks` are the warps of each, `resident` how many of them run at a time.

        Of `total_steps` instructions, `blocks` need to have no more than the first `most_steps` of each warp.
        """
        self._rates = rates
        self._queue = deque(enumerate(blocks))
        self._total_steps = total_steps
        self._most_steps = most_steps
        self._heap: list[tuple[float, int, _Warp | Callable[[float], None]]] = []
        self._number = 0
        self._issue = [0.0] * SCHEDULERS
        self._pipes = [[0.0] * len(PIPES) for _ in range(SCHEDULERS)]
        self._lsu = self._l2_time = self._dram = self._bulk = self._bulk_store = 0.0
        self._busy: defaultdict[str, float] = defaultdict(float)
        self._waits: defaultdict[str, float] = defaultdict(float)
        self._l1: dict[int, None] = {}
        self._l1_room = max(0, rates.l1_bytes // SECTOR)
        self._l2: dict[int, None] = {}
        self._dirty: dict[int, None] = {}
        self._l2_room = rates.l2_bytes // SECTOR
        self._from_dram = 0.0
        self._window = self._window_busy = 0.0
        self._crowded = 1.0
        self._started = 0.0
        self._next_scheduler = 0
        self._end = 0.0
        self._turns: dict[int | None, list[float]] = {}
        self._leader: _Warp | None = None
        self._actions: dict[str, Callable[[_Warp, Cost, Access, float], float | None]] = {
            "compute": self._nothing,
            "fence": self._nothing,
            "load": self._load,
            "atomic": self._load,
            "store": self._store,
            "shared": self._shared,
            "copy": self._copy,
            "commit": self._commit,
            "wait": self._wait,
            "barrier": self._barrier,
            "arrive_barrier": self._arrive_barrier,
            "init": self._init,
            "arrive": self._arrive,
            "arrive_expect": self._arrive_expect,
            "expect": self._expect,
            "copy_arrive": self._copy_arrive,
            "mwait": self._mwait,
            "product": self._product,
            "commit_products": self._commit_products,
            "wait_products": self._wait_products,
            "bulk_load": self._bulk_load,
            "bulk_store": self._store_bulk,
            "commit_bulk": self._commit_bulk,
            "wait_bulk": self._wait_bulk,
            "cluster_arrive": self._cluster_arrive,
            "cluster_wait": self._cluster_wait,
        }
        for _ in range(resident):
            self._begin(0.0)

    def run(self) -> Outcome:
        """Until all blocks have ended, or so many steps are done that the rest is known."""
        heap = self._heap
        marks: list[tuple[float, int]] = []
        done, mark, every = 0, 0, max(1, self._most_steps // 16)
        time = 0.0
        while heap and done < self._most_steps:
            time, _, warp = heappop(heap)
            if not isinstance(warp, _Warp):
                warp(time)
            elif warp.place >= len(warp.steps):
                self._exit(warp, time)
            elif self._advance(warp, time):
                done += 1
                if done >= mark:
                    marks.append((time, done))
                    mark += every
        return self._outcome(time, done, marks)

    def _advance(self, warp: _Warp, time: float) -> bool:
        """Have a warp execute its next instruction; whether what that needs is there."""
        cost, access, needs, number = warp.steps[warp.place]
        late = max((warp.ready[each] for each in needs), default=time) if needs else time
        if late > time + 0.5:
            self._waits["result"] += late - time
            self._push(late, warp)
            return False
        start = self._issued(warp, cost, time)
        warp.number = number
        warp.place += 1
        warp.time = start + max(cost.slots, 0.25)
        warp.ready[number] = start + cost.latency
        if cost.kind == "compute":
            self._push(warp.time, warp)
        else:
            warp.ready[number] = start
            following = self._actions[cost.kind](warp, cost, access, start)
            if following is not None:
                self._push(max(following, warp.time), warp)
        return True

    def _issued(self, warp: _Warp, cost: Cost, time: float) -> float:
        """When an instruction goes: its scheduler has a place for it, and its pipe."""
        issue, scheduler = self._issue, warp.scheduler
        start = max(time, issue[scheduler])
        issue[scheduler] = start + cost.slots
        self._busy["issue"] += cost.slots
        if cost.busy:
            pipe = self._pipes[scheduler]
            begin = max(pipe[cost.pipe], time)
            pipe[cost.pipe] = begin + cost.busy
            self._busy[PIPES[cost.pipe]] += cost.busy
            start = max(start, begin)
        return start

    def _outcome(self, time: float, done: int, marks: Sequence[tuple[float, int]]) -> Outcome:
        cycles = max(self._end, time)
        if done < self._total_steps and len(marks) > 8:
            # The first half fills caches and pipelines.
            half_time, half_done = marks[len(marks) // 2]
            cycles = time + (self._total_steps - done) * (time - half_time) / max(1, done - half_done)
        elif done != self._total_steps:
            cycles *= self._total_steps / done
        scale = self._total_steps / max(1, done)
        busy = {
            name: value * scale / (SCHEDULERS if name == "issue" or name in PIPES else 1)
            for name, value in self._busy.items()
        }
        waits = {name: value * scale for name, value in self._waits.items()}
        period, line = self._period()
        return Outcome(cycles, busy, done, self._total_steps, waits, period, line)

    def _period(self) -> tuple[float, int | None]:
        """Of the instruction that waits at an mbarrier most often."""
        if not self._turns:
            return 0.0, None
        line, times = max(self._turns.items(), key=lambda item: len(item[1]))
        if len(times) < 6:
            return 0.0, None
        middle = times[len(times) // 3 :]
        return (middle[-1] - middle[0]) / (len(middle) - 1), line

    def _push(self, time: float, what: _Warp | Callable[[float], None]) -> None:
        self._number += 1
        heappush(self._heap, (time, self._number, what))

    # Blocks.

    def _begin(self, time: float) -> None:
        if not self._queue:
            return
        number, warps = self._queue.popleft()
        # Blocks begin one after the other.
        self._started = max(self._started + self._rates.apart, time)
        time = self._started
        block = _Block(len(warps), number)
        for index, steps in enumerate(warps):
            warp = _Warp(block, steps, (self._next_scheduler + index) % SCHEDULERS)
            self._push(time + self._rates.start, warp)
        self._next_scheduler = (self._next_scheduler + len(warps)) % SCHEDULERS

    def _exit(self, warp: _Warp, time: float) -> None:
        block = warp.block
        block.live -= 1
        for number in list(block.barriers):
            if not block.expected[number] and block.arrived[number] >= block.live > 0:
                self._release(block, number, time)
        if not block.live:
            self._end = max(self._end, time)
            self._begin(time)

    # Memory.

    def _nothing(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        return start

    def _through_lsu(self, wavefronts: int, start: float) -> float:
        taken = max(1, wavefronts)
        self._lsu = max(self._lsu, start) + taken
        self._busy["shared memory"] += taken
        return self._lsu

    def _fetch(self, sectors: Sequence[int], start: float, latency: float, latency_dram: float, rate: float) -> float:
        """When sectors are there, by their keys."""
        taken = len(sectors) * SECTOR / rate
        self._l2_time = max(self._l2_time, start) + taken
        self._busy["L2 cache"] += taken
        there = self._l2_time + latency
        self._from_dram += len(_missing(sectors, self._l2, self._l2_room)) * self._rates.from_dram
        if self._from_dram >= 1:
            whole = int(self._from_dram)
            self._from_dram -= whole
            there = max(there, self._use_dram(whole * SECTOR, start) + latency_dram * self._crowded)
        return there

    def _use_dram(self, size: float, start: float) -> float:
        taken = size / self._rates.dram
        self._dram = max(self._dram, start) + taken
        self._busy["memory"] += taken
        self._window_busy += taken
        if start > self._window + _WINDOW:
            load = min(self._window_busy / (start - self._window), _MOST_LOAD)
            # Half of what it was, so that it settles.
            self._crowded = (self._crowded + 1 + self._rates.crowding * load / (1 - load)) / 2
            self._window, self._window_busy = start, 0.0
        return self._dram

    def _load_from(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float:
        """When what a warp reads is there."""
        rates = self._rates
        keys = _keys(access.read, warp.block)
        if cost.is_cached:
            keys = _missing(keys, self._l1, self._l1_room)
            if not keys:
                return start + rates.l1
        return self._fetch(keys, start, rates.l2, rates.latency_dram, rates.read)

    def _load(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._through_lsu(access.wavefronts, start)
        if access.read:
            there = self._load_from(warp, cost, access, there)
        warp.ready[warp.number] = there
        return self._lsu - 48

    def _store(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._through_lsu(access.wavefronts, start)
        return max(self._lsu - 48, self._put(warp, access.written, access.filled, there) - 1500)

    def _put(self, warp: _Warp, sectors: Sequence[int], filled: float, start: float) -> float:
        """When the L2 cache has taken sectors, and DRAM has time for them."""
        rates = self._rates
        keys = _keys(sectors, warp.block)
        # Stores that follow each other at once are merged on the way.
        apart = len(keys)
        if warp.place - warp.stored_at <= _MERGED:
            apart = len(set(keys).difference(warp.stored))
        if warp.stored_at != warp.place:
            warp.stored_at, warp.stored = warp.place, keys
        new = len(_missing(keys, self._dirty, self._l2_room))
        taken = apart * SECTOR / rates.write * (1.0 if filled >= 1 else rates.partial)
        self._l2_time = max(self._l2_time, start) + taken
        self._busy["L2 cache"] += taken
        return max(self._l2_time, self._use_dram(new * SECTOR, start)) if new else self._l2_time

    def _shared(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._through_lsu(access.wavefronts, start) + cost.latency
        warp.ready[warp.number] = there
        return self._lsu - 48

    def _copy(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._through_lsu(access.wavefronts, start)
        if access.read:
            there = self._load_from(warp, cost, access, there)
        warp.copies = max(warp.copies, there)
        return self._lsu - 48

    def _commit(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.groups.append(warp.copies)
        return start

    def _wait(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        until = start
        if cost.number == 0:
            until = max(until, warp.copies)
        while len(warp.groups) > cost.number:
            until = max(until, warp.groups.popleft())
        return self._until(warp, "copies", start, until)

    def _until(self, warp: _Warp, what: str, start: float, until: float) -> float:
        self._waits[what] += until - start
        return until

    # Barriers of the block.

    def _barrier(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.time = start
        warp.block.barriers.setdefault(access.number, []).append(warp)
        self._arrive_at(warp, access, start)
        return None

    def _arrive_barrier(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.block.barriers.setdefault(access.number, [])
        self._arrive_at(warp, access, start)
        return start

    def _arrive_at(self, warp: _Warp, access: Access, start: float) -> None:
        block, number = warp.block, access.number
        block.arrived[number] += 1
        expected = block.expected[number] = access.threads // 32
        if block.arrived[number] >= (expected or block.live):
            self._release(block, number, start)

    def _release(self, block: _Block, number: int, time: float) -> None:
        waiting = block.barriers.pop(number)
        block.arrived[number] = 0
        for each in waiting:
            self._waits["barriers"] += time - each.time
            each.time = time
            self._push(time + self._rates.barrier, each)

    # mbarriers.

    def _mbarrier(self, warp: _Warp, address: int) -> _Mbarrier:
        found = warp.block.mbarriers.get(address)
        if found is None:
            found = warp.block.mbarriers[address] = _Mbarrier(1, 1)
        return found

    def _init(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.block.mbarriers[access.barrier] = _Mbarrier(access.number, access.number)
        return start

    def _arrive(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = self._mbarrier(warp, access.barrier)
            barrier.pending -= access.threads * max(1, access.number)
            self._look(barrier, start)
        return start

    def _arrive_expect(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = self._mbarrier(warp, access.barrier)
            barrier.bytes += access.threads * access.number
            barrier.pending -= access.threads
            self._look(barrier, start)
        return start

    def _expect(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            self._mbarrier(warp, access.barrier).bytes += access.threads * access.number
        return start

    def _copy_arrive(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier >= 0:
            barrier = self._mbarrier(warp, access.barrier)

            def arrive(time: float) -> None:
                barrier.pending -= access.threads
                self._look(barrier, time)

            self._push(max(start, warp.copies), arrive)
        return start

    def _look(self, barrier: _Mbarrier, time: float) -> None:
        """Whether a phase is over."""
        if barrier.pending > 0 or barrier.bytes > 0:
            return
        barrier.pending += barrier.count
        barrier.phase += 1
        waiting, barrier.waiting = barrier.waiting, []
        for parity, warp in waiting:
            if barrier.phase & 1 != parity:
                self._waits["mbarriers"] += time - warp.time
                self._push(time + self._rates.wake, warp)
            else:
                barrier.waiting.append((parity, warp))

    def _mwait(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        if access.barrier < 0:
            return start
        barrier = self._mbarrier(warp, access.barrier)
        if self._leader is None or self._leader is warp:
            self._leader = warp if self._leader is None or warp.place < len(warp.steps) else None
            self._turns.setdefault(cost.line, []).append(start)
        if barrier.phase & 1 != access.number & 1:
            return start + self._rates.test
        warp.time = start
        barrier.waiting.append((access.number & 1, warp))
        return None

    # Products.

    def _product(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        tensor = self._pipes[warp.scheduler]
        place = PIPES.index("tensor")
        begin = max(tensor[place], start)
        tensor[place] = begin + cost.latency
        self._lsu = max(self._lsu, start) + cost.wavefronts
        self._busy["shared memory"] += cost.wavefronts
        self._busy["tensor"] += cost.latency
        warp.products = tensor[place] + self._rates.drain
        return start

    def _commit_products(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.product_groups.append(warp.products)
        return start

    def _wait_products(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        until = start
        while len(warp.product_groups) > cost.number:
            until = max(until, warp.product_groups.popleft())
        return self._until(warp, "products", start, until)

    # Bulk copies.

    def _bulk_load(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        rates = self._rates
        self._bulk = max(self._bulk, start) + rates.bulk_issue
        there = self._bulk
        if access.read:
            keys = _keys(access.read, warp.block)
            there = self._fetch(keys, there, rates.bulk_l2, rates.bulk_dram, rates.bulk)
        if access.barrier >= 0:
            barrier, size = self._mbarrier(warp, access.barrier), access.copied

            def complete(time: float) -> None:
                barrier.bytes -= size
                self._look(barrier, time)

            self._push(there, complete)
        return start

    def _store_bulk(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        self._bulk_store = max(self._bulk_store, start) + self._rates.bulk_issue
        if cost.number:
            # What is added to has to be read.
            self._fetch(_keys(access.written, warp.block), start, 0.0, 0.0, self._rates.bulk)
        taken = self._put(warp, access.written, 1.0, self._bulk_store)
        warp.bulk = max(warp.bulk, taken + self._rates.store_read)
        return start

    def _commit_bulk(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.bulk_groups.append(warp.bulk)
        return start

    def _wait_bulk(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        until = start
        while len(warp.bulk_groups) > cost.number:
            until = max(until, warp.bulk_groups.popleft())
        return self._until(warp, "bulk stores", start, until)

    # Clusters.

    def _cluster_arrive(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        block = warp.block
        block.cluster_arrived += 1
        if block.cluster_arrived >= block.live:
            block.cluster_arrived = 0
            block.cluster_phase += 1
            for each in block.cluster_waiting:
                self._push(start + 200, each)
            block.cluster_waiting = []
        return start

    def _cluster_wait(self, warp: _Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.cluster_phase += 1
        if warp.block.cluster_phase >= warp.cluster_phase:
            return start + 20
        warp.block.cluster_waiting.append(warp)
        return None


def _keys(sectors: Sequence[int], block: _Block) -> list[int]:
    """Of sectors by the block that a traced one stands for: others' are elsewhere."""
    number = block.number & 4095
    return [sector << 12 | number for sector in sectors]


def _missing(keys: Sequence[int], cache: dict[int, None], room: int) -> list[int]:
    """Those that are not in a cache, where they are from now on; what was used longest ago goes."""
    missing: list[int] = []
    for key in keys:
        if key in cache:
            del cache[key]
        else:
            missing.append(key)
            if len(cache) >= room:
                if not room:
                    continue
                del cache[next(iter(cache))]
        cache[key] = None
    return missing
