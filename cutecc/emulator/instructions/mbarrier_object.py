"""The mbarrier object: 64 bits of shared memory that count arrivals and bytes, phase by phase.

PTX leaves the bits to the implementation. Ours, from bit 0: the phase's parity (1), arrivals still missing (20),
arrivals of a phase (20), bytes still missing with a sign (21), and 2 that are `10`. Beside the memory, a block keeps
the number of each mbarrier's phase, and what the bits should be: memory that holds others was overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.mbarrier_ledger import Ledger
from cutecc.emulator.machine.lanes import Lanes, Mask

if TYPE_CHECKING:
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine

MOST_ARRIVALS: Final = (1 << 20) - 1
MOST_BYTES: Final = (1 << 20) - 1
PENDING_SHIFT: Final = 1
COUNT_MASK: Final = np.uint32((1 << 20) - 1)
"""Of the missing arrivals in a state, shifted by `PENDING_SHIFT`."""
_BYTES_MASK: Final = (1 << 21) - 1
_MARK: Final = 0b10 << 62

_EARLY: Final = (
    "the phase still misses bytes of copies: a wait before this may have passed at once, because it takes the wrong "
    "parity; or mbarrier_init names too few arrivals"
)

Wrong = Callable[[str], None]
"""Is told of misuse: a sentence without its subject, `arrives more often than …`."""


def unheard(message: str) -> None:
    """Nobody wants to know."""


@dataclass(slots=True)
class Mbarrier:
    """One mbarrier."""

    index: int
    """Of its first byte in `Memory.shared`."""
    expected: int
    """Arrivals of a phase."""
    pending: int
    """Arrivals that this phase misses."""
    missing_bytes: int = 0
    """Transactions that this phase misses; negative when more came than anyone has announced yet."""
    phase: int = 0
    used: bool = False
    """Whether anything has been done with it since it was initialised."""
    ledger: Ledger = field(default_factory=Ledger)
    """Who did."""

    @property
    def parity(self) -> int:
        return self.phase & 1

    @property
    def bits(self) -> int:
        """The 64 bits in memory, and the state that `mbarrier.arrive` returns."""
        counts = self.pending << PENDING_SHIFT | self.expected << 21 | (self.missing_bytes & _BYTES_MASK) << 41
        return self.parity | counts | _MARK

    @property
    def key(self) -> tuple[str, int, int]:
        """Who acquires it sees what was done before this phase completed."""
        return ("mbarrier", self.index, self.phase)

    @property
    def finished_key(self) -> tuple[str, int, int]:
        """Of the phase that completed last."""
        return ("mbarrier", self.index, self.phase - 1)

    def missing(self) -> str:
        """What the phase waits for, in words: `16384 bytes and 1 arrival missing (3 of 4 have arrived)`."""
        parts: list[str] = []
        if self.missing_bytes > 0:
            parts.append(f"{self.missing_bytes} bytes")
        if self.pending:
            parts.append(f"{self.pending} {'arrival' if self.pending == 1 else 'arrivals'}")
        text = f"{' and '.join(parts)} missing" if parts else ""
        arrived = self.expected - self.pending
        if self.pending and arrived > 0:
            text += f" ({arrived} of {self.expected} {'has' if arrived == 1 else 'have'} arrived)"
        if self.missing_bytes < 0:
            text = f"{-self.missing_bytes} bytes more than announced{', ' if text else ''}{text}"
        return text


def initialise(machine: Machine, index: int, count: int, wrong: Wrong = unheard) -> None:
    """Make 8 bytes of shared memory an mbarrier."""
    old = find(machine, index)
    if old is not None and old.used:
        wrong("initialises an mbarrier that is in use, and was not invalidated")
    if not 1 <= count <= MOST_ARRIVALS:
        wrong(f"initialises an mbarrier for {count} arrivals, which are not 1 to {MOST_ARRIVALS}")
        count = min(max(count, 1), MOST_ARRIVALS)
    machine.watch.mbarrier_reset(index)
    barrier = Mbarrier(index, count, count)
    _table(machine, index)[index] = barrier
    _write(machine, barrier)


def invalidate(machine: Machine, index: int) -> None:
    """Make the 8 bytes plain memory again."""
    machine.watch.mbarrier_reset(index)
    _table(machine, index).pop(index, None)
    _words(machine)[index >> 3] = 0


def find(machine: Machine, index: int) -> Mbarrier | None:
    """The mbarrier at a place in `Memory.shared`; `None` where there is none, or its bytes were overwritten."""
    table: dict[int, Mbarrier] | None = _block(machine, index).state.get("mbarriers")
    barrier = None if table is None else table.get(index)
    return barrier if barrier is not None and int(_words(machine)[index >> 3]) == barrier.bits else None


def absence(machine: Machine, index: int) -> str:
    """Why `find` has none, in words."""
    overwritten = index in _table(machine, index)
    return "an mbarrier whose bytes were overwritten" if overwritten else "an mbarrier that nobody has initialised"


def arrive(machine: Machine, index: int, count: int = 1, wrong: Wrong = unheard, *, drop: bool = False) -> None:
    """`count` arrivals; with `drop` the phases after this one expect so many fewer."""
    barrier = _found(machine, index, wrong)
    if barrier is None:
        return
    machine.watch.mbarrier_counts(index, count, 0)
    if not barrier.pending:
        wrong(f"arrives {_times(count)} at an mbarrier, although all arrivals of its phase are there already\n{_EARLY}")
    elif count > barrier.pending:
        wrong(f"arrives {_times(count)} at an mbarrier whose phase misses {barrier.pending}")
    barrier.pending = max(barrier.pending - count, 0)
    if drop:
        barrier.expected = max(barrier.expected - count, 0)
    _settle(machine, barrier)


def add_pending(machine: Machine, index: int, count: int, wrong: Wrong = unheard) -> None:
    """Have this phase wait for more arrivals, as `cp.async.mbarrier.arrive` without `.noinc` does."""
    barrier = _found(machine, index, wrong)
    if barrier is None:
        return
    machine.watch.mbarrier_counts(index, -count, 0)
    if barrier.pending + count > MOST_ARRIVALS:
        wrong(f"has an mbarrier wait for more than {MOST_ARRIVALS} arrivals")
    barrier.pending = min(barrier.pending + count, MOST_ARRIVALS)
    _write(machine, barrier)


def expect_bytes(machine: Machine, index: int, count: int, wrong: Wrong = unheard) -> None:
    """Have this phase wait for so many bytes more."""
    _add_bytes(machine, index, count, wrong, "announces")


def complete_bytes(machine: Machine, index: int, count: int, wrong: Wrong = unheard) -> None:
    """So many bytes have arrived."""
    _add_bytes(machine, index, -count, wrong, "completes")


def _add_bytes(machine: Machine, index: int, count: int, wrong: Wrong, does: str) -> None:
    barrier = _found(machine, index, wrong)
    if barrier is None:
        return
    machine.watch.mbarrier_counts(index, 0, count)
    total = barrier.missing_bytes + count
    if abs(total) > MOST_BYTES:
        wrong(f"{does} {abs(count)} bytes at an mbarrier, which makes {total} missing: more than it can count")
    barrier.missing_bytes = min(max(total, -MOST_BYTES), MOST_BYTES)
    _settle(machine, barrier)


def _found(machine: Machine, index: int, wrong: Wrong) -> Mbarrier | None:
    barrier = find(machine, index)
    if barrier is None:
        wrong(f"uses {absence(machine, index)}")
        return None
    barrier.used = True
    return barrier


def _settle(machine: Machine, barrier: Mbarrier) -> None:
    """Go to the next phase if this one misses nothing."""
    if not barrier.pending and not barrier.missing_bytes:
        barrier.phase += 1
        barrier.ledger.end_phase()
        barrier.pending = barrier.expected
        machine.changed(_block(machine, barrier.index).cluster)
    _write(machine, barrier)


def _write(machine: Machine, barrier: Mbarrier) -> None:
    _words(machine)[barrier.index >> 3] = barrier.bits


def _words(machine: Machine) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return machine.memory.shared.view(np.uint64)


def _table(machine: Machine, index: int) -> dict[int, Mbarrier]:
    """The mbarriers of the block whose shared memory this is, by index."""
    return _block(machine, index).state.setdefault("mbarriers", {})


def _block(machine: Machine, index: int) -> Block:
    """The block whose shared memory this is."""
    return machine.blocks[index // machine.memory.shared_stride]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


# Whether others may know of it: the thread that initialised it has to execute a fence behind that. Only looked at where
# findings are collected.

UNANNOUNCED: Final = "that nobody has announced: behind mbarrier.init belongs a fence.mbarrier_init by the same thread"


def note_initialisation(gang: Gang, mask: Mask, index: int) -> None:
    """Threads have initialised the mbarrier at a place in `Memory.shared`."""
    if gang.machine.collect is not None:
        _unannounced(_block(gang.machine, index))[index] = int(gang.agents[mask][-1])


def announce(gang: Gang, lanes: Lanes) -> None:
    """The threads execute a fence."""
    if gang.machine.collect is None:
        return
    for block in {gang.blocks[row] for row in lanes.rows}:
        table = _unannounced(block)
        if table:
            agents = set(gang.agents[lanes.mask].tolist())
            for index in [index for index, agent in table.items() if agent in agents]:
                del table[index]


def is_unannounced(machine: Machine, index: int) -> bool:
    """Whether the mbarrier is not announced; says so once."""
    return machine.collect is not None and _unannounced(_block(machine, index)).pop(index, None) is not None


def _unannounced(block: Block) -> dict[int, int]:
    """The block's mbarriers that are not announced, by index: who initialised them."""
    return block.state.setdefault("unannounced mbarriers", {})
