"""Device memory: counted, taken and given back in the order of streams, from the driver's pool or from RMM."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

import pytest
from emulated_gpu import install

from cutecc.errors import LaunchError, UsageError
from cutecc.operations import device_memory
from cutecc.operations.device_memory import RELEASE_THRESHOLD, DevicePool, DriverPool, RmmPool


def test_bytes_are_counted_from_taking_to_giving_back(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = install(monkeypatch)
    pool = device_memory.pool_of(0)
    assert isinstance(pool.source, DriverPool) and pool is device_memory.pool_of(0)
    first, second = pool.allocate(1000, 5), pool.allocate(24, 6)
    assert (
        device_memory.allocated_bytes() == device_memory.allocated_bytes(0) == 1024
        and device_memory.allocated_bytes(1) == 0
    )
    first.free()
    first.free()
    second.free(7)
    assert device_memory.allocated_bytes() == 0
    assert gpu.cuda.streams == [("take", 5), ("take", 6), ("free", 5), ("free", 7)]


def test_memory_that_is_forgotten_goes_back_on_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = install(monkeypatch)
    block = device_memory.pool_of(0).allocate(64, 5)
    del block
    assert gpu.cuda.streams[-1] == ("free", 5) and not gpu.cuda.heap


def test_a_pool_keeps_what_it_is_told_to(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = install(monkeypatch)
    device_memory.set_release_threshold(1 << 20)
    assert gpu.cuda.thresholds == [RELEASE_THRESHOLD, 1 << 20]


def test_a_pool_has_the_size_that_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = install(monkeypatch)
    device_memory.set_pool_size(1 << 30, 2 << 30)
    pool = device_memory.pool_of(0)
    assert gpu.cuda.sizes == [2 << 30]
    assert gpu.cuda.thresholds == [1 << 30]
    assert gpu.cuda.streams == []  # a context need not be current yet
    block = pool.allocate(100, 5)
    assert gpu.cuda.streams == [("take", 5), ("free", 5), ("take", 5)]
    assert pool.allocated_bytes == 100
    pool.allocate(100, 5).free()
    assert len(gpu.cuda.streams) == 5
    block.free()
    # Whoever has called keeps this pool.
    with pytest.raises(UsageError, match="GPU 0 has its pool already"):
        device_memory.set_pool_size(0)
    assert gpu.cuda.sizes == [2 << 30] and device_memory.pool_of(0) is pool


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((-1,), "a pool cannot have -1 bytes at first"),
        ((2048, 1024), "a pool of 2,048 bytes at first cannot have 1,024 at most"),
        ((0, 0), "cannot have 0 at most"),
        ((0.5,), "a pool's initial size is a whole number, not 0.5"),
        ((0, "1 GiB"), "a pool's maximum size is a whole number, not '1 GiB'"),
    ],
)
def test_sizes_of_pools_that_cannot_be(sizes: tuple[Any, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        device_memory.set_pool_size(*sizes)


def test_too_little_memory_is_an_error_that_says_how_much(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = install(monkeypatch, total_bytes=1 << 20)
    pool = DevicePool(0, DriverPool(0, gpu.cuda))
    with pytest.raises(LaunchError, match="taking 2,097,152 bytes of device memory: CUDA_ERROR_OUT_OF_MEMORY"):
        pool.allocate(2 << 20, 0)
    assert pool.allocated_bytes == 0


class _Stream:
    def __init__(self, given: Any) -> None:
        self.handle = given.__cuda_stream__()[1]


class _Buffer:
    log: list[tuple[str, int]]

    def __init__(self, size: int, stream: _Stream) -> None:
        if size > 1 << 20:
            raise MemoryError("std::bad_alloc")
        self.ptr, self._stream = 0x5000, stream.handle
        self.log.append(("take", self._stream))

    def __del__(self) -> None:
        if hasattr(self, "_stream"):
            self.log.append(("free", self._stream))


@pytest.fixture
def rmm(monkeypatch: pytest.MonkeyPatch) -> Any:
    module, inner = ModuleType("rmm"), ModuleType("rmm.pylibrmm.stream")
    _Buffer.log = []
    module.DeviceBuffer, inner.Stream = _Buffer, _Stream  # type: ignore[attr-defined]
    for name, each in (("rmm", module), ("rmm.pylibrmm", ModuleType("rmm.pylibrmm")), ("rmm.pylibrmm.stream", inner)):
        monkeypatch.setitem(sys.modules, name, each)
    monkeypatch.setattr(device_memory, "_rmm", lambda: module)
    monkeypatch.setattr(device_memory, "_pools", {})
    return module


def test_rmm_is_used_where_it_is(rmm: Any) -> None:
    pool = device_memory.pool_of(0)
    assert isinstance(pool.source, RmmPool)
    block = pool.allocate(100, 5)
    assert (block.address, pool.allocated_bytes) == (0x5000, 100)
    block.free()
    assert _Buffer.log == [("take", 5), ("free", 5)] and pool.allocated_bytes == 0


def test_rmms_failures_and_settings_are_its_own(rmm: Any) -> None:
    pool = DevicePool(0, RmmPool(rmm))
    with pytest.raises(LaunchError, match="taking 2,097,152 bytes of device memory from RMM"):
        pool.allocate(2 << 20, 0)
    with pytest.raises(LaunchError, match="RMM manages device memory"):
        device_memory.set_release_threshold(0)
    with pytest.raises(LaunchError, match="RMM manages device memory"):
        device_memory.set_pool_size(1024)
