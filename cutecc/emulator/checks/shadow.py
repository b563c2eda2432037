"""What the race check remembers of memory: who accessed each piece last, and when.

Memory is divided into granules of 1 to 16 bytes, the size of the smallest access that there was so far; so what is
remembered holds for each byte. A *stamp* is who and when in one number: `event << 32 | agent`. Stamps compare as their
events do. 0 is: nobody.
"""

from __future__ import annotations

from collections.abc import Callable
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
    """The shadow of one stretch of memory. Of readers not all are remembered: subclasses say which."""

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

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
        """Each of these agents reads the granules of its row, at one event."""
        raise NotImplementedError

    def reads(self, granules: Indices, floor: Callable[[], int]) -> Stamps | None:
        """Who read these granules, as far as remembered: shape `(accesses, any)`; `None` for nobody.

        What threads of the block that has the memory read up to the event `floor` may be left out.
        """
        raise NotImplementedError

    def _refine(self, granule: int) -> None:
        times = self.granule // granule
        self.granule = granule
        self.granules *= times
        self.writers = _repeat(self.writers, times)
        if self.atomics is not None:
            self.atomics = _repeat(self.atomics, times)
        self._refine_reads(times)

    def _refine_reads(self, times: int) -> None:
        raise NotImplementedError


class SharedShadow(Shadow):
    """Of the shared memory of all resident blocks.

    Readers are remembered in *planes*, the last one of each. Every warp of the block that has the memory has two
    planes, for neighbouring lanes, and a third one for what its asynchronous operations read. So no warp's read makes
    another one's forgotten, and if all lanes read and one of them synchronises there is still another. Warps of the
    cluster's other blocks share four planes.
    """

    def __init__(self, size: int, clocks: Clocks, stride: int, in_clusters: bool) -> None:
        """`stride` in bytes, from one block's memory to the next one's."""
        super().__init__(size)
        self._clocks = clocks
        self._warps = clocks.agents_per_block // 32
        self._stride = stride
        self._in_clusters = in_clusters
        self.threads_of_one_block = not in_clusters
        planes = 3 * self._warps + 4 * in_clusters
        self._readers: Stamps = np.zeros((planes, self.granules), np.int64)
        self._last = np.zeros(planes, np.int64)
        """The event of the last read in each plane."""

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
        clocks = self._clocks
        first = int(agents[0])
        if not clocks.is_thread(first):
            # All of one operation.
            plane = 2 * self._warps + clocks.warp_of_operation(first)
            self._readers[plane][granules] = event << 32 | first
            self._last[plane] = event
            return
        columns = agents & (clocks.stride - 1)
        planes = columns >> 5 << 1 | columns & 1
        if self._in_clusters:
            blocks = agents >> clocks.shift
            away = granules[:, 0] * self.granule // self._stride + clocks.serials[0] != blocks
            planes = np.where(away, 3 * self._warps + ((blocks & 1) << 1 | columns & 1), planes)
        self._readers[planes[:, None], granules] = (event << 32 | agents)[:, None]
        self._last[planes] = event

    def reads(self, granules: Indices, floor: Callable[[], int]) -> Stamps | None:
        planes = np.flatnonzero(self._last)
        if len(planes) and not self._in_clusters:
            # Threads of other blocks are not in any plane.
            planes = planes[(self._last[planes] > floor()) | (planes >= 2 * self._warps)]
        if not len(planes):
            return None
        stamps = self._readers[planes[:, None, None], granules]
        return np.moveaxis(stamps, 0, -1).reshape(len(granules), -1)

    def _refine_reads(self, times: int) -> None:
        old, self._readers = self._readers, np.zeros((len(self._readers), self.granules), np.int64)
        for plane in np.flatnonzero(self._last).tolist():
            self._readers[plane] = np.repeat(old[plane], times)


class GlobalShadow(Shadow):
    """Of one stretch of global memory.

    Remembered is the last reader; of those before it the last one of another block, and the last one of another warp of
    the same block (in blocks of a single warp: another thread). So if several blocks read a place, two of them at least
    are known, and likewise of the warps of one block as long as no other block reads there.
    """

    def __init__(self, size: int, shift: int, warps: int) -> None:
        """`shift` is where the block begins in an agent's number; `warps` are those of a block."""
        super().__init__(size)
        self._to_block = shift
        self._to_warp = 5 if warps > 1 else 0
        self._last: Stamps | None = None
        self._of_other_block: Stamps | None = None
        self._of_other_warp: Stamps | None = None

    def remember_reads(self, granules: Indices, agents: Indices, event: int) -> None:
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

    def _displace(self, old: Stamps, new: Stamps, granules: Indices) -> None:
        """Keep readers in whose place others come."""
        apart = (old ^ new) & AGENT_MASK
        apart[old == 0] = 0
        if not int(apart.max()) >> self._to_warp:
            return
        blocks = apart >> self._to_block != 0
        if blocks.any():
            if self._of_other_block is None:
                self._of_other_block = np.zeros(self.granules, np.int64)
            self._of_other_block[granules[blocks]] = old[blocks]
        warps = (apart >> self._to_warp != 0) & ~blocks
        if warps.any():
            if self._of_other_warp is None:
                self._of_other_warp = np.zeros(self.granules, np.int64)
            self._of_other_warp[granules[warps]] = old[warps]

    def reads(self, granules: Indices, floor: Callable[[], int]) -> Stamps | None:
        known = [each[granules] for each in (self._last, self._of_other_block, self._of_other_warp) if each is not None]
        return np.concatenate(known, axis=1) if known else None

    def _refine_reads(self, times: int) -> None:
        self._last, self._of_other_block, self._of_other_warp = (
            None if each is None else _repeat(each, times)
            for each in (self._last, self._of_other_block, self._of_other_warp)
        )


def _repeat(stamps: Stamps, times: int) -> Stamps:
    """Each stamp several times. What was never touched stays so, and takes no memory."""
    result = np.zeros(len(stamps) * times, np.int64)
    for start in range(0, len(stamps), _PIECE):
        piece = stamps[start : start + _PIECE]
        if piece.any():
            result[start * times : (start + len(piece)) * times] = np.repeat(piece, times)
    return result
