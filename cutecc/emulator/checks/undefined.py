"""Values that depend on something that nothing has written: how they spread, and where they are used.

To read what nothing has written is no mistake by itself. Kernels compute on whole tiles of which only a part exists,
and leave the rest out when they store. So undefined bits are followed: through registers, and through shared memory and
back. A value is *used* when it gets to global memory, decides on a branch, a guard or an address, or goes to an
asynchronous operation. Then the read that it comes from is reported.

Undefined bits of a register are a *shadow* of its shape and type, with ones where a bit is undefined. Instructions that
move bits about move those of shadows likewise; most others make a result of nothing but undefined bits of any.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.checks import wording
from cutecc.emulator.checks.finding import Finding
from cutecc.emulator.checks.origins import Origin, Origins
from cutecc.emulator.checks.registers import is_accumulator
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.watch import Space, Watch
from cutecc.emulator.memory.region import Region
from cutecc.emulator.memory.spaces import MODULE_APERTURE, OFFSET_MASK

if TYPE_CHECKING:
    from cutecc.emulator.checks.reports import Reports
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.instructions.table import Step
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Machine
    from cutecc.emulator.machine.program import Program

_NOBODY = Watch()
_WORD = 4
MOVES = {"mov", "selp", "prmt", "shfl"}
"""To move a register that nothing has written is not to use it yet: compilers do so with values that nobody uses."""


@dataclass(slots=True)
class Values:
    """What is undefined in the registers of a gang; slots that are not here are defined."""

    shadows: dict[int, Array] = field(default_factory=dict[int, Array])
    origins: dict[int, Array] = field(default_factory=dict[int, Array])
    """Of each thread's undefined bits: a number of `Origins`."""
    lanes: Lanes | None = None
    """Of the access to shared memory that is being executed: all its threads."""
    loaded: dict[int, Array] | None = None
    """Shadows of what it loads, if any of it is undefined."""
    loaded_from: Array | None = None
    """Their origins."""
    stored: tuple[Mask, Array, int] | None = None
    """The threads that it stores of, the places and how many bytes at each."""
    local: tuple[Mask, Array, int] | None = None
    """The same of an access to local memory."""


class Undefined:
    """The undefined values of one machine."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        reports: Reports,
        unwritten: Iterable[int],
        describe: Callable[[Space, int], str],
        forget: Callable[[Gang, Lanes, Array, int], None],
    ) -> None:
        """`unwritten` are the registers that may be read before anything writes them, by slot; `describe` says where
        an address is, and `forget` takes what a thread stored in local memory for unwritten.
        """
        self._forget = forget
        self._names = [name for names in program.registers.values() for name in names]
        self._describe = describe
        self._machine = machine
        self._reports = reports
        self._widths = program.widths
        self._unwritten = list(unwritten)
        self._values: WeakKeyDictionary[Gang, Values] = WeakKeyDictionary()
        self._origins = Origins()
        self._told: dict[Hashable, tuple[int, set[int]]] = {}
        """By place: the operation that it is told at, and the threads that it is told of."""
        shared = machine.memory.shared.size
        heap = 0 if program.heap is None else len(program.module_image)
        self.memory = np.zeros(shared + heap, np.uint8)
        """Undefined bits of shared memory, and behind it of the module's, where that has a heap."""
        self.memory[:shared] = 0xFF
        self._module = shared
        self._regions = Region(0, self.memory[:shared]), Region(0, self.memory[shared:]) if heap else None
        self._stored_from = np.zeros(-(-self.memory.size // _WORD), np.int32)
        """Origins of undefined values in shared memory, by word; 0 where nothing has been written."""

    def of(self, gang: Gang) -> Values:
        """At first, all that nothing has written is undefined, by no origin but itself (0)."""
        found = self._values.get(gang)
        if found is None:
            found = self._values[gang] = Values()
            for slot in self._unwritten:
                found.shadows[slot] = ones(gang.shape, self._widths[slot])
                found.origins[slot] = np.zeros(gang.shape, np.int32)
        return found

    # Registers.

    def assign(self, gang: Gang, slot: int, mask: Mask, shadow: Array | None, origins: Array | None) -> None:
        """Threads write a register; without a shadow, with something defined."""
        values = self.of(gang)
        old = values.shadows.get(slot)
        if shadow is None or origins is None or not shadow[mask].any():
            if old is not None:
                rest = np.where(mask, np.zeros((), old.dtype), old)
                if rest.any():
                    values.shadows[slot] = rest
                else:
                    del values.shadows[slot], values.origins[slot]
            return
        shadow = shadow.astype(self._widths[slot], copy=False)
        if old is None:
            values.shadows[slot] = np.where(mask, shadow, np.zeros((), shadow.dtype))
            values.origins[slot] = origins
        else:
            values.shadows[slot] = np.where(mask, shadow, old)
            values.origins[slot] = np.where(mask, origins, values.origins[slot])

    def sources(self, gang: Gang, slots: Iterable[int], mask: Mask, low: int = 64) -> tuple[Mask, Array, int] | None:
        """Threads with undefined bits among the low ones of any of these registers, the origins, a slot without."""
        values = self.of(gang)
        found = [slot for slot in slots if slot in values.shadows]
        if not found:
            return None
        undefined = np.zeros(gang.shape, np.bool_)
        origins = np.zeros(gang.shape, np.int32)
        unwritten = found[0]
        for slot in found:
            shadow = values.shadows[slot]
            if 8 * shadow.itemsize > low:
                shadow = shadow & shadow.dtype.type((1 << low) - 1)
            here = (shadow != 0) & mask
            if here.any():
                undefined |= here
                origins = self._origins.join(origins, np.where(here, values.origins[slot], 0))
                if (here & (values.origins[slot] == 0)).any():
                    unwritten = slot
        return (undefined, origins, unwritten) if undefined.any() else None

    def shadow(self, gang: Gang, slot: int) -> Array:
        found = self.of(gang).shadows.get(slot)
        return np.zeros(gang.shape, self._widths[slot]) if found is None else found

    def width(self, slot: int) -> np.dtype[Any]:
        return self._widths[slot]

    def run(
        self,
        gang: Gang,
        lanes: Lanes,
        step: Step,
        replaced: Mapping[int, Array],
        results: Iterable[int],
        memory: bool = False,
    ) -> dict[int, Array] | None:
        """What a step makes of shadows in the place of some registers, and of shared memory if `memory`.

        `None` if its threads have to wait.
        """
        machine, registers = gang.machine, gang.registers
        gang.registers = list(registers)
        for slot in results:
            gang.registers[slot] = np.zeros(gang.shape, self._widths[slot])
        for slot, shadow in replaced.items():
            gang.registers[slot] = shadow
        watch, machine.watch = machine.watch, _NOBODY
        collect, machine.collect = machine.collect, _told_already
        region = self._exchange(self._regions) if memory else None
        try:
            waiting = step(gang, lanes)
            return None if waiting is not None else {slot: gang.registers[slot] for slot in results}
        finally:
            if region is not None:
                self._exchange(region)
            machine.watch, machine.collect = watch, collect
            gang.registers = registers

    def _exchange(self, regions: tuple[Region, Region | None]) -> tuple[Region, Region | None]:
        """Shared memory and, if it has a heap, that of the module for these; what they were."""
        memory, (shared, module) = self._machine.memory, regions
        return memory.exchange_shared(shared), module and memory.exchange_module(module)

    # Memory.

    def in_module(self, addresses: Array) -> Array:
        """The places, as of shared memory, of addresses of the module's memory."""
        return (addresses.astype(np.int64) & OFFSET_MASK) + self._module

    def allocated(self, address: int, size: int) -> None:
        """Nothing has written this memory of the heap."""
        place = int(self.in_module(np.array(address, np.uint64)))
        self.memory[place : place + size] = 0xFF
        self._stored_from[place // _WORD : (place + size) // _WORD] = 0

    def write(self, places: Array, size: int) -> None:
        """Something defined is written to shared memory, `size` bytes at each of these places (flat)."""
        self.memory[places[:, None] + np.arange(size)] = 0

    def copied(self, places: Array, size: int) -> None:
        """An asynchronous operation reads shared memory: it uses the undefined values that were stored there."""
        if not self._stored_from.any():
            return
        bytes_ = places[:, None] + np.arange(size)
        found = self._stored_from[bytes_ // _WORD]
        for number in np.unique(found[(self.memory[bytes_] != 0) & (found > 0)]).tolist():
            for origin in self._origins.of(number):
                self._add(origin, origin.gang, origin.mask)

    def begin(self, gang: Gang, lanes: Lanes) -> None:
        """These threads are about to execute a load or store."""
        values = self.of(gang)
        values.lanes = lanes
        values.loaded = values.loaded_from = values.stored = values.local = None

    def load(
        self, gang: Gang, mask: Mask, operation: Operation, step: Step, results: Iterable[int], places: Array, size: int
    ) -> None:
        """In the midst of a load from shared memory: what of it is undefined is there for `loaded`."""
        values = self.of(gang)
        chosen = places[mask]
        missing = self.memory[chosen[:, None] + np.arange(size)].any(axis=1)
        if values.lanes is None or not missing.any():
            return
        here = gang.mask(mask, missing)
        number = self._origins.number(self._read(operation, gang, here, places))
        before = np.zeros(gang.shape, np.int32)
        before[mask] = self._stored_from[chosen[:, None] // _WORD + np.arange(-(-size // _WORD))].max(axis=1)
        together = operation.form.operation in ("ldmatrix", "wmma.load")
        lanes = values.lanes if together else values.lanes.only(here)
        values.loaded = self.run(gang, lanes, step, {}, results, memory=True)
        found = np.where(before > 0, before, number)
        values.loaded_from = np.full(gang.shape, found[here].max(), np.int32) if together else found

    def _read(self, operation: Operation, gang: Gang, mask: Mask, places: Array) -> Origin:
        """A read of memory as an origin."""
        if (places[mask] < self._module).all():
            text, address = wording.uninitialised("shared", None), self._describer("shared", places)
            return Origin("uninitialised-shared", operation, text, gang, mask, address)
        text = wording.uninitialised("the heap's", None)
        address = self._describer("global", places - self._module | MODULE_APERTURE)
        return Origin("uninitialised-heap", operation, text, gang, mask, address)

    def load_local(
        self, gang: Gang, mask: Mask, operation: Operation, results: Iterable[int], addresses: Array
    ) -> None:
        """In the midst of a load from local memory, of which these threads have not written all."""
        values = self.of(gang)
        text = self._of_fragment(operation, accumulates=False) or wording.uninitialised("local", None)
        address = self._describer("local", addresses)
        number = self._origins.number(Origin("uninitialised-register", operation, text, gang, mask, address))
        values.loaded = {slot: ones_where(mask, self._widths[slot]) for slot in results}
        values.loaded_from = np.full(gang.shape, number, np.int32)

    def _describer(self, space: Space, places: Array) -> Callable[[int, int], str]:
        describe = self._describe
        return lambda row, lane: describe(space, int(places[row, lane]))

    def loaded(self, gang: Gang, lanes: Lanes, results: Iterable[int]) -> None:
        """A load has been executed."""
        values = self.of(gang)
        for slot in results:
            shadow = None if values.loaded is None else values.loaded[slot]
            self.assign(gang, slot, lanes.mask, shadow, values.loaded_from)
        values.lanes = None

    def storing(self, gang: Gang, mask: Mask, places: Array, size: int) -> None:
        """In the midst of a store: some threads store at these places."""
        values = self.of(gang)
        if values.stored is not None:
            before, elsewhere, _ = values.stored
            mask, places = mask | before, np.where(mask, places, elsewhere)
        values.stored = mask, places, size

    def stored(
        self,
        gang: Gang,
        lanes: Lanes,
        operation: Operation,
        step: Step,
        slots: Iterable[int],
        every: Iterable[int],
        low: int,
    ) -> None:
        """A store has been executed: values that went to shared memory are undefined there, others are used.

        Of its values' registers `slots` may be undefined; so many low bits of each are stored.
        """
        values = self.of(gang)
        stored, local, values.lanes = values.stored, values.local, None
        inside = stored[0] if stored is not None else np.zeros(gang.shape, np.bool_)
        if local is not None:
            inside = inside | local[0]
            if (found := self.sources(gang, slots, local[0], low)) is not None:
                self._forget(gang, Lanes(found[0]), *local[1:])
        self.used(gang, slots, lanes.mask & ~inside, operation, low)
        found = None if stored is None else self.sources(gang, slots, stored[0], low)
        if stored is None or found is None:
            return
        mask, origins, slot = found
        # What others store elsewhere is no shadow's place.
        there = lanes.only(stored[0]) if operation.form.opcode == "st" else lanes
        self.run(gang, there, step, {slot: self.shadow(gang, slot) for slot in every}, (), memory=True)
        if not origins[mask].all():
            origins = np.where(origins > 0, origins, self._origins.number(self.unwritten(operation, slot, gang, mask)))
        _, places, size = stored
        words = places[mask][:, None] // _WORD + np.arange(-(-size // _WORD))
        self._stored_from[words] = origins[mask][:, None]

    # Uses and results.

    def computed(
        self,
        gang: Gang,
        lanes: Lanes,
        operation: Operation,
        slots: Iterable[int],
        results: Mapping[int, Array | None],
        of_warp: bool,
    ) -> None:
        """Results of an instruction with these operands: their shadows, `None` for all bits where an operand has one.

        `of_warp` are those of which any thread's operands decide on any other's result.
        """
        found = self.sources(gang, slots, lanes.mask)
        if found is not None and (of_warp or operation.form.opcode in ("shfl", "movmatrix")):
            mask, origins, slot = found
            rows = mask.any(axis=1, keepdims=True)
            found = (
                np.broadcast_to(rows, gang.shape),
                np.broadcast_to(origins.max(axis=1, keepdims=True), gang.shape),
                slot,
            )
        for slot, shadow in results.items():
            if found is None or (shadow is not None and not shadow.any()):
                self.assign(gang, slot, lanes.mask, None, None)
                continue
            undefined, origins, unwritten = found
            if not origins[undefined].all() and operation.form.opcode not in MOVES:
                number = self._origins.number(self.unwritten(operation, unwritten, gang, undefined))
                origins = np.where(origins > 0, origins, number)
            if shadow is None:
                shadow = ones_where(undefined, self._widths[slot])
            self.assign(gang, slot, lanes.mask, shadow, origins)

    def made(self, gang: Gang, mask: Mask, slots: Iterable[int], origin: Origin) -> None:
        """An instruction is about to make something undefined for these threads."""
        origins = np.full(gang.shape, self._origins.number(origin), np.int32)
        for slot in slots:
            self.assign(gang, slot, mask, ones_where(mask, self._widths[slot]), origins)

    def used(self, gang: Gang, slots: Iterable[int], mask: Mask, operation: Operation, low: int = 64) -> None:
        """Threads make use of the values of registers, of so many low bits of each."""
        found = self.sources(gang, slots, mask, low)
        if found is None:
            return
        undefined, origins, unwritten = found
        for number in np.unique(origins[undefined]).tolist():
            self._report(gang, undefined & (origins == number), operation, number, unwritten)

    def unwritten(self, operation: Operation, slot: int, gang: Gang, mask: Mask) -> Origin:
        """A register as an origin."""
        text = self._of_fragment(operation, is_accumulator(operation, slot))
        if text is None and operation.instruction.location is None:
            text = f"uses the register {self._names[slot]}, which nothing has written"
        text = text or "uses a register that nothing has written"
        return Origin("uninitialised-register", operation, text, gang, mask)

    def _of_fragment(self, operation: Operation, accumulates: bool) -> str | None:
        """That nothing has written the fragments of an operation's line; `None` where it has none."""
        fragments = self._machine.memory.names.fragments(operation.instruction.location, accumulates)
        if not fragments:
            return None
        made = ", ".join(dict.fromkeys(each.location or "?" for each in fragments))
        return (
            f"uses {listed([each.name for each in fragments], 'or')}, which nothing has written\n"
            f"write all of it, made at {made}, on all ways to here; an accumulator starts with "
            f"{fragments[0].name}.fill(0), or with a multiplication that does not accumulate"
        )

    def _report(self, gang: Gang, mask: Mask, operation: Operation, number: int, slot: int) -> None:
        for origin in self._origins.of(number) or (self.unwritten(operation, slot, gang, mask),):
            self._add(origin, gang, mask)

    def _add(self, origin: Origin, gang: Gang, mask: Mask) -> None:
        machine = self._machine

        def make() -> Finding:
            both = mask & origin.mask if origin.gang is gang else origin.mask
            read = both if both.any() else origin.mask
            return machine.finding(origin.kind, origin.text, origin.operation, origin.gang, read, origin.address)

        index, threads = self._told.setdefault(origin.place, (origin.operation.index, set()))
        before = len(threads)
        threads.update(gang.agents[mask].tolist())
        self._reports.add(origin.kind, index, -1, len(threads) - before, make, instruction=origin.operation.index)


def listed(names: list[str], last: str) -> str:
    """`a, b or c`."""
    names = list(dict.fromkeys(names))
    return f"{', '.join(names[:-1])} {last} {names[-1]}" if len(names) > 1 else names[0]


def _told_already(finding: Finding) -> None:
    """What the step finds it finds on values too."""


def ones(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    """All bits set."""
    return np.full(shape, True if dtype.kind == "b" else np.iinfo(dtype).max, dtype)


def ones_where(mask: Mask, dtype: np.dtype[Any]) -> Array:
    """All bits set where the mask is, none elsewhere."""
    return np.where(mask, ones((), dtype), np.zeros((), dtype))
