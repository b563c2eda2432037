"""Which blocks of a launch are resident together: a wave after the other, each run to its end.

Where clusters have nothing to do with each other, in which order they run shows nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
PROCESSORS = 132
"""SMs, as many as an H200 has: what fits on them at a time is a wave of blocks that wait for one another."""


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


def waves(program: Program, launch: Launch, blocks: Sequence[int]) -> Waves:
    """The blocks, by their numbers, in waves of whole clusters: as many as pay, or as have to be there together.

    The launch alone decides, so that results do not depend on the schedule or on how many processes run them.
    """
    ordered = _by_cluster(launch, blocks)
    if is_cooperative(launch):
        return Waves(ordered, max(1, len(ordered)))
    threads, shared = _threads_and_shared(program, launch)
    registers = max(1, threads * (sum(width.itemsize for width in program.widths) + program.local_bytes))
    most = min(_MOST_THREADS // threads, _MOST_REGISTER_BYTES // registers, _MOST_SHARED_BYTES // shared)
    if program.awaits_blocks:
        most = max(most, _resident_blocks(program.target, threads, shared))
    cluster = cluster_of(launch)
    together = cluster[0] * cluster[1] * cluster[2]
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
    if alone or not any(each.form.opcode == "tcgen05" and each.form.has("alloc") for each in program.operations):
        return 1
    return _blocks_of_processor(program.target, *_threads_and_shared(program, launch))


def _threads_and_shared(program: Program, launch: Launch) -> tuple[int, int]:
    """Of a block: its threads in whole warps, and bytes of shared memory."""
    x, y, z = launch.block
    return -(-x * y * z // WARP) * WARP, max(1, program.shared_bytes + launch.shared_bytes)


def _resident_blocks(target: str, threads: int, shared_bytes: int) -> int:
    """How many blocks run at the same time; registers, which the PTX does not tell, may allow fewer."""
    return PROCESSORS * _blocks_of_processor(target, threads, shared_bytes)


def _blocks_of_processor(target: str, threads: int, shared_bytes: int) -> int:
    limits = Target.parse(target).limits
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


_ORDERED = {"volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"}
_OWN_SPACES = {"shared", "local", "param", "const"}


def are_independent(program: Program) -> bool:
    """Whether nothing in a program lets blocks of different clusters tell each other anything.

    What can: atomics and reductions on memory that is not the block's own, and ordered accesses to it.
    """
    return not any(_may_tell(operation) for operation in program.operations)


def _may_tell(operation: Operation) -> bool:
    opcode, modifiers = operation.form.opcode, {each.partition("::")[0] for each in operation.form.modifiers}
    if opcode in ("atom", "red"):
        return not modifiers & _OWN_SPACES
    if opcode in ("ld", "st"):
        return bool(modifiers & _ORDERED) and not modifiers & _OWN_SPACES
    if opcode == "multimem":
        return True
    # A reduction from shared into global memory: `cp.reduce.async.bulk.global.shared::cta…`, also of a tensor map.
    return opcode == "cp" and "reduce" in modifiers and "global" in modifiers
