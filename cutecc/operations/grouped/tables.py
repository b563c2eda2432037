"""What the host knows of the groups, in the memory of the device that reads it: sizes, ends, tiles, addresses."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from cutecc.arguments.arrays import Array
from cutecc.operations.hazards import extent
from cutecc.operations.views import Table

_ALIGNMENT = 16


@dataclass(frozen=True, eq=False)
class Numbers(Table):
    """Numbers, one or more a group."""

    table: Array
    like: Array
    owner: object = field(default=None, repr=False)
    streams: set[int] = field(default_factory=set[int], repr=False)
    arrays: Sequence[Array] = field(default=(), repr=False)
    """Those of which it holds the addresses."""
    data: Any = field(default=None, repr=False)
    """The numbers as the host has them, an array of numpy's."""

    @property
    def library(self) -> str:
        return self.like.library if self.arrays else ""

    @cached_property
    def producers(self) -> frozenset[int]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return frozenset(each.stream for each in self.arrays if each.stream is not None)

    def behind(self) -> Iterable[Array]:
        return self.arrays

    def around(self, array: Array) -> Iterator[tuple[int, Array]]:
        """The arrays behind it that begin before another one ends, and may end behind where that begins; with their
        places."""
        begins, reach, order = self._extents
        low, high = extent(array)
        for place in order[bisect_right(reach, array.address + low) : bisect_left(begins, array.address + high)]:
            yield place, self.arrays[place]

    @cached_property
    def _extents(self) -> tuple[list[int], list[int], list[int]]:
        """Where arrays begin, in order, how far those up to each reach, and their places."""
        extents = [(each.address + low, each.address + high) for each in self.arrays for low, high in (extent(each),)]
        order = sorted(range(len(extents)), key=extents.__getitem__)
        begins = [extents[place][0] for place in order]
        return begins, [*accumulate((extents[place][1] for place in order), max)], order


def in_memory(
    tables: Mapping[str, Any], like: Array, behind: Mapping[str, Sequence[Array]], ordinal: int | None
) -> dict[str, Numbers]:
    """Tables of numpy's, copied to a GPU at once, or for `ordinal` `None` as they are, for the emulator.

    `behind` are the arrays that some hold the addresses of, `like` is an array of the call. Waits for the copy alone.
    Raises `LaunchError`.
    """
    if ordinal is None:
        return {
            name: Numbers(
                _array(each, each.ctypes.data, None, like), like, each, arrays=behind.get(name, ()), data=each
            )
            for name, each in tables.items()
        }
    from cutecc.operations.device_memory import pool_of
    from cutecc.operations.matrix_arrays import TableMemory
    from cutecc.runtime.cuda_bindings import cuda_driver, load_bindings
    from cutecc.runtime.device import CudaDevice

    offsets: dict[str, int] = {}
    size = 0
    for name, each in tables.items():
        offsets[name], size = size, size + -(-max(each.nbytes, 1) // _ALIGNMENT) * _ALIGNMENT
    data = np.zeros(size, np.uint8)
    for name, each in tables.items():
        data[offsets[name] : offsets[name] + each.nbytes] = each.reshape(-1).view(np.uint8)
    device = CudaDevice(cuda_driver(), ordinal)
    memory = TableMemory("groups", data, device, pool_of(ordinal), load_bindings())
    return {
        name: Numbers(
            _array(each, memory.address + offsets[name], ordinal, like),
            like,
            memory,
            memory.streams,
            behind.get(name, ()),
            each,
        )
        for name, each in tables.items()
    }


def _array(data: Any, address: int, ordinal: int | None, like: Array) -> Array:
    steps = tuple(step // data.itemsize for step in data.strides)
    device = "cpu" if ordinal is None else "cuda"
    return Array(str(data.dtype), data.shape, steps, address, device, ordinal, like.library)
