"""A GPU that is not there: a driver whose memory is this process's own, and whose launches the emulator runs."""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cuda import FakeCuda

from cutecc.arguments.dtypes import find_numeric_type
from cutecc.emulator.host import EmulatorHost
from cutecc.emulator.memory.allocations import Allocation
from cutecc.emulator.options import EmulatorOptions
from cutecc.operations import calls, device_memory, numpy_arrays
from cutecc.operations.gemm import Gemm
from cutecc.operations.views import DeviceMatrix
from cutecc.ptx.locations import PtxText
from cutecc.runtime import cuda_bindings
from cutecc.runtime.block import ParameterBlock
from cutecc.runtime.driver import Caller
from cutecc.runtime.launch import Launch

sys.path.append(str(Path(__file__).parents[2] / "runtime"))
from recording import Gpu, RecordingDriver


class _Location:
    type = id = 0


class _Properties:
    def __init__(self) -> None:
        self.allocType, self.location, self.maxSize = 0, _Location(), 0


class Cuda(FakeCuda):
    """Its memory also comes from pools, and is copied, zeroed and freed on streams: `streams` says in which order."""

    CUmemPoolProps = _Properties
    CUmemAllocationType = type("Types", (), {"CU_MEM_ALLOCATION_TYPE_PINNED": 1})
    CUmemLocationType = type("Types", (), {"CU_MEM_LOCATION_TYPE_DEVICE": 1})
    CUmemPool_attribute = type("Attributes", (), {"CU_MEMPOOL_ATTR_RELEASE_THRESHOLD": 4})
    CUstream = cuuint64_t = int

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.streams: list[tuple[str, int]] = []
        self.thresholds: list[int] = []
        self.sizes: list[int] = []

    def cuMemPoolCreate(self, properties: _Properties) -> tuple[int, int]:
        self.sizes.append(properties.maxSize)
        return 0, 77

    def cuMemPoolSetAttribute(self, pool: int, which: int, value: int) -> tuple[int]:
        self.thresholds.append(value)
        return (0,)

    def cuMemAllocFromPoolAsync(self, size: int, pool: int, stream: int) -> tuple[int, int]:
        self.streams.append(("take", stream))
        status, address = self.cuMemAlloc(size)
        if not status:
            self.array(address, size)[:] = 0xCD
        return status, address

    def cuMemFreeAsync(self, address: int, stream: int) -> tuple[int]:
        self.streams.append(("free", stream))
        return self.cuMemFree(address)

    def cuMemcpyHtoDAsync(self, address: int, source: int, size: int, stream: int) -> tuple[int]:
        self.streams.append(("in", stream))
        return self.cuMemcpyHtoD(address, source, size)

    def cuMemcpyDtoHAsync(self, destination: int, address: int, size: int, stream: int) -> tuple[int]:
        self.streams.append(("out", stream))
        return self.cuMemcpyDtoH(destination, address, size)

    def cuMemsetD8Async(self, address: int, value: int, size: int, stream: int) -> tuple[int]:
        self.streams.append(("zero", stream))
        self.array(address, size).fill(value)
        return (0,)

    def cuStreamSynchronize(self, stream: int) -> tuple[int]:
        self.streams.append(("wait", stream))
        return (0,)


@dataclass
class Driver(RecordingDriver):
    """Launches run on the emulator, in the memory of `cuda`."""

    cuda: Cuda = field(default_factory=Cuda)
    ptx: dict[str, str] = field(default_factory=dict)
    """The PTX of each kernel, and the target."""

    def prepare(self, kernel: int, launch: Launch, block: ParameterBlock, caller: Caller) -> Any:
        record = super().prepare(kernel, launch, block, caller)

        def run(stream: int) -> int:
            record(stream)
            parameters = self.launches[-1].parameters
            self.cuda.streams.append(("launch", self.launches[-1].stream))
            allocations = [Allocation(base, data, f"{base:#x}", "+{}".format) for base, data in self.cuda.heap.items()]
            host = EmulatorHost(PtxText(self.ptx[launch.kernel.name]), "sm_80", allocations, EmulatorOptions())
            return host.launch(replace(launch, parameters=parameters))

        return run


@dataclass
class EmulatedGpu:
    """The stand-in, installed."""

    cuda: Cuda
    driver: Driver

    def know(self, op: Gemm) -> Gemm:
        """Have launches of this operation run."""
        for variant in op.variants:
            program = variant.kernel.host_program
            assert program is not None
            for kernel in program.kernels:
                self.driver.ptx[kernel.name] = variant.kernel.ptx.rstrip("\0")
        return op

    def put(self, values: Any, dtype: str = "f32", *, layout: str = "row") -> DeviceMatrix:
        """A matrix, vector or batch of them in device memory."""
        values = np.asarray(values)
        stored = np.swapaxes(values, -1, -2) if layout == "column" else values
        data = np.ascontiguousarray(stored)
        _, address = self.cuda.cuMemAlloc(max(1, data.nbytes))
        self.cuda.cuMemcpyHtoD(address, data.ctypes.data, data.nbytes)
        return DeviceMatrix(address, values.shape, data.shape[-1] if data.ndim else 1, dtype, layout)  # type: ignore[arg-type]

    def get(self, matrix: DeviceMatrix) -> Any:
        """The values of what `put` has put."""
        dtype = find_numeric_type(matrix.dtype)
        assert dtype is not None
        width = dtype.width // 8
        count = int(np.prod(matrix.shape))
        kind = {"f32": np.float32, "f64": np.float64, "i64": np.int64}[matrix.dtype]
        data = np.frombuffer(ctypes.string_at(matrix.pointer, count * width), kind)
        if matrix.layout == "column":
            return np.swapaxes(data.reshape(*matrix.shape[:-2], *matrix.shape[:-3:-1]), -1, -2)
        return data.reshape(matrix.shape)


def install(monkeypatch: pytest.MonkeyPatch, **options: Any) -> EmulatedGpu:
    """Put the stand-in in the place of this machine's driver."""
    cuda = Cuda(**options)
    driver = Driver(gpus=(Gpu((8, 0)),), cuda=cuda)
    monkeypatch.setattr(cuda_bindings, "_driver", driver)
    for module in (cuda_bindings, device_memory, calls, numpy_arrays):
        monkeypatch.setattr(module, "load_bindings", lambda: cuda)
    monkeypatch.setattr(device_memory, "_pools", {})
    monkeypatch.setattr(device_memory, "_rmm", lambda: None)
    return EmulatedGpu(cuda, driver)
