"""A call of a kernel on memory that is all zeros, of whose blocks a few are traced."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.arguments.specs import (
    ConstSpec,
    NoneSpec,
    PointerSpec,
    ScalarSpec,
    Spec,
    StreamSpec,
    TensorSpec,
    TupleSpec,
)
from cutecc.emulator.checks.history import History
from cutecc.emulator.grid import cluster_of, clusters_of, in_cluster, index_of
from cutecc.emulator.host import EmulatorHost, refused
from cutecc.emulator.launch import Work, load_program, run_wave
from cutecc.emulator.memory.names import Names
from cutecc.emulator.options import EmulatorOptions
from cutecc.errors import EstimateError, UsageError
from cutecc.estimating.sharing import EnoughError, Sharing, requested
from cutecc.estimating.trace import SECTOR, Access, BlockTrace, TooLongError, Tracer, warps_of
from cutecc.harness.elements import elements_of
from cutecc.harness.on_device import DeviceArray
from cutecc.harness.sizes import with_sizes
from cutecc.harness.tensors import place
from cutecc.record.naming import short_kernel_name
from cutecc.runtime.launch import Launch
from cutecc.runtime.program.evaluation import Evaluator, StatusError

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Array, Lanes
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.machine.watch import Watch
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.kernel import Kernel

_ALIGNMENT = 512
"""Bytes: as GPUs align allocations."""
MOST_STEPS = 3_000_000
"""Instructions of a block that are worth emulating."""
_MOST_TRACED = 300_000
"""Instructions after which no other block is traced."""
_ALONE = 1.1
"""Of the sectors that are read to the different ones, up to which blocks have nothing in common."""
_MOST_THREADS = 132 * 384
"""Of blocks that are looked at together."""
MOST_BLOCKS = 6
"""That are traced of a launch."""


@dataclass
class TracedLaunch:
    """One launch, and a few of its blocks."""

    program: Program
    launch: Launch
    blocks: list[BlockTrace]
    resident: int
    """Blocks that a multiprocessor holds."""
    between: Operation | None = None
    """A bulk copy of rows that begin inside of sectors."""
    read: list[float] = field(default_factory=list[float])
    """Sectors of each tensor that all blocks read, each counted once for each block."""
    sizes: list[int] = field(default_factory=list[int])
    """Sectors that each tensor has."""
    sharing: list[float] = field(default_factory=list[float])
    """Of what blocks read of it that run at the same time, the part that comes from memory."""
    written: float = 0.0
    """Sectors that all blocks write, each counted once for each block."""

    @property
    def grid_blocks(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.launch.grid)

    @property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster."""
        return math.prod(cluster_of(self.launch))


@dataclass(eq=False)
class _Host(EmulatorHost):
    """Traces some blocks of each launch instead of running it."""

    traced: list[TracedLaunch] = field(default_factory=list[TracedLaunch])
    check: Callable[[Program], None] = lambda program: None
    resident: Callable[[Launch], int] = lambda launch: 1
    processors: int = 1

    def launch(self, launch: Launch) -> int:
        if 0 in launch.grid:
            return 0
        program = load_program(self.ptx, launch.kernel.name, self.budget.limits)
        if refusal := refused(launch, program, self.target):
            return self._refuse(launch, *refusal)
        self.check(program)
        program = _without_products(program)
        module = self._module(program)
        names = Names.of(self.variables, launch.kernel.name)
        work = Work(self.ptx, launch, self.options, self.budget, names)
        self.budget.start(MOST_BLOCKS)
        found = TracedLaunch(program, launch, [], self.resident(launch))
        for wave in _sample(launch):
            if sum(each.steps for each in found.blocks) > _MOST_TRACED or _are_alike(found.blocks):
                break
            tracer = Tracer(program, wave, warps_of(math.prod(launch.block)), MOST_STEPS)
            try:
                _run_watched(work, program, self.allocations, module, wave, tracer)
            except TooLongError:
                name = short_kernel_name(launch.kernel.name)
                raise EstimateError(
                    f"no estimate: a block of {name} executes more than {MOST_STEPS:,} instructions: minutes",
                    hints=["give smaller sizes, or cutecc bench"],
                ) from None
            # The blocks of a cluster do alike.
            found.blocks.append(tracer.blocks[0])
            found.between = found.between or tracer.between
        found.blocks.sort(key=lambda each: each.block)
        self._share(found, work, module)
        self.traced.append(found)
        return 0

    def _share(self, found: TracedLaunch, work: Work, module: Array) -> None:
        """What the blocks have in common."""
        read, written = (
            [{each for warp in block.warps for _, access in warp for each in sectors(access)} for block in found.blocks]
            for sectors in (_read, _written)
        )
        bounds = [(each.base // SECTOR, (each.end - 1) // SECTOR) for each in self.allocations if each.size]
        found.read = requested(read, bounds, found.grid_blocks)
        found.sizes = [last - first + 1 for first, last in bounds]
        found.sharing = [1.0] * len(bounds)
        found.written = sum(map(len, written)) / len(written) * found.grid_blocks
        if all(each <= _ALONE * size for each, size in zip(found.read, found.sizes, strict=True)):
            return
        cluster = found.cluster_blocks
        threads = -(-math.prod(found.launch.block) // 32) * 32
        count = min(found.grid_blocks, found.resident * self.processors, _MOST_THREADS // threads)
        grid = found.launch.grid
        chosen = [
            in_cluster(
                index_of(number, clusters_of(grid, cluster_of(found.launch))), rank, grid, cluster_of(found.launch)
            )
            for number in range(max(1, count // cluster))
            for rank in range(cluster)
        ]
        watch = Sharing(len(chosen))
        with suppress(EnoughError):
            _run_watched(work, found.program, self.allocations, module, chosen, watch)
        found.sharing = watch.ratios(bounds)


def _run_watched(
    work: Work, program: Program, allocations: Sequence[Allocation], module: Array, wave: Sequence[int], watch: Watch
) -> None:
    """Run blocks, and have a watch see them; what they print goes nowhere."""

    def started(run: Run) -> None:
        run.add_watch(lambda program, machine: watch)

    run_wave(work, program, allocations, module, wave, History(), lambda text: None, started)


def _are_alike(blocks: Sequence[BlockTrace]) -> bool:
    """Whether the first block and the last do as much, so that those between need not be looked at."""
    return len(blocks) >= 2 and blocks[0].steps == blocks[1].steps


def _read(access: Access) -> tuple[int, ...]:
    return access.read


def _written(access: Access) -> tuple[int, ...]:
    return access.written


def _without_products(program: Program) -> Program:
    """The program with matrix products that compute nothing: of zeros they are zeros."""

    def skip(gang: Gang, lanes: Lanes) -> None:
        return None

    steps = [
        skip if step is not None and _is_product(operation) else step
        for operation, step in zip(program.operations, program.steps, strict=True)
    ]
    return replace(program, steps=steps)


def _is_product(operation: Operation) -> bool:
    form = operation.form
    return form.opcode == "mma" or (form.opcode == "wgmma" and form.has("mma_async"))


def _sample(launch: Launch) -> list[list[int]]:
    """The first cluster, the last one, and then some between, spread evenly."""
    grid, cluster = launch.grid, cluster_of(launch)
    count = math.prod(grid) // math.prod(cluster)
    between = (round(number * (count - 1) / (MOST_BLOCKS - 1)) for number in range(1, MOST_BLOCKS - 1))
    chosen = dict.fromkeys([0, count - 1, *between])
    size = math.prod(cluster)
    return [
        [in_cluster(index_of(each, clusters_of(grid, cluster)), rank, grid, cluster) for rank in range(size)]
        for each in chosen
    ]


def trace_call(
    kernel: Kernel,
    arguments: Mapping[str, Any],
    check: Callable[[Program], None],
    resident: Callable[[Launch], int],
    processors: int,
) -> list[TracedLaunch]:
    """The launches of a call with some blocks of each. `check` may refuse a program; `resident` says how many blocks a
    multiprocessor holds, of which the device has `processors`.

    Raises as a call on the emulator does.
    """
    call, allocations = kernel.emulator.prepare((), arguments, EmulatorOptions(shared="zero"))
    host = _Host(
        call.ptx,
        call.target,
        allocations,
        call.options,
        call.shapes,
        call.variables,
        check=check,
        resident=resident,
        processors=processors,
    )
    try:
        Evaluator(call.program)(call.leaves, host)
    except StatusError as error:
        raise host.explained(error) from None
    return host.traced


# Arguments.


def blank_arguments(specs: Mapping[str, Spec], sizes: Mapping[str, int]) -> dict[str, Any]:
    """Arguments of these sizes. Tensors are zeros, which take no memory until something is written there."""
    complete = with_sizes(specs, sizes)
    return {name: _make(name, spec) for name, spec in complete.items() if not isinstance(spec, ConstSpec | StreamSpec)}


def _make(name: str, spec: Spec) -> Any:
    match spec:
        case TensorSpec() | PointerSpec():
            return _tensor(spec)
        case ScalarSpec(value=None):
            raise UsageError(f"argument '{name}' has no value to run with", hints=[f"--arg {name}='{spec}=1'"])
        case ScalarSpec(value=value):
            return value
        case TupleSpec(items=items):
            return tuple(_make(f"{name}[{index}]", item) for index, item in enumerate(items))
        case NoneSpec():
            return None
        case _:
            raise UsageError(f"argument '{name}' is a {spec}, which cannot be made here")


class _Zeros(DeviceArray):
    """A tensor that keeps its memory alive."""

    memory: Any = None


def _tensor(spec: TensorSpec | PointerSpec) -> DeviceArray:
    placement, elements = place(spec), elements_of(spec.dtype)
    size = -(-placement.span // elements.per_byte) * elements.code.itemsize
    memory = np.zeros(size + 2 * _ALIGNMENT, "u1")
    address = -(-memory.ctypes.data // _ALIGNMENT) * _ALIGNMENT
    made = _Zeros(elements.dtype.name, elements, placement.shape, placement.stride, address, 0, "cpu")
    made.memory = memory
    return made
