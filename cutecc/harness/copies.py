"""Copies of a call's arrays, to make the same call on several devices and compare what it wrote."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import Array, read_array
from cutecc.arguments.dtypes import find_numeric_type
from cutecc.errors import ArgumentError, SpecError
from cutecc.harness.comparison import compare
from cutecc.harness.elements import Elements, elements_of
from cutecc.harness.on_device import DeviceArray
from cutecc.record import Workload
from cutecc.runtime.workspace import Workspace

_ALIGNMENT = 512
"""Bytes: a copy's address is, modulo so many, that of its array. Kernels may rely on alignment."""


class ArrayCopy:
    """A copy of an array, gaps between its rows included."""

    def __init__(self, name: str, value: Any, layout: Array) -> None:
        """Raises `ArgumentError` for an array of a GPU, or of a library whose arrays cannot be copied like this."""
        if layout.device != "cpu":
            raise ArgumentError(f"{name} lives on {layout.place}: the arrays of the call are copied from the CPU")
        dtype = find_numeric_type(layout.dtype)
        if dtype is None:
            raise ArgumentError(f"{name}: CuTe has no element type {layout.dtype}")
        self.name = name
        self.layout = layout
        self.elements: Elements = elements_of(dtype)
        bits = 8 if dtype.kind == "bool" else dtype.width
        reach = [(size - 1) * step for size, step in zip(layout.shape, layout.stride, strict=True)]
        empty = 0 in layout.shape
        low = 0 if empty else sum(min(0, each) for each in reach) * bits // 8
        high = 0 if empty else -(-(sum(max(0, each) for each in reach) + 1) * bits // 8)
        self._first = -low
        """Bytes before the first element."""
        self._memory = _aligned(high - low, (layout.address + low) % _ALIGNMENT)
        if not empty:
            ctypes.memmove(self._memory.ctypes.data, layout.address + low, high - low)
        self.value = self._view(value)
        """The copy as its library has it."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Elements in each mode."""
        return self.layout.shape

    @property
    def codes(self) -> Any:
        """The elements as memory holds them."""
        if self.elements.per_byte > 1:
            return self._memory
        size = self.elements.code.itemsize
        steps = tuple(step * size for step in self.layout.stride)
        return np.ndarray(self.shape, self.elements.code, self._memory.data, self._first, steps)

    def is_poison(self, codes: Any) -> Any:
        """Which elements nobody has written: none is known."""
        return np.zeros(codes.shape, "?")

    def upload(self, gpu: Workspace) -> tuple[DeviceArray, int]:
        """The same on a GPU, and where its allocation begins."""
        shift = self._memory.ctypes.data % _ALIGNMENT
        base = gpu.allocate(self._memory.size + _ALIGNMENT)
        gpu.upload(base + shift, self._memory)
        layout, first = self.layout, base + shift + self._first
        array = DeviceArray(layout.dtype, self.elements, layout.shape, layout.stride, first, gpu.ordinal)
        return array, base + shift

    def download(self, gpu: Workspace, address: int) -> None:
        """Take the bytes at an address of the GPU."""
        gpu.download(self._memory, address)

    def _view(self, value: Any) -> Any:
        if self.layout.library == "torch":
            torch = sys.modules["torch"]
            span = torch.frombuffer(self._memory.data, dtype=torch.uint8) if self._memory.size else None
            if span is None:
                return value.clone()
            return span.view(value.dtype).as_strided(tuple(value.shape), tuple(value.stride()))
        if isinstance(value, np.ndarray):
            dtype: np.dtype[Any] = cast("Any", value).dtype
            steps = tuple(step * dtype.itemsize for step in self.layout.stride)
            return np.ndarray(self.shape, dtype, self._memory.data, self._first, steps)
        raise ArgumentError(
            f"{self.name} is an array of {self.layout.library}", hints=["pass numpy's, or torch's on the CPU"]
        )


@dataclass(frozen=True)
class CallCopies:
    """The arguments of a call, each array a copy."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arrays: list[ArrayCopy]

    def run_on_gpu(self, kernel: Any, gpu: Workspace | None = None) -> None:
        """Make the call on a GPU; the copies then hold what it wrote."""
        with gpu or Workspace() as device:
            placed = {id(each.value): (each, *each.upload(device)) for each in self.arrays}
            args = [_replaced(each, placed) for each in self.args]
            kwargs = {name: _replaced(each, placed) for name, each in self.kwargs.items()}
            kernel(*args, **kwargs, stream=device.stream)
            device.synchronize()
            for copy, _, address in placed.values():
                copy.download(device, address)

    def differences(self, other: CallCopies, tolerance: float | None) -> list[str]:
        """Where these copies differ from `other`'s, which are of the same call, in words."""
        found: list[str] = []
        for ours, theirs in zip(self.arrays, other.arrays, strict=True):
            if ours.elements.per_byte > 1:
                if not np.array_equal(ours.codes, theirs.codes):
                    found.append(f"{ours.name} differs")
                continue
            wanted = theirs.elements.decode(theirs.codes)
            compared = compare(cast("Any", ours), wanted, Workload(tolerance=tolerance))
            if compared.wrong:
                found += compared.problems()
        return found


def copied(args: Sequence[Any], kwargs: Mapping[str, Any]) -> CallCopies:
    """The arguments of a call with a copy of every array, those in tuples too. An array given twice has one copy."""
    known: dict[int, ArrayCopy] = {}

    def copy(name: str, value: Any) -> Any:
        if isinstance(value, tuple | list):
            items = [copy(f"{name}[{index}]", each) for index, each in enumerate(cast("Sequence[Any]", value))]
            return tuple(items) if isinstance(value, tuple) else items
        try:
            layout = None if isinstance(value, str) else read_array(value)
        except SpecError as error:
            raise ArgumentError(f"{name}: {error.message}", hints=error.hints) from None
        if layout is None:
            return value
        if id(value) not in known:
            known[id(value)] = ArrayCopy(name, value, layout)
        return known[id(value)].value

    made = tuple(copy(f"argument {index}", each) for index, each in enumerate(args))
    named = {name: copy(f"'{name}'", each) for name, each in kwargs.items()}
    return CallCopies(made, named, list(known.values()))


def _replaced(value: Any, placed: Mapping[int, tuple[ArrayCopy, DeviceArray, int]]) -> Any:
    if isinstance(value, tuple | list):
        items = [_replaced(each, placed) for each in cast("Sequence[Any]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    found = placed.get(id(value))
    return value if found is None else found[1]


def _aligned(size: int, residue: int) -> Any:
    """So many bytes at an address of this residue."""
    data = np.empty(size + 2 * _ALIGNMENT, np.uint8)
    start = (residue - data.ctypes.data) % _ALIGNMENT
    return data[start : start + size]
