"""Small PTX kernels, run on arrays: what the tests of the machine are written with."""

from __future__ import annotations

from typing import Any

import numpy as np
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.launch import BlocksRun
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


def run(
    body: str,
    *arrays: np.ndarray[Any, Any],
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (32, 1, 1),
    module: str = "",
    target: str = "sm_90a",
    shared: int = 0,
    cluster: int = 1,
    cooperative: bool = False,
    check: frozenset[str] = frozenset(),
    schedule: Any = "round-robin",
    seed: int = 0,
    counters: bool = False,
    shared_start: str | None = None,
) -> BlocksRun:
    """Run a kernel whose parameters `a0`, `a1`, … are the addresses of the arrays."""
    parameters = ", ".join(f".param .u64 a{number}" for number in range(len(arrays)))
    text = _TEXT.format(target=target, module=module, parameters=parameters, body=body)
    launch = launch_of(addresses_of(*arrays), grid, block, shared, cluster, cooperative=cooperative)
    options = EmulatorOptions(check=check, schedule=schedule, seed=seed, counters=counters, shared=shared_start)
    return run_text(text, launch, allocations_of(*arrays), options)


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
