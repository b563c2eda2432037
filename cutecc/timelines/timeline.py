"""A timeline: what each warp of some blocks was at, from when until when."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cutecc.timelines.sites import Site

Unit = Literal["ns", "instructions"]
Role = Literal["producer", "consumer", "epilogue", "warp"]
"""`warp` is one that does nothing which tells it from others."""


@dataclass(frozen=True, eq=False)
class Lane:
    """What one warp did. Spans follow each other by their ends; those of marks may enclose others."""

    warp: int
    """Its number in the block."""
    role: Role
    start: float
    end: float
    """When it began and ended, in the timeline's unit from the earliest start of all."""
    sites: NDArray[np.int32]
    """Of each span, an index of `Timeline.sites`."""
    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    """Of each span; equal for what is an instant."""
    waits_for_ever: bool = False
    """Whether its last span is a wait that nothing ended: it is as long as there is something to see of the others."""

    def plain(self, sites: Sequence[Site]) -> NDArray[np.bool_]:
        """Which spans are no marks: these follow each other."""
        kinds = np.array([each.kind != "mark" for each in sites], np.bool_)
        return kinds[self.sites]


@dataclass(frozen=True, eq=False)
class BlockTimeline:
    """One block of one launch."""

    kernel: str
    """The kernel's symbol."""
    launch: int
    """Which of the recorded launches, from 0."""
    block: int
    """Its number in the grid: x is counted first, then y and z."""
    processor: int
    """The multiprocessor that it ran on; -1 on the emulator."""
    lanes: list[Lane]
    """Of the warps that were recorded: one at least."""

    @property
    def start(self) -> float:
        """When its first warp began."""
        return min(lane.start for lane in self.lanes)

    @property
    def end(self) -> float:
        """When its last warp ended."""
        return max(lane.end for lane in self.lanes)

    @property
    def duration(self) -> float:
        """From the one to the other."""
        return self.end - self.start


@dataclass(frozen=True)
class Slowdown:
    """What recording costs: medians of the kernel's time, in microseconds."""

    recorded: float
    """While it records."""
    idle: float
    """With the recording code in it, which does nothing."""
    plain: float | None
    """Without; `None` where the kernel was not compiled so."""


@dataclass(frozen=True, eq=False)
class Timeline:
    """Blocks whose warps were recorded."""

    unit: Unit
    """On the emulator, time is counted in instructions of a warp, and who waits is as late as whom it waits for."""
    device: str
    """The GPU's name, or `emulator`."""
    sites: list[Site]
    blocks: list[BlockTimeline]
    """By launch, then number."""
    lost: int = 0
    """Records that no room was left for."""
    slowdown: Slowdown | None = None
    notes: list[str] = field(default_factory=list[str])
    """What was not recorded, a sentence each."""
    deadlock: list[str] = field(default_factory=list[str])
    """Of a run that came to one: why nobody could go on, then who waited where, and for what."""
