"""All memory of one machine: every access of a thread goes through `Memory`, which checks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array, Lanes, Mask
from cutecc.emulator.memory.allocations import Allocation
from cutecc.emulator.memory.conflicts import Update, apply_update
from cutecc.emulator.memory.global_memory import GlobalMemory
from cutecc.emulator.memory.region import Region, value_dtype
from cutecc.emulator.memory.spaces import (
    APERTURE_SHIFT,
    CLUSTER_OFFSET_MASK,
    CLUSTER_SHIFT,
    MODULE_APERTURE,
    OFFSET_MASK,
    SHARED_ADDRESS_MASK,
    SHARED_APERTURE,
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
}


class ProgramMemory(Protocol):
    """What memory needs to know of a program."""

    @property
    def module_image(self) -> bytes:
        """Initial bytes of the module's variables, at their `MODULE_APERTURE` offsets."""
        ...

    @property
    def shared_bytes(self) -> int:
        """Static shared memory of a block."""
        ...

    @property
    def local_bytes(self) -> int:
        """Of a thread."""
        ...


class Part(NamedTuple):
    """Threads whose addresses lie in one region."""

    region: Region
    mask: Mask | None
    """`None` for all lanes of the gang."""
    offsets: Array
    """`int64`, from the region's base: of shape `(warps, 32)` without a mask, else flat, one for each thread in it."""


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
        program: ProgramMemory,
        shape: Shape,
        slots: int,
        parameters: bytes,
        allocations: Sequence[Allocation],
    ) -> None:
        """`slots` is how many blocks are resident; `parameters` the block of kernel parameters."""
        self.shared_bytes = max(shape.shared_bytes, program.shared_bytes + shape.dynamic_shared_bytes)
        """Of a block: what an access may lie in."""
        self.shared_stride = max(1, -(-self.shared_bytes // _WINDOW_ALIGNMENT)) * _WINDOW_ALIGNMENT
        """Bytes from a block's window in `shared` to the next one's."""
        self.shared: Array = _aligned(slots * self.shared_stride)
        """All blocks' windows, `uint8`."""
        self.local_bytes = program.local_bytes
        self.local_stride = -(-self.local_bytes // _LOCAL_ALIGNMENT) * _LOCAL_ALIGNMENT
        self._global = GlobalMemory(allocations)
        self._shared = Region(0, self.shared)
        threads = -(-shape.threads // WARP) * WARP
        self._local = Region(0, _aligned(slots * threads * self.local_stride))
        self._param = Region(0, _read_only(parameters))
        self._module = Region(0, _copied(program.module_image))
        self._last: dict[Operation, Region] = {}
        """The region of global memory that an instruction accessed last."""
        self._cluster_slots: WeakKeyDictionary[Gang, Array] = WeakKeyDictionary()

    @property
    def allocations(self) -> list[Allocation]:
        """What the launch was given, in its order."""
        return self._global.allocations

    # Accesses of threads.

    def load(
        self, operation: Operation, gang: Gang, lanes: Lanes, space: str, addresses: Array, size: int, count: int = 1
    ) -> list[Array]:
        """`count` values of `size` bytes from each thread's address; zeros for threads that are left out.

        Shape `(warps, 32)`, unsigned. An address that is outside of all memory, or not a multiple of `size * count`, is
        a fault of the machine.
        """
        parts = self.locate(operation, gang, lanes, space, addresses, size * count, "read")
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
        result = np.zeros(gang.shape, f"u{size}")
        for region, mask, offsets in self.locate(
            operation, gang, lanes, space, addresses, size, "atomic", alignment=alignment
        ):
            threads = np.arange(result.size) if mask is None else np.flatnonzero(mask)
            old = apply_update(region, offsets.reshape(-1), threads, function, size)
            result.reshape(-1)[threads] = old
        return result

    # For operations that do not happen when they are started, and those on whole tiles.

    @staticmethod
    def fetch(parts: Sequence[Part], shape: tuple[int, ...], size: int, count: int) -> list[Array]:
        """`count` values of `size` bytes from where `locate` found them, as arrays of a shape; zeros elsewhere.

        Values of 16 bytes are arrays of `complex128`, which has the size if not the meaning.
        """
        if len(parts) == 1 and parts[0].mask is None:
            region, _, offsets = parts[0]
            return region.gather(offsets, size, count)
        results: list[Array] = [np.zeros(shape, value_dtype(size)) for _ in range(count)]
        for region, mask, offsets in parts:
            for result, values in zip(results, region.gather(offsets, size, count), strict=True):
                result[... if mask is None else mask] = values
        return results

    @staticmethod
    def put(parts: Sequence[Part], size: int, values: Sequence[Array]) -> None:
        """The counterpart of `fetch`; values may also be scalars."""
        for region, mask, offsets in parts:
            region.scatter(offsets, size, values if mask is None else [_chosen(each, mask) for each in values])

    def window(self, slot: int) -> Array:
        """The shared memory of the block in a slot, `uint8`."""
        start = slot * self.shared_stride
        return self.shared[start : start + self.shared_bytes]

    def shared_index(self, gang: Gang, lanes: Lanes, addresses: Array) -> Array:
        """Where in `shared` each thread's address is, `int64`, whatever window it is written for: the own block's, a
        block's of the cluster, or generic. -1 where it lies in no block's shared memory; bounds of what starts there
        are the caller's to check."""
        offsets = (addresses.astype(np.uint64) & np.uint64(SHARED_ADDRESS_MASK)).view(np.int64)
        index, inside = self._window_index(gang, np.broadcast_to(offsets, gang.shape), 1)
        return np.where(inside, index, -1)

    def global_view(self, address: int, size: int) -> tuple[Allocation, int] | None:
        """The allocation that holds `size` bytes at an address of global memory, and the offset in it."""
        return self._global.view(address, size)

    def keys(self, gang: Gang, space: str, addresses: Array) -> Array:
        """Addresses as all blocks agree on them, `uint64`: for what the threads of several blocks synchronise by."""
        tops = addresses >> np.uint64(APERTURE_SHIFT)
        space = base_space(space)
        shared = np.broadcast_to(space == "shared", gang.shape) if space != "generic" else tops == 1
        if not shared.any():
            return addresses
        offsets = (addresses & np.uint64(SHARED_ADDRESS_MASK)).view(np.int64)
        index, _ = self._window_index(gang, np.where(shared, offsets, 0), 1)
        return np.where(shared, index.astype(np.uint64) | np.uint64(SHARED_APERTURE), addresses)

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
        offset = address & OFFSET_MASK
        if space == "shared":
            offset &= SHARED_ADDRESS_MASK
            rank = offset >> CLUSTER_SHIFT
            if rank:
                return f"shared+{offset & CLUSTER_OFFSET_MASK} of the cluster's block {rank - 1}"
        return f"{space}+{offset}"

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
        mask = lanes.mask
        whole = np.count_nonzero(mask) == mask.size
        active = addresses if whole else addresses[mask]
        bits = int(np.bitwise_or.reduce(active, axis=None))
        alignment = alignment or size
        if bits & (alignment - 1):
            wrong = mask & ((addresses & np.uint64(alignment - 1)) != 0)
            text = f"{_DOES[kind]} {size} bytes at an address that is not a multiple of {alignment}"
            self._fault("misaligned", text, operation, gang, wrong, space, addresses)
            lanes = lanes.only(~wrong)
            if not lanes.any():
                return []
            return self.locate(operation, gang, lanes, space, addresses, size, kind, alignment=alignment, tell=tell)
        request = _Request(operation, gang, space, addresses, size, kind, tell and gang.machine.watch.listens)
        space = base_space(space)
        if space in ("generic", "global"):
            if bits >> APERTURE_SHIFT:
                return self._generic(request, lanes)
            return self._in_global(request, lanes, active, whole)
        return self._in_window(request, lanes, "module" if space == "const" else space, whole)

    def _generic(self, request: _Request, lanes: Lanes) -> list[Part]:
        """Some addresses are not of global memory."""
        tops = request.addresses >> np.uint64(APERTURE_SHIFT)
        parts: list[Part] = []
        for top in np.unique(tops[lanes.mask]):
            chosen = lanes.only(tops == top)
            whole = np.count_nonzero(chosen.mask) == chosen.mask.size
            space = SPACE_OF_TOP.get(int(top), "global")
            if space == "global":
                active = request.addresses if whole else request.addresses[chosen.mask]
                parts += self._in_global(request, chosen, active, whole)
            else:
                parts += self._in_window(request, chosen, space, whole)
        return parts

    def _in_global(self, request: _Request, lanes: Lanes, active: Array, whole: bool) -> list[Part]:
        """`active` are the addresses of these threads."""
        operation, gang, _, addresses, size, kind, tell = request
        region = self._last.get(operation)
        if region is not None:
            # Addresses below the base become huge.
            offsets = active - np.uint64(region.base)
            if int(offsets.max()) + size <= region.size:
                if tell:
                    gang.machine.watch.access(gang, lanes, operation, kind, "global", addresses, size)
                return [Part(region, None if whole else lanes.mask, offsets.view(np.int64))]
        numbers, offsets = self._global.find(active.reshape(-1), size)
        found = [int(number) for number in np.unique(numbers)]
        regions = self._global.regions
        wrong, text = None, ""
        if found[0] < 0:
            wrong, text = numbers < 0, f"{_DOES[kind]} {size} bytes {_WHERE['global']}"
        elif kind != "read" and not all(regions[number].writable for number in found):
            read_only = np.array([not region.writable for region in regions])
            wrong, text = read_only[numbers], f"{_DOES[kind]} memory that is read-only"
        if wrong is not None:
            mask = _placed(lanes.mask, wrong)
            self._fault("out-of-bounds", text, operation, gang, mask, "global", addresses)
            lanes = lanes.only(~mask)
            return self._in_global(request, lanes, addresses[lanes.mask], False) if lanes.any() else []
        if tell:
            gang.machine.watch.access(gang, lanes, operation, kind, "global", addresses, size)
        if len(found) == 1:
            self._last[operation] = region = regions[found[0]]
            return [Part(region, None if whole else lanes.mask, offsets.reshape(active.shape))]
        return [
            Part(regions[number], _placed(lanes.mask, numbers == number), offsets[numbers == number])
            for number in found
        ]

    def _in_window(self, request: _Request, lanes: Lanes, space: str, whole: bool) -> list[Part]:
        """Addresses that are offsets, with or without the aperture of their window."""
        operation, gang, _, addresses, size, kind, tell = request
        mask = lanes.mask
        region, limit = self._window(space)
        if space == "shared":
            offsets = (addresses & np.uint64(SHARED_ADDRESS_MASK)).view(np.int64)
            index, inside = self._window_index(gang, offsets, size)
        else:
            offsets = (addresses & np.uint64(OFFSET_MASK)).view(np.int64)
            index = offsets + gang.agents * self.local_stride if space == "local" else offsets
            inside = offsets <= limit - size
        if not inside.all():
            right = inside & mask
            if np.count_nonzero(right) != np.count_nonzero(mask):
                text = f"{_DOES[kind]} {size} bytes {_WHERE[space]}"
                self._fault("out-of-bounds", text, operation, gang, mask & ~inside, space, addresses)
                lanes, mask, whole = Lanes(right), right, False
                if not right.any():
                    return []
        if kind != "read" and not region.writable:
            self._fault("out-of-bounds", f"{_DOES[kind]} a kernel parameter", operation, gang, mask, space, addresses)
            return []
        if tell and space != "param":  # parameters never change
            watch = gang.machine.watch
            if space == "module":
                watch.access(gang, lanes, operation, kind, "global", offsets | MODULE_APERTURE, size)
            elif space == "shared":
                watch.access(gang, lanes, operation, kind, "shared", index, size)
            else:
                watch.access(gang, lanes, operation, kind, "local", offsets, size)
        return [Part(region, None, index) if whole else Part(region, mask, index[mask])]

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

    def _window_index(self, gang: Gang, offsets: Array, size: int) -> tuple[Array, Mask]:
        """Offsets of shared memory as places in `shared`, and which lie inside of a block's."""
        inside = offsets <= self.shared_bytes - size
        slots = gang.block_slots
        if not inside.all():
            table = self._slots_of_cluster(gang)
            ranks = offsets >> CLUSTER_SHIFT
            known = ranks <= table.shape[1] - 1
            slots = np.take_along_axis(table, np.where(known, ranks, 0), axis=1)
            offsets = offsets & CLUSTER_OFFSET_MASK
            inside = (offsets <= self.shared_bytes - size) & known & (slots >= 0)
        return offsets + slots * self.shared_stride, inside

    def _slots_of_cluster(self, gang: Gang) -> Array:
        """Of each warp: its own block's slot, then those of its cluster's blocks by rank; -1 where there is none."""
        table = self._cluster_slots.get(gang)
        if table is None:
            ranks = max(len(block.cluster.blocks) for block in gang.blocks)
            table = np.full((gang.warps, 1 + ranks), -1)
            for row, block in enumerate(gang.blocks):
                slots = [each.slot for each in block.cluster.blocks]
                table[row, : 1 + len(slots)] = [block.slot, *slots]
            self._cluster_slots[gang] = table
        return table

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
        def address(row: int, lane: int) -> str:
            return self.describe(space, int(addresses[row, lane]))

        gang.machine.fault(kind, text, operation, gang, mask, address)


def _placed(mask: Mask, flat: Array) -> Mask:
    """What holds of the threads of a mask, one after another, as a mask."""
    placed = np.zeros(mask.shape, np.bool_)
    placed[mask] = flat
    return placed


def _aligned(size: int) -> Array:
    """Zeros at an address that is a multiple of 1024."""
    data = np.zeros(size + _WINDOW_ALIGNMENT, np.uint8)
    start = -data.ctypes.data % _WINDOW_ALIGNMENT
    return data[start : start + size]


def _copied(data: bytes) -> Array:
    copy = _aligned(len(data))
    copy[:] = np.frombuffer(data, np.uint8)
    return copy


def _read_only(data: bytes) -> Array:
    copy = _copied(data)
    copy.flags.writeable = False
    return copy


def _chosen(value: Array, mask: Mask) -> Array:
    """Of these threads; a scalar is the same for all."""
    return value[mask] if value.shape else value
