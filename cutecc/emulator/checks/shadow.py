"""What the race check remembers of memory: who accessed each piece last, and when.

Memory is divided into granules of 1 to 16 bytes, the size of the smallest access that there was so far; so what is
remembered holds for each byte. A *stamp* is who and when in one number: `event << 32 | agent`. Stamps compare as their
events do. 0 is: nobody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.access import Access
from cutecc.emulator.checks.clocks import ASYNCHRONOUS, Clocks
from cutecc.emulator.checks.readers import Readers

Stamps = NDArray[np.int64]
Indices = NDArray[Any]

LARGEST_GRANULE = 16
AGENT_MASK = (1 << 32) - 1
_QUARTERS = 4
_PIECE = 1 << 20
"""Stamps that are looked at at once when the granule gets smaller."""


class Shadow(ABC):
    """The shadow of one stretch of memory. Subclasses say which readers are remembered."""

    def __init__(self, size: int) -> None:
        """`size` in bytes."""
        self.size = size
        self.granule = LARGEST_GRANULE
        self.granules = -(-size // LARGEST_GRANULE)
        self.writers: Stamps = np.zeros(self.granules, np.int64)
        """Of weak writes."""
        self.atomics: Stamps | None = None
        """Of strong writes and read-modify-writes; `None` until there is one."""
        self.was_written = False
        """Whether there is any stamp in `writers`."""
        self.threads_of_one_block = False
        """Whether all stamps are of threads of the block that has the memory, none of asynchronous operations."""

    def locate(self, offsets: Indices, size: int) -> Indices:
        """The granules of accesses to `size` bytes at each of these offsets, shape `(accesses, granules of each)`."""
        low = int(np.bitwise_or.reduce(offsets, axis=None)) | size
        if low % self.granule:
            self._refine(low & -low)
        first = (offsets >> self.granule.bit_length() - 1).astype(np.intp, copy=False)
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def remember_atomics(self, granules: Indices, stamps: Stamps) -> None:
        """Each part of the access, of one stamp, updates the granules of its row atomically."""
        if self.atomics is None:
            self.atomics = np.zeros_like(self.writers)
        self.atomics[granules] = stamps[:, None]

    @abstractmethod
    def remember_reads(self, granules: Indices, access: Access, event: int) -> None:
        """Each part of the access reads the granules of its row, at one event."""

    @abstractmethod
    def reads(self, granules: Indices, access: Access) -> tuple[Indices, Stamps] | None:
        """Who else has read these granules: the part of the access, and the stamp; `None` if nobody has.

        What the part knows to be over may be left out.
        """

    def _refine(self, granule: int) -> None:
        times = self.granule // granule
        self.granule = granule
        self.granules *= times
        self.writers = _repeat(self.writers, times)
        if self.atomics is not None:
            self.atomics = _repeat(self.atomics, times)
        self._refine_reads(times)

    @abstractmethod
    def _refine_reads(self, times: int) -> None:
        """Granules become so many times smaller."""


class SharedShadow(Shadow):
    """Of the shared memory of all resident blocks.

    No thread's read is forgotten, nor that of a bulk copy. Of each warp's multiplications the last one is known:
    they end in the order in which they were started.
    """

    def __init__(self, size: int, clocks: Clocks, stride: int, in_clusters: bool) -> None:
        """`stride` in bytes, from one block's memory to the next one's."""
        super().__init__(size)
        self._clocks = clocks
        self._warps = clocks.agents_per_block // 32
        self._stride = stride
        self._in_clusters = in_clusters
        self.threads_of_one_block = not in_clusters
        self._readers: dict[int, Readers] = {}
        """By slot, from that of the block that has the memory to that of the reader's, around the end."""
        self._multiplications: list[Stamps | None] = [None] * self._warps
        """What multiplications that this warp started have read."""

    def remember_reads(self, granules: Indices, access: Access, event: int) -> None:
        clocks, agents = self._clocks, access.agents
        first = int(agents[0])
        if access.operation.form.opcode in ("wgmma", "tcgen05"):
            # All of one operation.
            warp = clocks.warp_of_operation(first)
            plane = self._multiplications[warp]
            if plane is None:
                plane = self._multiplications[warp] = np.zeros(self.granules, np.int64)
            plane[granules] = event << 32 | first
            return
        columns = agents & (clocks.stride - 1)
        over = clocks.floor(access.views) if clocks.is_thread(first) else 0
        for away, chosen in self._distances(agents >> clocks.shift, self._slots(granules)):
            readers = self._readers.get(away)
            if readers is None:
                readers = self._readers[away] = Readers(self._warps + ASYNCHRONOUS // 32, self.granules)
            # Of other blocks' threads less is known: all of theirs are kept.
            known = over if away == 0 else 0
            if chosen is None:
                readers.remember(columns >> 5, columns & 31, granules, event, known)
            else:
                readers.remember(columns[chosen] >> 5, columns[chosen] & 31, granules[chosen], event, known)

    def _slots(self, granules: Indices) -> Indices:
        """Whose memory accesses are to."""
        return granules[:, 0] * self.granule // self._stride

    def _distances(self, serials: Indices, owners: Indices) -> Iterator[tuple[int, Indices | None]]:
        """From the blocks that have the memory to those of these serial numbers; `None` for all of the accesses."""
        if not self._in_clusters:
            yield 0, None
            return
        away = (serials - self._clocks.serials[0] - owners) % len(self._clocks.serials)
        if bool((away == away[0]).all()):
            yield int(away[0]), None
            return
        for each in np.unique(away).tolist():
            yield each, np.flatnonzero(away == each)

    def reads(self, granules: Indices, access: Access) -> tuple[Indices, Stamps] | None:
        found: list[tuple[Indices, Stamps]] = []
        for away, readers in self._readers.items():
            rows = np.flatnonzero(readers.latest)
            if not self._in_clusters:
                rows = rows[(readers.latest[rows] > self._clocks.floor(access.views)) | (rows >= self._warps)]
            if len(rows):
                found.append(self._reads_of(readers, away, rows, granules, access))
        for plane in self._multiplications:
            if plane is not None:
                stamps = plane[granules]
                parts, which = np.nonzero(stamps)
                found.append((parts, stamps[parts, which]))
        found = [each for each in found if len(each[0])]
        if len(found) < 2:
            return found[0] if found else None
        return np.concatenate([each for each, _ in found]), np.concatenate([each for _, each in found])

    def _reads_of(
        self, readers: Readers, away: int, rows: Indices, granules: Indices, access: Access
    ) -> tuple[Indices, Stamps]:
        """Of agents of the blocks that are so many slots away."""
        clocks = self._clocks
        serials = clocks.serials[(self._slots(granules) + away) % len(clocks.serials)]
        over = np.zeros((len(granules), self._warps + ASYNCHRONOUS // 32), np.int64)
        over[:, : self._warps] = clocks.warp_floors(access.views, serials)
        near = access.agents >> clocks.shift == serials
        own = np.where(near, access.agents & (clocks.stride - 1), -1)
        parts, columns, events = readers.find(rows, granules, over[:, rows], own)
        return parts, events << 32 | serials[parts] << clocks.shift | columns

    def _refine_reads(self, times: int) -> None:
        for readers in self._readers.values():
            readers.refine(times)
        self._multiplications = [None if plane is None else np.repeat(plane, times) for plane in self._multiplications]


class GlobalShadow(Shadow):
    """Of one stretch of global memory.

    Remembered is the last reader, and of those before it: of each quarter of the blocks the last one that another
    block's came after, and of each quarter of a block's warps (of its threads, in blocks of a single warp) likewise. So
    if several blocks read a place, two of them at least are known, and up to four warps of one block all are as long
    as no other block reads there.
    """

    def __init__(self, size: int, shift: int, warps: int) -> None:
        """`shift` is where the block begins in an agent's number; `warps` are those of a block."""
        super().__init__(size)
        self._to_block = shift
        self._to_warp = 5 if warps > 1 else 0
        self._last: Stamps | None = None
        self._of_other_blocks: Stamps | None = None
        self._of_other_warps: Stamps | None = None

    def remember_reads(self, granules: Indices, access: Access, event: int) -> None:
        agents = access.agents
        stamps = np.broadcast_to((event << 32 | agents)[:, None], granules.shape)
        if self._last is None:
            self._last = np.zeros(self.granules, np.int64)
        else:
            self._displace(self._last[granules], stamps, granules)
        self._last[granules] = stamps
        if len(agents) > 1:
            after = self._last[granules]
            if bool((after != stamps).any()):
                self._displace(stamps, after, granules)

    def forget(self, offset: int, size: int) -> None:
        """Nobody has accessed these bytes, whole granules of the largest size: they are given anew."""
        here = slice(offset // self.granule, (offset + size) // self.granule)
        for plane in (self.writers, self.atomics, self._last):
            if plane is not None:
                plane[here] = 0
        for planes in (self._of_other_blocks, self._of_other_warps):
            if planes is not None:
                planes[:, here] = 0

    def _displace(self, old: Stamps, new: Stamps, granules: Indices) -> None:
        """Keep readers in whose place others come."""
        apart = (old ^ new) & AGENT_MASK
        apart[old == 0] = 0
        if not int(apart.max()) >> self._to_warp:
            return
        blocks = apart >> self._to_block != 0
        if blocks.any():
            self._of_other_blocks = self._keep(self._of_other_blocks, old[blocks], granules[blocks], self._to_block)
        warps = (apart >> self._to_warp != 0) & ~blocks
        if warps.any():
            self._of_other_warps = self._keep(self._of_other_warps, old[warps], granules[warps], self._to_warp)

    def _keep(self, planes: Stamps | None, stamps: Stamps, granules: Indices, shift: int) -> Stamps:
        """In the plane of the reader's quarter."""
        if planes is None:
            planes = np.zeros((_QUARTERS, self.granules), np.int64)
        planes[stamps >> shift & (_QUARTERS - 1), granules] = stamps
        return planes

    def reads(self, granules: Indices, access: Access) -> tuple[Indices, Stamps] | None:
        if self._last is None:
            return None
        known = [self._last[granules]]
        for planes in (self._of_other_blocks, self._of_other_warps):
            if planes is not None:
                known += [plane[granules] for plane in planes]
        stamps = np.concatenate(known, axis=1)
        parts, which = np.nonzero((stamps != 0) & (stamps & AGENT_MASK != access.agents[:, None]))
        return (parts, stamps[parts, which]) if len(parts) else None

    def _refine_reads(self, times: int) -> None:
        self._last = None if self._last is None else _repeat(self._last, times)
        self._of_other_blocks, self._of_other_warps = (
            None if planes is None else np.stack([_repeat(plane, times) for plane in planes])
            for planes in (self._of_other_blocks, self._of_other_warps)
        )


def _repeat(stamps: Stamps, times: int) -> Stamps:
    """Each stamp several times. What was never touched stays so, and takes no memory."""
    result = np.zeros(len(stamps) * times, np.int64)
    for start in range(0, len(stamps), _PIECE):
        piece = stamps[start : start + _PIECE]
        if piece.any():
            result[start * times : (start + len(piece)) * times] = np.repeat(piece, times)
    return result
