"""numpy arrays as arguments of a GPU: copied in when a call needs them, and back when their values are asked for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, LaunchError, NoGpuError
from cutecc.operations.device_memory import Block, DevicePool, asked, pool_of
from cutecc.operations.hazards import are_woven, extent
from cutecc.operations.variant import Arrays
from cutecc.runtime.cuda_bindings import cuda_driver, load_bindings
from cutecc.runtime.device import CudaDevice
from cutecc.support import forks


@dataclass
class _Copy:
    """An array's memory on the GPU, gaps between its rows included."""

    layout: Array
    """Of the array in this process."""
    first: int
    """Bytes from the lowest address to the first element."""
    block: Block
    stream: int
    """That of the last call that uses it."""

    @property
    def begin(self) -> int:
        """The lowest address in this process."""
        return self.layout.address - self.first

    @property
    def end(self) -> int:
        """The address behind the last byte in this process."""
        return self.begin + self.block.size

    def on_device(self, ordinal: int) -> Array:
        """The copy as an argument."""
        address = self.block.address + self.first
        return replace(self.layout, address=address, device="cuda", ordinal=ordinal, library="", readonly=False)


class HostCopies:
    """Copies of numpy arrays on one GPU: outputs stay there until `sync` brings them back. Threads may share them."""

    def __init__(self, pool: DevicePool, device: CudaDevice, cuda: Any = None) -> None:
        """`cuda` is `cuda.bindings.driver` or what stands in for it."""
        self._pool = pool
        self._device = device
        self._cuda: Any = load_bindings() if cuda is None else cuda
        self._outputs: list[tuple[_Copy, Any]] = []
        """With the array, which has to live until then."""
        self._lock = forks.lock()
        """Held from the copies of a call to its launch, so that no other thread's `sync` frees what it is given."""

    @property
    def pending(self) -> int:
        """Outputs that have not come back."""
        return len(self._outputs)

    @contextmanager
    def of_call(
        self, values: Mapping[str, Any], outputs: Collection[str], stream: int
    ) -> Generator[Callable[[Arrays], Arrays]]:
        """What gives the copies of a call's arrays, on the GPU's context; those of inputs go back behind the call."""
        taken: list[Block] = []

        def copy(arrays: Arrays) -> Arrays:
            found: Arrays = {}
            for name, array in arrays.items():
                if name not in outputs:
                    found[name], block = self.copy_in(name, cast(Array, array), stream)
                    taken.extend([block] if block is not None else [])
            for name in outputs:
                found[name] = self.for_output(name, values[name], cast(Array, arrays[name]), stream)
            return found

        with self._lock, self._device.current():
            pending = len(self._outputs)
            try:
                yield copy
            except BaseException:
                # Nothing was computed that could come back.
                taken.extend(each.block for each, _ in self._outputs[pending:])
                del self._outputs[pending:]
                raise
            finally:
                for block in taken:
                    block.free(stream)

    def copy_in(self, name: str, array: Array, stream: int) -> tuple[Array, Block | None]:
        """What a call on `stream` is given for an input, and the memory to free behind the call.

        The array may be changed as soon as this returns. An output of an earlier call that has not come back is used
        where it is: it has no memory to free. Raises `ArgumentError` for an array that shares memory with such an
        output and is not the same.
        """
        if (earlier := self._find(name, array, stream)) is not None:
            return earlier.on_device(self._pool.ordinal), None
        copy = self._new(array, stream)
        what = f"copying '{name}' to the GPU"
        self._do(what, "cuMemcpyHtoDAsync", copy.block.address, copy.begin, copy.block.size, copy)
        return copy.on_device(self._pool.ordinal), copy.block

    def for_output(self, name: str, value: Any, array: Array, stream: int) -> Array:
        """What a call on `stream` is given for an output; `value` is the array, `array` how it lies in memory."""
        if (earlier := self._find(name, array, stream)) is not None:
            return earlier.on_device(self._pool.ordinal)
        copy = self._new(array, stream)
        self._outputs.append((copy, value))
        return copy.on_device(self._pool.ordinal)

    def sync(self) -> None:
        """Wait for the calls, and write what they computed into the arrays. Raises `LaunchError` for their faults."""
        with self._lock:
            if self._outputs:
                with self._device.current():
                    self._bring_back()

    def _bring_back(self) -> None:
        import numpy as np

        outputs, self._outputs = self._outputs, []
        landed: list[tuple[_Copy, Any, Any]] = []
        for copy, value in outputs:
            data = np.empty(copy.block.size, np.uint8)
            what = "copying a result from the GPU"
            self._do(what, "cuMemcpyDtoHAsync", data.ctypes.data, copy.block.address, copy.block.size, copy)
            landed.append((copy, value, data))
        for stream in dict.fromkeys(copy.stream for copy, _ in outputs):
            asked(self._cuda, "waiting for a product", "cuStreamSynchronize", self._cuda.CUstream(stream))
        for copy, value, data in landed:
            # Element by element, so that what lies between the rows stays as it is now.
            width = value.dtype.itemsize
            steps = tuple(step * width for step in copy.layout.stride)
            value[...] = np.ndarray(copy.layout.shape, value.dtype, data.data, copy.first, steps)
            copy.block.free(copy.stream)

    def _new(self, array: Array, stream: int) -> _Copy:
        low, high = extent(array)
        return _Copy(array, -low, self._pool.allocate(high - low, stream), stream)

    def _find(self, name: str, array: Array, stream: int) -> _Copy | None:
        """The copy of an output of an earlier call that is this very array, for the next one on `stream`."""
        low, high = extent(array)
        for copy, _ in self._outputs:
            if (copy.layout.address, copy.layout.layout) == (array.address, array.layout):
                if copy.stream != stream:
                    self._device.driver.order(copy.stream, stream)
                    copy.stream = stream
                return copy
            meets = array.address + low < copy.end and copy.begin < array.address + high
            if meets and not are_woven(copy.layout, array):
                raise ArgumentError(
                    f"argument '{name}' shares memory with the result of an earlier call, which has not come back",
                    hints=["call sync() first"],
                )
        return None

    def _do(self, what: str, function: str, destination: int, source: int, size: int, copy: _Copy) -> None:
        if size:
            asked(self._cuda, what, function, destination, source, size, self._cuda.CUstream(copy.stream))


def as_copied(arrays: Arrays) -> Arrays:
    """The arrays at addresses that are as aligned as those of their copies on a GPU."""
    return {name: replace(each, address=-extent(each)[0]) for name, each in cast("dict[str, Array]", arrays).items()}


def copies_here(known: dict[int, HostCopies]) -> HostCopies:
    """The copies on the current GPU, or the first where a thread has none; `known` are those by CUDA ordinal.

    Raises `NoGpuError` where there is no GPU.
    """
    try:
        driver = cuda_driver()
    except LaunchError as error:
        hints = ['op.run(…, device="cpu") runs the operation on the CPU emulator', *error.hints[:1]]
        raise NoGpuError(error.message, notes=error.notes, hints=hints) from None
    ordinal = driver.current_device() or 0
    if ordinal not in known:
        device = CudaDevice(driver, ordinal)
        with device.current():
            known[ordinal] = HostCopies(pool_of(ordinal), device)
    return known[ordinal]
