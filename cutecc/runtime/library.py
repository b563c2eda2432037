"""A kernel's code in the driver: loaded when it is first used, prepared for each GPU, unloaded when nobody can use it.

A library belongs to the process: its kernels run in any context.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from cutecc.record.compilation import Compilation
from cutecc.record.host_program import KernelEntry
from cutecc.runtime.device import CudaDevice
from cutecc.runtime.driver import Driver, DriverError, KernelAttribute
from cutecc.support import forks

T = TypeVar("T")

_CLUSTERS_SINCE = (9, 0)
"""The first compute capability that has clusters."""

loading: list[Callable[[Library], None]] = []
"""Called with each library that is loaded. Whoever appends to it takes that away again."""
_live: weakref.WeakSet[Library] = weakref.WeakSet()
_retired: list[tuple[Driver, int]] = []
"""Libraries that nobody refers to any more. `unload_retired` unloads them, and not the garbage collector, which can
come in the middle of anything."""


@dataclass(frozen=True, eq=False)
class Loaded:
    """A kernel's code, ready on one GPU."""

    device: CudaDevice
    library: Library
    functions: dict[str, int]
    """The `CUkernel` of every kernel, by its symbol."""


class Library:
    """Loaded code and its kernels."""

    def __init__(
        self,
        device: CudaDevice,
        image: bytes,
        kernels: Sequence[KernelEntry],
        compilation: Compilation | None = None,
    ) -> None:
        """Load `image`, which `compilation` is the record of, also while a CUDA graph is being captured.

        Raises `LaunchError`.
        """
        self.image = image
        self.compilation = compilation
        self._driver = device.driver
        self._entries = kernels
        self._lock = forks.lock()
        self._ready: set[int] = set()
        with device.current(), self._driver.relaxed_capture():
            self._handle = self._driver.load_library(image)
            self._finalizer = weakref.finalize(self, _retired.append, (self._driver, self._handle))
            # At the end of the process the driver may be gone before this is.
            self._finalizer.atexit = False
            self._kernels = {each.name: self._driver.find_kernel(self._handle, each.name) for each in kernels}
        self.is_loaded = True
        """Whether its kernels can be launched: until `unload`."""
        self._users: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()
        _live.add(self)
        for hear in [*loading]:
            hear(self)
        self.is_pinned = False
        """Whether a CUDA graph may hold a kernel of it. It then stays loaded until `unload` is called."""

    def on(self, device: CudaDevice) -> Loaded:
        """The kernels, ready to be launched on `device`."""
        with self._lock:
            if device.ordinal not in self._ready:
                with device.current(), self._driver.relaxed_capture():
                    for entry in self._entries:
                        self._prepare(entry, self._kernels[entry.name], device)
                self._ready.add(device.ordinal)
        return Loaded(device, self, self._kernels)

    def variable(self, name: str, device: CudaDevice) -> tuple[int, int] | None:
        """Where a variable of the code lies on `device`, and its bytes; `None` where the code has none of that name."""
        with device.current():
            return self._driver.find_variable(self._handle, name)

    def note_stream(self, stream: int) -> None:
        """Remember when a launch on `stream` becomes part of a CUDA graph, which can run it at any later time."""
        if not self.is_pinned and self._driver.is_capturing(stream):
            self.pin()

    def pin(self) -> None:
        """Keep the code loaded when nobody refers to this object any more."""
        self.is_pinned = True
        self._finalizer.detach()

    def on_unload(self, user: T, tell: Callable[[T], None]) -> None:
        """Call `tell(user)` before `unload` takes the kernels away, if `user` is still there."""
        self._users[user] = tell

    def unload(self) -> None:
        """Unload now. The driver waits for kernels that run; CUDA graphs that hold one must not be launched again."""
        self._finalizer.detach()
        if self.is_loaded:
            self.is_loaded = False
            for user, tell in list(self._users.items()):
                tell(user)
            _unload(self._driver, self._handle)

    def _prepare(self, entry: KernelEntry, kernel: int, device: CudaDevice) -> None:
        driver = self._driver
        if entry.raise_shared_limit:
            static = driver.kernel_attribute(kernel, KernelAttribute.STATIC_SHARED_BYTES, device.ordinal)
            limit = device.shared_bytes - static
            driver.set_kernel_attribute(kernel, KernelAttribute.MAX_DYNAMIC_SHARED_BYTES, limit, device.ordinal)
        if entry.non_portable_cluster and device.capability >= _CLUSTERS_SINCE:
            driver.set_kernel_attribute(kernel, KernelAttribute.NON_PORTABLE_CLUSTER, 1, device.ordinal)
        # The first launch would do it, and may be part of a capture.
        driver.load_kernel(kernel)


def loaded_libraries() -> list[Library]:
    """Those of this process that somebody refers to."""
    return [library for library in _live.copy() if library.is_loaded]


def unload_retired(stream: int) -> None:
    """Unload what has been garbage-collected, unless a CUDA graph is being captured from `stream`."""
    while _retired:
        try:
            driver, handle = _retired.pop()
        except IndexError:  # another thread was faster
            return
        if stream > 1 and driver.is_capturing(stream):
            _retired.append((driver, handle))
            return
        try:
            _unload(driver, handle)
        except DriverError:
            # Its context is gone, or an earlier kernel has failed, which is for the next call to say.
            continue


def _unload(driver: Driver, handle: int) -> None:
    with driver.relaxed_capture():
        driver.unload_library(handle)
