"""Instructions that change when things happen, and not what: launches that depend, registers, sleeping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.table import Step, instruction
from cutecc.ptx.syntax import Immediate

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes
    from cutecc.emulator.machine.waiting import Waiting

_ALL_THREADS = np.uint32(0xFFFFFFFF)
_FEWEST_REGISTERS, _MOST_REGISTERS = 24, 256


@instruction("griddepcontrol.{launch_dependents,wait}", "pmevent.mask?")
def nothing(operation: Operation) -> Step:
    """Launches are executed one after another: what a launch depends on is over."""
    return lambda gang, lanes: None


@instruction("nanosleep.u32")
def nanosleep(operation: Operation) -> Step:
    """Time is not modelled."""
    return lambda gang, lanes: None


@instruction("setmaxnreg.{inc,dec}.sync.aligned.u32")
def setmaxnreg(operation: Operation) -> Step:
    """How many registers a thread has from here on. The emulator has enough of them; the number has to be possible."""
    (count,) = operation.operands
    if not isinstance(count, Immediate):
        raise operation.error("the number of registers is not a constant")
    if count.bits % 8 or not _FEWEST_REGISTERS <= count.bits <= _MOST_REGISTERS:
        raise operation.error(
            f"{count.bits} registers are not a multiple of 8 from {_FEWEST_REGISTERS} to {_MOST_REGISTERS}"
        )

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        return gang.together(lanes, _ALL_THREADS, f"all threads of the warp to execute {operation.form}")

    return step
