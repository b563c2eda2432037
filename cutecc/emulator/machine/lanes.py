"""Which threads execute an instruction."""

from __future__ import annotations

import numpy as np

from cutecc.memory_rules.warps import WARP, Array, Mask

__all__ = ["WARP", "Array", "Lanes", "Mask", "rows_of"]


class Lanes:
    """A set of threads of a gang."""

    __slots__ = ("full", "mask")

    def __init__(self, mask: Mask, full: bool = False) -> None:
        self.mask = mask
        self.full = full
        """Whether all threads of the gang that exist and have not exited are in the set: results need no merging."""

    def only(self, condition: Mask) -> Lanes:
        """Those for which `condition` holds."""
        return Lanes(self.mask & condition)

    def any(self) -> bool:
        """Whether there is one."""
        return self.full or bool(self.mask.any())

    @property
    def warps(self) -> Mask:
        """Which warps of the gang have a thread in the set, shape `(warps,)`."""
        return np.logical_or.reduce(self.mask, axis=1)

    @property
    def rows(self) -> list[int]:
        """The same as numbers."""
        return rows_of(self.mask)


def rows_of(mask: Mask) -> list[int]:
    """The warps that have a thread in the mask."""
    return np.flatnonzero(np.logical_or.reduce(mask, axis=1)).tolist()
