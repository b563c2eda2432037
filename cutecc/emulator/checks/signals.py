"""What blocks have told each other in global memory: to say of a race why that did not order the two.

Remembered are the last strong accesses, and fences, that threads of each block have executed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.clocks import ORDER, Clocks, Numbers
from cutecc.emulator.checks.history import History
from cutecc.emulator.checks.locations import Locations
from cutecc.emulator.checks.order import OF_BLOCK, WEAK, acquires, is_of_block, releases, strength
from cutecc.emulator.checks.shadow import AGENT_MASK
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.program import Program
from cutecc.emulator.machine.watch import AccessKind

_REMEMBERED = 512
_FENCE = "fence_acq_rel_gpu()"


@dataclass(frozen=True, slots=True, eq=False)
class _Signal:
    """Strong accesses by one instruction, or fences."""

    operation: Operation
    kind: AccessKind | None
    """`None` for a fence."""
    agents: Numbers
    """Numbers with serials."""
    threads: Numbers
    """The same as in `Gang.agents`."""
    addresses: NDArray[np.uint64]
    """One each; none for a fence."""
    event: int
    fenced: Numbers
    """When each had executed its last fence of more than its block; 0 for never."""


@dataclass(frozen=True, slots=True)
class _End:
    """One thread's part in telling something at an address."""

    signal: _Signal
    index: int

    @property
    def agent(self) -> int:
        return int(self.signal.agents[self.index])

    @property
    def thread(self) -> int:
        return int(self.signal.threads[self.index])

    @property
    def fenced(self) -> int:
        return int(self.signal.fenced[self.index])

    @property
    def operation(self) -> Operation:
        return self.signal.operation


@dataclass(eq=False)
class Signals:
    """Of the blocks that are resident."""

    _program: Program
    _clocks: Clocks
    _history: History
    _locations: Locations
    _describe: Callable[[int], str]
    """What is at an address of global memory."""
    _last: OrderedDict[tuple[int, bytes, bytes], _Signal] = field(
        default_factory=OrderedDict[tuple[int, bytes, bytes], _Signal]
    )

    def access(self, threads: Numbers, operation: Operation, kind: AccessKind, addresses: Numbers) -> None:
        """Threads (numbers as in `Gang.agents`) make a strong access, each at its address."""
        self._note(threads, operation, kind, addresses.astype(np.uint64))

    def fence(self, threads: Numbers, operation: Operation) -> None:
        """Threads execute a fence that orders threads."""
        self._note(threads, operation, None, np.zeros(0, np.uint64))

    def _note(
        self, threads: Numbers, operation: Operation, kind: AccessKind | None, addresses: NDArray[np.uint64]
    ) -> None:
        key = operation.index, threads.tobytes(), addresses.tobytes()
        self._last[key] = _Signal(
            operation,
            kind,
            self._clocks.agents_of(threads),
            threads,
            addresses,
            self._clocks.now,
            self._locations.fenced(threads),
        )
        self._last.move_to_end(key)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)

    # Why they did not order two accesses.

    def explain(self, one: Operation, first: int, event: int, two: Operation, second: int) -> str | None:
        """Why nothing orders what an agent does behind what one of another block did at an event, and what would.

        `None` where they have told each other nothing since.
        """
        if max(strength(one), strength(two)) != WEAK:
            return _at_flag([one, two])
        shift = self._clocks.shift
        told = list(self._ends(first >> shift, ("write", "atomic"), event))
        heard = list(self._ends(second >> shift, ("read", "atomic"), 0))
        for address, writer in told:
            for other, reader in heard:
                if other == address and reader.signal.event > writer.signal.event:
                    return self._pair(address, first, event, writer, second, reader)
        for address, _ in heard:
            store = self._weak_store(address, first >> shift, event)
            if store is not None:
                return (
                    f"{store.where} writes {self._describe(address)}, by which the other block is told, as ordinary "
                    f'memory: it releases nothing there; sem="release", scope="gpu" belong to that store'
                )
        for address, writer in told:
            if releases(writer.operation.form) or writer.fenced > event:
                return (
                    f"{writer.operation.where} releases at {self._describe(address)}, and the other block acquires "
                    'nothing there: sem="acquire", scope="gpu" belong to the load that it waits with'
                )
        return self._fences(first >> shift, event, second >> shift)

    def _pair(self, address: int, first: int, event: int, writer: _End, second: int, reader: _End) -> str:
        """What is wrong with one thread that writes a flag, and another one that has read it."""
        wrong = [*self._of_writer(writer, first, event), *self._of_reader(reader, second)]
        if not wrong:
            wrong = [f"{reader.operation.where} reads it, and may have read what was there before"]
        return f"{self._describe(address)} tells the other block, but does not order the two: " + "; ".join(wrong)

    def _of_writer(self, writer: _End, first: int, event: int) -> Iterator[str]:
        form, where = writer.operation.form, writer.operation.where
        if strength(writer.operation) == OF_BLOCK:
            yield f'{where} writes it for its own block (.cta): scope="gpu" belongs there'
        elif not releases(form) and writer.fenced <= (event if writer.agent == first else 0):
            text = f"{where} writes it without a release"
            if form.has("volatile"):
                text = f"{where} writes it by a volatile store, which releases nothing"
            yield f'{text}: sem="release" belongs there, or {_FENCE} before it'
        elif writer.agent != first and not self._knows(writer.thread, first, event):
            yield (
                f"who writes it at {where} is another thread than the one that wrote the data, and does not know "
                "that it has: sync_threads() belongs before the flag is written"
            )

    def _of_reader(self, reader: _End, second: int) -> Iterator[str]:
        form, where = reader.operation.form, reader.operation.where
        after = int(self._locations.fenced(np.array([reader.thread]))[0])
        if strength(reader.operation) == OF_BLOCK:
            yield f'{where} reads it for its own block (.cta): scope="gpu" belongs there'
        elif not acquires(form) and after <= reader.signal.event:
            text = f"{where} reads it without an acquire"
            if form.has("volatile"):
                text = f"{where} reads it by a volatile load, which acquires nothing"
            yield f'{text}: sem="acquire" belongs there, or {_FENCE} behind it'
        elif reader.agent != second and not self._knows_since(second, reader):
            yield (
                f"who reads it at {where} is another thread than the one that goes on to the data: sync_threads() "
                "belongs behind the wait for the flag"
            )

    def _fences(self, one: int, event: int, two: int) -> str | None:
        for signal in reversed(self._last.values()):
            serials = signal.agents >> self._clocks.shift
            if signal.kind is None and signal.event > event and bool(((serials == one) | (serials == two)).any()):
                scope = " of its own block (.cta)" if is_of_block(signal.operation.form) else ""
                return (
                    f"the fence{scope} at {signal.operation.where} orders no blocks by itself: behind it one writes "
                    f'a flag, by an atomic or sem="relaxed", and the other reads it so before a {_FENCE} of its own'
                )
        return None

    def _ends(self, serial: int, kinds: tuple[AccessKind, ...], since: int) -> Iterator[tuple[int, _End]]:
        """Addresses of strong accesses by threads of a block after an event, the last ones first."""
        for signal in reversed(self._last.values()):
            if signal.kind in kinds and signal.event > since:
                for index in np.flatnonzero(signal.agents >> self._clocks.shift == serial).tolist():
                    yield int(signal.addresses[index]), _End(signal, index)

    def _weak_store(self, address: int, serial: int, since: int) -> Operation | None:
        """The ordinary store by a block after an event that was the last one to an address."""
        for shadow, _, offsets in self._history.global_shadows(np.array([address], np.uint64)):
            stamp = int(shadow.writers[int(offsets[0]) // shadow.granule])
            agent, event = stamp & AGENT_MASK, stamp >> 32
            if event > since and agent >> self._clocks.shift == serial:
                return self._program.operations[int(self._history.operations(np.array([event]))[0])]
        return None

    def _knows(self, thread: int, agent: int, event: int) -> bool:
        return self._clocks.knows_one(int(self._clocks.view_of[thread]), agent, event, ORDER)

    def _knows_since(self, agent: int, reader: _End) -> bool:
        """Whether a thread knows of what another one has read."""
        thread = int(self._clocks.threads_of(np.array([agent]))[0])
        return self._knows(thread, reader.agent, reader.signal.event)


def _at_flag(accesses: Sequence[Operation]) -> str | None:
    """Why two accesses race of which one at least is strong: what the other one lacks."""
    for each in accesses:
        if strength(each) == WEAK:
            order = "acquire" if each.form.opcode == "ld" else "release"
            return (
                f"{each.where} is an ordinary access, and the other block's is atomic or ordered: of a flag, "
                f'sem="{order}", scope="gpu" belong there; of data, nothing orders blocks but such a flag'
            )
    for each in accesses:
        if strength(each) == OF_BLOCK:
            return f'{each.where} is strong for its own block alone (.cta): scope="gpu" belongs there'
    return None
