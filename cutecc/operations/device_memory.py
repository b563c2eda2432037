"""Device memory for workspaces and for copies of numpy arrays, in the order of a stream.

Memory comes from RMM, the RAPIDS memory manager, where that is installed: from its current resource. Else from a memory
pool of the CUDA driver, one a GPU and of our own, so that nobody else's settings change. Taking and giving back are
work on a stream: neither waits, and both can be captured in a CUDA graph.
"""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import suppress
from typing import Any

from cutecc.errors import LaunchError, UsageError
from cutecc.operations.words import whole_number
from cutecc.runtime.cuda_bindings import describe_status, load_bindings
from cutecc.runtime.driver import failure
from cutecc.support import forks

RELEASE_THRESHOLD = 256 << 20
"""Bytes that a pool of the driver keeps when nobody uses them, unless `set_release_threshold` says otherwise."""

_pools: dict[int, DevicePool] = {}
_lock = forks.lock()


def pool_of(ordinal: int) -> DevicePool:
    """The pool of the GPU with this CUDA ordinal. Raises `LaunchError` where there is no driver."""
    with _lock:
        if ordinal not in _pools:
            _pools[ordinal] = DevicePool(ordinal)
        return _pools[ordinal]


def allocated_bytes(ordinal: int | None = None) -> int:
    """Bytes in use now, on one GPU or on all: workspaces of calls, and what operations keep until their `sync()`.

    That is copies of numpy arrays, and tables of the addresses of matrices anywhere in memory.
    """
    with _lock:
        return sum(pool.allocated_bytes for number, pool in _pools.items() if ordinal in (None, number))


def set_release_threshold(size: int, ordinal: int = 0) -> None:
    """Have the pool of a GPU keep up to `size` bytes that nobody uses, 256 MiB by default.

    What is above goes back to the system the next time that something is waited for. Raises `LaunchError` where there
    is no driver, and where RMM manages the memory: its resource decides.
    """
    pool_of(ordinal).set_release_threshold(size)


def set_pool_size(initial: int = 0, maximum: int | None = None, ordinal: int = 0) -> None:
    """Have the pool of a GPU take `initial` bytes from the system at its first use, and never more than `maximum`.

    It keeps the initial bytes when nobody uses them. Without a maximum there is none but the GPU's memory; the driver
    may round it up. Raises `UsageError` for sizes that cannot be, and where the GPU has its pool already, from a call
    or another setting: who has it keeps it. Raises `LaunchError` where there is no driver, and where RMM manages the
    memory.
    """
    first = whole_number(initial, "a pool's initial size")
    most = None if maximum is None else whole_number(maximum, "a pool's maximum size")
    if first < 0:
        raise UsageError(f"a pool cannot have {first:,} bytes at first")
    if most is not None and most < max(1, first):
        raise UsageError(f"a pool of {first:,} bytes at first cannot have {most:,} at most")
    with _lock:
        if _rmm() is not None:
            raise LaunchError("RMM manages device memory here, and its resource decides how much it takes")
        if ordinal in _pools:
            hint = "set it before the first call, and before the pool's release threshold"
            raise UsageError(f"GPU {ordinal} has its pool already, whose size is set before", hints=[hint])
        _pools[ordinal] = DevicePool(ordinal, DriverPool(ordinal, initial=first, maximum=most))


def asked(cuda: Any, what: str, function: str, *arguments: Any) -> Any:
    """What a function of `cuda`, `cuda.bindings.driver` or what stands in for it, returns beside its status.

    Raises `LaunchError`, which says `what` was tried.
    """
    status, *results = getattr(cuda, function)(*arguments)
    if int(status):
        raise failure(what, int(status), describe_status(cuda, int(status)))
    return results[0] if results else None


class Block:
    """Device memory that was taken from a pool. Given back when it is garbage-collected, at the latest."""

    __slots__ = ("_pool", "_token", "address", "size", "stream")

    def __init__(self, pool: DevicePool, address: int, size: int, token: Any, stream: int) -> None:
        self._pool: DevicePool | None = pool
        self._token = token
        self.address = address
        self.size = size
        """Bytes."""
        self.stream = stream
        """The stream that the memory was taken on."""

    def free(self, stream: int | None = None) -> None:
        """Give the memory back after the work that is on `stream` now, by default on the one that it was taken on."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.give_back(self, self._token, self.stream if stream is None else stream)
            self._token = None

    def __del__(self) -> None:
        # The stream, or the whole driver at the end of the process, may be gone.
        with suppress(Exception):
            self.free()


class DevicePool:
    """The memory of one GPU. Threads may share it."""

    def __init__(self, ordinal: int, source: DriverPool | RmmPool | None = None) -> None:
        """`source` is RMM, where that is installed, or the driver. Raises `LaunchError` where there is no driver."""
        self.ordinal = ordinal
        if source is None:
            rmm = _rmm()
            source = DriverPool(ordinal) if rmm is None else RmmPool(rmm)
        self.source = source
        """Where the memory comes from."""
        self._allocated = 0
        self._counting = forks.lock()

    @property
    def allocated_bytes(self) -> int:
        """Bytes that were taken and not yet given back."""
        return self._allocated

    def allocate(self, size: int, stream: int) -> Block:
        """`size` bytes for work on `stream`, a `CUstream`, aligned to 256 bytes.

        The GPU's context has to be current. Raises `LaunchError` when there is not enough memory.
        """
        address, token = self.source.take(max(1, size), stream)
        with self._counting:
            self._allocated += size
        return Block(self, address, size, token, stream)

    def give_back(self, block: Block, token: Any, stream: int) -> None:
        """Free what `allocate` gave, after the work that is on `stream` now."""
        with self._counting:
            self._allocated -= block.size
        self.source.give_back(block.address, token, stream)

    def set_release_threshold(self, size: int) -> None:
        self.source.keep(size)


class DriverPool:
    """A stream-ordered memory pool of the CUDA driver."""

    def __init__(self, ordinal: int, cuda: Any = None, *, initial: int = 0, maximum: int | None = None) -> None:
        """Takes `initial` bytes when it is first used. `cuda` is `cuda.bindings.driver` or what stands in for it."""
        self._cuda: Any = load_bindings() if cuda is None else cuda
        cuda = self._cuda
        properties = cuda.CUmemPoolProps()
        properties.allocType = cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location.type = cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        properties.location.id = ordinal
        if maximum is not None:
            properties.maxSize = maximum
        self._pool = self._do(f"making a memory pool on GPU {ordinal}", "cuMemPoolCreate", properties)
        self.keep(max(RELEASE_THRESHOLD, initial))
        self._initial = initial

    def take(self, size: int, stream: int) -> tuple[int, None]:
        """The address of `size` bytes that work on `stream` may use from now on, and what `give_back` wants."""
        initial, self._initial = self._initial, 0
        if initial:
            # What is given back stays in the pool, up to what it keeps.
            self.give_back(self.take(initial, stream)[0], None, stream)
        what = f"taking {size:,} bytes of device memory"
        return int(self._do(what, "cuMemAllocFromPoolAsync", size, self._pool, self._cuda.CUstream(stream))), None

    def give_back(self, address: int, token: None, stream: int) -> None:
        """Free them after all work that is on `stream` now."""
        self._do("giving device memory back", "cuMemFreeAsync", address, self._cuda.CUstream(stream))

    def keep(self, size: int) -> None:
        """Keep up to `size` unused bytes."""
        which = self._cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
        value = self._cuda.cuuint64_t(size)
        self._do("setting what a memory pool keeps", "cuMemPoolSetAttribute", self._pool, which, value)

    def _do(self, what: str, function: str, *arguments: Any) -> Any:
        return asked(self._cuda, what, function, *arguments)


class RmmPool:
    """RMM's current resource; methods as those of `DriverPool`."""

    def __init__(self, rmm: Any) -> None:
        self._buffer = rmm.DeviceBuffer
        self._stream = importlib.import_module(f"{rmm.__name__}.pylibrmm.stream").Stream

    def take(self, size: int, stream: int) -> tuple[int, Any]:
        try:
            buffer = self._buffer(size=size, stream=self._stream(_Stream(stream)))
        except MemoryError as error:
            raise LaunchError(f"taking {size:,} bytes of device memory from RMM: {error}") from None
        return int(buffer.ptr), buffer

    def give_back(self, address: int, token: Any, stream: int) -> None:
        # RMM frees a buffer on the stream that it was taken on, when the last reference is gone: that is the caller's.
        del token

    def keep(self, size: int) -> None:
        raise LaunchError("RMM manages device memory here, and its resource decides what it keeps")


class _Stream:
    """A `CUstream` for libraries that take streams by protocol."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def __cuda_stream__(self) -> tuple[int, int]:
        return 0, self._handle


def _rmm() -> Any:
    """RMM, where it is installed."""
    return importlib.import_module("rmm") if importlib.util.find_spec("rmm") is not None else None
