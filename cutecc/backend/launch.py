"""What kernels are launched with, where it is a constant: dynamic shared memory, grids and blocks."""

from __future__ import annotations

from cutecc.record.host_program import Block, HostProgram, LaunchSite


def dynamic_shared_bytes(program: HostProgram) -> dict[str, int | None]:
    """The dynamic shared memory, in bytes per block, that each kernel is launched with.

    A kernel's value is `None` when it is computed from the arguments, or when two launches of it differ. Kernels that
    nothing launches are absent.
    """
    constants, sites = constants_and_launches(program)
    found: dict[str, set[int | None]] = {}
    for site in sites:
        found.setdefault(program.kernels[site.kernel].name, set()).add(constants.get(site.shared_bytes))
    return {kernel: values.pop() if len(values) == 1 else None for kernel, values in found.items()}


def constants_and_launches(program: HostProgram) -> tuple[dict[int, int | None], list[LaunchSite]]:
    """The values that are constants, by number, and every launch, wherever in the program they are."""
    constants: dict[int, int | None] = {}
    sites: list[LaunchSite] = []
    _collect(program.body, constants, sites)
    return constants, sites


def _collect(block: Block, constants: dict[int, int | None], sites: list[LaunchSite]) -> None:
    for instruction in block.instructions:
        if instruction.op == "constant":
            constants[instruction.results[0]] = instruction.immediate
        elif instruction.launch:
            sites.append(instruction.launch)
        for inner in instruction.blocks:
            _collect(inner, constants, sites)
