"""PTX kernels in all their orders: what the tests of orders are written with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from launched import addresses_of, allocations_of, launch_of

from cutecc.emulator.launch import BlocksRun, Work, load_program
from cutecc.emulator.limits import Budget
from cutecc.emulator.memory.memory import initialised
from cutecc.emulator.options import EmulatorOptions
from cutecc.emulator.orders.budget import OrdersBudget
from cutecc.emulator.orders.kept_schedule import KeptSchedule
from cutecc.emulator.orders.launches import Launched, OrdersLeft, explore, repeat
from cutecc.emulator.orders.result import Orders
from cutecc.emulator.parallel import run_launch
from cutecc.ptx.locations import PtxText

_TEXT = """
.version 8.8
.target sm_90a
.address_size 64
.extern .shared .align 1024 .b8 smem[];
.visible .entry kernel({parameters})
{{
  .reg .pred %p<9>;
  .reg .b32 %r<20>;
  .reg .b64 %rd<20>;
  mov.u32 %r0, %tid.x;
  shr.u32 %r1, %r0, 5;
  and.b32 %r2, %r0, 31;
  mov.u32 %r9, smem;
  setp.eq.u32 %p7, %r0, 0;
  setp.eq.u32 %p5, %r2, 0;
{body}
  ret;
}}
"""
"""%r1 is the warp, %r9 the address of shared memory; %p7 holds for thread 0, %p5 for the first one of each warp."""


@dataclass(frozen=True)
class Kernel:
    """A kernel and how it is launched."""

    body: str
    warps: int
    arrays: Sequence[np.ndarray[Any, Any]] = ()
    blocks: int = 1
    cluster: int = 1
    check: str | None = "all"
    shared_start: str = "zero"

    def launched(self, schedule: str = "round-robin", seed: int = 0) -> Launched:
        parameters = ", ".join(f".param .u64 a{number}" for number in range(len(self.arrays)))
        ptx = PtxText(_TEXT.format(body=self.body, parameters=parameters))
        program = load_program(ptx, "kernel")
        launch = launch_of(addresses_of(*self.arrays), self.blocks, 32 * self.warps, 4096, self.cluster)
        options = EmulatorOptions(check=self.check, schedule=schedule, seed=seed, shared=self.shared_start)
        work = Work(ptx, launch, options, Budget())
        module = initialised(program.module_image)
        return Launched(work, program, allocations_of(*self.arrays), module, 0)

    def run(self, schedule: str = "round-robin", seed: int = 0) -> BlocksRun:
        """Under a schedule of another name."""
        each = self.launched(schedule, seed)
        return run_launch(each.work, each.program, each.allocations, each.module, range(self.blocks), lambda text: None)

    def explore(self, budget: str = "600s") -> BlocksRun:
        """In all orders."""
        left = OrdersLeft(OrdersBudget.parse(budget))
        return explore(self.launched(), range(self.blocks), left, self.run)

    def repeat(self, schedule: KeptSchedule) -> BlocksRun:
        return repeat(self.launched(), schedule, "kept", lambda text: None)


def orders(kernel: Kernel, budget: str = "600s") -> Orders:
    """All orders of a kernel."""
    found = kernel.explore(budget).orders
    assert found is not None
    return found


def initialised_mbarriers(*counts: int) -> str:
    """mbarriers at the beginning of shared memory, 8 bytes each, for so many arrivals; and zeros at 64 to 75."""
    zeros = [f"  @%p7 st.shared.u32 [%r9+{place}], %r18;" for place in (64, 68, 72)]
    lines = [f"  @%p7 mbarrier.init.shared.b64 [%r9+{8 * place}], {count};" for place, count in enumerate(counts)]
    return "\n".join(
        ["  mov.u32 %r18, 0;", *zeros, *lines, "  fence.mbarrier_init.release.cluster;", "  bar.sync 0;", ""]
    )


def by_warp(*bodies: str) -> str:
    """Each warp has a body of its own."""
    lines = [f"  setp.eq.u32 %p6, %r1, {warp};\n  @%p6 bra WARP{warp};" for warp in range(len(bodies))]
    lines.append("  bra END;")
    for warp, body in enumerate(bodies):
        lines += [f"WARP{warp}:", body, "  bra END;"]
    return "\n".join([*lines, "END:", ""])
