"""The arguments of a trial on a device: copied there, passed to a kernel, and read back."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cutecc.harness.arguments import Arguments
from cutecc.harness.comparison import Comparison, compare
from cutecc.harness.elements import Elements
from cutecc.harness.tensors import Tensor
from cutecc.record import Workload
from cutecc.support.capacity import check_fits

_TORCH_NAMES = {
    "bf16": "bfloat16",
    "bool": "bool",
    "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
    "f8E8M0FNU": "float8_e8m0fnu",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
}
"""Types that torch reads from memory of another type and then calls by these names."""
_ALIGNMENT = 512
"""Bytes: of every allocation, as of CUDA's."""
_APART = 1 << 20
"""Bytes between allocations in this process; they cost addresses alone, for nobody touches them."""
_CHUNK = 1 << 25
"""Bytes copied at a time: an interrupt waits for no more."""
_CARRIERS = {1: "|u1", 2: "<i2", 4: "<i4", 8: "<i8"}


class Memory(Protocol):
    """A device's memory. Addresses are integers."""

    kind: str
    """`cuda` or `cpu`."""
    ordinal: int

    def allocate(self, size: int) -> int:
        """The address of `size` bytes."""
        ...

    def upload(self, address: int, data: Any) -> None:
        """Copy a contiguous numpy array to the device."""
        ...

    def download(self, data: Any, address: int) -> None:
        """Fill a contiguous numpy array from the device, when all work is done."""
        ...

    def copy(self, destination: int, source: int, size: int) -> None:
        """Copy within the device."""
        ...


class HostMemory:
    """Memory of this process as that of a device: what the CPU emulator runs on."""

    kind = "cpu"
    ordinal = 0
    name = "the CPU emulator"
    compute_capability = None

    def __init__(self) -> None:
        self._allocations: dict[int, Any] = {}

    def __enter__(self) -> HostMemory:
        return self

    def __exit__(self, *error: object) -> None:
        self._allocations.clear()

    @contextmanager
    def scope(self) -> Generator[None]:
        """Frees at its end what was allocated in it."""
        before = dict(self._allocations)
        yield
        self._allocations = before

    def allocate(self, size: int) -> int:
        """The address of `size` bytes, aligned as a GPU aligns allocations, and far from any others.

        An access past the end of one shall not be a good one of its neighbour.
        """
        data = np.empty(_APART + size + _ALIGNMENT, "u1")
        address = -(-(data.ctypes.data + _APART) // _ALIGNMENT) * _ALIGNMENT
        self._allocations[address] = data[address - data.ctypes.data :][:size]
        return address

    def upload(self, address: int, data: Any) -> None:
        _copy(self._allocations[address], data.view("u1").reshape(-1), data.nbytes)

    def download(self, data: Any, address: int) -> None:
        _copy(data.view("u1").reshape(-1), self._allocations[address], data.nbytes)

    def copy(self, destination: int, source: int, size: int) -> None:
        _copy(self._allocations[destination], self._allocations[source], size)


def _copy(destination: Any, source: Any, size: int) -> None:
    for start in range(0, size, _CHUNK):
        part = slice(start, min(start + _CHUNK, size))
        destination[part] = source[part]


@dataclass(frozen=True)
class _Device:
    type: str
    index: int


class DeviceArray:
    """A tensor in a device's memory as kernels take it: laid out as torch has it, on a GPU with its array interface."""

    def __init__(
        self,
        dtype: str,
        elements: Elements,
        shape: tuple[int, ...],
        stride: tuple[int, ...],
        address: int,
        ordinal: int,
        kind: str = "cuda",
    ) -> None:
        """`stride` in elements, which are called `dtype`; `address` is that of the first one."""
        self.dtype = dtype
        self.shape = shape
        self.device = _Device(kind, ordinal)
        self._address = address
        self._stride = stride
        self._code = elements.code
        self._packed = elements.per_byte > 1

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self._address

    def stride(self) -> tuple[int, ...]:
        """In elements."""
        return self._stride

    def element_size(self) -> int:
        """Bytes of one element; 1 also for elements that share a byte."""
        return self._code.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._packed or self.device.type != "cuda":
            raise AttributeError("elements that share a byte, or lie on the CPU, have no such interface")
        return self._interface(self._code.str)

    def _interface(self, typestr: str) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": typestr,
            "data": (self._address, False),
            "strides": tuple(step * self._code.itemsize for step in self._stride),
            "stream": None,
            "version": 3,
        }

    def to_torch(self, torch: Any) -> Any:
        """The same memory as a torch tensor; `None` for a type that torch does not have."""
        name = _TORCH_NAMES.get(self.dtype)
        if self._packed or (name is None and self.dtype.startswith("f8")) or (name and not hasattr(torch, name)):
            return None
        carrier = _Carrier(self._interface(_CARRIERS[self._code.itemsize] if name else self._code.str))
        tensor = torch.as_tensor(carrier, device=f"cuda:{self.device.index}")
        return tensor.view(getattr(torch, name)) if name else tensor


@dataclass(frozen=True)
class _Carrier:
    __cuda_array_interface__: dict[str, Any]


class DeviceArguments:
    """One copy of the arguments on a device."""

    def __init__(self, arguments: Arguments, memory: Memory) -> None:
        """Raises `UsageError` when this machine's memory is to hold them, and is too small."""
        self._arguments = arguments
        self._memory = memory
        if memory.kind == "cpu":
            check_fits(2 * arguments.bytes, "the emulator's copies of the arguments, and what is read back, have")
        self._addresses = {id(tensor): memory.allocate(tensor.bytes) for tensor in arguments.tensors}
        self.by_name: dict[str, Any] = arguments.mapped(self._array)
        """What a kernel is called with."""

    def _array(self, tensor: Tensor) -> DeviceArray:
        elements, stride, memory = tensor.elements, tensor.placement.stride, self._memory
        address = self._addresses[id(tensor)] + tensor.offset
        return DeviceArray(elements.dtype.name, elements, tensor.shape, stride, address, memory.ordinal, memory.kind)

    def upload(self) -> None:
        """Copy every tensor, and the memory around it, to the device."""
        for tensor in self._arguments.tensors:
            self._memory.upload(self._addresses[id(tensor)], np.ascontiguousarray(tensor.to_bytes()))

    def copy_from(self, other: DeviceArguments) -> None:
        """Copy every tensor from another copy of the same arguments on the device."""
        for tensor in self._arguments.tensors:
            self._memory.copy(self._addresses[id(tensor)], other._addresses[id(tensor)], tensor.bytes)

    def download(self) -> dict[str, int]:
        """Read every tensor back; bytes that changed outside of its elements, by tensor."""
        stray: dict[str, int] = {}
        for tensor in self._arguments.tensors:
            data = np.empty(tensor.bytes, "u1")
            self._memory.download(data, self._addresses[id(tensor)])
            stray[tensor.name] = tensor.take_bytes(data)
        return stray


def compare_outputs(
    arguments: Arguments,
    expected: Sequence[Any],
    workload: Workload,
    stray: Mapping[str, int],
    *,
    sampled: bool = False,
) -> list[Comparison]:
    """What is compared, as it was read back, against what the reference returned for it. Raises as `compare` does."""
    return [
        compare(tensor, wanted, workload, stray.get(tensor.name, 0), sampled=sampled)
        for tensor, wanted in zip(arguments.compared, expected, strict=True)
    ]
