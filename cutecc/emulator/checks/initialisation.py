"""What of local memory has been written."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Array, Lanes, Mask


class LocalMemory:
    """Which bytes of each thread's local memory have been written."""

    def __init__(self, size: int) -> None:
        """`size` in bytes, of one thread."""
        self._size = size
        self._written: WeakKeyDictionary[Gang, NDArray[np.bool_]] = WeakKeyDictionary()

    def write(self, gang: Gang, lanes: Lanes, addresses: Array, size: int) -> None:
        self._of(gang)[self._places(lanes, addresses, size)] = True

    def forget(self, gang: Gang, lanes: Lanes, addresses: Array, size: int) -> None:
        """What the threads have written there is undefined."""
        self._of(gang)[self._places(lanes, addresses, size)] = False

    def missing(self, gang: Gang, lanes: Lanes, addresses: Array, size: int) -> Mask:
        """The threads that read a byte that they have not written."""
        places = self._places(lanes, addresses, size)
        return gang.mask(lanes.mask, ~self._of(gang)[places].all(axis=1))

    def _of(self, gang: Gang) -> NDArray[np.bool_]:
        found = self._written.get(gang)
        if found is None:
            found = self._written[gang] = np.zeros((*gang.shape, self._size), np.bool_)
        return found

    @staticmethod
    def _places(lanes: Lanes, addresses: Array, size: int) -> tuple[Any, Any, Any]:
        warps, threads = np.nonzero(lanes.mask)
        offsets = addresses[lanes.mask].astype(np.intp)[:, None] + np.arange(size)
        return warps[:, None], threads[:, None], offsets
