"""Member masks of `.sync` instructions: which threads of a warp come to one together (PTX ISA, "bar.warp.sync")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

_LANE = np.arange(WARP, dtype=np.uint32)
_MEND = "have the mask name all threads that execute it: those of a branch, as a vote before it gives them, or all 32"


def named_by(members: Any) -> Mask:
    """Whether each thread is in the member mask that it names, or that all do."""
    return (np.asarray(members, np.uint32) >> _LANE & np.uint32(1)).astype(np.bool_)


def report_left_out(operation: Operation, gang: Gang, lanes: Lanes, members: Any) -> None:
    """Tell of threads that execute an instruction whose mask leaves them out: what comes of it is undefined."""
    if gang.machine.collect is None:
        return
    out = lanes.mask & ~named_by(members)
    if out.any():
        text = f"executes {operation.form} with a member mask that leaves it out\n{_MEND}"
        gang.machine.report(gang.machine.finding("barrier", text, operation, gang, out))
