"""Small PTX kernels run with all checks: what was found, by kind and instruction."""

from __future__ import annotations

from typing import Any

import numpy as np
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.checks.selection import CHECK_NAMES
from cutecc.emulator.options import EmulatorOptions

KERNEL = """
.version 8.8
.target sm_90a
.address_size 64
.shared .align 16 .b8 tile[1024];
.shared .align 8 .b8 mbar[8];
.visible .entry kernel(.param .u64 a0)
{
  .reg .pred %p<9>;
  .reg .b32 %r<30>;
  .reg .b64 %rd<20>;
  .reg .f32 %f<200>;
  ld.param.u64 %rd1, [a0];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, tile;
  mov.u32 %r7, mbar;
  shl.b32 %r4, %r1, 2;
  add.u32 %r5, %r3, %r4;
  xor.b32 %r6, %r4, 4;
  add.u32 %r6, %r3, %r6;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  setp.eq.u32 %p1, %r1, 0;
  setp.eq.u32 %p2, %r2, 0;
BODY
  ret;
}
"""
"""%r5 is the thread's word of the tile, %r6 its neighbour's, %rd3 its element of `a0`; %p1 is thread 0, %p2 block 0."""


def findings(
    body: str,
    *,
    blocks: int = 1,
    threads: int = 64,
    schedule: Any = "round-robin",
    cluster: int = 1,
    allocations: int = 1,
) -> list[Finding]:
    """Of all checks; the elements of `a0` lie in so many allocations."""
    array = np.zeros(256, np.int32)
    options = EmulatorOptions(check=frozenset(CHECK_NAMES), schedule=schedule)
    launch = launch_of(addresses_of(array), blocks, threads, cluster=cluster, cooperative=True)
    return run_text(
        KERNEL.replace("BODY", body), launch, allocations_of(*np.split(array, allocations)), options
    ).findings


def kinds(body: str, **launch: Any) -> list[tuple[str, str, str]]:
    """Kind, opcode, and opcode of the other place, each once."""
    found = [
        (each.kind, each.place.text.split(".")[0], each.other.text.split(".")[0] if each.other else "")
        for each in findings(body, **launch)
    ]
    return sorted(set(found))
