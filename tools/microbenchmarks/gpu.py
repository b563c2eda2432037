"""A GPU that runs loops of PTX, and says how many cycles a turn takes."""

from __future__ import annotations

import ctypes
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cutecc.runtime.cuda_bindings import load_bindings
from cutecc.runtime.workspace import Workspace

WARP = 32
UNROLLED = 32
"""Times that a measured instruction stands in the loop."""
TURNS = 64
BIG = 1 << 30
"""Bytes of a buffer that no cache holds."""
SMALL = 8 << 20
"""Bytes of one that the L2 cache holds."""
HEAD = """.version 8.0
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
"""
TIMED = (
    HEAD
    + """
.visible .entry bench(.param .u64 p_out, .param .u64 p_data, .param .u32 p_turns, .param .align 64 .b8 p_map[128])
{{
  .reg .b64 %t0, %t1, %out, %data, %at;
  .reg .b32 %turns, %i, %thread, %lane, %warp, %block, %base;
  .reg .pred %p, %q, %first;
  {declarations}
  ld.param.u64 %out, [p_out];
  ld.param.u64 %data, [p_data];
  ld.param.u32 %turns, [p_turns];
  mov.u32 %thread, %tid.x;
  mov.u32 %block, %ctaid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  setp.eq.u32 %first, %thread, 0;
  mov.u32 %base, smem;
  {setup}
  bar.sync 0;
  mov.u64 %t0, %clock64;
  mov.u32 %i, 0;
LOOP:
  {body}
  add.u32 %i, %i, 1;
  setp.lt.u32 %p, %i, %turns;
  @%p bra LOOP;
  {after}
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  mul.wide.u32 %at, %block, 8;
  add.u64 %at, %out, %at;
  @%first st.global.u64 [%at], %t1;
  {sink}
}}
"""
)
"""A loop between two readings of the clock; the first thread of each block writes the cycles."""


@dataclass(frozen=True)
class Body:
    """What stands in the loop."""

    body: str
    declarations: str = ""
    setup: str = ""
    after: str = ""
    sink: str = ""

    def text(self) -> str:
        return TIMED.format(**vars(self))


class Gpu:
    """Loads and launches PTX."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.driver = workspace, load_bindings()
        self.out = workspace.allocate(1 << 20)
        self.big = workspace.allocate(BIG)
        self.other = workspace.allocate(BIG)
        generator = np.random.default_rng(0)
        noise = generator.standard_normal(1 << 22, dtype=np.float32).astype(np.float16)
        for at in range(0, BIG, noise.nbytes):
            workspace.upload(self.big + at, noise)

    def do(self, name: str, *arguments: Any) -> Any:
        status, *values = getattr(self.driver, name)(*arguments)
        if int(status):
            raise RuntimeError(f"{name}: {status}")
        return values[0] if len(values) == 1 else values

    def function(self, text: str, shared: int = 0) -> Any:
        module = self.do("cuModuleLoadData", text.encode() + b"\0")
        found = self.do("cuModuleGetFunction", module, b"bench")
        if shared:
            attribute = self.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            self.do("cuFuncSetAttribute", found, attribute, shared)
        return found

    def launcher(
        self, function: Any, grid: int, block: int, shared: int, data: int, turns: int, tensor_map: bytes = bytes(128)
    ) -> Callable[[], None]:
        """What launches a kernel of the four parameters."""
        held = (
            ctypes.c_uint64(self.out),
            ctypes.c_uint64(data),
            ctypes.c_uint32(turns),
            (ctypes.c_uint64 * 16).from_buffer_copy(tensor_map),
        )
        pointers = (ctypes.c_void_p * 4)(*(ctypes.addressof(each) for each in held))

        def launch() -> None:
            stream = self.workspace.stream
            self.do("cuLaunchKernel", function, grid, 1, 1, block, 1, 1, shared, stream, ctypes.addressof(pointers), 0)

        launch.held = held, pointers  # type: ignore[attr-defined]
        return launch

    def cycles(
        self, body: Body, *, grid: int = 1, block: int = WARP, shared: int = 0, data: int | None = None,
        turns: int = TURNS, tensor_map: bytes = bytes(128), cold: bool = False,
    ) -> float:  # fmt: skip
        """Cycles of a turn of the loop: the median over blocks, of the second of two launches.

        What the first one read is in the L2 cache then, unless it is to be `cold`."""
        launch = self.launcher(
            self.function(body.text(), shared),
            grid,
            block,
            shared,
            self.big if data is None else data,
            turns,
            tensor_map,
        )
        launch()
        if cold:
            self.workspace.flush_l2()
        launch()
        found = np.zeros(grid, np.uint64)
        self.workspace.download(found, self.out)
        return float(np.median(found)) / turns

    def microseconds(self, launch: Callable[[], None], rounds: int = 7, calls: int = 4) -> float:
        """Of one launch, the median of rounds."""
        launch()
        times: list[float] = []
        for _ in range(rounds):
            start = self.workspace.record()
            for _ in range(calls):
                launch()
            stop = self.workspace.record()
            self.workspace.synchronize()
            times.append(self.workspace.elapsed(start, stop) / calls)
        return statistics.median(times)
