"""One thing found wrong with a kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from cutecc.errors import SourceLocation
from cutecc.ptx.syntax import Instruction

FindingKind = Literal[
    "out-of-bounds",
    "misaligned",
    "uninitialised-shared",
    "uninitialised-register",
    "race",
    "missing-proxy-fence",
    "barrier",
    "divergent-barrier",
    "mbarrier",
    "accumulator",
    "deadlock",
    "trap",
]
FINDING_KINDS: tuple[FindingKind, ...] = get_args(FindingKind)

Relation = Literal["thread", "warp", "block", "cluster", "grid"]
"""What two that collide have in common at most: the first one of a thread and its own copy."""
RELATIONS: tuple[Relation, ...] = get_args(Relation)
"""What orders two of a later one orders those of the earlier ones as well, up to blocks of a cluster."""


@dataclass(frozen=True)
class Place:
    """An instruction that some thread executed."""

    location: SourceLocation | None
    """The line of Python."""
    ptx_line: int
    text: str
    """The instruction."""
    block: tuple[int, int, int]
    thread: tuple[int, int, int] | None
    """`None` for an asynchronous operation without one thread that it belongs to."""
    what: str = ""
    """What was done, as part of a sentence: `written by a bulk copy`."""

    @classmethod
    def of(
        cls, instruction: Instruction, block: tuple[int, int, int], thread: tuple[int, int, int] | None, what: str = ""
    ) -> Place:
        return cls(instruction.location, instruction.line, instruction.text, block, thread, what)


@dataclass(frozen=True)
class Finding:
    """One thing found; the first of its kind at its place (and other place)."""

    kind: FindingKind
    message: str
    """What is wrong, a sentence without its address: `reads shared memory that nothing has written`. Further lines tell
    details, and what to do."""
    place: Place
    address: str | None = None
    """As tensor element, `a[3, 17]`, or offset in the kernel's shared memory, `shared+16`."""
    other: Place | None = None
    """The other access of a race; what was to be waited for; the barrier's other users."""
    schedule: str = "round-robin"
    seed: int = 0
    """With `schedule`, what reproduces it."""
    count: int = 1
    """Threads that the same was found of."""
    relations: frozenset[Relation] = frozenset()
    """Of a race of threads: those of all pairs that collide here. What mends it, the message's last line, mends all."""
    instructions: int = 1
    """At so many instructions, as unrolling makes them of one line."""
