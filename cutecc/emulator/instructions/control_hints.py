"""Instructions that change when things happen, and not what: launches that depend, registers, sleeping."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cutecc.emulator.instructions.aligned import aligned
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.machine.fragment import Waiting
from cutecc.emulator.machine.lanes import WARP, Lanes

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

_FEWEST_REGISTERS, _MOST_REGISTERS = 24, 256
_REGISTERS = 65536
"""Of an SM."""


@instruction("griddepcontrol.{launch_dependents,wait}", "pmevent.mask?", "nanosleep.u32")
def nothing(operation: Operation) -> Step:
    """Launches are executed one after another: what a launch depends on is over. Time is not modelled."""
    return lambda gang, lanes: None


@instruction("setmaxnreg.{inc,dec}.sync.aligned.u32")
def setmaxnreg(operation: Operation) -> Step:
    """How many registers a thread has from here on.

    More of them are waited for until the block's other warps have given up enough. What warps have that have said
    nothing yet depends on the compilation to machine code; it is taken to be the fewest possible.
    """
    (given,) = operation.operands
    count = operation.constant(given)
    if count % 8 or not _FEWEST_REGISTERS <= count <= _MOST_REGISTERS:
        raise operation.error(
            f"{count} registers are not a multiple of 8 from {_FEWEST_REGISTERS} to {_MOST_REGISTERS}"
        )
    increases = operation.form.has("inc")

    def execute(gang: Gang, lanes: Lanes) -> Waiting | None:
        late = np.zeros(gang.shape, np.bool_)
        for row in lanes.rows:
            block, warp = gang.blocks[row], int(gang.warp_numbers[row, 0])
            registers: dict[int, int] = block.state.setdefault("registers", {})
            silent = -(-block.threads // WARP) - len(registers.keys() | {warp})
            others = sum(registers.values()) - registers.get(warp, 0) + silent * _FEWEST_REGISTERS
            if increases and (others + count) * WARP > _REGISTERS:
                late[row] = lanes.mask[row]
            else:
                registers[warp] = count
        if not increases:
            gang.machine.changed(gang.cluster)
        if not late.any():
            return None
        return Waiting(late, lambda row: f"{count} registers a thread, which other warps of the block have")

    return aligned(operation, execute)
