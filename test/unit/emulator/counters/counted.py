"""Small PTX kernels whose work is counted."""

from __future__ import annotations

from typing import Any

import numpy as np
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.counters.counters import Counters, InstructionCounts
from cutecc.emulator.options import EmulatorOptions

_TEXT = """
.version 8.8
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 data)
{{
  .reg .pred %p<9>; .reg .b32 %r<99>; .reg .b64 %rd<20>; .reg .f32 %f<20>;
  .shared .align 128 .b8 tile[16384];
  ld.param.u64 %rd1, [data];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, tile;
{body}
  ret;
}}
.file 1 "kernel.py"
"""


def count(
    body: str, blocks: int = 1, threads: int = 32, target: str = "sm_90a", only: range | None = None, **options: Any
) -> Counters:
    """The counters of a kernel: %rd1 is the address of 64 KiB, %r1 the thread, %r2 the block, %r3 shared memory."""
    memory = np.zeros((1 << 16) + 128, np.uint8)
    # At a multiple of 128 bytes, as a GPU allocates.
    data = memory[-memory.ctypes.data % 128 :][: 1 << 16].view(np.uint32)
    text = _TEXT.format(target=target, body=body)
    settings = EmulatorOptions(counters=True, **options)
    run = run_text(text, launch_of(addresses_of(data), blocks, threads), allocations_of(data), settings, only)
    assert run.counters is not None
    return run.counters


def instruction(counters: Counters, form: str) -> InstructionCounts:
    """The only instruction of this form."""
    (found,) = (each for each in counters.instructions if each.form == form)
    return found
