"""One thing found wrong with a kernel, what to do about it, and what the checks did not see."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, get_args

from cutecc.errors import Error, SourceLocation, describe
from cutecc.ptx.syntax import Instruction

FindingKind = Literal[
    "out-of-bounds",
    "misaligned",
    "uninitialised-shared",
    "uninitialised-tensor",
    "uninitialised-heap",
    "uninitialised-register",
    "race",
    "missing-proxy-fence",
    "barrier",
    "divergent-barrier",
    "mbarrier",
    "accumulator",
    "heap",
    "tensor-memory",
    "missing-tensor-fence",
    "layout",
    "launch-control",
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


HINTS: dict[FindingKind, str] = {
    "out-of-bounds": "look at the index and the predicate here, and at the sizes of the launch",
    "misaligned": "a vector access needs an offset, and rows, of a multiple of its size",
    "uninitialised-shared": "fill all that is read, tails and halos too, or leave out what is not there",
    "uninitialised-tensor": "look at the address, and at the number of columns",
    "uninitialised-register": "set it on all ways to here: accumulators start with fill(0) or without accumulation",
    "barrier": "all threads that come to a barrier name the same number of threads, a multiple of 32",
    "divergent-barrier": "move the barrier out of the branch, or have the condition be the same for whole warps",
    "mbarrier": "initialise it once, for as many arrivals as there are in a phase, and announce the bytes that come",
    "accumulator": "cute.nvgpu.warpgroup.wait_group(0) before the registers are read; warpgroup.fence() before a "
    "multiplication uses what others wrote",
    "launch-control": "ask query_cancel.is_canceled first: a request that failed has no block, and is the last one",
    "trap": "a device assertion failed, or the kernel asked for what hardware answers with a fault",
}
"""What to do about a finding, by its kind. Findings of races say so themselves, by what is known (`wording`)."""
_OF_SHARED = "look at the index here, and at how much shared memory the kernel allocates or is launched with"
"""Out of bounds of a block's shared memory, which is the kernel's own."""
_OF_BULK = "look at the size of the copy and at where it begins: no predicate cuts off what is past the end"
"""Out of bounds of global memory by a bulk copy."""


def hint_of(finding: Finding) -> str | None:
    """`None` where the message has further lines, which say more."""
    if "\n" in finding.message:
        return None
    if finding.kind == "out-of-bounds" and finding.message.endswith("shared memory"):
        return _OF_SHARED
    if finding.kind == "out-of-bounds" and finding.message.startswith("a bulk copy"):
        return _OF_BULK
    return HINTS.get(finding.kind)


@dataclass(frozen=True)
class Stopped:
    """Checks that ended by a mistake of cutecc's own, or a run that ended by an error, with all of its checks."""

    checks: frozenset[str]
    """Which did not see the rest: names of `CheckName`."""
    reason: str
    location: SourceLocation | None = None
    """The line of Python that was executed."""
    trace: str = ""
    """Python's traceback, where it is a mistake of cutecc's own."""
    schedule: str = "round-robin"
    seed: int = 0
    """With `schedule`, what reproduces it."""

    @classmethod
    def of(
        cls, failure: Exception, checks: frozenset[str], location: SourceLocation | None, schedule: str, seed: int
    ) -> Stopped:
        """By an exception."""
        if isinstance(failure, Error):
            return cls(checks, failure.message, failure.location or location, "", schedule, seed)
        trace = "".join(traceback.format_exception(failure))
        return cls(checks, describe(failure), location, trace, schedule, seed)
