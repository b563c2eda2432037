"""Which blocks of a launch are resident together: a wave after the other, each run to its end.

Where clusters have nothing to do with each other, in which order they run shows nowhere. What a program's instructions
say of that is looked for once, not for each launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, overload

from cutecc.emulator.grid import Dim3, cluster_and_rank, cluster_of, clusters_of, in_cluster, index_of, is_cooperative
from cutecc.emulator.machine.lanes import WARP
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.program import Program
    from cutecc.runtime.launch import Launch

_MOST_THREADS = 8192
"""Of a wave: enough that the cost per instruction is that of the arithmetic."""
_MOST_REGISTER_BYTES = 64 << 20
"""Of a wave."""
_MOST_SHARED_BYTES = 64 << 20
"""Of a wave."""
_MOST_TOGETHER = 2
"""Blocks that share a multiprocessor's tensor memory: enough to have to wait, and few to go one after the other."""
_PROGRAMS = 16
"""Of which it is remembered what their instructions say."""
_PROCESSORS = 132
"""SMs, as many as an H200 has: what fits on them at a time is a wave of blocks that wait for one another."""
_PROCESSORS_OF = {(10, 0): 148, (10, 3): 148, (11, 0): 20, (12, 0): 188, (12, 1): 48}
"""Of newer GPUs by capability: a B200, a B300, a Jetson Thor, an RTX PRO 6000, a DGX Spark."""
_BEGINNING: dict[str, int] = {"round-robin": 2, "random": 4, "adversarial": 8}
"""Of programs that cancel clusters which have not begun: for one that begins so many are there, at least."""


def processors(target: str) -> int:
    """How many SMs the GPU is taken to have."""
    parsed = Target.of_ptx(target)
    return _PROCESSORS_OF.get((parsed.major, parsed.minor), _PROCESSORS)


@dataclass(frozen=True)
class Waves:
    """Blocks by their numbers in waves, each listed when it is asked for: a grid may have two thousand million."""

    blocks: Sequence[int]
    """In the order in which they run."""
    size: int
    """Blocks of a wave; the last one may have fewer."""

    def __len__(self) -> int:
        return -(-len(self.blocks) // self.size)

    def __getitem__(self, number: int) -> Sequence[int]:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self.blocks[number * self.size : (number + 1) * self.size]


class Queue:
    """The blocks of waves that have not begun: the next wave does, or single clusters are cancelled before."""

    def __init__(self, parts: Waves, launch: Launch) -> None:
        self._parts = parts
        self._grid = launch.grid
        self._together = prod(cluster_of(launch))
        self.gone = 0
        """Blocks that have begun or are cancelled."""

    def __bool__(self) -> bool:
        return self.gone < len(self._parts.blocks)

    def begin(self) -> Sequence[int]:
        """The next wave's blocks."""
        wave = self._parts.blocks[self.gone : self.gone + self._parts.size]
        self.gone += len(wave)
        return wave

    def cancel(self) -> Dim3 | None:
        """Take the next cluster out: the index of its first block, `None` when all have begun."""
        if not self:
            return None
        first = self._parts.blocks[self.gone]
        self.gone += self._together
        return index_of(first, self._grid)


def waves(program: Program, launch: Launch, blocks: Sequence[int], schedule: str = "round-robin") -> Waves:
    """The blocks, by their numbers, in waves of whole clusters: as many as pay, or as have to be there together.

    The launch alone decides, so that results do not depend on the schedule or on how many processes run them. Only of
    a program that cancels clusters which have not begun the schedule has some begin: fewer than a GPU may.
    """
    ordered = _by_cluster(launch, blocks)
    if is_cooperative(launch):
        return Waves(ordered, max(1, len(ordered)))
    threads, shared = _threads_and_shared(program, launch)
    registers = max(1, threads * (sum(width.itemsize for width in program.widths) + program.local_bytes))
    most = min(_MOST_THREADS // threads, _MOST_REGISTER_BYTES // registers, _MOST_SHARED_BYTES // shared)
    if program.awaits_blocks:
        most = max(most, _resident_blocks(program.target, threads, shared))
    together = prod(cluster_of(launch))
    if cancels_clusters(program):
        most = min(most, processors(program.target))
        if not program.awaits_blocks:
            most = min(most, len(ordered) // _BEGINNING[schedule])
    return Waves(ordered, max(1, most // together) * together)


def most_resident(program: Program, launch: Launch) -> int:
    """How many blocks of a launch run at the same time."""
    return _resident_blocks(program.target, *_threads_and_shared(program, launch))


def blocks_together(program: Program, launch: Launch) -> int:
    """How many blocks may share a multiprocessor, and wait there for what others of its have: its tensor memory.

    Blocks that count on one another have one each, which a cooperative launch promises, and others find on a chip that
    is not full.
    """
    alone = cluster_of(launch) != (1, 1, 1) or is_cooperative(launch) or program.awaits_blocks
    if alone or not _allocates_columns(program):
        return 1
    return min(_MOST_TOGETHER, _blocks_of_processor(program.target, *_threads_and_shared(program, launch)))


def _threads_and_shared(program: Program, launch: Launch) -> tuple[int, int]:
    """Of a block: its threads in whole warps, and bytes of shared memory."""
    x, y, z = launch.block
    return -(-x * y * z // WARP) * WARP, max(1, program.shared_bytes + launch.shared_bytes)


def _resident_blocks(target: str, threads: int, shared_bytes: int) -> int:
    """How many blocks run at the same time; registers, which the PTX does not tell, may allow fewer."""
    return processors(target) * _blocks_of_processor(target, threads, shared_bytes)


def _blocks_of_processor(target: str, threads: int, shared_bytes: int) -> int:
    limits = Target.of_ptx(target).limits
    most = min(limits.blocks_per_sm, limits.threads_per_sm // threads, limits.shared_memory_per_sm // shared_bytes)
    return max(1, most)


def _by_cluster(launch: Launch, blocks: Sequence[int]) -> Sequence[int]:
    """The blocks ordered so that those of a cluster follow one another, by rank."""
    cluster = cluster_of(launch)
    if cluster == (1, 1, 1):
        return blocks
    if len(blocks) == launch.grid[0] * launch.grid[1] * launch.grid[2]:
        return _AllByCluster(launch.grid, cluster)
    return sorted(blocks, key=lambda block: cluster_and_rank(block, launch.grid, cluster))


@dataclass(frozen=True)
class _AllByCluster(Sequence[int]):
    """All blocks of a grid, those of a cluster after one another, by rank."""

    grid: Dim3
    cluster: Dim3

    def __len__(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @overload
    def __getitem__(self, place: int) -> int: ...
    @overload
    def __getitem__(self, place: slice) -> list[int]: ...
    def __getitem__(self, place: int | slice) -> int | list[int]:
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        which, rank = divmod(range(len(self))[place], self.cluster[0] * self.cluster[1] * self.cluster[2])
        return in_cluster(index_of(which, clusters_of(self.grid, self.cluster)), rank, self.grid, self.cluster)


@lru_cache(maxsize=_PROGRAMS)
def _allocates_columns(program: Program) -> bool:
    return any(each.form.opcode == "tcgen05" and each.form.has("alloc") for each in program.operations)


@lru_cache(maxsize=_PROGRAMS)
def cancels_clusters(program: Program) -> bool:
    """Whether a program has clusters cancelled that have not begun (`clusterlaunchcontrol`)."""
    return any(operation.form.opcode == "clusterlaunchcontrol" for operation in program.operations)


_ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_OWN_SPACES = {"shared", "local", "param", "const"}


@lru_cache(maxsize=_PROGRAMS)
def are_independent(program: Program) -> bool:
    """Whether nothing in a program lets blocks of different clusters tell each other anything.

    What can: atomics and reductions on memory that is not the block's own, ordered accesses to it, taking clusters
    from one another, and the heap, which is one for all.
    """
    return program.heap is None and not any(_may_tell(operation) for operation in program.operations)


def _may_tell(operation: Operation) -> bool:
    opcode, modifiers = operation.form.opcode, {each.partition("::")[0] for each in operation.form.modifiers}
    if opcode in ("atom", "red"):
        return not modifiers & _OWN_SPACES
    if opcode in ("ld", "st"):
        return bool(modifiers & _ORDERED) and not modifiers & _OWN_SPACES
    if opcode in ("multimem", "clusterlaunchcontrol"):
        return True
    # A reduction from shared into global memory: `cp.reduce.async.bulk.global.shared::cta…`, also of a tensor map.
    return opcode == "cp" and "reduce" in modifiers and "global" in modifiers
