"""The requests of shared memory that a kernel's warps make, kept as they are: where each thread's bytes lie."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from cutecc.memory_rules.warps import Array

_ROOM = 16 << 20
"""Bytes that all requests of a kernel may take."""


@dataclass(frozen=True)
class SharedRows:
    """The different requests of an access."""

    addresses: Array
    """Of shape `(requests, 32)`, or of a copy `(requests, 64)`, with the source's before; -1 for no thread."""
    counts: Array
    """How often each is made."""


@dataclass
class KeptRows:
    """The requests of each access of a kernel, as long as there is room."""

    _rows: dict[int, dict[bytes, int]] = field(default_factory=dict[int, dict[bytes, int]])
    _widths: dict[int, int] = field(default_factory=dict[int, int])
    _room: int = _ROOM

    def add(self, access: int, rows: Array) -> None:
        """Keep the requests of some warps, one a row."""
        if self._room < 0:
            return
        self._widths[access] = rows.shape[1]
        found = self._rows.setdefault(access, {})
        # Those of all warps together: the turns of a loop mostly make the same ones again.
        key = rows.astype(np.int64).tobytes()
        if key not in found:
            self._room -= len(key)
        found[key] = found.get(key, 0) + 1

    def of(self, access: int) -> SharedRows | None:
        """The requests of an access; `None` where there was no room for all of the kernel's."""
        if self._room < 0 or access not in self._rows:
            return None
        width = self._widths[access]
        found = [(np.frombuffer(key, np.int64).reshape(-1, width), count) for key, count in self._rows[access].items()]
        rows = np.concatenate([rows for rows, _ in found])
        counts = np.concatenate([np.full(len(rows), count) for rows, count in found])
        is_made = (rows >= 0).any(axis=1)
        addresses, places = np.unique(rows[is_made], axis=0, return_inverse=True)
        return SharedRows(addresses, np.bincount(places.reshape(-1), counts[is_made]).astype(np.int64))
