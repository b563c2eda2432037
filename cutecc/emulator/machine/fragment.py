"""Threads of a gang that are at the same place of the program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.emulator.machine.lanes import Mask
from cutecc.emulator.machine.waiting import Waiting

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang


@dataclass(eq=False, slots=True)
class Fragment:
    """Threads with one program counter. Threads of a warp that diverge are several fragments until they meet again."""

    gang: Gang
    place: int
    """Index in `Program.operations` of what comes next."""
    mask: Mask
    returns: tuple[int, ...] = ()
    """Where the calls that the threads are in return to."""
    waiting: Waiting | None = None
    """Why the threads cannot go on, as of `seen`."""
    seen: int = -1
    """What `Gang.changes` was then."""
    polls: int = 0
    """How often in a row the threads came back in a loop that only looks whether something has changed."""
    laps: int = 0
    """How often the threads went back in the program."""
