"""Running blocks of one launch in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

import numpy as np

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.checks.history import History
from cutecc.emulator.instructions.table import Step
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.decode import decode
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.run import Run
from cutecc.emulator.machine.schedule import Schedule, make_schedule
from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.machine.watches import Watches
from cutecc.emulator.memory.memory import Memory, initialised
from cutecc.emulator.options import EmulatorOptions, clusters_of, index_of
from cutecc.ptx.parse import parse_module

if TYPE_CHECKING:
    from cutecc.emulator.counters.counters import Counters
    from cutecc.emulator.counters.watch import CounterWatch
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.waiting import Waiting
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.record.host_program import AttributeName

_MOST_THREADS = 8192
"""Threads of a wave when its warps go in step: enough that the cost per instruction is that of the arithmetic."""
_MOST_REGISTER_BYTES = 64 << 20
"""Of a wave."""
_MOST_SHARED_BYTES = 64 << 20
"""Of a wave."""
_PROCESSORS = 132
"""Of an H200: what fits on it at a time is a wave of blocks that wait for one another."""
_PROCESSOR_BLOCKS = 32
_PROCESSOR_THREADS = 2048
_PROCESSOR_SHARED_BYTES = 228 << 10


class LaunchLike(Protocol):
    """What of a `runtime.launch.Launch` decides about a run."""

    @property
    def grid(self) -> tuple[int, int, int]: ...
    @property
    def block(self) -> tuple[int, int, int]: ...
    @property
    def shared_bytes(self) -> int: ...
    @property
    def attributes(self) -> Mapping[AttributeName, tuple[int, ...]]: ...
    @property
    def parameters(self) -> bytes | bytearray: ...


@dataclass
class BlocksRun:
    """What came of some blocks."""

    findings: list[Finding] = field(default_factory=list[Finding])
    counters: Counters | None = None
    printed: list[str] = field(default_factory=list[str])
    """What the kernel printed, when nobody else took it."""
    blocks: int = 0


@lru_cache(maxsize=64)
def load_program(ptx: str, kernel: str) -> Program:
    """The program of a kernel of a PTX text. Raises `ParseError` and `EmulatorError`."""
    return decode(parse_module(ptx), kernel)


def run_blocks(
    program: Program,
    launch: LaunchLike,
    allocations: Sequence[Allocation],
    blocks: Sequence[int],
    options: EmulatorOptions,
    print: Callable[[str], None] | None = None,
    history: History | None = None,
) -> BlocksRun:
    """Run blocks, by their linear indices, ascending and whole clusters, in waves of those that are resident together.

    The checks compare them with the blocks that ran before, whose `history` it is. Raises `EmulatorError` for the first
    fault unless something is checked: then faults are findings.
    """
    found = BlocksRun(blocks=len(blocks))
    dynamic = launch.shared_bytes
    shape = Shape(
        launch.grid,
        launch.block,
        _three(launch.attributes.get("cluster", (1, 1, 1))),
        dynamic,
        program.shared_bytes + dynamic,
        program.target,
    )
    schedule = make_schedule(options.schedule, options.seed)
    counting = _make_counters(program, options)
    module = initialised(program.module_image)
    history = history or History()
    with np.errstate(all="ignore"):
        for wave in _waves(program, shape, blocks, options, bool(launch.attributes.get("cooperative", (0,))[0])):
            memory = Memory(program, shape, len(wave), bytes(launch.parameters), allocations, module)
            machine = Machine(
                shape,
                memory,
                Watch(),
                print or found.printed.append,
                found.findings.append if options.check else None,
                options.schedule,
                options.seed,
                schedule.eager,
            )
            steps = _watched(program, machine, options, counting, history)
            _populate(machine, program, wave, schedule)
            Run(program, machine, schedule, steps)()
            machine.watch.end()
            if options.check and any(finding.kind == "deadlock" for finding in found.findings):
                break
    found.counters = counting.counters if counting else None
    return found


def _three(values: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*values, 1, 1)[:3]
    return x, y, z


def _waves(
    program: Program, shape: Shape, blocks: Sequence[int], options: EmulatorOptions, together: bool
) -> Iterator[Sequence[int]]:
    """Blocks that are resident together: whole clusters, as many as pay, or as must be."""
    cluster = shape.cluster[0] * shape.cluster[1] * shape.cluster[2]
    warp_threads = -(-shape.threads // WARP) * WARP
    bytes_per_thread = sum(width.itemsize for width in program.widths) + program.local_bytes
    most = min(_MOST_THREADS, _MOST_REGISTER_BYTES // max(1, bytes_per_thread)) // warp_threads
    most = min(most, _MOST_SHARED_BYTES // max(1, shape.shared_bytes))
    if options.schedule != "round-robin":
        most = min(most, 4)
    if together:
        most = len(blocks)
    elif program.awaits_blocks:
        most = max(most, _resident_blocks(warp_threads, shape.shared_bytes))
    size = max(1, most // cluster) * cluster
    in_clusters = _by_cluster(blocks, shape)
    for start in range(0, len(in_clusters), size):
        yield in_clusters[start : start + size]


def _resident_blocks(warp_threads: int, shared_bytes: int) -> int:
    """How many blocks an H200 runs at the same time; registers, which the PTX does not tell, may allow fewer."""
    most = min(_PROCESSOR_BLOCKS, _PROCESSOR_THREADS // warp_threads, _PROCESSOR_SHARED_BYTES // max(1, shared_bytes))
    return _PROCESSORS * max(1, most)


def _by_cluster(blocks: Sequence[int], shape: Shape) -> Sequence[int]:
    """The blocks ordered so that those of a cluster follow one another, by rank."""
    if shape.cluster == (1, 1, 1):
        return blocks
    return sorted(blocks, key=lambda block: _cluster_and_rank(block, shape))


def _cluster_and_rank(block: int, shape: Shape) -> tuple[int, int]:
    x, y, z = index_of(block, shape.grid)
    cx, cy, cz = shape.cluster
    across, down, _ = clusters_of(shape.grid, shape.cluster)
    cluster = (x // cx) + across * ((y // cy) + down * (z // cz))
    return cluster, (x % cx) + cx * ((y % cy) + cy * (z % cz))


def _populate(machine: Machine, program: Program, wave: Sequence[int], schedule: Schedule) -> None:
    """Put the blocks and their warps into the machine."""
    shape = machine.shape
    clusters: dict[int, Cluster] = {}
    for slot, number in enumerate(wave):
        which, rank = _cluster_and_rank(number, shape)
        cluster = clusters.get(which)
        if cluster is None:
            cluster = clusters[which] = Cluster(index_of(which, clusters_of(shape.grid, shape.cluster)), shape.cluster)
        block = Block(index_of(number, shape.grid), slot, shape.threads, cluster, rank)
        block.live_warps = -(-shape.threads // WARP)
        cluster.blocks.append(block)
        machine.blocks.append(block)
    warps = [(block, warp) for block in machine.blocks for warp in range(block.live_warps)]
    for members in [warps] if schedule.in_step else [[warp] for warp in warps]:
        machine.gangs.append(Gang(machine, members, _registers(program, len(members))))


_POISON = {1: 0xAD, 2: 0x7FED, 4: 0x7FFF_DEAD, 8: 0x7FFF_DEAD_7FFF_DEAD}
"""What is in a register before anything is written: as a float not a number, so that it shows. By bytes."""


def _registers(program: Program, warps: int) -> list[Array]:
    """One array of each width does for all: registers are replaced and never changed in place."""
    by_width = {
        width: np.full((warps, WARP), False if width.kind == "b" else _POISON[width.itemsize], width)
        for width in set(program.widths)
    }
    return [by_width[width] for width in program.widths]


def _make_counters(program: Program, options: EmulatorOptions) -> CounterWatch | None:
    if not options.counters:
        return None
    from cutecc.emulator.counters.watch import CounterWatch

    return CounterWatch(program)


def _watched(
    program: Program, machine: Machine, options: EmulatorOptions, counting: CounterWatch | None, history: History
) -> Sequence[Step | None]:
    """Set the machine's watch; the steps, with what has to be done around them."""
    steps: Sequence[Step | None] = program.steps
    watches: list[Watch] = []
    if options.check:
        from cutecc.emulator.checks.checker import make_checker
        from cutecc.emulator.checks.instrument import instrument

        checker = make_checker(machine, program, options.check, history)
        watches.append(checker)
        steps = instrument(program, checker)
    if counting is not None:
        watches.append(counting)
        steps = [step and _counted(step, operation) for step, operation in zip(steps, program.operations, strict=True)]
    if watches:
        machine.watch = watches[0] if len(watches) == 1 else Watches(watches)
    return steps


def _counted(step: Step, operation: Operation) -> Step:
    def counted(gang: Gang, lanes: Lanes) -> Waiting | None:
        waiting = step(gang, lanes)
        gone = lanes if waiting is None else lanes.only(~waiting.mask)
        if gone.any():
            gang.machine.watch.executed(gang, gone, operation)
        return waiting

    return counted
