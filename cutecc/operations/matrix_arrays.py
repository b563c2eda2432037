"""Matrices anywhere in memory as one argument: a table of their addresses, made before it is used."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.errors import ArgumentError, LaunchError
from cutecc.operations.arguments import read
from cutecc.operations.device_memory import DevicePool, asked
from cutecc.operations.views import MatrixArray
from cutecc.runtime.checks import array_text
from cutecc.runtime.cuda_bindings import cuda_driver
from cutecc.runtime.device import CudaDevice
from cutecc.runtime.streams import current_stream, read_stream

_NON_BLOCKING = 1
"""`CU_STREAM_NON_BLOCKING`: waits for nobody."""


def read_matrices(name: str, matrices: Sequence[Any]) -> list[Array]:
    """The matrices of one argument. Raises `ArgumentError` unless they have one type, shape, layout and device."""
    if not matrices:
        raise ArgumentError(f"argument '{name}': a batch without matrices")
    arrays = [cast(Array, read(f"{name}[{index}]", each)) for index, each in enumerate(matrices)]
    first = arrays[0]
    for index, each in enumerate(arrays):
        if (each.layout, each.place) != (first.layout, first.place):
            raise ArgumentError(
                f"argument '{name}': its matrices differ: {array_text(first)}, and at {index} {array_text(each)}",
                hints=["all have one shape and the same strides"],
            )
    return arrays


def is_captured(first: Array, stream: Any) -> bool:
    """Whether a CUDA graph is captured on the stream of a call: it would not keep tables that are made for the call.

    `first` is one of the arrays, `stream` what the call names.
    """
    if first.device != "cuda":
        return False
    handle = current_stream(first.library, first.ordinal or 0)() if stream is None else read_stream(stream)
    return cuda_driver().is_capturing(handle)


def check_not_captured(name: str, first: Array, stream: Any) -> None:
    """Raise `ArgumentError` where `is_captured`, for the list that an argument is."""
    if is_captured(first, stream):
        raise ArgumentError(
            f"argument '{name}' is a list, and a CUDA graph does not keep the table of its addresses",
            hints=[f'make it before, and keep it as long as the graph: op.matrices("{name}", matrices)'],
        )


def table_on_cpu(name: str, matrices: Sequence[Any]) -> MatrixArray:
    """The matrices in this process's memory, for the emulator. Raises `ArgumentError`."""
    arrays = read_matrices(name, matrices)
    addresses = tuple(each.address for each in arrays)
    table = np.array(addresses, np.int64)
    array = Array("int64", table.shape, (1,), table.ctypes.data, library="numpy")
    return MatrixArray(array, arrays[0], addresses, owner=(table, tuple(matrices)))


def table_on_gpu(name: str, arrays: Sequence[Array], device: CudaDevice, pool: DevicePool, cuda: Any) -> MatrixArray:
    """The matrices on a GPU. Waits for the copy of the table alone, also while a CUDA graph is being captured.

    `cuda` is `cuda.bindings.driver` or what stands in for it. Raises `LaunchError`.
    """
    addresses = tuple(each.address for each in arrays)
    table = np.array(addresses, np.int64)
    memory = TableMemory(f"'{name}'", table, device, pool, cuda)
    array = Array("int64", table.shape, (1,), memory.address, "cuda", device.ordinal)
    return MatrixArray(array, arrays[0], addresses, memory, memory.streams)


class TableMemory:
    """Memory of a GPU with a table in it, which goes back behind the launches on `streams`."""

    def __init__(self, what: str, data: Any, device: CudaDevice, pool: DevicePool, cuda: Any) -> None:
        """Copies `data`, numpy's without gaps, and waits for that alone, also while a CUDA graph is being captured."""
        self.streams: set[int] = set()
        """Where launches have used it."""
        self._device = device
        do = partial(asked, cuda, f"making the table of {what}")
        with device.current(), device.driver.relaxed_capture():
            stream = do("cuStreamCreate", _NON_BLOCKING)
            try:
                self._block = pool.allocate(data.nbytes, int(stream))
                do("cuMemcpyHtoDAsync", self._block.address, data.ctypes.data, data.nbytes, stream)
                do("cuStreamSynchronize", stream)
            finally:
                do("cuStreamDestroy", stream)

    @property
    def address(self) -> int:
        return self._block.address

    def __del__(self) -> None:
        # At the end of the process the driver may be gone.
        with suppress(Exception), self._device.current():
            for stream in self.streams:
                with suppress(LaunchError):  # one that is gone has nothing left to do
                    self._device.driver.order(stream, 0)
            self._block.free(0)
