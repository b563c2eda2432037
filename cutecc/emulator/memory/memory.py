"""All memory of one machine: every access of a thread goes through `Memory`, which checks it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.emulator.machine.program import Program, reserved_shared_bytes
from cutecc.emulator.memory.allocations import Allocation
from cutecc.emulator.memory.conflicts import Update, apply_update
from cutecc.emulator.memory.global_memory import GlobalMemory
from cutecc.emulator.memory.heap import Heap
from cutecc.emulator.memory.names import Names
from cutecc.emulator.memory.poison import SharedStart, poison
from cutecc.emulator.memory.region import Region, value_dtype
from cutecc.emulator.memory.shared_windows import SharedWindows
from cutecc.emulator.memory.spaces import (
    APERTURE_SHIFT,
    MODULE_APERTURE,
    OFFSET_MASK,
    SHARED_ADDRESS_MASK,
    SPACE_OF_TOP,
    base_space,
)

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.machine import Shape
    from cutecc.emulator.machine.watch import AccessKind

_WINDOW_ALIGNMENT = 1024
"""Bytes: of each block's shared memory, as swizzled layouts need it."""
_LOCAL_ALIGNMENT = 32
_DOES: dict[AccessKind, str] = {"read": "reads", "write": "writes", "atomic": "updates"}
_WHERE = {
    "global": "outside of all memory that the kernel was given",
    "shared": "outside of the block's shared memory",
    "local": "outside of the thread's local memory",
    "param": "outside of the kernel's parameters",
    "module": "outside of the module's variables",
    "const": "outside of the module's variables",
}


class Part(NamedTuple):
    """Threads whose addresses lie in one region."""

    region: Region
    threads: Array | None
    """Their places in arrays `(warps, 32)` made flat, ascending; `None` for all lanes of the gang."""
    offsets: Array
    """`int64`, from the region's base: of shape `(warps, 32)` for all lanes, else flat, one for each thread."""


class _Request(NamedTuple):
    """An access of some threads."""

    operation: Operation
    gang: Gang
    space: str
    addresses: Array
    size: int
    """Bytes a thread."""
    kind: AccessKind
    tell: bool
    """Whether `watch` is to be told."""


class Memory:
    """The memory that the resident blocks of a launch see."""

    def __init__(
        self,
        program: Program,
        shape: Shape,
        slots: int,
        parameters: bytes,
        allocations: Sequence[Allocation],
        module: Array,
        names: Names = Names(),
        shared_start: SharedStart = "poison",
    ) -> None:
        """`slots` is how many blocks are resident; `parameters` the block of kernel parameters.

        `module` is the bytes of the module's variables, at their `MODULE_APERTURE` offsets; `names` are for messages.
        Of shared memory `shared_start` says how it begins; local memory is poisoned.
        """
        self.names = names
        self.shared_bytes = max(shape.shared_bytes, program.shared_bytes + shape.dynamic_shared_bytes)
        """Of a block: what an access may lie in."""
        self.shared_stride = max(1, -(-self.shared_bytes // _WINDOW_ALIGNMENT)) * _WINDOW_ALIGNMENT
        """Bytes from a block's window in `shared` to the next one's."""
        self.shared: Array = _aligned(slots * self.shared_stride)
        """All blocks' windows, `uint8`."""
        if shared_start == "poison":
            poison(self.shared)
        reserved = reserved_shared_bytes(shape.target)
        self._windows = SharedWindows(self.shared_bytes, self.shared_stride, reserved, names, program.shared_bytes)
        self.local_bytes = program.local_bytes
        self.local_stride = -(-self.local_bytes // _LOCAL_ALIGNMENT) * _LOCAL_ALIGNMENT
        self._global = GlobalMemory(allocations)
        self._shared = Region(0, self.shared)
        threads = -(-shape.threads // WARP) * WARP
        local = _aligned(slots * threads * self.local_stride)
        poison(local)
        self._local = Region(0, local)
        self._param = Region(0, _read_only(parameters))
        self._module = Region(0, module)
        self.heap = None if program.heap is None else Heap(module, program.heap)
        """What kernels allocate, where this one may."""
        self._last: dict[Operation, Region] = {}
        """The region of global memory that an instruction accessed last."""

    @property
    def allocations(self) -> list[Allocation]:
        """What the launch was given, in its order."""
        return self._global.allocations

    # Accesses of threads.

    def load(
        self,
        operation: Operation,
        gang: Gang,
        lanes: Lanes,
        space: str,
        addresses: Array,
        size: int,
        count: int = 1,
        alignment: int = 0,
    ) -> list[Array]:
        """`count` values of `size` bytes from each thread's address; zeros for threads that are left out.

        Shape `(warps, 32)`, unsigned. An address that is outside of all memory, or not a multiple of the alignment,
        `size * count` unless given, is a fault of the machine.
        """
        parts = self.locate(operation, gang, lanes, space, addresses, size * count, "read", alignment=alignment)
        return self.fetch(parts, gang.shape, size, count)

    def store(
        self, operation: Operation, gang: Gang, lanes: Lanes, space: str, addresses: Array, values: Sequence[Array]
    ) -> None:
        """Writes the values, unsigned arrays of shape `(warps, 32)` or scalars, at consecutive addresses from each
        thread's on. Of threads that write the same bytes, the last one's stay."""
        size = values[0].dtype.itemsize
        parts = self.locate(operation, gang, lanes, space, addresses, size * len(values), "write")
        self.put(parts, size, values)

    def update(
        self,
        operation: Operation,
        gang: Gang,
        lanes: Lanes,
        space: str,
        addresses: Array,
        function: Update,
        size: int = 4,
        alignment: int = 0,
    ) -> Array:
        """Each thread replaces the value at its address by what `function` makes of it; returns the old values.

        `size` is 1, 2, 4 or 8 bytes, and so is the alignment unless one is given. Threads with the same address do so
        one after another, in the order of warps and lanes. `function` takes old values and the threads that they are
        for, flat: a thread's number is its place in arrays `(warps, 32)` made flat.
        """
        result = np.zeros(gang.warps * WARP, f"u{size}")
        for region, threads, offsets in self.locate(
            operation, gang, lanes, space, addresses, size, "atomic", alignment=alignment
        ):
            threads = np.arange(result.size) if threads is None else threads
            result[threads] = apply_update(region, offsets.reshape(-1), threads, function, size)
        return result.reshape(gang.shape)

    # For operations that do not happen when they are started, and those on whole tiles.

    @staticmethod
    def fetch(parts: Sequence[Part], shape: tuple[int, ...], size: int, count: int) -> list[Array]:
        """`count` values of `size` bytes from where `locate` found them, as arrays of a shape; zeros elsewhere.

        Values of 16 bytes are arrays of `complex128`, which has the size if not the meaning.
        """
        if len(parts) == 1 and parts[0].threads is None:
            region, _, offsets = parts[0]
            return region.gather(offsets, size, count)
        results: list[Array] = [np.zeros(shape, value_dtype(size)) for _ in range(count)]
        for region, threads, offsets in parts:
            for result, values in zip(results, region.gather(offsets, size, count), strict=True):
                result.reshape(-1)[slice(None) if threads is None else threads] = values.reshape(-1)
        return results

    @staticmethod
    def put(parts: Sequence[Part], size: int, values: Sequence[Array]) -> None:
        """The counterpart of `fetch`; values may also be scalars."""
        for region, threads, offsets in parts:
            region.scatter(offsets, size, values if threads is None else [_chosen(each, threads) for each in values])

    def window(self, slot: int) -> Array:
        """The shared memory of the block in a slot, `uint8`."""
        start = slot * self.shared_stride
        return self.shared[start : start + self.shared_bytes]

    def exchange_shared(self, region: Region) -> Region:
        """Loads and stores of shared memory go to another region of the same size; what they went to so far."""
        before, self._shared = self._shared, region
        return before

    def exchange_module(self, region: Region) -> Region:
        """The same of the module's variables and the heap."""
        before, self._module = self._module, region
        return before

    def shared_index(self, gang: Gang, lanes: Lanes, addresses: Array) -> Array:
        """Where in `shared` each thread's address is, `int64`, whatever window it is written for: the own block's, a
        block's of the cluster, or generic. -1 where it lies in no block's shared memory; bounds of what starts there
        are the caller's to check."""
        offsets = (addresses.astype(np.uint64) & np.uint64(SHARED_ADDRESS_MASK)).view(np.int64)
        index, inside = self._windows.index(gang, np.broadcast_to(offsets, gang.shape), 1)
        return np.where(inside, index, -1)

    def global_view(self, address: int, size: int) -> tuple[Allocation, int] | None:
        """The allocation that holds `size` bytes at an address of global memory, and the offset in it."""
        if address >> APERTURE_SHIFT == MODULE_APERTURE >> APERTURE_SHIFT:
            module, offset = self._module, address & OFFSET_MASK
            if offset + size > module.size:
                return None
            return Allocation(MODULE_APERTURE, module.data, "module", lambda offset: f"module+{offset}"), offset
        return self._global.view(address, size)

    # Words for messages.

    def describe(self, space: str, address: int) -> str:
        """An address in words: `a[3, 17]`, `a + 40 bytes, 8 past its end`, `shared+1040`."""
        space = base_space(space)
        if space == "const":
            space = "module"
        if space in ("generic", "global"):
            space = SPACE_OF_TOP.get(address >> APERTURE_SHIFT, "global")
        if space == "global":
            return self._global.describe(address)
        if space == "shared":
            return self._windows.describe(address)
        offset = address & OFFSET_MASK
        if space == "module" and self.heap is not None and self.heap.holds(offset):
            return self.heap.describe(offset)
        return f"{space}+{offset}"

    def describer(self, space: str, addresses: Array) -> Callable[[int, int], str]:
        """What describes the address of a thread by its row and lane."""
        return lambda row, lane: self.describe(space, int(addresses[row, lane]))

    # Finding what addresses mean.

    def locate(
        self,
        operation: Operation,
        gang: Gang,
        lanes: Lanes,
        space: str,
        addresses: Array,
        size: int,
        kind: AccessKind,
        *,
        alignment: int = 0,
        tell: bool = True,
    ) -> list[Part]:
        """Where the bytes are that threads access, of those whose accesses are right; others are faults.

        `watch` is told of the accesses unless `tell` is off: then it is for the caller to do, when they happen.
        """
        alignment = alignment or size
        tell = tell and gang.machine.watch.listens
        threads = _threads(lanes.mask)
        active = addresses if threads is None else addresses.reshape(-1)[threads]
        region = self._last.get(operation)
        if region is not None:
            # Addresses below the start become huge.
            offsets = active - region.start
            bits = int(np.bitwise_or.reduce(offsets, axis=None))
            # The largest offset is not larger than all of them with their bits put together.
            if not (bits | region.lead) & (alignment - 1) and (
                bits + size <= region.size or int(offsets.max()) + size <= region.size
            ):
                if tell:
                    gang.machine.watch.access(gang, lanes, operation, kind, "global", addresses, size)
                if self._global.gaps and gang.machine.collect is not None:
                    self._report_gaps(_Request(operation, gang, space, addresses, size, kind, tell), lanes, region)
                return [Part(region, threads, offsets.view(np.int64))]
        bits = int(np.bitwise_or.reduce(active, axis=None))
        if bits & (alignment - 1):
            wrong = lanes.mask & ((addresses & np.uint64(alignment - 1)) != 0)
            text = f"{_DOES[kind]} {size} bytes at an address that is not a multiple of {alignment}"
            self._fault("misaligned", text, operation, gang, wrong, space, addresses)
            lanes = lanes.only(~wrong)
            if not lanes.any():
                return []
            return self.locate(operation, gang, lanes, space, addresses, size, kind, alignment=alignment, tell=tell)
        request = _Request(operation, gang, space, addresses, size, kind, tell)
        space = base_space(space)
        if space in ("generic", "global"):
            if bits >> APERTURE_SHIFT:
                return self._generic(request, lanes)
            return self._in_global(request, lanes, threads)
        return self._in_window(request, lanes, "module" if space == "const" else space, threads, bits)

    def _generic(self, request: _Request, lanes: Lanes) -> list[Part]:
        """Some addresses are not of global memory."""
        tops = request.addresses >> np.uint64(APERTURE_SHIFT)
        parts: list[Part] = []
        for top in np.unique(tops[lanes.mask]):
            chosen = lanes.only(tops == top)
            threads = _threads(chosen.mask)
            space = SPACE_OF_TOP.get(int(top), "global")
            if space == "global":
                parts += self._in_global(request, chosen, threads)
            else:
                parts += self._in_window(request, chosen, space, threads, -1)
        return parts

    def _in_global(self, request: _Request, lanes: Lanes, threads: Array | None) -> list[Part]:
        operation, gang, _, addresses, size, kind, tell = request
        active = addresses.reshape(-1) if threads is None else addresses.reshape(-1)[threads]
        numbers, offsets = self._global.find(active, size)
        # Mostly the same for all, which is found out sooner than what the distinct ones are.
        found = [int(numbers[0])] if bool((numbers == numbers[0]).all()) else np.unique(numbers).tolist()
        regions = self._global.regions
        wrong, text = None, ""
        if found[0] < 0:
            wrong, text = numbers < 0, f"{_DOES[kind]} {size} bytes {_WHERE['global']}"
        elif kind != "read" and not all(regions[number].writable for number in found):
            read_only = np.array([not region.writable for region in regions])
            wrong, text = read_only[numbers], f"{_DOES[kind]} memory that is read-only"
        if wrong is not None:
            mask = gang.mask(lanes.mask, wrong)
            self._fault("out-of-bounds", text, operation, gang, mask, "global", addresses)
            lanes = lanes.only(~mask)
            return self._in_global(request, lanes, _threads(lanes.mask)) if lanes.any() else []
        if tell:
            gang.machine.watch.access(gang, lanes, operation, kind, "global", addresses, size)
        if self._global.gaps and gang.machine.collect is not None:
            for number in found:
                self._report_gaps(request, lanes, regions[number])
        if len(found) == 1:
            self._last[operation] = region = regions[found[0]]
            return [Part(region, threads, offsets if threads is not None else offsets.reshape(gang.shape))]
        threads = np.arange(addresses.size) if threads is None else threads
        return [Part(regions[number], threads[numbers == number], offsets[numbers == number]) for number in found]

    def _in_window(self, request: _Request, lanes: Lanes, space: str, threads: Array | None, bits: int) -> list[Part]:
        """Addresses that are offsets, with or without the aperture of their window.

        `bits` are those of all addresses put together, of which none is larger; -1 when nobody knows.
        """
        operation, gang, _, addresses, size, kind, tell = request
        region, limit = self._window(space)
        plain = 0 <= bits <= limit - size
        offsets = addresses.view(np.int64)
        if space == "shared":
            if plain:
                index, inside = offsets + self._windows.starts(gang), None
            else:
                offsets = offsets & SHARED_ADDRESS_MASK
                index, inside = self._windows.index(gang, offsets, size)
        else:
            if not plain:
                offsets = offsets & OFFSET_MASK
            index = offsets + gang.agents * self.local_stride if space == "local" else offsets
            inside = None if plain else offsets <= limit - size
        if inside is not None and not inside.all():
            right = inside & lanes.mask
            if np.count_nonzero(right) != np.count_nonzero(lanes.mask):
                text = f"{_DOES[kind]} {size} bytes {_WHERE[space]}"
                self._fault("out-of-bounds", text, operation, gang, lanes.mask & ~inside, space, addresses)
                if not right.any():
                    return []
                lanes, threads = Lanes(right), np.flatnonzero(right)
        if kind != "read" and not region.writable:
            text = f"{_DOES[kind]} a kernel parameter"
            self._fault("out-of-bounds", text, operation, gang, lanes.mask, space, addresses)
            return []
        if gang.machine.collect is not None:
            self._report_in_window(request, lanes, space, index)
        if tell and space != "param":  # parameters never change
            watch = gang.machine.watch
            if space == "module":
                watch.access(gang, lanes, operation, kind, "global", offsets | MODULE_APERTURE, size)
            elif space == "shared":
                watch.access(gang, lanes, operation, kind, "shared", index, size)
            else:
                watch.access(gang, lanes, operation, kind, "local", offsets, size)
        return [Part(region, threads, index if threads is None else index.reshape(-1)[threads])]

    def _report_gaps(self, request: _Request, lanes: Lanes, region: Region) -> None:
        """Find accesses that hardware lets pass: to what strides leave between the elements of a tensor."""
        gaps = self._global.gaps.get(region)
        if gaps is None:
            return
        size = request.size
        offsets = (request.addresses - region.start).view(np.int64)
        wrong = lanes.mask & (offsets >= 0) & (offsets < region.size)
        wrong[wrong] = gaps.inside(offsets[wrong], size)
        if wrong.any():
            name = gaps.tensor_at(int(offsets.reshape(-1)[wrong.argmax()]))
            self._report(request, "global", wrong, f"{size} bytes between the elements of {name}")

    def _report_in_window(self, request: _Request, lanes: Lanes, space: str, index: Array) -> None:
        """Find accesses that hardware lets pass: to what is nobody's."""
        if space == "shared" and self._windows.reserved:
            self._report_reserved(request, lanes, index)
        if space == "module" and self.heap is not None:
            self._report_outside(request, lanes, self.heap.outside(index, request.size))

    def _report_reserved(self, request: _Request, lanes: Lanes, index: Array) -> None:
        """Find accesses to the start of a block's shared memory, which is the system's."""
        wrong = lanes.mask & (index % self.shared_stride < self._windows.reserved)
        if wrong.any():
            text = f"{request.size} bytes of the shared memory that is reserved for the system"
            self._report(request, "shared", wrong, text)

    def _report_outside(self, request: _Request, lanes: Lanes, outside: Mask) -> None:
        """Find accesses to the heap beside what is allocated there."""
        wrong = lanes.mask & outside
        if wrong.any():
            self._report(request, "module", wrong, f"{request.size} bytes of the heap that are not allocated")

    def _window(self, space: str) -> tuple[Region, int]:
        """Where a window's bytes are, and how many a thread may access."""
        match space:
            case "shared":
                return self._shared, self.shared_bytes
            case "local":
                return self._local, self.local_bytes
            case "param":
                return self._param, self._param.size
            case _:
                return self._module, self._module.size

    def _fault(
        self,
        kind: Literal["out-of-bounds", "misaligned"],
        text: str,
        operation: Operation,
        gang: Gang,
        mask: Mask,
        space: str,
        addresses: Array,
    ) -> None:
        gang.machine.fault(kind, text, operation, gang, mask, self.describer(space, addresses))

    def _report(self, request: _Request, space: str, wrong: Mask, what: str) -> None:
        machine, address = request.gang.machine, self.describer(space, request.addresses)
        text = f"{_DOES[request.kind]} {what}"
        machine.report(machine.finding("out-of-bounds", text, request.operation, request.gang, wrong, address))


def _threads(mask: Mask) -> Array | None:
    """Their places in a flat array; `None` when they are all."""
    return None if np.count_nonzero(mask) == mask.size else np.flatnonzero(mask)


def _aligned(size: int) -> Array:
    """Zeros at an address that is a multiple of 1024."""
    data = np.zeros(size + _WINDOW_ALIGNMENT, np.uint8)
    start = -data.ctypes.data % _WINDOW_ALIGNMENT
    return data[start : start + size]


def initialised(data: bytes) -> Array:
    """Memory with these bytes."""
    copy = _aligned(len(data))
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


def _read_only(data: bytes) -> Array:
    copy = initialised(data)
    copy.flags.writeable = False
    return copy


def _chosen(value: Array, threads: Array) -> Array:
    """Of these threads; a scalar is the same for all."""
    return value.reshape(-1)[threads] if value.shape else value
