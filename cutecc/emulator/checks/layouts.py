"""Matrices in shared memory that are read as they were not written: by a descriptor with another swizzle.

What a tensor copy has written lies by the swizzle of its descriptor until others write there. Which mode of a tensor is
K a copy does not say; so an operand of the wrong major shows in results alone.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.shadow import AGENT_MASK, SharedShadow

if TYPE_CHECKING:
    from cutecc.emulator.checks.access import Access
    from cutecc.emulator.checks.clocks import Numbers
    from cutecc.emulator.checks.finding import Place
    from cutecc.emulator.checks.history import History
    from cutecc.emulator.checks.reports import Reports
    from cutecc.emulator.instructions.operation import Operation

_REMEMBERED: Final = 1 << 14
"""Boxes that were copied."""
Swizzle = tuple[int, int]
"""Bytes, and those that stay together."""


@dataclass(eq=False)
class Layouts:
    """Those of one machine's shared memory."""

    _shared: SharedShadow
    _history: History
    _operations: list[Operation]
    _reports: Reports
    _place: Callable[[int, Operation, str], Place]
    """Where an agent was when it executed an operation."""
    _copied: OrderedDict[int, Swizzle] = field(default_factory=OrderedDict[int, Swizzle])
    """By the event of the access."""

    def copied(self, event: int, swizzle: Swizzle) -> None:
        """A tensor copy is about to write, at this event."""
        self._copied[event] = swizzle
        if len(self._copied) > _REMEMBERED:
            self._copied.popitem(last=False)

    def read(self, access: Access, addresses: Numbers, size: int, swizzle: Swizzle) -> None:
        """A multiplication, or copy to tensor memory, is about to read a matrix."""
        if not self._copied or not self._shared.was_written:
            return
        stamps = self._shared.writers[self._shared.locate(addresses, size)]
        first = int(stamps[0, 0])
        for stamp in [first] if bool((stamps == first).all()) else np.unique(stamps).tolist():
            written = self._copied.get(stamp >> 32)
            if written is not None and written != swizzle:
                part = int(np.flatnonzero((stamps == stamp).any(axis=1))[0])
                self._report(access, part, stamp, swizzle, written)

    def _report(self, access: Access, part: int, stamp: int, swizzle: Swizzle, written: Swizzle) -> None:
        other = self._operations[int(self._history.operations(np.array([stamp >> 32]))[0])]
        text, make = wording.swizzles(access.operation, swizzle, other, written), access.finding
        place = self._place(stamp & AGENT_MASK, other, wording.done("write", other))
        self._reports.add("layout", access.operation.index, other.index, 1, lambda: make(text, part, place, "layout"))
