"""The way to memory of a multiprocessor: shared memory with the L1 cache, and its parts of the L2 cache and of DRAM."""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.estimating.costs import Cost
from cutecc.estimating.state import MERGED, Block, Rates, Warp
from cutecc.estimating.trace import SECTOR, Access

_WINDOW = 4096.0
"""Cycles over which the load of DRAM is taken."""
_MOST_LOAD = 0.9
"""Of DRAM, that was measured."""


class MemoryQueues:
    """What each part has been asked for so far, and what caches hold."""

    def __init__(self, rates: Rates, busy: dict[str, float]) -> None:
        """`busy` takes the cycles of each part."""
        self._rates, self._busy = rates, busy
        self.lsu = 0.0
        """When all that was asked of shared memory is served."""
        self._l2_time = self._dram = 0.0
        self._l1: dict[int, None] = {}
        self._l1_room = max(0, rates.l1_bytes // SECTOR)
        self._l2: dict[int, None] = {}
        self._dirty: dict[int, None] = {}
        self._l2_room = rates.l2_bytes // SECTOR
        self._from_dram = 0.0
        self._window = self._window_busy = 0.0
        self._crowded = 1.0

    def serve(self, wavefronts: float, start: float) -> float:
        """When shared memory, or the L1 cache, has served an instruction's wavefronts."""
        self.lsu = max(self.lsu, start) + wavefronts
        self._busy["shared memory"] += wavefronts
        return self.lsu

    def fetch(self, sectors: Sequence[int], start: float, latency: float, latency_dram: float, rate: float) -> float:
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

    def load(self, warp: Warp, cost: Cost, access: Access, start: float) -> float:
        """When what a warp reads is there."""
        rates = self._rates
        keys = keys_of(access.read, warp.block)
        if cost.is_cached:
            keys = _missing(keys, self._l1, self._l1_room)
            if not keys:
                return start + rates.l1
        return self.fetch(keys, start, rates.l2, rates.latency_dram, rates.read)

    def put(self, warp: Warp, sectors: Sequence[int], filled: float, start: float) -> float:
        """When the L2 cache has taken sectors, and DRAM has time for them."""
        rates = self._rates
        keys = keys_of(sectors, warp.block)
        # Stores that follow each other at once are merged on the way.
        apart = len(keys)
        if warp.place - warp.stored_at <= MERGED:
            apart = len(set(keys).difference(warp.stored))
        if warp.stored_at != warp.place:
            warp.stored_at, warp.stored = warp.place, keys
        new = len(_missing(keys, self._dirty, self._l2_room))
        taken = apart * SECTOR / rates.write * (1.0 if filled >= 1 else rates.partial)
        self._l2_time = max(self._l2_time, start) + taken
        self._busy["L2 cache"] += taken
        return max(self._l2_time, self._use_dram(new * SECTOR, start)) if new else self._l2_time


def keys_of(sectors: Sequence[int], block: Block) -> list[int]:
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
