"""A CUDA device to try kernels on: its memory, a stream, and a clock. Needs cuda.bindings, neither torch nor cupy."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any

from cutecc.errors import LaunchError
from cutecc.runtime.cuda_bindings import describe_status, load_bindings
from cutecc.runtime.driver import failure
from cutecc.runtime.timing import Call

_NAME_BYTES = 256


class Workspace:
    """One device, for the time of a trial or benchmark. Everything allocated is freed at the end of the `with` block.

    Work goes to `stream`, a stream of its own that waits for the legacy default stream and the other way round.
    """

    kind = "cuda"

    def __init__(self, ordinal: int = 0, driver: Any = None) -> None:
        """`driver` is `cuda.bindings.driver` or what stands in for it. Raises `LaunchError` where there is no GPU."""
        self.ordinal = ordinal
        self._cuda = _bindings() if driver is None else driver
        count = self._do("cuDeviceGetCount")
        if ordinal >= count:
            raise LaunchError(f"no device cuda:{ordinal} here: the driver finds {count}")
        self._device = self._do("cuDeviceGet", ordinal)
        context = self._do("cuDevicePrimaryCtxRetain", self._device)
        self._do("cuCtxSetCurrent", context)
        self._stream = self._do("cuStreamCreate", 0)
        self._allocations: list[int] = []
        self._graphs: list[Any] = []
        self._events: list[Any] = []
        self._flushed: tuple[int, int] | None = None

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # After a fault on the device nothing can be freed; the error that says so is on its way.
        with suppress(LaunchError):
            self.synchronize()
            self._release(0, 0)
            for event in self._events:
                self._do("cuEventDestroy", event)
            self._do("cuStreamDestroy", self._stream)
            self._do("cuDevicePrimaryCtxRelease", self._device)

    @contextmanager
    def scope(self) -> Generator[None]:
        """Frees at its end what was allocated and captured in it."""
        self.flush_l2()  # its memory stays
        allocations, graphs = len(self._allocations), len(self._graphs)
        yield
        self.synchronize()
        self._release(allocations, graphs)

    def _release(self, allocations: int, graphs: int) -> None:
        for graph in self._graphs[graphs:]:
            self._do("cuGraphExecDestroy", graph)
        for address in self._allocations[allocations:]:
            self._do("cuMemFree", address)
        del self._graphs[graphs:], self._allocations[allocations:]

    @property
    def stream(self) -> int:
        """The `CUstream` that everything goes to."""
        return int(self._stream)

    @property
    def name(self) -> str:
        """The device's name, `NVIDIA H200`."""
        return bytes(self._do("cuDeviceGetName", _NAME_BYTES, self._device)).split(b"\0")[0].decode().strip()

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Major and minor."""
        return self._attribute("COMPUTE_CAPABILITY_MAJOR"), self._attribute("COMPUTE_CAPABILITY_MINOR")

    @property
    def multiprocessors(self) -> int:
        """How many the device has."""
        return self._attribute("MULTIPROCESSOR_COUNT")

    @property
    def l2_bytes(self) -> int:
        """Size of the L2 cache."""
        return self._attribute("L2_CACHE_SIZE")

    @property
    def free_bytes(self) -> int:
        """Device memory that is free now."""
        return int(self._do("cuMemGetInfo")[0])

    @property
    def driver_version(self) -> str:
        """The newest CUDA version that the driver knows, `13.0`."""
        version = int(self._do("cuDriverGetVersion"))
        return f"{version // 1000}.{version % 1000 // 10}"

    def allocate(self, size: int) -> int:
        """The address of `size` bytes of new memory. Raises `LaunchError` when there is not enough."""
        address = int(self._do("cuMemAlloc", max(1, size)))
        self._allocations.append(address)
        return address

    def upload(self, address: int, data: Any) -> None:
        """Copy a contiguous numpy array to the device."""
        self.synchronize()
        self._do("cuMemcpyHtoD", address, data.ctypes.data, data.nbytes)

    def download(self, data: Any, address: int) -> None:
        """Fill a contiguous numpy array from the device, when all work is done."""
        self.synchronize()
        self._do("cuMemcpyDtoH", data.ctypes.data, address, data.nbytes)

    def clear(self, address: int, size: int) -> None:
        """Put zeros into `size` bytes, on the stream."""
        self._do("cuMemsetD8Async", address, 0, size, self._stream)

    def copy(self, destination: int, source: int, size: int) -> None:
        """Put a copy of `size` bytes within the device on the stream."""
        self._do("cuMemcpyDtoDAsync", destination, source, size, self._stream)

    def record(self) -> Any:
        """Put an event on the stream."""
        event = self._events.pop() if self._events else self._do("cuEventCreate", 0)
        self._do("cuEventRecord", event, self._stream)
        return event

    def elapsed(self, start: Any, stop: Any) -> float:
        """Microseconds between two events that have happened; both are used up."""
        milliseconds = self._do("cuEventElapsedTime", start, stop)
        self._events += [start, stop]
        return float(milliseconds) * 1e3

    def synchronize(self) -> None:
        """Wait for everything on the stream. Raises `LaunchError` for a fault that happened there."""
        self._do("cuStreamSynchronize", self._stream)

    def capture(self, calls: Sequence[Call]) -> Callable[[], None] | None:
        """What replays these calls as one graph; `None` when one of them cannot be captured, or does nothing."""
        mode = self._cuda.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        self.synchronize()
        self._do("cuStreamBeginCapture", self._stream, mode)
        failed = False
        try:
            for call in calls:
                call()
        except Exception:  # what a foreign call raises when it asks for what a capture forbids
            failed = True
        status, graph = self._cuda.cuStreamEndCapture(self._stream)
        if failed or int(status):
            return None
        try:
            _, nodes = self._do("cuGraphGetNodes", graph)
            if nodes < len(calls):
                return None
            executable = self._do("cuGraphInstantiate", graph, 0)
        finally:
            self._do("cuGraphDestroy", graph)
        self._graphs.append(executable)
        return lambda: self._do("cuGraphLaunch", executable, self._stream)

    def flush_l2(self) -> None:
        """Put a write of twice the size of the L2 cache on the stream."""
        if self._flushed is None:
            size = 2 * max(self.l2_bytes, 1 << 20)
            self._flushed = self.allocate(size), size
        address, size = self._flushed
        self.clear(address, size)

    def _attribute(self, name: str) -> int:
        attribute = getattr(self._cuda.CUdevice_attribute, f"CU_DEVICE_ATTRIBUTE_{name}")
        return int(self._do("cuDeviceGetAttribute", attribute, self._device))

    def _do(self, function: str, *arguments: Any) -> Any:
        """Call the driver; what it returns beside the status."""
        status, *results = getattr(self._cuda, function)(*arguments)
        if int(status):
            raise failure(function, int(status), describe_status(self._cuda, int(status)))
        return results[0] if len(results) == 1 else tuple(results)


def _bindings() -> Any:
    try:
        return load_bindings()
    except LaunchError as error:
        error.hints.append("cutecc run … --device cpu runs it here, on the CPU emulator")
        error.hints.append(
            "kernels compile anywhere; to run one elsewhere: cutecc compile FILE.py --bundle FILE.cutecc"
        )
        raise
