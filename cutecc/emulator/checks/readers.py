"""Who has read each granule of shared memory, of all that a later write may still race with.

An *agent row* is 32 columns of a block (`clocks`): a warp, or 32 of the columns that asynchronous operations take. For
each granule and row there is the event of the last read, with a bit for each of the columns that took part. Readers
that another read of their row displaces are kept in a *vector* of 32 events, which a granule only has from then on:
most need none, as the same threads come back, or what came before is known to be over (compare the read vectors of
Flanagan and Freund, "FastTrack", PLDI 2009).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]
Stamps = NDArray[np.int64]

_COLUMNS = 32
_BITS = 1 << np.arange(_COLUMNS, dtype=np.int64)
_TAKEN = (1 << _COLUMNS) - 1


class Readers:
    """The readers of granules, by agent row."""

    def __init__(self, rows: int, granules: int) -> None:
        self.latest = np.zeros(rows, np.int64)
        """By row: the event of the last read, of any granule."""
        self._last: Stamps = np.zeros((rows, granules), np.int64)
        """`event << 32 | columns`."""
        self._vector_of: NDArray[np.int32] | None = None
        """The vector of each row and granule; 0 for none."""
        self._vectors = np.zeros((1, _COLUMNS), np.int32)
        """Events by column. The first is nobody's."""
        self._taken = 1
        """How many vectors are in use."""

    def remember(self, rows: Numbers, columns: Numbers, granules: Numbers, event: int, over: int) -> None:
        """Each agent reads the granules of its row of `granules`, shape `(agents, any)`, at one event.

        All that agents of these rows read up to the event `over` is known to them.
        """
        places = (rows * self._last.shape[1])[:, None] + granules
        flat = self._last.reshape(-1)
        before = flat[places] if int(self.latest[rows].max()) > over else None
        stamps = (event << _COLUMNS | _BITS[columns])[:, None]
        flat[places] = stamps
        if len(rows) > 1:
            lost = flat[places] != stamps
            if lost.any():
                np.bitwise_or.at(flat, places[lost], np.broadcast_to(stamps, places.shape)[lost])
        self.latest[rows] = event
        if before is not None and int(before.max()) >> _COLUMNS > over:
            rest = before & ~(flat[places] & _TAKEN)
            kept = (rest & _TAKEN != 0) & (rest >> _COLUMNS > over)
            if kept.any():
                self._keep(places[kept], rest[kept])

    def _keep(self, places: Numbers, stamps: Stamps) -> None:
        """Put readers into vectors."""
        places, first = np.unique(places, return_index=True)
        stamps = stamps[first]
        if self._vector_of is None:
            self._vector_of = np.zeros(self._last.shape, np.int32)
        of = self._vector_of.reshape(-1)
        new = places[of[places] == 0]
        if len(new):
            of[new] = np.arange(self._taken, self._taken + len(new))
            self._taken += len(new)
            if self._taken > len(self._vectors):
                more = np.zeros((2 * self._taken - len(self._vectors), _COLUMNS), np.int32)
                self._vectors = np.concatenate([self._vectors, more])
        vectors = of[places]
        taken = stamps[:, None] & _BITS != 0
        self._vectors[vectors] = np.where(taken, (stamps >> _COLUMNS)[:, None], self._vectors[vectors])

    def find(self, rows: Numbers, granules: Numbers, over: Numbers, own: Numbers) -> tuple[Numbers, Numbers, Numbers]:
        """Reads of granules, shape `(parts, any)`, by some rows, that are later than the event `over[part, row]`.

        A part's own are left out: those of `own[part]`. Returns the part, the reader, and the event of each; readers
        are numbers `row * 32 + column`.
        """
        index = rows[:, None, None], granules
        late = over.T[:, :, None]
        mine = np.where(rows[:, None] == own >> 5, _BITS[own & 31], 0)
        stamps = self._last[index] & ~mine[:, :, None]
        found = np.nonzero((stamps & _TAKEN != 0) & (stamps >> _COLUMNS > late))
        stamps = stamps[found]
        which, columns = np.nonzero(stamps[:, None] & _BITS)
        parts, readers, events = found[1][which], rows[found[0][which]] * _COLUMNS + columns, stamps[which] >> _COLUMNS
        if self._vector_of is None:
            return parts, readers, events
        vectors = self._vector_of[index]
        held = np.nonzero(vectors)
        kept = self._vectors[vectors[held]]
        which, columns = np.nonzero(kept > np.broadcast_to(late, vectors.shape)[held][:, None])
        others = rows[held[0][which]] * _COLUMNS + columns
        theirs = np.flatnonzero(others != own[held[1][which]])
        return (
            np.concatenate([parts, held[1][which][theirs]]),
            np.concatenate([readers, others[theirs]]),
            np.concatenate([events, kept[which, columns][theirs]]),
        )

    def refine(self, times: int) -> None:
        """Granules become so many times smaller."""
        old, self._last = self._last, np.zeros((len(self._last), self._last.shape[1] * times), np.int64)
        for row in np.flatnonzero(self.latest).tolist():
            self._last[row] = np.repeat(old[row], times)
        if self._vector_of is not None:
            self._vector_of = np.repeat(self._vector_of, times, axis=1)
            held = np.flatnonzero(self._vector_of)
            of = self._vector_of.reshape(-1)
            self._vectors = np.concatenate([self._vectors[:1], self._vectors[of[held]]])
            self._taken = len(self._vectors)
            of[held] = np.arange(1, self._taken)
