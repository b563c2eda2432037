"""The 16 barriers of a block.

Hardware counts warps: a warp has arrived when each of its threads that have not exited has. A barrier without a thread
count waits for all warps that have not exited.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, get_args
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array, Mask

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.block import Block
    from cutecc.emulator.machine.gang import Gang

BARRIERS: Final = 16
Reduction = Literal["popc", "and", "or"]
REDUCTIONS: Final[tuple[Reduction, ...]] = get_args(Reduction)
_NO_PHASE: Final = -1


@dataclass(slots=True, eq=False)
class Barrier:
    """One of them."""

    block: Block
    number: int
    phase: int = 0
    expected: int | None = None
    """Threads that this phase waits for; `None` for all of the block."""
    arrived: int = 0
    """Warps."""
    partly: dict[int, Mask] = field(default_factory=dict[int, Mask])
    """The threads that have come, of warps of which others have not."""
    comers: dict[int, Operation] = field(default_factory=dict[int, "Operation"])
    """By warp: the instruction by which it came in this phase."""
    waiting: dict[int, Array] = field(default_factory=dict[int, Array])
    """For each thread of a warp the phase that it waits for the end of; -1 for none."""
    _first: dict[int, tuple[Mask, Operation | None]] = field(default_factory=dict[int, "tuple[Mask, Operation | None]"])
    """By warp, when its first threads came: what was alive, and the instruction if it is aligned."""
    _results: dict[int, int] = field(default_factory=dict[int, int])
    """By phase."""

    @property
    def key(self) -> tuple[str, int, int, int]:
        """Who acquires it sees what was done before this phase completed."""
        return ("barrier", self.block.slot, self.number, self.phase)

    @property
    def has_arrivals(self) -> bool:
        return bool(self.arrived or self.partly)

    @property
    def is_used(self) -> bool:
        return bool(self.arrived or self.partly or self.waiting)

    def waits_for_all(self, expected: int | None) -> bool:
        """Whether a thread count is that of the whole block."""
        return expected is None or expected == -(-self.block.threads // WARP) * WARP

    def is_waiting(self, warp: int) -> Mask:
        """Which threads of a warp have come, and not gone on."""
        found = self.waiting.get(warp)
        return np.zeros(WARP, np.bool_) if found is None else found != _NO_PHASE

    def is_free(self, warp: int) -> Mask:
        """Which of them may go on: their phase is over."""
        found = self.waiting.get(warp)
        return np.zeros(WARP, np.bool_) if found is None else (found != _NO_PHASE) & (found < self.phase)

    def other_instruction(self, warp: int, operation: Operation) -> Operation | None:
        """The aligned instruction at which a part of the warp is waiting already, if it is another one."""
        first = self._first.get(warp)
        if first is None or warp not in self.partly:
            return None
        return first[1] if first[1] is not None and first[1] is not operation else None

    def arrive(
        self, warp: int, threads: Mask, alive: Mask, operation: Operation, *, waits: bool, aligned: bool
    ) -> None:
        """Threads of a warp come by an instruction; with `aligned` all of the warp have to come together."""
        before = self.partly.get(warp)
        self.comers[warp] = operation
        if before is None:
            self._first[warp] = alive, operation if aligned else None
        self.partly[warp] = threads if before is None else before | threads
        if waits:
            found = self.waiting.setdefault(warp, np.full(WARP, _NO_PHASE))
            found[threads] = self.phase

    def is_deserted(self, warp: int, alive: Mask) -> bool:
        """Whether a part of the warp came to an aligned barrier, and the rest has exited since."""
        come, first = self.partly.get(warp), self._first.get(warp)
        if come is None or first is None or first[1] is None or (alive & ~come).any():
            return False
        return bool((first[0] & ~alive & ~come).any())

    def settle(self, warp: int, alive: Mask) -> bool:
        """Count the warp if all of it has come, and end the phase if that was all; whether it ended."""
        come = self.partly.get(warp)
        if come is not None and not (alive & ~come).any():
            del self.partly[warp]
            self.arrived += 1
        if not self.arrived or self.arrived < self._warps:
            return False
        self.phase += 1
        self.arrived, self.expected = 0, None
        self.comers = {warp: operation for warp, operation in self.comers.items() if warp in self.partly}
        self._results.pop(self.phase - 3, None)
        for late, threads in self.partly.items():
            if late in self.waiting:
                self.waiting[late][threads & (self.waiting[late] != _NO_PHASE)] = self.phase
        return True

    def leave(self, warp: int, threads: Mask) -> int:
        """Threads go on; the phase that they waited for."""
        found = self.waiting[warp]
        phase = int(found[threads][0])
        found[threads] = _NO_PHASE
        if (found == _NO_PHASE).all():
            del self.waiting[warp]
        return phase

    def reduce(self, reduction: Reduction, values: Mask) -> None:
        """Take the values of threads into the phase's result."""
        old = self._results.get(self.phase)
        match reduction:
            case "popc":
                self._results[self.phase] = (old or 0) + int(np.count_nonzero(values))
            case "and":
                self._results[self.phase] = int(values.all() and old in (None, 1))
            case "or":
                self._results[self.phase] = int(values.any() or old == 1)

    def result(self, phase: int) -> int:
        return self._results[phase]

    def describe(self, arrived: int | None = None, partly: dict[int, Mask] | None = None) -> str:
        """What threads wait for: `barrier 1 of block (0, 0, 0): 2 of 4 warps have arrived`.

        `arrived` and `partly` are those of a barrier that does not count.
        """
        count = self.arrived if arrived is None else arrived
        text = f"barrier {self.number} of {self.block.name}: {count} of {self._warps} warps have arrived"
        for warp, threads in (self.partly if partly is None else partly).items():
            text += f", and {int(np.count_nonzero(threads))} threads of warp {warp}"
        return text

    @property
    def _warps(self) -> int:
        """That have to arrive."""
        return self.block.live_warps if self.expected is None else self.expected // WARP


class Barriers:
    """Those of one block."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self._barriers = [Barrier(block, number) for number in range(BARRIERS)]

    def __getitem__(self, number: int) -> Barrier:
        return self._barriers[number]

    def __iter__(self) -> Iterator[Barrier]:
        return iter(self._barriers)


_OF_GANG: WeakKeyDictionary[Gang, Sequence[tuple[Barriers, Array]]] = WeakKeyDictionary()


def barriers_of(gang: Gang) -> Sequence[tuple[Barriers, Array]]:
    """The barriers of each block that has warps in a gang, and which rows of the gang those are."""
    found = _OF_GANG.get(gang)
    if found is None:
        rows: dict[Block, list[int]] = {}
        for row, block in enumerate(gang.blocks):
            rows.setdefault(block, []).append(row)
        found = [
            (block.state.setdefault("barriers", Barriers(block)), np.array(numbers)) for block, numbers in rows.items()
        ]
        _OF_GANG[gang] = found
    return found
