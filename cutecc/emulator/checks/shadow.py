"""What the race check remembers of memory: who accessed each piece last, and when.

Memory is divided into granules of 1 to 16 bytes, the size of the smallest access that there was so far; so what is
remembered holds for each byte. A *stamp* is who and when in one number: `event << 32 | agent`. Stamps compare as their
events do. 0 is: nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.clocks import Clocks

Stamps = NDArray[np.int64]
Indices = NDArray[Any]

LARGEST_GRANULE = 16
AGENT_MASK = (1 << 32) - 1
_PIECE = 1 << 20
"""Stamps that are looked at at once when the granule gets smaller."""


class Shadow:
    """The shadow of one stretch of memory.

    Of readers not all are remembered, but in each of some *planes* the last one; `remember_reads` says in which.
    """

    def __init__(self, size: int, planes: int) -> None:
        """`size` in bytes."""
        self.size = size
        self.granule = LARGEST_GRANULE
        granules = -(-size // LARGEST_GRANULE)
        self.writers: Stamps = np.zeros(granules, np.int64)
        """Of weak writes."""
        self.atomics: Stamps | None = None
        """Of strong writes and read-modify-writes; `None` until there is one."""
        self.readers: Stamps = np.zeros((planes, granules), np.int64)
        self.last_reads = np.zeros(planes, np.int64)
        """The event of the last read in each plane."""
        self.thread_planes = 0
        """So many planes, the first ones, have nothing but threads of the block that has the memory."""
        self.was_written = False
        """Whether there is any stamp in `writers`."""
        self.threads_of_one_block = False
        """Whether all stamps are of threads of the block that has the memory, none of asynchronous operations."""

    def locate(self, offsets: Indices, size: int) -> Indices:
        """The granules of accesses to `size` bytes at each of these offsets, shape `(accesses, granules of each)`."""
        low = int(np.bitwise_or.reduce(offsets, axis=None)) | size
        if low % self.granule:
            self._refine(low & -low)
        first = (offsets // self.granule).astype(np.intp)
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
        """Each of these agents reads the granules of its row, at one event."""
        raise NotImplementedError

    def reads(self, granules: Indices, floor: int) -> Stamps | None:
        """Who read these granules, as far as remembered: shape `(accesses, any)`; `None` for nobody.

        Those that threads of the block did up to the event `floor` may be left out.
        """
        since = np.zeros(len(self.last_reads), np.int64)
        since[: self.thread_planes] = floor
        planes = np.flatnonzero(self.last_reads > since)
        if not len(planes):
            return None
        stamps = self.readers[planes[:, None, None], granules]
        return np.moveaxis(stamps, 0, -1).reshape(len(granules), -1)

    def _refine(self, granule: int) -> None:
        times = self.granule // granule
        self.writers = _repeat(self.writers, times)
        if self.atomics is not None:
            self.atomics = _repeat(self.atomics, times)
        readers = np.zeros((len(self.readers), self.readers.shape[1] * times), np.int64)
        for plane in np.flatnonzero(self.last_reads).tolist():
            readers[plane] = _repeat(self.readers[plane], times)
        self.readers = readers
        self.granule = granule


class SharedShadow(Shadow):
    """Of the shared memory of all resident blocks.

    Each warp of the block that has the memory has two planes, for neighbouring lanes, and a third one for what its
    asynchronous operations read. So no warp's read makes another one's forgotten, and if all lanes read and one of them
    synchronises there is still another. Warps of the cluster's other blocks share four planes.
    """

    def __init__(self, size: int, clocks: Clocks, stride: int, in_clusters: bool) -> None:
        """`stride` in bytes, from one block's memory to the next one's."""
        self._clocks = clocks
        self._warps = clocks.agents_per_block // 32
        self._stride = stride
        self._in_clusters = in_clusters
        super().__init__(size, 3 * self._warps + 4 * in_clusters)
        self.threads_of_one_block = not in_clusters
        self.thread_planes = 0 if in_clusters else 2 * self._warps

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
        clocks = self._clocks
        first = int(agents[0])
        if not clocks.is_thread(first):
            # All of one operation.
            plane = 2 * self._warps + clocks.warp_of_operation(first)
            self.readers[plane][granules] = event << 32 | first
            self.last_reads[plane] = event
            return
        columns = agents & (clocks.stride - 1)
        planes = columns >> 5 << 1 | columns & 1
        if self._in_clusters:
            blocks = agents >> clocks.shift
            away = granules[:, 0] * self.granule // self._stride + clocks.serials[0] != blocks
            planes = np.where(away, 3 * self._warps + ((blocks & 1) << 1 | columns & 1), planes)
        self.readers[planes[:, None], granules] = (event << 32 | agents)[:, None]
        self.last_reads[planes] = event


class GlobalShadow(Shadow):
    """Of one stretch of global memory.

    Two planes have the last reader of even warps and of odd ones (in blocks of a single warp: of even lanes and of odd
    ones), two more ones the last reader of another block than that one's. So if several blocks read a place, then the
    planes have two of them at least.
    """

    def __init__(self, size: int, shift: int, warps: int) -> None:
        """`shift` is where the block begins in an agent's number; `warps` are those of a block."""
        super().__init__(size, 4)
        self._shift = shift
        self._parity_bit = 5 if warps > 1 else 0

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
        planes = (agents >> self._parity_bit & 1)[:, None]
        stamps = (event << 32 | agents)[:, None]
        if self.last_reads[:2].any():
            before = self.readers[planes, granules]
            self._displace(before, stamps, planes, granules, event)
        self.readers[planes, granules] = stamps
        if agents[0] >> self._shift != agents[-1] >> self._shift:
            after = self.readers[planes, granules]
            if not np.array_equal(*np.broadcast_arrays(after, stamps)):
                self._displace(np.broadcast_to(stamps, granules.shape), after, planes, granules, event)
        self.last_reads[planes] = event

    def _displace(self, old: Stamps, new: Stamps, planes: Indices, granules: Indices, event: int) -> None:
        """Keep a reader in whose place one of another block comes."""
        other = (old != 0) & ((old & AGENT_MASK) >> self._shift != (new & AGENT_MASK) >> self._shift)
        if other.any():
            planes = np.broadcast_to(planes, granules.shape)[other] + 2
            self.readers[planes, granules[other]] = old[other]
            self.last_reads[planes] = event


def _repeat(stamps: Stamps, times: int) -> Stamps:
    """Each stamp several times. What was never touched stays so, and takes no memory."""
    result = np.zeros(len(stamps) * times, np.int64)
    for start in range(0, len(stamps), _PIECE):
        piece = stamps[start : start + _PIECE]
        if piece.any():
            result[start * times : (start + len(piece)) * times] = np.repeat(piece, times)
    return result
