"""Small PTX kernels, run on arrays: what the tests of the machine are written with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cutecc.arguments.arrays import read_array
from cutecc.emulator.launch import BlocksRun, load_program, run_blocks
from cutecc.emulator.memory.allocations import tensor_allocation
from cutecc.emulator.options import EmulatorOptions

_TEXT = """
.version 8.8
.target {target}
.address_size 64
{module}
.visible .entry kernel({parameters})
{{
{body}
  ret;
}}
"""


@dataclass
class LaunchOf:
    """A launch as `run_blocks` takes it."""

    parameters: bytes
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (32, 1, 1)
    shared_bytes: int = 0
    attributes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


def run(
    body: str,
    *arrays: np.ndarray[Any, Any],
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    module: str = "",
    target: str = "sm_90a",
    shared: int = 0,
    attributes: Mapping[str, tuple[int, ...]] | None = None,
    check: frozenset[str] = frozenset(),
    schedule: Any = "round-robin",
    seed: int = 0,
    counters: bool = False,
) -> BlocksRun:
    """Run a kernel whose parameters `a0`, `a1`, … are the addresses of the arrays."""
    parameters = ", ".join(f".param .u64 a{number}" for number in range(len(arrays)))
    text = _TEXT.format(target=target, module=module, parameters=parameters, body=body)
    addresses = np.array([array.ctypes.data for array in arrays], np.uint64).tobytes()
    layouts = [read_array(array) for array in arrays]
    allocations = [tensor_allocation(layout, f"a{number}") for number, layout in enumerate(layouts) if layout]
    launch = LaunchOf(addresses, grid, block, shared, attributes or {})
    blocks = range(grid[0] * grid[1] * grid[2])
    options = EmulatorOptions(check=check, schedule=schedule, seed=seed, counters=counters)
    return run_blocks(load_program(text, "kernel"), launch, allocations, blocks, options)


PROLOGUE = """
  .reg .pred %p<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  ld.param.u64 %rd1, [a0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %ntid.x;
  mad.lo.s32 %r4, %r2, %r3, %r1;
  mul.wide.u32 %rd2, %r4, 4;
  add.s64 %rd3, %rd1, %rd2;
"""
"""%r1 is the thread, %r4 the thread in the grid, %rd3 the address of its element of `a0`."""
