"""A stand-in for `cuda.bindings.driver`: memory that is this process's own, and a clock that only work moves."""

from __future__ import annotations

import ctypes
import enum
from collections.abc import Callable
from typing import Any

import numpy as np

STREAM = 7
OUT_OF_MEMORY = 2
CAPTURE_BROKEN = 901


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = OUT_OF_MEMORY
    CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = CAPTURE_BROKEN


class _Attributes:
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 9
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 0
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 1 << 20


class _Modes:
    CU_STREAM_CAPTURE_MODE_RELAXED = 2


class _Event:
    time = 0.0


class FakeCuda:
    """One device with compute capability 9.0 and an L2 cache of 1 MiB.

    `now` is its time in microseconds. Work takes what `work` says; what is launched by itself takes `launch_cost` more,
    and replaying a graph `launch_cost` once.
    """

    CUresult = CUresult
    CUdevice_attribute = _Attributes
    CUstreamCaptureMode = _Modes

    def __init__(self, *, launch_cost: float = 3.0, total_bytes: int = 1 << 30) -> None:
        self.now = 0.0
        self.launch_cost = launch_cost
        self.total_bytes = total_bytes
        self.heap: dict[int, Any] = {}
        self.freed: list[int] = []
        self.log: list[str] = []
        self._capturing: list[tuple[str, float, Callable[[], object]]] | None = None
        self._broken = False

    def work(self, name: str, cost: float, action: Callable[[], object] = lambda: None) -> None:
        """What a kernel does: `action`, taking `cost` microseconds."""
        if self._capturing is not None:
            self._capturing.append((name, cost, action))
            return
        self._do(name, cost + self.launch_cost, action)

    def refuse_capture(self) -> None:
        """What a call does that no capture allows, such as waiting for the device."""
        self._broken = self._capturing is not None

    def _do(self, name: str, cost: float, action: Callable[[], object]) -> None:
        self.log.append(name)
        self.now += cost
        action()

    def array(self, address: int, size: int) -> Any:
        """`size` bytes of device memory."""
        for start, block in self.heap.items():
            if start <= address and address + size <= start + block.size:
                return block[address - start : address - start + size]
        raise AssertionError(f"{size} bytes at {address:#x} are not allocated")

    def cuInit(self, flags: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetCount(self) -> tuple[int, int]:
        return 0, 1

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def cuDevicePrimaryCtxRetain(self, device: int) -> tuple[int, int]:
        return 0, 1

    def cuDevicePrimaryCtxRelease(self, device: int) -> tuple[int]:
        return (0,)

    def cuCtxSetCurrent(self, context: int) -> tuple[int]:
        return (0,)

    def cuDeviceGetName(self, length: int, device: int) -> tuple[int, bytes]:
        return 0, b"Imaginary GPU\0\0\0"

    def cuDriverGetVersion(self) -> tuple[int, int]:
        return 0, 13010

    def cuDeviceGetAttribute(self, attribute: int, device: int) -> tuple[int, int]:
        return 0, attribute

    def cuStreamCreate(self, flags: int) -> tuple[int, int]:
        return 0, STREAM

    def cuStreamDestroy(self, stream: int) -> tuple[int]:
        return (0,)

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        return (0,)

    def cuMemGetInfo(self) -> tuple[int, int, int]:
        return 0, self.total_bytes - sum(block.size for block in self.heap.values()), self.total_bytes

    def cuMemAlloc(self, size: int) -> tuple[int, int]:
        if size > self.cuMemGetInfo()[1]:
            return OUT_OF_MEMORY, 0
        block = np.zeros(size + 512, "u1")
        start = -block.ctypes.data % 512
        address = block.ctypes.data + start
        self.heap[address] = block[start : start + size]
        return 0, address

    def cuMemFree(self, address: int) -> tuple[int]:
        del self.heap[address]
        self.freed.append(address)
        return (0,)

    def cuMemcpyHtoD(self, address: int, source: int, size: int) -> tuple[int]:
        self.array(address, size)
        ctypes.memmove(address, source, size)
        return (0,)

    def cuMemcpyDtoH(self, destination: int, address: int, size: int) -> tuple[int]:
        self.array(address, size)
        ctypes.memmove(destination, address, size)
        return (0,)

    def cuMemcpyDtoDAsync(self, destination: int, source: int, size: int, stream: int) -> tuple[int]:
        self.work("copy", size / 1e6, lambda: ctypes.memmove(destination, source, size))
        return (0,)

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: int) -> tuple[int]:
        assert stream == STREAM
        self.work("flush", 10.0, lambda: self.array(address, size).fill(value))
        return (0,)

    def cuEventCreate(self, flags: int) -> tuple[int, _Event]:
        return 0, _Event()

    def cuEventDestroy(self, event: _Event) -> tuple[int]:
        return (0,)

    def cuEventRecord(self, event: _Event, stream: int) -> tuple[int]:
        event.time = self.now
        return (0,)

    def cuEventElapsedTime(self, start: _Event, stop: _Event) -> tuple[int, float]:
        return 0, (stop.time - start.time) / 1e3

    def cuStreamBeginCapture(self, stream: int, mode: int) -> tuple[int]:
        self._capturing, self._broken = [], False
        return (0,)

    def cuStreamEndCapture(self, stream: int) -> tuple[int, Any]:
        graph, self._capturing = self._capturing, None
        return (CAPTURE_BROKEN, None) if self._broken else (0, graph)

    def cuGraphGetNodes(self, graph: list[Any]) -> tuple[int, list[Any], int]:
        return 0, [], len(graph)

    def cuGraphInstantiate(self, graph: list[Any], flags: int) -> tuple[int, list[Any]]:
        return 0, list(graph)

    def cuGraphDestroy(self, graph: list[Any]) -> tuple[int]:
        return (0,)

    def cuGraphExecDestroy(self, graph: list[Any]) -> tuple[int]:
        return (0,)

    def cuGraphLaunch(self, graph: list[Any], stream: int) -> tuple[int]:
        self.now += self.launch_cost
        for name, cost, action in graph:
            self._do(name, cost, action)
        return (0,)

    def cuGetErrorName(self, status: CUresult) -> tuple[int, bytes]:
        return 0, status.name.encode()

    def cuGetErrorString(self, status: CUresult) -> tuple[int, bytes]:
        return 0, b"as a test wants it"
