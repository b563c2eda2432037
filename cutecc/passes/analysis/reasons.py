"""Why a warp's request takes more than its bytes need: how far its threads are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cutecc.memory_rules.warps import Array
from cutecc.passes.analysis.requests import Space

_SECTOR = 32
"""Bytes."""


@dataclass(frozen=True)
class Pattern:
    """Where the threads of a warp access memory: runs of threads at one distance, as far as it goes."""

    threads: int
    """Those that do."""
    size: int
    """Bytes that each accesses."""
    step: int
    """Bytes from one thread of a run to the next."""
    run: int
    """Threads of a run; all of them when there is one run."""
    run_step: int | None
    """Bytes from a run to the next; `None` when that differs, or what is in the runs."""
    offset: int
    """Bytes from the start of a sector to the first thread's."""

    def explained(self, space: Space) -> str:
        """In words, why that takes more than the bytes need."""
        if self.run == self.threads:
            if self.step == 0:
                return "all threads access the same address"
            if self.step == self.size:
                return "side by side" + (f", but {self.offset} bytes into a sector" if space == "global" else "")
            return f"threads are {self.step} bytes apart"
        if self.run == 1 or self.run_step is None:
            return "threads are at no fixed distance"
        how = {self.size: "side by side", 0: "at the same address"}.get(self.step, f"{self.step} bytes apart")
        return f"runs of {self.run} threads {how}, {self.run_step} bytes from one run to the next"


def pattern_of(addresses: Array, size: int) -> Pattern:
    """The pattern of one request: an address a thread, -1 for threads that access nothing."""
    present = addresses[addresses >= 0]
    steps = np.diff(present)
    step = int(steps[0]) if len(steps) else size
    breaks = np.flatnonzero(steps != step)
    run = int(breaks[0]) + 1 if len(breaks) else len(present)
    between = np.unique(np.diff(present[::run]))
    inside = np.delete(steps, np.arange(run - 1, len(steps), run))
    is_regular = len(between) == 1 and bool((inside == step).all())
    run_step = int(between[0]) if is_regular else None
    return Pattern(len(present), size, step, run, run_step, int(present[0]) % _SECTOR)
