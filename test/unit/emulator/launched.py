"""A launch of a PTX text on arrays, without a host program: what tests of the emulator run their kernels with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cutecc.arguments.arrays import read_array
from cutecc.emulator.launch import BlocksRun, Work, load_program
from cutecc.emulator.limits import Budget
from cutecc.emulator.memory.allocations import Allocation, tensor_allocation
from cutecc.emulator.memory.memory import initialised
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.parallel import run_launch
from cutecc.ptx.locations import PtxText
from cutecc.record.host_program import KernelEntry
from cutecc.runtime.launch import Launch

Dim3 = tuple[int, int, int]


def launch_of(
    parameters: bytes,
    grid: int | Dim3 = 1,
    block: int | Dim3 = 32,
    shared: int = 0,
    cluster: int = 1,
    *,
    cooperative: bool = False,
) -> Launch:
    """A launch of the kernel `kernel`; a number is one in x."""
    attributes: dict[Any, tuple[int, ...]] = {"cluster": (cluster, 1, 1), "cooperative": (int(cooperative),)}
    entry = KernelEntry("kernel", [], 0)
    return Launch(entry, _dim3(grid), _dim3(block), shared, 0, attributes, bytearray(parameters))


def _dim3(value: int | Dim3) -> Dim3:
    return (value, 1, 1) if isinstance(value, int) else value


def addresses_of(*arrays: np.ndarray[Any, Any]) -> bytes:
    """Kernel parameters that are the addresses of arrays."""
    return np.array([array.ctypes.data for array in arrays], np.uint64).tobytes()


def allocations_of(*arrays: np.ndarray[Any, Any]) -> list[Allocation]:
    """The memory of arrays, called `a0`, `a1`, …; read-only where the array is."""
    found: list[Allocation] = []
    for number, array in enumerate(arrays):
        layout = read_array(array)
        assert layout is not None
        allocation = tensor_allocation(layout, f"a{number}")
        allocation.data.flags.writeable = array.flags.writeable
        found.append(allocation)
    return found


def run_text(
    text: str,
    launch: Launch,
    allocations: Sequence[Allocation],
    options: EmulatorOptions,
    blocks: Sequence[int] | None = None,
) -> BlocksRun:
    """Run the kernel `kernel` of a text: all blocks, or those of these numbers. What it prints is not looked at."""
    ptx = PtxText(text)
    program = load_program(ptx, "kernel")
    chosen = range(int(np.prod(launch.grid))) if blocks is None else blocks
    module = initialised(program.module_image)
    work = Work(ptx, launch, options, Budget())
    return run_launch(work, program, allocations, module, chosen, lambda text: None)
