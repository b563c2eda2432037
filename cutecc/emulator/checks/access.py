"""One access to memory, as the checks see it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.clocks import PROXY_GLOBAL, PROXY_SHARED, Numbers
from cutecc.emulator.checks.finding import Finding, FindingKind, Place
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.watch import AccessKind, Space

MakeFinding = Callable[[str, int, Place | None, FindingKind], Finding]
"""Makes a finding of a part, with a sentence, its number, the other place, and the kind."""


@dataclass(slots=True)
class Access:
    """One instruction's access to memory: for each of its parts, a thread or a piece of an asynchronous operation."""

    operation: Operation
    kind: AccessKind
    space: Space
    agents: Numbers
    """Numbers with serials, shape `(parts,)`."""
    views: Numbers
    """What each knows."""
    finding: MakeFinding
    same_value: Callable[[Numbers, Numbers], NDArray[np.bool_]] | None = None
    """Whether pairs of parts write the same value; `None` where nobody knows."""
    changes: Callable[[Numbers], NDArray[np.bool_]] | None = None
    """Whether parts write another value than there is; `None` where nobody knows."""
    proxy: int | None = None
    """The row of a view for the proxy that it is in, if it is not the generic one."""
    owners: Numbers | None = None
    """Of `cp.async` copies: the thread that started each."""
    since: int = 0
    """When it did."""

    @property
    def asynchronous(self) -> bool:
        """Whether it is in the async proxy."""
        return self.proxy in (PROXY_SHARED, PROXY_GLOBAL)

    def part(self, chosen: Numbers) -> Access:
        """Some of the parts."""
        same, changes = self.same_value, self.changes
        return Access(
            self.operation,
            self.kind,
            self.space,
            self.agents[chosen],
            self.views[chosen],
            lambda text, number, other, kind: self.finding(text, int(chosen[number]), other, kind),
            None if same is None else lambda one, two: same(chosen[one], chosen[two]),
            None if changes is None else lambda parts: changes(chosen[parts]),
            self.proxy,
            None if self.owners is None else self.owners[chosen],
            self.since,
        )
