"""A stand-in for the CUDA driver that records what it is asked.

It has GPUs and contexts, checks handles, and can be told to fail. It executes nothing: that a launch is right shows
only in what was recorded.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from cutecc.record.host_program import AttributeName
from cutecc.runtime.block import ParameterBlock
from cutecc.runtime.driver import (
    INVALID_CONTEXT,
    Caller,
    DeviceAttribute,
    DriverFunctions,
    KernelAttribute,
    failure,
)
from cutecc.runtime.launch import Dim3, Launch, TensorMap
from cutecc.runtime.native.errors import Unsupported

PRIMARY = 0x1000
"""Primary contexts are this plus the ordinal."""
STATIC_SHARED = 1024
"""Bytes that every kernel declares."""


@dataclass(frozen=True)
class Gpu:
    """One GPU that the driver pretends to have."""

    capability: tuple[int, int] = (9, 0)
    shared_bytes: int = 227 * 1024
    multiprocessors: int = 132


@dataclass(frozen=True)
class Recorded:
    """A launch as the driver saw it."""

    kernel: str
    device: int
    thread: int
    grid: Dim3
    block: Dim3
    shared_bytes: int
    stream: int
    attributes: tuple[tuple[AttributeName, tuple[int, ...]], ...]
    parameters: bytes
    """What lay in the parameter block; bytes between parameters are 0."""


@dataclass
class RecordingDriver:
    """The `Driver` that records. Context and capture mode belong to the calling thread, as in CUDA."""

    gpus: tuple[Gpu, ...] = (Gpu(),)
    fail: dict[str, int] = field(default_factory=dict)
    """The status that a method gives from now on, by the method's name; `launch` is the start of a kernel."""
    capturing: set[int] = field(default_factory=set)
    """Streams that a CUDA graph is captured from: code can then be loaded in relaxed mode only."""
    starts_with_context: bool = True
    """Whether threads begin with the first GPU's context."""
    launches: list[Recorded] = field(default_factory=list)
    calls: Counter[str] = field(default_factory=Counter)
    tensor_maps: list[TensorMap] = field(default_factory=list)
    attributes: dict[tuple[str, KernelAttribute, int], int] = field(default_factory=dict)
    """What kernels were given, by name, attribute and device."""
    libraries: dict[int, bytes] = field(default_factory=dict)
    """What is loaded."""
    orders: list[tuple[int, int]] = field(default_factory=list)
    loaded_kernels: set[tuple[str, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._handles = itertools.count(0x100)
        self._kernels: dict[int, tuple[int, str]] = {}
        self._threads = threading.local()

    @property
    def contexts(self) -> list[int]:
        """The calling thread's stack of contexts."""
        if not hasattr(self._threads, "contexts"):
            self._threads.contexts = [PRIMARY] if self.starts_with_context else []
        return self._threads.contexts

    def device_count(self) -> int:
        self._called("device_count")
        return len(self.gpus)

    def device_name(self, device: int) -> str:
        return f"Recording GPU {device}"

    def device_attribute(self, device: int, attribute: DeviceAttribute) -> int:
        gpu = self.gpus[device]
        return {
            DeviceAttribute.MULTIPROCESSORS: gpu.multiprocessors,
            DeviceAttribute.CAPABILITY_MAJOR: gpu.capability[0],
            DeviceAttribute.CAPABILITY_MINOR: gpu.capability[1],
            DeviceAttribute.SHARED_BYTES_OPT_IN: gpu.shared_bytes,
        }[attribute]

    def current_device(self) -> int | None:
        self._called("current_device")
        return self.contexts[-1] - PRIMARY if self.contexts else None

    def retain_primary_context(self, device: int) -> int:
        self._called("retain_primary_context")
        return PRIMARY + device

    def set_context(self, context: int) -> None:
        self._called("set_context")
        self.contexts[-1:] = [context]

    def push_context(self, context: int) -> None:
        self._called("push_context")
        self.contexts.append(context)

    def pop_context(self) -> None:
        self._called("pop_context")
        self.contexts.pop()

    def load_library(self, image: bytes) -> int:
        self._loading("load_library")
        handle = next(self._handles)
        self.variables: dict[str, tuple[int, int]] = {}
        self.libraries[handle] = image
        return handle

    def unload_library(self, library: int) -> None:
        self._loading("unload_library")
        del self.libraries[library]

    def find_kernel(self, library: int, name: str) -> int:
        self._called("find_kernel")
        assert library in self.libraries
        handle = next(self._handles)
        self._kernels[handle] = (library, name)
        return handle

    def find_variable(self, library: int, name: str) -> tuple[int, int] | None:
        self._called("find_variable")
        return self.variables.get(name)

    def load_kernel(self, kernel: int) -> None:
        self._loading("load_kernel")
        assert self.contexts, "code is loaded into a context"
        self.loaded_kernels.add((self._name(kernel), self.contexts[-1] - PRIMARY))

    def kernel_attribute(self, kernel: int, attribute: KernelAttribute, device: int) -> int:
        assert attribute is KernelAttribute.STATIC_SHARED_BYTES and self._name(kernel)
        return STATIC_SHARED

    def set_kernel_attribute(self, kernel: int, attribute: KernelAttribute, value: int, device: int) -> None:
        self._called("set_kernel_attribute")
        self.attributes[self._name(kernel), attribute, device] = value

    def prepare(self, kernel: int, launch: Launch, block: ParameterBlock, caller: Caller) -> Callable[[int], int]:
        self._called("prepare")
        attributes = tuple(launch.attributes.items())

        def run(stream: int) -> int:
            self.calls["launch"] += 1
            if status := self.fail.get("launch", 0):
                return status
            if not self.contexts:
                return INVALID_CONTEXT
            parameters = bytearray(launch.kernel.parameter_bytes)
            pointers = (ctypes.c_void_p * len(launch.kernel.parameters)).from_address(block.pointers)
            for pointer, parameter in zip(pointers, launch.kernel.parameters, strict=True):
                assert pointer % parameter.align == 0
                end = parameter.offset + parameter.size
                parameters[parameter.offset : end] = ctypes.string_at(pointer, parameter.size)
            self.launches.append(
                Recorded(
                    self._name(kernel),
                    self.contexts[-1] - PRIMARY,
                    threading.get_ident(),
                    launch.grid,
                    launch.block,
                    launch.shared_bytes,
                    stream or caller.stream,
                    attributes,
                    bytes(parameters),
                )
            )
            return 0

        return run

    def encode_tensor_map(self, tensor_map: TensorMap) -> bytes | int:
        if status := self.fail.get("encode_tensor_map", 0):
            return status
        self.tensor_maps.append(tensor_map)
        return tensor_map.address.to_bytes(8, "little") + b"T" * 120

    def order(self, first: int, then: int) -> None:
        self._called("order")
        self.orders.append((first, then))

    def is_capturing(self, stream: int) -> bool:
        self._called("is_capturing")
        return stream in self.capturing

    @contextmanager
    def relaxed_capture(self) -> Iterator[None]:
        before = getattr(self._threads, "relaxed", False)
        self._threads.relaxed = True
        try:
            yield
        finally:
            self._threads.relaxed = before

    def describe(self, status: int) -> str:
        names = {1: "CUDA_ERROR_INVALID_VALUE", 2: "CUDA_ERROR_OUT_OF_MEMORY", 201: "CUDA_ERROR_INVALID_CONTEXT"}
        return f"{names.get(status, 'CUDA_ERROR_OTHER')} ({status}): as told"

    def functions(self) -> DriverFunctions:
        raise Unsupported("machine code cannot call a recording")

    def _name(self, kernel: int) -> str:
        library, name = self._kernels[kernel]
        assert library in self.libraries, f"kernel {name} is used after it was unloaded"
        return name

    def _called(self, method: str) -> None:
        self.calls[method] += 1
        if status := self.fail.get(method, 0):
            raise failure(method, status, self.describe(status))

    def _loading(self, method: str) -> None:
        self._called(method)
        assert not self.capturing or getattr(self._threads, "relaxed", False), f"{method} would break a capture"
