"""A multiprocessor as a few queues: warps issue their instructions in order, and wait for what these need.

Each resource (a scheduler's issue, its pipes, shared memory, the way to the L2 cache, the share of DRAM) serves what
it is asked for one after the other, at a measured rate. Results come a measured latency later. Whoever may go on first
goes first.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from cutecc.errors import EstimateError
from cutecc.estimating.costs import PIPES, Cost
from cutecc.estimating.devices import SCHEDULERS
from cutecc.estimating.mbarriers import Mbarriers
from cutecc.estimating.memory_queues import MemoryQueues, keys_of
from cutecc.estimating.scheduling import Item
from cutecc.estimating.state import Block, Outcome, Rates, Warp
from cutecc.estimating.trace import Access

_QUEUED = 48.0
"""Cycles of wavefronts that may wait for shared memory before a warp does."""
_POSTED = 1500.0
"""Cycles by which stores may be behind before a warp waits."""
_CLUSTER_HOP = 200.0
"""Cycles from the last arrival at a cluster's barrier to who waits there. Assumed."""


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
        self._heap: list[tuple[float, int, Warp | Callable[[float], None]]] = []
        self._number = 0
        self._issue = [0.0] * SCHEDULERS
        self._pipes = [[0.0] * len(PIPES) for _ in range(SCHEDULERS)]
        self._bulk = self._bulk_store = 0.0
        self._busy: defaultdict[str, float] = defaultdict(float)
        self._waits: defaultdict[str, float] = defaultdict(float)
        self._memory = MemoryQueues(rates, self._busy)
        self._running: dict[Warp, None] = {}
        """Those of blocks that have begun, until they have ended."""
        self._started = 0.0
        self._next_scheduler = 0
        self._end = 0.0
        mbarriers = self._mbarriers = Mbarriers(rates, self._waits, self._push)
        self._actions: dict[str, Callable[[Warp, Cost, Access, float], float | None]] = {
            "compute": self._nothing,
            "fence": self._nothing,
            "load": self._load,
            "store": self._store,
            "shared": self._shared,
            "copy": self._copy,
            "commit": self._commit,
            "wait": self._wait,
            "barrier": self._barrier,
            "arrive_barrier": self._arrive_barrier,
            "init": mbarriers.init,
            "arrive": mbarriers.arrive,
            "arrive_expect": mbarriers.arrive_expect,
            "expect": mbarriers.expect,
            "copy_arrive": mbarriers.copy_arrive,
            "mwait": mbarriers.wait,
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
        """Until all blocks have ended, or so many steps are done that the rest is known.

        Raises `EstimateError` where warps wait for what never comes.
        """
        heap = self._heap
        marks: list[tuple[float, int]] = []
        done, mark, every = 0, 0, max(1, self._most_steps // 16)
        time = 0.0
        while heap and done < self._most_steps:
            time, _, warp = heappop(heap)
            if not isinstance(warp, Warp):
                warp(time)
            elif warp.place >= len(warp.steps):
                self._exit(warp, time)
            elif self._advance(warp, time):
                done += 1
                if done >= mark:
                    marks.append((time, done))
                    mark += every
        if not heap and self._running:
            raise _stuck(next(iter(self._running)))
        return self._outcome(time, done, marks)

    def _advance(self, warp: Warp, time: float) -> bool:
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

    def _issued(self, warp: Warp, cost: Cost, time: float) -> float:
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
        period, line = self._mbarriers.period()
        return Outcome(cycles, busy, done, self._total_steps, waits, period, line)

    def _push(self, time: float, what: Warp | Callable[[float], None]) -> None:
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
        block = Block(len(warps), number)
        for index, steps in enumerate(warps):
            warp = Warp(block, steps, (self._next_scheduler + index) % SCHEDULERS)
            self._running[warp] = None
            self._push(time + self._rates.start, warp)
        self._next_scheduler = (self._next_scheduler + len(warps)) % SCHEDULERS

    def _exit(self, warp: Warp, time: float) -> None:
        del self._running[warp]
        block = warp.block
        block.live -= 1
        for number in list(block.barriers):
            if not block.expected[number] and block.arrived[number] >= block.live > 0:
                self._release(block, number, time)
        if not block.live:
            self._end = max(self._end, time)
            self._begin(time)

    # Memory.

    def _nothing(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        return start

    def _load(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._memory.serve(max(1, access.wavefronts), start)
        if access.read:
            there = self._memory.load(warp, cost, access, there)
        warp.ready[warp.number] = there
        return self._memory.lsu - _QUEUED

    def _store(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._memory.serve(max(1, access.wavefronts), start)
        return max(self._memory.lsu - _QUEUED, self._memory.put(warp, access.written, access.filled, there) - _POSTED)

    def _shared(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._memory.serve(max(1, access.wavefronts), start) + cost.latency
        warp.ready[warp.number] = there
        return self._memory.lsu - _QUEUED

    def _copy(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        there = self._memory.serve(max(1, access.wavefronts), start)
        if access.read:
            there = self._memory.load(warp, cost, access, there)
        warp.copies = max(warp.copies, there)
        return self._memory.lsu - _QUEUED

    def _commit(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.groups.append(warp.copies)
        return start

    def _wait(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        until = start
        if cost.number == 0:
            until = max(until, warp.copies)
        while len(warp.groups) > cost.number:
            until = max(until, warp.groups.popleft())
        return self._until(warp, "copies", start, until)

    def _until(self, warp: Warp, what: str, start: float, until: float) -> float:
        self._waits[what] += until - start
        return until

    # Barriers of the block.

    def _barrier(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.time = start
        warp.block.barriers.setdefault(access.number, []).append(warp)
        self._arrive_at(warp, access, start)
        return None

    def _arrive_barrier(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.block.barriers.setdefault(access.number, [])
        self._arrive_at(warp, access, start)
        return start

    def _arrive_at(self, warp: Warp, access: Access, start: float) -> None:
        block, number = warp.block, access.number
        block.arrived[number] += 1
        expected = block.expected[number] = access.threads // 32
        if block.arrived[number] >= (expected or block.live):
            self._release(block, number, start)

    def _release(self, block: Block, number: int, time: float) -> None:
        waiting = block.barriers.pop(number)
        block.arrived[number] = 0
        for each in waiting:
            self._waits["barriers"] += time - each.time
            each.time = time
            self._push(time + self._rates.barrier, each)

    # Products.

    def _product(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        tensor = self._pipes[warp.scheduler]
        place = PIPES.index("tensor")
        begin = max(tensor[place], start)
        tensor[place] = begin + cost.latency
        self._memory.serve(cost.wavefronts, start)
        self._busy["tensor"] += cost.latency
        warp.products = tensor[place] + self._rates.drain
        return start

    def _commit_products(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.product_groups.append(warp.products)
        return start

    def _wait_products(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        return self._wait_groups(warp, "products", warp.product_groups, cost.number, start)

    # Bulk copies.

    def _bulk_load(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        rates = self._rates
        self._bulk = max(self._bulk, start) + rates.bulk_issue
        there = self._bulk
        if access.read:
            keys = keys_of(access.read, warp.block)
            there = self._memory.fetch(keys, there, rates.bulk_l2, rates.bulk_dram, rates.bulk)
        self._mbarriers.complete(warp, access, there)
        return start

    def _store_bulk(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        self._bulk_store = max(self._bulk_store, start) + self._rates.bulk_issue
        if cost.number:
            # What is added to has to be read.
            self._memory.fetch(keys_of(access.written, warp.block), start, 0.0, 0.0, self._rates.bulk)
        taken = self._memory.put(warp, access.written, 1.0, self._bulk_store)
        warp.bulk = max(warp.bulk, taken + self._rates.store_read)
        return start

    def _commit_bulk(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.bulk_groups.append(warp.bulk)
        return start

    def _wait_bulk(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        return self._wait_groups(warp, "bulk stores", warp.bulk_groups, cost.number, start)

    def _wait_groups(self, warp: Warp, name: str, groups: deque[float], left: int, start: float) -> float | None:
        """Until all but the last so many groups are done, of which it is known when."""
        until = start
        while len(groups) > left:
            until = max(until, groups.popleft())
        return self._until(warp, name, start, until)

    # Clusters.

    def _cluster_arrive(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        block = warp.block
        block.cluster_arrived += 1
        if block.cluster_arrived >= block.live:
            block.cluster_arrived = 0
            block.cluster_phase += 1
            for each in block.cluster_waiting:
                self._push(start + _CLUSTER_HOP, each)
            block.cluster_waiting = []
        return start

    def _cluster_wait(self, warp: Warp, cost: Cost, access: Access, start: float) -> float | None:
        warp.cluster_phase += 1
        if warp.block.cluster_phase >= warp.cluster_phase:
            return start + 20
        warp.block.cluster_waiting.append(warp)
        return None


def _stuck(warp: Warp) -> EstimateError:
    cost = warp.steps[warp.place - 1][0]
    where = f"line {cost.line}" if cost.line else "a place of no line"
    return EstimateError(
        f"no estimate: the simulated warps come to a stop: one waits at {where} for what never comes",
        hints=["cutecc bench times it on a GPU"],
    )
