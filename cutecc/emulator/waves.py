"""Which blocks of a launch are resident together: a wave after the other, each run to its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cutecc.emulator.grid import cluster_and_rank, cluster_of, is_cooperative
from cutecc.emulator.machine.lanes import WARP

if TYPE_CHECKING:
    from cutecc.emulator.machine.program import Program
    from cutecc.runtime.launch import Launch

_MOST_THREADS = 8192
"""Of a wave: enough that the cost per instruction is that of the arithmetic."""
_MOST_REGISTER_BYTES = 64 << 20
"""Of a wave."""
_MOST_SHARED_BYTES = 64 << 20
"""Of a wave."""
_PROCESSORS = 132
"""Of an H200: what fits on it at a time is a wave of blocks that wait for one another."""
_PROCESSOR_BLOCKS = 32
_PROCESSOR_THREADS = 2048
_PROCESSOR_SHARED_BYTES = 228 << 10


def waves(program: Program, launch: Launch, blocks: Sequence[int]) -> list[Sequence[int]]:
    """The blocks, by their numbers, in waves of whole clusters: as many as pay, or as have to be there together.

    The launch alone decides, so that results do not depend on the schedule or on how many processes run them.
    """
    if is_cooperative(launch):
        return [_by_cluster(launch, blocks)]
    x, y, z = launch.block
    threads = -(-x * y * z // WARP) * WARP
    shared = max(1, program.shared_bytes + launch.shared_bytes)
    registers = max(1, threads * (sum(width.itemsize for width in program.widths) + program.local_bytes))
    most = min(_MOST_THREADS // threads, _MOST_REGISTER_BYTES // registers, _MOST_SHARED_BYTES // shared)
    if program.awaits_blocks:
        most = max(most, _resident_blocks(threads, shared))
    cluster = cluster_of(launch)
    together = cluster[0] * cluster[1] * cluster[2]
    size = max(1, most // together) * together
    ordered = _by_cluster(launch, blocks)
    return [ordered[start : start + size] for start in range(0, len(ordered), size)]


def _resident_blocks(threads: int, shared_bytes: int) -> int:
    """How many blocks an H200 runs at the same time; registers, which the PTX does not tell, may allow fewer."""
    most = min(_PROCESSOR_BLOCKS, _PROCESSOR_THREADS // threads, _PROCESSOR_SHARED_BYTES // shared_bytes)
    return _PROCESSORS * max(1, most)


def _by_cluster(launch: Launch, blocks: Sequence[int]) -> Sequence[int]:
    """The blocks ordered so that those of a cluster follow one another, by rank."""
    cluster = cluster_of(launch)
    if cluster == (1, 1, 1):
        return blocks
    return sorted(blocks, key=lambda block: cluster_and_rank(block, launch.grid, cluster))
