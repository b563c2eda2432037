"""What each kernel of a cubin takes of an SM: registers, stack, spills, memory, and the occupancy that follows."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from cutecc.backend.occupancy import RESERVED_SHARED_BYTES, occupancy
from cutecc.backend.ptxas_log import parse_log
from cutecc.backend.tools import find_tool, run_tool
from cutecc.errors import ToolError
from cutecc.record.compilation import KernelResources
from cutecc.sass.cubin import block_threads, named_barriers
from cutecc.support.forks import TemporaryFolder
from cutecc.target import Target

_FUNCTION = re.compile(r"^\s*Function (?P<name>\S+):\s*\n(?P<usage>.*)$", re.MULTILINE)
_USAGE = re.compile(r"(\w+(?:\[\d+\])?):(\d+)")


def kernel_resources(
    cubin: bytes,
    target: Target,
    *,
    log: str | None = None,
    dynamic_shared: Mapping[str, int | None] | None = None,
) -> list[KernelResources]:
    """The resources of each kernel in `cubin`.

    `log` is the assembler's with `-v`; without it the spills of a kernel that has a stack are `None`. `dynamic_shared`
    is by kernel, in bytes per block, `None` where the launch computes it; a kernel that is absent there is not launched
    by the host function, and its dynamic shared memory is `None` too. The occupancy is `None` when the block size or
    the dynamic shared memory is not known.

    Raises `ToolError` when cuobjdump is missing or fails, or `cubin` is not a cubin.
    """
    used = _usage(cubin)
    statistics = parse_log(log).entries if log else {}
    barriers = named_barriers(cubin)
    found: list[KernelResources] = []
    for kernel, threads in block_threads(cubin).items():
        if kernel not in used:
            raise ToolError(f"cuobjdump tells no resources of kernel '{kernel}'")
        usage = used[kernel]
        entry = statistics.get(kernel)
        static = usage["SHARED"]
        if target.major >= 9 and static >= RESERVED_SHARED_BYTES:
            # From here on the cubin declares the system's part of shared memory with the kernel's own.
            static -= RESERVED_SHARED_BYTES
        dynamic = dynamic_shared.get(kernel) if dynamic_shared else None
        # UNKNOWN for a kernel that calls a recursive function; then its own frame is all there is to tell.
        stack = usage.get("STACK", entry.stack_bytes if entry else None)
        # What is spilled goes to the stack.
        no_spills = 0 if stack == 0 else None
        fits = None
        if threads is not None and dynamic is not None:
            fits = occupancy(
                target,
                registers=usage["REG"],
                threads=threads,
                shared_bytes=static + dynamic,
                barriers=barriers[kernel],
            )
        found.append(
            KernelResources(
                kernel=kernel,
                registers=usage["REG"],
                stack_bytes=stack or 0,
                spill_store_bytes=entry.spill_store_bytes if entry else no_spills,
                spill_load_bytes=entry.spill_load_bytes if entry else no_spills,
                shared_static_bytes=static,
                shared_dynamic_bytes=dynamic,
                constant_bytes=usage.get("CONSTANT[0]", 0),
                barriers=barriers[kernel],
                occupancy=fits,
            )
        )
    return found


def _usage(cubin: bytes) -> dict[str, dict[str, int]]:
    """What `cuobjdump -res-usage` says of each function: REG, STACK, SHARED, LOCAL, CONSTANT[0] and more."""
    with TemporaryFolder() as folder:
        (Path(folder) / "kernel.cubin").write_bytes(cubin)
        output = run_tool(find_tool("cuobjdump"), ["-res-usage", "kernel.cubin"], folder=Path(folder))
    text = output.stdout.decode(errors="replace")
    return {
        match["name"]: {key: int(value) for key, value in _USAGE.findall(match["usage"])}
        for match in _FUNCTION.finditer(text)
    }
