"""Running a wave of blocks in this process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.checks.finding import Finding, Stopped
from cutecc.emulator.grid import Dim3, cluster_and_rank, cluster_of, clusters_of, index_of, is_cooperative
from cutecc.emulator.instructions.table import Step
from cutecc.emulator.limits import Budget, Limits, raising
from cutecc.emulator.machine.block import Block, Cluster
from cutecc.emulator.machine.decode import decode
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import WARP, Array
from cutecc.emulator.machine.layout import offsets_of, size_of
from cutecc.emulator.machine.machine import Machine, Shape
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.run import Run
from cutecc.emulator.machine.schedule import Schedule, make_schedule
from cutecc.emulator.machine.watch import Watch
from cutecc.emulator.memory.memory import Memory
from cutecc.emulator.memory.names import Names
from cutecc.emulator.memory.poison import POISON
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.waves import are_independent, blocks_together
from cutecc.errors import LimitError
from cutecc.ptx.locations import PtxText
from cutecc.ptx.parse import parse_module

if TYPE_CHECKING:
    from cutecc.emulator.checks.history import History
    from cutecc.emulator.counters.counters import Counters
    from cutecc.emulator.counters.watch import CounterWatch
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.orders.result import Orders
    from cutecc.runtime.launch import Launch


_WARP_BYTES, _BLOCK_BYTES = 1024, 1024
"""What Python's objects for one take, about."""


@dataclass(frozen=True)
class Work:
    """A launch that is to run, and how: what is told to other processes as well."""

    ptx: PtxText
    launch: Launch
    options: EmulatorOptions
    budget: Budget
    """What it may take."""
    names: Names = field(default_factory=Names)
    """Of the kernel's memory."""


@dataclass
class BlocksRun:
    """What came of some blocks."""

    findings: list[Finding] = field(default_factory=list[Finding])
    stopped: list[Stopped] = field(default_factory=list["Stopped"])
    """Checks that ended before the blocks did."""
    failure: Exception | None = None
    """What ended the blocks themselves, where that is not raised: with checks, for their findings' sake."""
    counters: Counters | None = None
    blocks: int = 0
    orders: Orders | None = None
    """Where all orders were tried: how many there are."""


def load_program(ptx: PtxText, kernel: str, limits: Limits = Limits()) -> Program:
    """The program of a kernel of a PTX text. Raises `ParseError` and `EmulatorError`."""
    return _load(ptx, kernel, limits.of_program())


@lru_cache(maxsize=64)
def _load(ptx: PtxText, kernel: str, limits: Limits) -> Program:
    limits.check("ptx", len(ptx.text.encode("utf-8", "surrogatepass")), "the kernel's PTX has")
    try:
        module = parse_module(ptx, most_registers=limits.registers)
    except LimitError as error:
        error.hints.append(raising("registers"))
        raise
    return decode(module, kernel, limits)


def _parameters(program: Program, launch: Launch) -> bytes:
    """What the kernel is launched with, where the PTX has it.

    A GPU too takes each parameter by itself. Records of before took the alignment of what a pointer points to for the
    parameter's, and have others behind elsewhere.
    """
    given = launch.kernel.parameters
    if len(given) != len(program.parameters):
        return bytes(launch.parameters)
    found = bytearray()
    for parameter, variable, offset in zip(given, program.parameters, offsets_of(program.parameters), strict=True):
        value = launch.parameters[parameter.offset : parameter.offset + min(parameter.size, size_of(variable))]
        found = found.ljust(offset, b"\0") + value.ljust(size_of(variable), b"\0")
    return bytes(found)


def run_wave(
    work: Work,
    program: Program,
    allocations: Sequence[Allocation],
    module: Array,
    wave: Sequence[int],
    history: History,
    print: Callable[[str], None],
    started: Callable[[Run], None] | None = None,
    cancel: Callable[[], Dim3 | None] = lambda: None,
    schedule: Schedule | None = None,
) -> BlocksRun:
    """Run blocks that are resident together, whole clusters by their numbers, to their end.

    `module` are the module's variables; the checks compare the blocks with those before, whose `history` it is; `print`
    takes what the kernel prints, `started` what says where the run is, and `cancel` cancels one of the clusters that
    have not begun: see `Machine`; `schedule` is another one than the options name.

    Raises `LimitError` for what takes more than it may, and `EmulatorError` for the
    first fault unless something is checked: then faults are findings, and other errors are told with them.
    """
    launch, options, budget = work.launch, work.options, work.budget
    found = BlocksRun(blocks=len(wave))
    schedule = schedule or make_schedule(options.schedule, options.seed)
    shape = Shape(
        launch.grid,
        launch.block,
        cluster_of(launch),
        launch.shared_bytes,
        program.shared_bytes + launch.shared_bytes,
        program.target,
        program.grid_workspace if is_cooperative(launch) else 0,
    )
    taken = _memory(program, shape, len(wave), budget.limits)
    machine = Machine(
        shape,
        Memory(
            program, shape, len(wave), _parameters(program, launch), allocations, module, work.names, options.shared
        ),
        Watch(),
        print,
        found.findings.append if options.check else None,
        options.schedule,
        options.seed,
        schedule.eager,
        choose=schedule.choose,
        cancel=lambda: schedule.request(cancel),
        taken=taken,
    )
    counting: CounterWatch | None = None
    with np.errstate(all="ignore"):
        together = blocks_together(program, launch) if schedule.shares_processors else 1
        _populate(machine, program, wave, schedule, together)
        steps = _checked(program, machine, options, history, found.stopped)
        run = Run(program, machine, schedule, steps, budget)
        if options.counters:
            from cutecc.emulator.counters.watch import CounterWatch

            counting = counter = CounterWatch(program)
            run.add_watch(lambda program, machine: counter)
        if started is not None:
            started(run)
        try:
            run()
        except Exception as failure:
            if not options.check:
                raise
            found.failure = failure
        machine.watch.end()
    found.counters = counting.counters if counting else None
    return found


def _memory(program: Program, shape: Shape, blocks: int, limits: Limits) -> int:
    """How many bytes blocks that run together take. Raises `LimitError` when that is more than they may."""
    threads = blocks * -(-shape.threads // WARP) * WARP
    registers = threads * sum(width.itemsize for width in program.widths)
    objects = threads // WARP * _WARP_BYTES + blocks * _BLOCK_BYTES
    memory = threads * program.local_bytes + blocks * shape.shared_bytes + len(program.module_image)
    wanted = registers + memory + objects
    what = f"the registers and memory of {blocks:,} block{'' if blocks == 1 else 's'} that run together take"
    limits.check("memory", wanted, what)
    return wanted


def _populate(machine: Machine, program: Program, wave: Sequence[int], schedule: Schedule, together: int) -> None:
    """Put the blocks and their warps into the machine, so many blocks on a multiprocessor.

    Without a schedule that takes all warps in step a gang is a warp; of clusters that have nothing to do with each
    other it is that warp of each, for they would not notice.
    """
    shape = machine.shape
    clusters: dict[int, Cluster] = {}
    for slot, number in enumerate(wave):
        which, rank = cluster_and_rank(number, shape.grid, shape.cluster)
        cluster = clusters.get(which)
        if cluster is None:
            cluster = clusters[which] = Cluster(index_of(which, clusters_of(shape.grid, shape.cluster)), shape.cluster)
        block = Block(index_of(number, shape.grid), slot, shape.threads, cluster, rank, processor=slot // together)
        block.live_warps = -(-shape.threads // WARP)
        cluster.blocks.append(block)
        machine.blocks.append(block)
    machine.in_step = schedule.in_step or are_independent(program)
    gangs: dict[Hashable, list[tuple[Block, int]]] = {}
    for block in machine.blocks:
        for warp in range(block.live_warps):
            cluster = None if machine.in_step else block.cluster
            gangs.setdefault(None if schedule.in_step else (cluster, block.rank, warp), []).append((block, warp))
    for members in gangs.values():
        machine.gangs.append(Gang(machine, members, _registers(program, len(members))))


def _registers(program: Program, warps: int) -> list[Array]:
    """One array of each width does for all: registers are replaced and never changed in place."""
    by_width = {
        width: np.full((warps, WARP), False if width.kind == "b" else POISON[width.itemsize], width)
        for width in set(program.widths)
    }
    return [by_width[width] for width in program.widths]


def _checked(
    program: Program, machine: Machine, options: EmulatorOptions, history: History, stopped: list[Stopped]
) -> Sequence[Step | None]:
    """The program's steps, with what is to be checked done around them; the checks become the machine's watch."""
    if not options.check:
        return program.steps
    from cutecc.emulator.checks.containment import Contained

    checks = Contained(machine, program, options.check, history, stopped)
    machine.watch = checks
    return checks.steps
