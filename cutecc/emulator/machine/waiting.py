"""What a step gives back when threads cannot go on yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cutecc.emulator.machine.lanes import Mask


@dataclass(frozen=True, slots=True)
class Waiting:
    """Threads that have to execute the same step again, once something has changed (`Machine.changed`)."""

    mask: Mask
    """The other threads that executed the step go on."""
    what: Callable[[int], str]
    """What those of a warp, by its row in the gang, wait for, in words: `parity 0 of the mbarrier at shared+16: …`."""
    on: Callable[[int], object] | None = None
    """The mbarrier or barrier that those of a row wait for, where it is one."""
    gives_up: bool = False
    """Whether the threads go on when nobody else can: they execute the step once more, with `Machine.impatient`."""
