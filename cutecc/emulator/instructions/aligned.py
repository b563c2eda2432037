"""Instructions on matrices: all threads of a warp execute them together (`.sync.aligned`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.fragment import Waiting

if TYPE_CHECKING:
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes

ALL_THREADS: Final = np.uint32(0xFFFFFFFF)
"""Member mask of `.aligned` instructions."""


def aligned(operation: Operation, execute: Callable[[Gang, Lanes], Waiting | None]) -> Step:
    """A step that executes warps of which all threads are there, and has the threads of the others wait."""
    all_of_it = f"all threads of the warp to execute {operation.form}"

    def step(gang: Gang, lanes: Lanes) -> Waiting | None:
        waiting = gang.together(lanes, ALL_THREADS, all_of_it)
        if waiting is None:
            return execute(gang, lanes)
        there = lanes.only(~waiting.mask)
        later = execute(gang, there) if there.any() else None
        if later is None:
            return waiting

        def what(row: int) -> str:
            return (later if later.mask[row].any() else waiting).what(row)

        return Waiting(waiting.mask | later.mask, what, later.on)

    return step
