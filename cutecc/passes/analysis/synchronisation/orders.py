"""What a warp knows of the others: of each, how far it has come at least. Vector clocks, over the warps of a "
"cluster."""

from __future__ import annotations

import numpy as np

from cutecc.memory_rules.warps import Array


class Clocks:
    """Of all warps."""

    def __init__(self, warps: int) -> None:
        self._known: Array = np.zeros((warps, warps), np.int64)
        self._released: Array = np.zeros((warps, warps), np.int64)
        """What each gives away when it arrives without releasing: what it knew at its last fence."""

    def tick(self, warp: int) -> int:
        """The number of the next thing that a warp does."""
        self._known[warp, warp] += 1
        return int(self._known[warp, warp])

    def given(self, warp: int, *, is_relaxed: bool = False) -> Array:
        """What those learn that wait for a warp's arrival."""
        return (self._released if is_relaxed else self._known)[warp].copy()

    def learn(self, warp: int, given: Array) -> None:
        np.maximum(self._known[warp], given, out=self._known[warp])

    def fence(self, warp: int) -> None:
        self._released[warp] = self._known[warp]

    def has_seen(self, warp: int, other: int, number: int) -> bool:
        """Whether what another warp did comes before what `warp` does next, in every schedule."""
        return bool(self._known[warp, other] >= number)
