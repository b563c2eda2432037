"""Estimating a call: its launches are traced, and one multiprocessor's part of each is simulated."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cutecc.backend.occupancy import occupancy
from cutecc.errors import EstimateError, UsageError
from cutecc.estimating.costs import PIPES, costs_of
from cutecc.estimating.devices import Device, device
from cutecc.estimating.multiprocessor import Multiprocessor
from cutecc.estimating.refusals import assumptions, check_cache, check_copies, check_launch, check_within_reach
from cutecc.estimating.results import Estimate, LaunchEstimate
from cutecc.estimating.scheduling import Item, scheduled
from cutecc.estimating.state import Outcome, Rates
from cutecc.estimating.trace import SECTOR, BlockTrace
from cutecc.estimating.tracing import TracedLaunch, blank_arguments, trace_call
from cutecc.estimating.traffic import Traffic, rates_of
from cutecc.harness.arguments import specs_of
from cutecc.record.naming import short_kernel_name
from cutecc.runtime.device import runs_on
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.arguments.specs import Spec
    from cutecc.estimating.costs import Cost
    from cutecc.kernel import Kernel
    from cutecc.record import KernelResources, Occupancy
    from cutecc.runtime.launch import Launch

LEAST_STEPS, MOST_STEPS = 50_000, 150_000
"""Instructions that are simulated of a multiprocessor: a wave of blocks and a half, where that is no more."""
_WAVES = 1.6
_NAMES = {
    "tensor": "tensor cores",
    "memory": "memory",
    "L2 cache": "L2 cache",
    "shared memory": "shared memory",
    "issue": "issue",
    "alu": "integer pipe",
    "fma": "float pipe",
    "xu": "special functions",
    "fp64": "f64 pipe",
}
_WAITS = {
    "result": "results of loads and arithmetic",
    "copies": "copies to shared memory",
    "barriers": "other warps at barriers",
    "mbarriers": "mbarriers",
    "products": "products of their warpgroup",
    "bulk stores": "bulk stores",
}


def estimate(
    kernel: Kernel,
    sizes: Mapping[str, int] | None = None,
    *,
    device: str = "h200",
    specs: Mapping[str, Spec] | None = None,
) -> Estimate:
    """How long a call of a kernel takes on a device that need not be here.

    `sizes` are those of its tensors by name, `device` is `h100` or `h200`, and `specs` say what its arguments are where
    that is not what it was compiled for. Needs no GPU; a block is emulated at these sizes, which takes seconds. Raises
    `EstimateError` for a kernel that is out of the model's reach, and `UsageError` for a device of which nothing is
    measured, or that does not run the kernel's code.
    """
    (found,) = estimates(kernel, sizes, devices=[device], specs=specs)
    return found


def estimates(
    kernel: Kernel,
    sizes: Mapping[str, int] | None = None,
    *,
    devices: Sequence[str],
    specs: Mapping[str, Spec] | None = None,
) -> list[Estimate]:
    """The same on several devices, for which blocks are emulated once. Their multiprocessors have to be as many."""
    chosen = [_device(name, kernel) for name in devices]
    if len({each.processors for each in chosen}) > 1:
        raise UsageError("devices of different numbers of multiprocessors run other blocks together")
    if specs is None:
        if kernel.signature is None:
            raise UsageError("the record does not say what arguments the kernel takes")
        specs = specs_of(kernel.signature)
    arguments = blank_arguments(specs, sizes or {})

    def resident(launch: Launch) -> int:
        return _occupancy(kernel, launch).blocks_per_sm

    traced = trace_call(kernel, arguments, check_within_reach, resident, chosen[0].processors)
    if not traced:
        raise EstimateError("no estimate: the call launches nothing", hints=["give sizes at which its grid has blocks"])
    return [_estimated(kernel, traced, on, sizes or {}) for on in chosen]


def _estimated(kernel: Kernel, traced: Sequence[TracedLaunch], on: Device, sizes: Mapping[str, int]) -> Estimate:
    launches = [_launch(kernel, each, on) for each in traced]
    outside = on["us/launch.events"] - _inside(on)
    return Estimate(on.name, on.title, dict(sizes), outside + sum(each.microseconds for each in launches), launches)


def _inside(on: Device) -> float:
    """Microseconds of an empty launch that the simulation has too: its blocks' beginning."""
    return min(1.0, on["us/launch.events"] / 2)


def _device(name: str, kernel: Kernel) -> Device:
    on = device(name)
    target = kernel.compilation.target
    if not runs_on(target, _capability(on)):
        raise UsageError(
            f"{kernel.compilation.name} is compiled for {target}, which {on.name} does not run: it is {on.target}",
            hints=[f"of {target} no constants are measured; tools/bench_model.py makes the table of a GPU at hand"],
        )
    return on


def _capability(on: Device) -> tuple[int, int]:
    target = Target.parse(on.target)
    return target.major, target.minor


def capability_of(name: str) -> tuple[int, int]:
    """The compute capability of a device. Raises `UsageError` for one of which nothing is measured."""
    return _capability(device(name))


def _resources(kernel: Kernel, launch: Launch) -> KernelResources:
    for each in kernel.compilation.resources:
        if each.kernel == launch.kernel.name:
            return each
    raise EstimateError(
        f"no estimate: the record of {kernel.compilation.name} does not say what registers it takes",
        hints=["compile it with CompileOptions(observe=True)"],
    )


def _occupancy(kernel: Kernel, launch: Launch) -> Occupancy:
    used = _resources(kernel, launch)
    return occupancy(
        Target.of_ptx(kernel.compilation.target),
        registers=used.registers,
        threads=math.prod(launch.block),
        shared_bytes=used.shared_static_bytes + launch.shared_bytes,
        barriers=used.barriers,
    )


def _launch(kernel: Kernel, traced: TracedLaunch, on: Device) -> LaunchEstimate:
    launch, program = traced.launch, traced.program
    fit, used = _occupancy(kernel, launch), _resources(kernel, launch)
    check_launch([each.steps for each in traced.blocks], _waves(traced, fit, on), traced.cluster_blocks)
    together = min(traced.grid_blocks, fit.blocks_per_sm * on.processors)
    asked, different = _reads(traced.blocks)
    check_cache(together * SECTOR * asked, together * SECTOR * different, on.l2_bytes)
    costs = costs_of(program, on)
    traffic = Traffic(traced.read, traced.sizes, traced.sharing, traced.written)
    shared = used.shared_static_bytes + launch.shared_bytes
    rates = rates_of(on, traffic, on.clock(_busy_tensor(costs)), traced.grid_blocks, fit.blocks_per_sm, shared)
    simulated = _Part(traced, costs, used.registers, on.processors).simulate(rates)
    check_copies(traced.between, simulated.busy.get("L2 cache", 0.0) / max(1.0, simulated.cycles))
    clock = on.clock(simulated.busy.get("tensor", 0.0) / max(1.0, simulated.cycles))
    return _told(traced, fit, simulated, clock, on)


def _waves(traced: TracedLaunch, fit: Occupancy, on: Device) -> float:
    """Blocks over how many run at a time."""
    places = on.processors * fit.blocks_per_sm
    return traced.grid_blocks / places if places else 0.0


def _reads(blocks: Sequence[BlockTrace]) -> tuple[float, float]:
    """Sectors that a block asks for, and how many different ones."""
    asked = [[each for warp in block.warps for _, access in warp for each in access.read] for block in blocks]
    return sum(map(len, asked)) / len(asked), sum(len(set(each)) for each in asked) / len(asked)


def _busy_tensor(costs: Sequence[Cost]) -> float:
    """What the tensor cores are taken to be busy, for the clock at which other things are as fast as they are."""
    if any(each.kind == "product" for each in costs):
        return 0.7
    return 0.2 if any(each.pipe == PIPES.index("tensor") for each in costs) else 0.0


class _Part:
    """What one multiprocessor does of a launch: the one that has most to do."""

    def __init__(self, traced: TracedLaunch, costs: Sequence[Cost], registers: int, processors: int) -> None:
        sample = traced.blocks
        count = -(-traced.grid_blocks // processors)
        if traced.grid_blocks <= processors:
            blocks = [max(sample, key=lambda each: each.steps)]
        else:
            blocks = [
                sample[number * len(sample) // count if count >= len(sample) else number] for number in range(count)
            ]
        self.resident = max(1, traced.resident)
        self.total = sum(each.steps for each in blocks)
        if traced.grid_blocks > processors:
            # Blocks go where there is room, so that all have about the mean to do.
            self.total = round(sum(each.steps for each in sample) / len(sample) * count)
        wave = self.resident * blocks[0].steps
        self.most = round(min(MOST_STEPS, max(LEAST_STEPS, _WAVES * wave)))
        self.blocks = self._scheduled(blocks, costs, registers)

    def _scheduled(self, blocks: Sequence[BlockTrace], costs: Sequence[Cost], registers: int) -> list[list[list[Item]]]:
        """As far as they are simulated."""
        known: dict[int, list[list[Item]]] = {}
        found: list[list[list[Item]]] = []
        steps = 0
        for block in blocks:
            if steps > self.most * 1.2 + block.steps * self.resident:
                break
            steps += block.steps
            if id(block) not in known:
                known[id(block)] = [scheduled(each, costs, registers, self.most) for each in block.warps]
            found.append(known[id(block)])
        return found

    def simulate(self, rates: Rates) -> Outcome:
        return Multiprocessor(rates, self.blocks, self.resident, self.total, self.most).run()


def _told(traced: TracedLaunch, fit: Occupancy, simulated: Outcome, clock: float, on: Device) -> LaunchEstimate:
    cycles = max(simulated.cycles, 1.0)
    waited = sum(simulated.waits.values())
    shares = {_NAMES[name]: min(1.0, busy / cycles) for name, busy in simulated.busy.items() if name in _NAMES}
    return LaunchEstimate(
        short_kernel_name(traced.launch.kernel.name),
        cycles / clock,
        cycles,
        clock,
        dict(sorted(shares.items(), key=lambda item: -item[1])),
        {
            _WAITS[name]: each / waited
            for name, each in sorted(simulated.waits.items(), key=lambda item: -item[1])
            if waited
        },
        simulated.period or None,
        simulated.period_line,
        traced.launch.grid,
        fit.block_threads,
        fit.blocks_per_sm,
        fit.limited_by,
        _waves(traced, fit, on),
        simulated.total_steps,
        simulated.steps,
        assumptions(traced.program),
    )
