"""Global memory that a launch may touch: the tensors and pointers it was given."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from cutecc.arguments.arrays import Array as ArrayLayout
from cutecc.arguments.dtypes import NumericType, find_numeric_type
from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.elements import Elements, describe_bytes
from cutecc.emulator.memory.region import Region
from cutecc.errors import ArgumentError, EmulatorError


@dataclass(frozen=True, slots=True, eq=False)
class Allocation:
    """One tensor's memory, from its first byte to its last, gaps between rows included."""

    base: int
    """The address that the kernel knows its first byte by."""
    data: Array
    """Its bytes, `uint8`: the caller's memory, or a copy that stands for it."""
    name: str
    describe: Callable[[int], str]
    """What is at so many bytes from the base, also outside: `a[3, 17]`, `a + 40 bytes, 8 past its end`."""
    owner: Any = field(default=None, repr=False)
    """Kept alive as long as the allocation is."""

    @property
    def size(self) -> int:
        """Bytes."""
        return int(self.data.size)

    @property
    def end(self) -> int:
        """The address behind the last byte."""
        return self.base + self.size


def elements_of(allocation: Allocation) -> Elements | None:
    """Where the elements of a tensor's allocation are; `None` for what is behind a bare pointer."""
    owner = getattr(allocation.describe, "__self__", None)
    return owner if isinstance(owner, Elements) else None


def bits_in_memory(dtype: NumericType) -> int:
    """Of one element: of `bool`, which is one bit wide, it is a byte."""
    return max(8, dtype.width) if dtype.kind == "bool" else dtype.width


def tensor_allocation(array: ArrayLayout, name: str) -> Allocation:
    """The memory of a tensor in this process.

    Raises `EmulatorError` for an element type that CuTe does not have, and for memory that is not the CPU's.
    """
    dtype = find_numeric_type(array.dtype)
    if dtype is None:
        raise EmulatorError(f"argument '{name}' has elements of type {array.dtype}, which CuTe does not have")
    if array.device != "cpu":
        raise EmulatorError(
            f"argument '{name}' lies on {array.place}; the emulator uses the memory of the CPU",
            hints=["pass a copy: tensor.cpu()"],
        )
    elements = Elements(name, array.shape, array.stride, bits_in_memory(dtype))
    low, high = elements.extent
    base = array.address + low
    return Allocation(base, memory_at(base, high - low), name, elements.describe)


def pointer_allocation(address: int, name: str, size: int) -> Allocation:
    """The `size` bytes behind a bare pointer, as somebody has said that there are.

    Raises `ArgumentError` when some of them are no memory of this process, which is more often a GPU's.
    """
    describe = partial(describe_bytes, name, size)
    writable = True
    reach = address
    for start, stop, permissions in _memory_map() if size else ():
        if start <= reach < stop and reach < address + size and "r" in permissions:
            reach, writable = stop, writable and "w" in permissions
    if reach < address + size:
        whole = "" if reach == address else f" with {size:,} bytes behind it"
        raise ArgumentError(
            f"argument '{name}' is the address 0x{address:x}{whole}; at 0x{reach:x} this process has no memory",
            hints=["the emulator runs on the CPU: pass a pointer to its memory, or a tensor"],
        )
    data = memory_at(address, size)
    data.flags.writeable = writable
    return Allocation(address, data, name, describe)


def memory_at(address: int, size: int) -> Array:
    """Bytes of this process, as they are: nothing is copied."""
    if not size:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_ubyte * size).from_address(address))


def _memory_map() -> list[tuple[int, int, str]]:
    """First address, the one behind the last, and permissions, of all that the process has mapped."""
    found: list[tuple[int, int, str]] = []
    try:
        with open("/proc/self/maps") as maps:
            for line in maps:
                span, permissions, *_ = line.split()
                start, _, stop = span.partition("-")
                found.append((int(start, 16), int(stop, 16), permissions))
    except OSError as error:
        raise EmulatorError(
            f"cannot find out what memory this process has: {error}",
            hints=["pass a tensor instead of a pointer: it says how large it is"],
        ) from None
    return found


def merged(allocations: Sequence[Allocation]) -> list[Region]:
    """Regions by ascending base: allocations that overlap are one.

    Tensors may share memory: one passed twice, views of one another. An access is in bounds when it lies in any of
    them. Raises `EmulatorError` for allocations that overlap by their addresses but not in memory.
    """
    regions: list[Region] = []
    group: list[Allocation] = []
    stop = 0
    for each in sorted((each for each in allocations if each.size), key=lambda each: (each.base, -each.size)):
        if group and each.base >= stop:
            regions.append(_union(group))
            group = []
        group.append(each)
        stop = max(stop, each.end) if len(group) > 1 else each.end
    if group:
        regions.append(_union(group))
    return regions


def _union(group: Sequence[Allocation]) -> Region:
    first = group[0]
    stop = max(each.end for each in group)
    shift = first.data.ctypes.data - first.base
    for each in group:
        if each.data.ctypes.data - each.base != shift:
            raise EmulatorError(f"arguments '{first.name}' and '{each.name}' share addresses, but not memory")
    writable = _are_writable(group, stop)
    data = first.data
    if stop != first.end or data.flags.writeable != writable:
        data = memory_at(first.data.ctypes.data, stop - first.base)
        data.flags.writeable = writable
    return Region(first.base, data)


def _are_writable(group: Sequence[Allocation], stop: int) -> bool:
    """Whether every byte up to `stop` is one of an allocation that is writable; the same memory may be passed twice."""
    reach = group[0].base
    for each in group:
        if each.data.flags.writeable and each.base <= reach:
            reach = max(reach, each.end)
    return reach >= stop
