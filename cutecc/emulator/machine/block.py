"""One block that is resident: its place in the grid, in its cluster, and in the machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cutecc.emulator.grid import Dim3

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang


@dataclass(eq=False, slots=True)
class Cluster:
    """Blocks that run at the same time and reach one another's shared memory."""

    index: Dim3
    shape: Dim3
    blocks: list[Block] = field(default_factory=list["Block"])
    """By rank."""
    gangs: list[Gang] = field(default_factory=list["Gang"])
    """Those that have warps of its blocks."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """What instruction families keep per cluster, by a name of theirs: the cluster's barrier."""


@dataclass(eq=False, slots=True)
class Block:
    """One block."""

    index: Dim3
    """`%ctaid`."""
    slot: int
    """Its place in the machine: which window of `Memory.shared` is its own."""
    threads: int
    """How many it was launched with."""
    cluster: Cluster
    rank: int
    """`%cluster_ctarank`."""
    state: dict[str, Any] = field(default_factory=dict[str, Any])
    """What instruction families keep per block, by a name of theirs: `barriers`."""
    live_warps: int = 0
    """Warps that have not exited."""
    processor: int = 0
    """The multiprocessor that it is on, by a number."""

    @property
    def name(self) -> str:
        """For messages: `block (0, 1, 0)`."""
        return f"block {self.index}"
