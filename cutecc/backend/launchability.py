"""Why a kernel can never be launched, or its host function called, as far as that is known when it is compiled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cutecc.backend.launch import constants_and_launches
from cutecc.backend.occupancy import resident_threads
from cutecc.ir.locations import user_location
from cutecc.record.compilation import KernelResources, Remark
from cutecc.record.host_program import HostProgram
from cutecc.record.naming import short_kernel_name
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


NAME = "check-launch"
_ACCESSES = {"llvm.load": "reads", "llvm.store": "writes"}
_GLOBAL_POINTER = "!llvm.ptr<1>"
SUMMARY = "Warn of kernels that can never be launched, for what a block or a grid takes more of than there is."


@dataclass(frozen=True)
class Obstacle:
    """A reason why a kernel can never be launched."""

    text: str
    """As part of a sentence, with numbers."""
    mend: str
    """What to write instead."""
    numbers: Mapping[str, int] = field(default_factory=dict[str, int])


def launch_warnings(
    resources: Sequence[KernelResources], program: HostProgram | None, target: Target, places: Mapping[str, str]
) -> list[Remark]:
    """A warning for each kernel that can never be launched: why, and what to do about it.

    `program` is what launches them, where that is known; `places` are the kernels' lines.
    """
    found = {entry.kernel: exceeded_limits(entry, target) for entry in resources}
    for kernel, launches in (impossible_launches(program, target) if program else {}).items():
        found.setdefault(kernel, []).extend(launches)
    return [
        Remark(
            "warning",
            f"kernel {short_kernel_name(kernel)} cannot be launched on {target}: "
            f"{', and '.join(each.text for each in obstacles)}; {', and '.join(each.mend for each in obstacles)}",
            places.get(kernel),
            NAME,
            {name: number for each in obstacles for name, number in each.numbers.items()},
        )
        for kernel, obstacles in found.items()
        if obstacles
    ]


def exceeded_limits(kernel: KernelResources, target: Target) -> list[Obstacle]:
    """What one block takes more of than `target` has; empty when a block fits."""
    if kernel.occupancy is None or kernel.occupancy.blocks_per_sm > 0:
        return []
    limits, threads = target.limits, kernel.occupancy.block_threads
    found: list[Obstacle] = []
    if threads > limits.threads_per_block:
        found.append(
            Obstacle(
                f"{threads} threads a block, of at most {limits.threads_per_block}",
                f"launch blocks of at most {limits.threads_per_block} threads",
                {"threads": threads, "most threads": limits.threads_per_block},
            )
        )
    shared, most_shared = (
        kernel.shared_static_bytes + (kernel.shared_dynamic_bytes or 0),
        limits.shared_memory_per_block,
    )
    if shared > most_shared:
        found.append(
            Obstacle(
                f"{shared} bytes of shared memory a block, of at most {most_shared}",
                f"take {shared - most_shared} bytes away, with fewer stages or smaller tiles",
                {"shared bytes": shared, "most shared bytes": most_shared},
            )
        )
    most = resident_threads(target, kernel.registers)
    # A block of too many threads is told of already.
    if most < threads <= limits.threads_per_block:
        found.append(
            Obstacle(
                f"{threads} threads a block of {kernel.registers} registers each, of which the registers hold {most}",
                f"launch blocks of at most {most} threads, or keep fewer values alive at a time",
                {"threads": threads, "registers": kernel.registers, "most threads": most},
            )
        )
    limited = ", ".join(kernel.occupancy.limited_by)
    return found or [Obstacle(limited, f"take less of {limited}")]


def impossible_launches(program: HostProgram, target: Target) -> dict[str, list[Obstacle]]:
    """By kernel, what in its launches is a constant that no launch may have."""
    constants, sites = constants_and_launches(program)
    found: dict[str, list[Obstacle]] = {}
    for site in sites:
        clusters = [each.operands for each in site.attributes if each.name == "cluster"]
        grid, block, *cluster = [
            [None if (known := constants.get(each)) is None else _signed(known) for each in values]
            for values in (site.grid, site.block, *clusters)
        ]
        obstacles = list(_of_sizes(grid, block, target))
        for sizes in cluster:
            obstacles += _of_cluster(sizes, grid, target)
        if obstacles:
            found.setdefault(program.kernels[site.kernel].name, []).extend(obstacles)
    return found


_Sizes = Sequence[int | None]
"""In x, y and z; `None` for what only a launch knows."""


def _of_sizes(grid: _Sizes, block: _Sizes, target: Target) -> Iterator[Obstacle]:
    for what, sizes, most in (
        ("grid", grid, target.limits.grid_sizes),
        ("block", block, target.limits.block_sizes),
    ):
        if any(size is not None and size < 1 for size in sizes):
            yield Obstacle(f"its {what} is {_shown(sizes)}", "give each dimension at least 1")
        # Of a block that is too large in x, its number of threads tells.
        elif any(size is not None and size > limit for size, limit in zip(sizes[1:], most[1:], strict=True)):
            yield Obstacle(
                f"its {what} is {_shown(sizes)}, of at most {_shown(most)}", "let x be the dimension that is large"
            )


def _of_cluster(cluster: _Sizes, grid: _Sizes, target: Target) -> Iterator[Obstacle]:
    blocks, most = math.prod(size for size in cluster if size is not None), target.limits.blocks_per_cluster
    if blocks <= 1:
        return
    if not most:
        yield Obstacle(
            f"its cluster is {_shown(cluster)}, and there are none before sm_90", "launch it without clusters"
        )
    elif blocks > most:
        yield Obstacle(
            f"its cluster is {_shown(cluster)}, {blocks} blocks of at most {most}",
            f"launch clusters of at most {most} blocks, or of 8 for every GPU",
            {"blocks of a cluster": blocks, "most blocks of a cluster": most},
        )
    pairs = list(zip(grid, cluster, strict=True))
    if any(size is not None and by and size % by for size, by in pairs):
        whole = [size if size is None or not by else -(-size // by) * by for size, by in pairs]
        yield Obstacle(
            f"its grid is {_shown(grid)}, of which its cluster {_shown(cluster)} is no divisor",
            f"round the grid up to {_shown(whole)}",
        )


def _shown(sizes: _Sizes) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in sizes)})"


def launch_places(module: ir.Module) -> dict[str, str]:
    """By kernel, the user's line that its first launch is ascribed to, that of the kernel itself.

    For a module whose host function has not been lowered to calls.
    """
    from cutecc.ir.mlir import ir

    found: dict[str, str] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "cuda.launch_ex" and (place := user_location(operation.location)):
            *_, kernel = operation.attributes["callee"].value
            found.setdefault(kernel, str(place))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def host_accesses(module: ir.Module) -> list[Remark]:
    """A warning for each place where a host function itself reads or writes the GPU's memory, which a CPU cannot.

    For a module whose host function is in the LLVM dialect, and its pointers with it.
    """
    from cutecc.ir.mlir import ir

    found: dict[tuple[str, str | None], Remark] = {}

    def visit(operation: ir.Operation) -> ir.WalkResult:
        if operation.name == "gpu.module":
            return ir.WalkResult.SKIP
        # A load's only operand is the pointer, a store's last.
        if operation.name in _ACCESSES and str(list(operation.operands)[-1].type) == _GLOBAL_POINTER:
            does, place = _ACCESSES[operation.name], user_location(operation.location)
            message = (
                f"the host function {does} an element of a tensor in the GPU's memory, where a call of it ends: only a "
                f"kernel can; {does.removesuffix('s')} it there"
            )
            location = str(place) if place else None
            found.setdefault((message, location), Remark("warning", message, location, NAME))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit, ir.WalkOrder.PRE_ORDER)
    return [*found.values()]


def _signed(value: int) -> int:
    """An i32 as the number that it stands for."""
    return value - (1 << 32) if value >= 1 << 31 else value
