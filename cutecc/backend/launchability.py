"""Why a kernel can never be launched, as far as that is known when it is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.backend.launch import constants_and_launches
from cutecc.backend.occupancy import resident_threads
from cutecc.ir.locations import user_location
from cutecc.record.compilation import KernelResources
from cutecc.record.host_program import HostProgram
from cutecc.target import Target

if TYPE_CHECKING:
    from cutecc.ir.mlir import ir


def exceeded_limits(kernel: KernelResources, target: Target) -> list[str]:
    """What one block takes more of than `target` has, each with both numbers; empty when a block fits."""
    if kernel.occupancy is None or kernel.occupancy.blocks_per_sm > 0:
        return []
    limits, threads = target.limits, kernel.occupancy.block_threads
    reasons: list[str] = []
    if threads > limits.threads_per_block:
        reasons.append(f"{threads} threads a block, of at most {limits.threads_per_block}")
    shared = kernel.shared_static_bytes + (kernel.shared_dynamic_bytes or 0)
    if shared > limits.shared_memory_per_block:
        reasons.append(f"{shared} bytes of shared memory a block, of at most {limits.shared_memory_per_block}")
    most = resident_threads(target, kernel.registers)
    # A block of too many threads is told of already.
    if most < threads <= limits.threads_per_block:
        reasons.append(
            f"{threads} threads a block of {kernel.registers} registers each, of which the registers hold {most}"
        )
    return reasons or [", ".join(kernel.occupancy.limited_by)]


def empty_launches(program: HostProgram) -> dict[str, list[str]]:
    """By kernel, the launches whose grid or block has a dimension that is a constant below 1."""
    constants, sites = constants_and_launches(program)
    found: dict[str, list[str]] = {}
    for site in sites:
        for what, sizes in (("grid", site.grid), ("block", site.block)):
            values = [constants.get(size) for size in sizes]
            if any(value is not None and _signed(value) < 1 for value in values):
                shown = ", ".join("?" if value is None else str(_signed(value)) for value in values)
                found.setdefault(program.kernels[site.kernel].name, []).append(f"its {what} is ({shown})")
    return found


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


def _signed(value: int) -> int:
    """An i32 as the number that it stands for."""
    return value - (1 << 32) if value >= 1 << 31 else value
