"""What the race check remembers of memory: who accessed each piece last, and when.

Memory is divided into granules of 1 to 16 bytes, the size of the smallest access that there was so far; so what is
remembered holds for each byte. A *stamp* is who and when in one number: `event << 32 | agent`. Stamps compare as their
events do. 0 is: nobody.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Stamps = NDArray[np.int64]
Indices = NDArray[Any]

LARGEST_GRANULE = 16
AGENT_MASK = (1 << 32) - 1
_PIECE = 1 << 20
"""Stamps that are looked at at once when the granule gets smaller."""


class Shadow:
    """The shadow of one stretch of memory.

    Of readers not all are remembered, but in each of a few columns the last one. Neighbouring warps have columns of
    their own, and with four columns or more neighbouring threads too. So of several readers at least one is another
    thread than the writer, mostly of another warp.
    """

    def __init__(self, size: int, columns: int) -> None:
        """`size` in bytes; `columns` is a power of two."""
        self.size = size
        self.columns = columns
        self.granule = LARGEST_GRANULE
        granules = -(-size // LARGEST_GRANULE)
        self.writers: Stamps = np.zeros(granules, np.int64)
        """Of weak writes."""
        self.atomics: Stamps | None = None
        """Of strong writes and read-modify-writes; `None` until there is one."""
        self.readers: Stamps = np.zeros(granules * columns, np.int64)
        self.was_written = self.was_read = False
        """Whether there is any stamp in `writers`, and in `readers`."""
        self.threads_of_one_block = True
        """Whether all stamps are of threads of the block that has the memory, none of asynchronous operations."""

    def locate(self, offsets: Indices, size: int) -> Indices:
        """The granules of accesses to `size` bytes at each of these offsets, shape `(accesses, granules of each)`."""
        low = int(np.bitwise_or.reduce(offsets, axis=None)) | size
        if low % self.granule:
            self._refine(low & -low)
        first = (offsets // self.granule).astype(np.intp)
        count = size // self.granule
        return first[:, None] if count == 1 else first[:, None] + np.arange(count)

    def column(self, agents: Indices, shift: int) -> Indices:
        """The column in which each agent, a number with its block above `shift`, is remembered when it reads."""
        warps = (agents >> 5) ^ (agents >> shift)
        if self.columns == 2:
            return warps & 1
        return (agents & 1) | (warps << 1 & self.columns - 2)

    def _refine(self, granule: int) -> None:
        times = self.granule // granule
        self.writers = _repeat(self.writers, times, 1)
        if self.atomics is not None:
            self.atomics = _repeat(self.atomics, times, 1)
        self.readers = _repeat(self.readers, times, self.columns)
        self.granule = granule


def _repeat(stamps: Stamps, times: int, columns: int) -> Stamps:
    """Each row of `columns` stamps several times. What was never touched stays so, and takes no memory."""
    result = np.zeros(len(stamps) * times, np.int64)
    for start in range(0, len(stamps), _PIECE):
        piece = stamps[start : start + _PIECE]
        if piece.any():
            rows = np.repeat(piece.reshape(-1, columns), times, axis=0)
            result[start * times : (start + len(piece)) * times] = rows.reshape(-1)
    return result
