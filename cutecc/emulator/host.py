"""What a host program's launches, descriptors and printed text become on the CPU."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from cutecc.emulator.grid import Dim3, cluster_of, is_cooperative
from cutecc.emulator.limits import Budget
from cutecc.emulator.options import ALL, EmulatorOptions
from cutecc.errors import LaunchError, UsageError
from cutecc.ptx.locations import PtxText
from cutecc.record.host_program import KernelEntry
from cutecc.record.variables import Variable
from cutecc.runtime.driver import INVALID_VALUE, failure
from cutecc.runtime.host import check_empty_grid, fits, launch_text, too_much_shared_memory
from cutecc.runtime.launch import Launch, TensorMap
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.emulator.launch import BlocksRun, Work
    from cutecc.emulator.machine.lanes import Array
    from cutecc.emulator.machine.program import Program
    from cutecc.emulator.machine.run import Run
    from cutecc.emulator.memory.allocations import Allocation
    from cutecc.emulator.orders.kept_schedule import KeptSchedule
    from cutecc.emulator.orders.launches import OrdersLeft
    from cutecc.runtime.program.evaluation import StatusError

Progress = Callable[[str, int, int], None]
"""Told the kernel, how many of its blocks have run (0 before the first), and how many will."""

_INVALID_CLUSTER, _NOT_SUPPORTED, _COOPERATIVE_TOO_LARGE = 912, 801, 720
_STATUS_TEXTS = {
    INVALID_VALUE: "CUDA_ERROR_INVALID_VALUE (1): invalid argument",
    _NOT_SUPPORTED: "CUDA_ERROR_NOT_SUPPORTED (801): operation not supported",
    _COOPERATIVE_TOO_LARGE: "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE (720): too many blocks in cooperative launch",
    _INVALID_CLUSTER: "CUDA_ERROR_INVALID_CLUSTER_SIZE (912): cluster size not supported",
}
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
_LARGEST_GRID = (2**31 - 1, 65535, 65535)
_LARGEST_BLOCK = (1024, 1024, 64)
_PORTABLE_CLUSTER = 8
"""Blocks: what every GPU with clusters runs; more only for a kernel that asks for it."""
_SHARED_WITHOUT_ASKING = 48 << 10
"""Bytes of a block whose kernel does not ask for more."""


@dataclass(frozen=True)
class LaunchSummary:
    """One launch that the emulator ran."""

    kernel: str
    grid: Dim3
    block: Dim3
    cluster: Dim3
    dynamic_shared_bytes: int
    blocks: Sequence[int] | None
    """Linear indices of the blocks that ran; `None` for all."""
    resident: int | None = None
    """How many run at a time; `None` where clusters depend on each other."""

    @property
    def total(self) -> int:
        """Blocks of the grid."""
        return math.prod(self.grid)

    @property
    def ran(self) -> int:
        """Blocks that ran."""
        return self.total if self.blocks is None else len(self.blocks)


@dataclass(eq=False)
class EmulatorHost:
    """The outside world of one call's host program, on the CPU. Implements `cutecc.runtime.launch.Host`."""

    ptx: PtxText
    target: str
    """What the PTX is made for."""
    allocations: Sequence[Allocation]
    """The memory that the call was given."""
    options: EmulatorOptions
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])
    """Of the call's tensors."""
    variables: Sequence[Variable] = ()
    """Memory of the kernels that the source names."""
    show: Callable[[str], None] | None = None
    """Takes printed text as it comes."""
    progress: Progress | None = None
    started: Callable[[Run], None] | None = None
    """Told what runs in this process, which says where it is."""
    launches: list[LaunchSummary] = field(default_factory=list[LaunchSummary])
    runs: list[BlocksRun] = field(default_factory=list["BlocksRun"])
    """What came of each launch."""
    printed: list[str] = field(default_factory=list[str])
    budget: Budget = field(default_factory=Budget)
    """What is left of what the call may take."""
    _modules: dict[bytes, Array] = field(default_factory=dict[bytes, "Array"])
    """The module's variables as the launches so far have left them, by what they are initialised to."""
    _left: OrdersLeft | None = None
    """Of the budget for all orders."""
    _notes: list[str] = field(default_factory=list[str])
    """About what was refused last."""

    def launch(self, launch: Launch) -> int:
        """Run a kernel to its end; the status is what CUDA gives for a launch that it refuses."""
        if not fits(launch):
            return self._refuse(launch, INVALID_VALUE, "a number of it has more bits than CUDA takes")
        if 0 in launch.grid:
            check_empty_grid(launch, self.shapes)
            return 0
        from cutecc.emulator.launch import Work, load_program
        from cutecc.emulator.memory.names import Names
        from cutecc.emulator.waves import are_independent, waves

        program = load_program(self.ptx, launch.kernel.name, self.budget.limits)
        if refusal := refused(launch, program, self.target):
            return self._refuse(launch, *refusal)
        chosen = self._blocks(launch)
        self.budget.start(len(chosen))
        tell = functools.partial(self.progress, launch.kernel.name) if self.progress else None
        module = self._module(program)
        names = Names.of(self.variables, launch.kernel.name)
        work = Work(self.ptx, launch, self.options, self.budget, names)
        kept = self._kept
        if kept is not None and kept.launch == len(self.launches):
            chosen = kept.blocks
        run = self._run(work, program, module, chosen, tell)
        self.runs.append(run)
        cluster = cluster_of(launch)
        ran = None if len(chosen) == math.prod(launch.grid) else chosen
        self.launches.append(
            LaunchSummary(
                launch.kernel.name,
                launch.grid,
                launch.block,
                cluster,
                launch.shared_bytes,
                ran,
                len(waves(program, launch, chosen)[0]) if are_independent(program) else None,
            )
        )
        if run.failure is not None:
            raise run.failure
        return 0

    def _run(
        self,
        work: Work,
        program: Program,
        module: Array,
        blocks: Sequence[int],
        tell: Callable[[int, int], None] | None,
    ) -> BlocksRun:
        """Run a launch as the options have it: in one order, a kept one, or all."""
        from cutecc.emulator.parallel import run_launch

        kept, options = self._kept, self.options
        if options.schedule == ALL or kept is not None:
            work = replace(work, options=replace(options, schedule="round-robin", budget=None))

        def ordinary() -> BlocksRun:
            return run_launch(work, program, self.allocations, module, blocks, self._print, tell, self.started)

        if options.schedule != ALL and (kept is None or kept.launch != len(self.launches)):
            return ordinary()
        from cutecc.emulator.orders.launches import Launched, OrdersLeft, explore, repeat

        launched = Launched(work, program, self.allocations, module, len(self.launches), self.started)
        if kept is not None:
            return repeat(launched, kept, str(options.replayed), self._print)
        if self._left is None:
            self._left = OrdersLeft(options.budget)
        return explore(launched, blocks, self._left, ordinary)

    @functools.cached_property
    def _kept(self) -> KeptSchedule | None:
        """The schedule that is repeated."""
        if self.options.replayed is None:
            return None
        from cutecc.emulator.orders.kept_schedule import KeptSchedule

        return KeptSchedule.load(self.options.replayed)

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        """The descriptor as the driver makes it."""
        from cutecc.emulator.tensor_map import encode, fault

        target = Target.of_ptx(self.target)
        capability = 10 * target.major + target.minor
        made = encode(tensor_map, capability)
        if isinstance(made, int):
            self._notes = [f"the TMA descriptor: {fault(tensor_map, capability) or 'cannot be made'}"]
        return made

    def print(self, text: str) -> None:
        """Text of the host function."""
        # Of shared memory that is too much, the launch itself tells.
        if too_much_shared_memory(text) is None:
            self._print(text)

    def explained(self, error: StatusError) -> LaunchError:
        """A status as CUDA calls it, with what the emulator knows about it."""
        what = f"launching '{error.kernel}' on the emulator" if error.kernel else "the host program failed"
        failed = failure(what, error.status, _STATUS_TEXTS.get(error.status, f"CUDA error {error.status}"))
        failed.notes += self._notes
        return failed

    def _print(self, text: str) -> None:
        if text:
            self.budget.show(text)
            self.printed.append(text)
            if self.show is not None:
                self.show(text)

    def _refuse(self, launch: Launch, status: int, reason: str) -> int:
        self._notes = [reason, launch_text(launch)]
        return status

    def _module(self, program: Program) -> Array:
        from cutecc.emulator.memory.memory import initialised

        image = program.module_image
        if image not in self._modules:
            self._modules[image] = initialised(image)
        return self._modules[image]

    def _blocks(self, launch: Launch) -> Sequence[int]:
        """Those that run."""
        total = math.prod(launch.grid)
        if self.options.blocks is None:
            return range(total)
        if is_cooperative(launch):
            raise UsageError(
                f"'{launch.kernel.name}' is launched cooperatively: its blocks may wait for each other, so all run",
                hints=["leave out the choice of blocks, and give smaller sizes"],
            )
        self.budget.limits.check("blocks", self.options.blocks.count_in(launch.grid), "the sample has")
        return self.options.blocks.select(launch.grid, cluster_of(launch))


def refused(launch: Launch, program: Program, target: str) -> tuple[int, str] | None:
    """The status with which CUDA refuses a launch, and why; `None` for one that it takes."""
    for name, sizes, largest in (("grid", launch.grid, _LARGEST_GRID), ("block", launch.block, _LARGEST_BLOCK)):
        for axis, size, most in zip("xyz", sizes, largest, strict=True):
            if not 0 < size <= most:
                return INVALID_VALUE, f"the {name}'s {axis} is {size:,}, and CUDA allows 1 to {most:,}"
    limits = Target.of_ptx(target).limits
    threads = math.prod(launch.block)
    if threads > limits.threads_per_block:
        return INVALID_VALUE, f"a block has {threads:,} threads, and CUDA allows {limits.threads_per_block:,}"
    if program.required_block and tuple(program.required_block) != launch.block[: len(program.required_block)]:
        return INVALID_VALUE, f"the kernel is compiled for blocks of {tuple(program.required_block)} threads"
    return (
        _refused_memory(launch.kernel, launch.shared_bytes, program, target)
        or _refused_cluster(launch, target)
        or _refused_cooperation(launch, program)
    )


def _refused_cooperation(launch: Launch, program: Program) -> tuple[int, str] | None:
    from cutecc.emulator.waves import most_resident, processors

    blocks = math.prod(launch.grid)
    if is_cooperative(launch) and blocks > (most := most_resident(program, launch)):
        there = processors(program.target)
        reason = f"a cooperative launch of {blocks:,} blocks, of which {most:,} can be resident on {there} SMs"
        return _COOPERATIVE_TOO_LARGE, reason
    return None


def _refused_memory(kernel: KernelEntry, dynamic: int, program: Program, target: str) -> tuple[int, str] | None:
    # What hardware reserves at the start of the window is no part of either number.
    from cutecc.emulator.machine.program import reserved_shared_bytes

    static = max(0, program.shared_bytes - reserved_shared_bytes(target))
    limit = (
        Target.of_ptx(target).limits.shared_memory_per_block if kernel.raise_shared_limit else _SHARED_WITHOUT_ASKING
    )
    if static + dynamic <= limit:
        return None
    asks = "" if kernel.raise_shared_limit else " that does not ask for more"
    return (
        INVALID_VALUE,
        f"a block takes {static + dynamic:,} bytes of shared memory ({static:,} static, {dynamic:,} dynamic), and "
        f"{target} has {limit:,} for a block{asks}",
    )


def _refused_cluster(launch: Launch, target: str) -> tuple[int, str] | None:
    cluster = cluster_of(launch)
    size = math.prod(cluster)
    if size == 1:
        return None
    if size == 0:
        return INVALID_VALUE, f"a cluster of {cluster} blocks"
    largest = Target.of_ptx(target).limits.blocks_per_cluster
    if not largest:
        return _NOT_SUPPORTED, f"{target} has no clusters"
    most = largest if launch.kernel.non_portable_cluster else _PORTABLE_CLUSTER
    if size > most:
        return _INVALID_CLUSTER, f"a cluster of {size} blocks; this kernel may have {most}"
    if any(blocks % each for blocks, each in zip(launch.grid, cluster, strict=True)):
        return INVALID_VALUE, f"the grid {launch.grid} is no multiple of the cluster {cluster}"
    return None
