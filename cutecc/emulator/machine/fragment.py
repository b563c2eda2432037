"""Threads of a gang that are at the same place of the program, and what they wait for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cutecc.emulator.machine.lanes import Mask

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
