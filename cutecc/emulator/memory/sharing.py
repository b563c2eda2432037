"""A call's memory in a file that other processes map."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.allocations import Allocation, merged

_SHARED_FOLDER = "/dev/shm"
_PAGE = mmap.PAGESIZE


@dataclass(frozen=True)
class _Place:
    """Where an allocation is in the file, without what makes up its memory."""

    offset: int
    """Bytes from the start of the file."""
    base: int
    size: int
    name: str
    describe: Callable[[int], str]
    writable: bool


@dataclass(frozen=True)
class SharedMemory:
    """Allocations in a file that several processes map."""

    path: str
    size: int
    places: list[_Place]
    module_size: int
    """Bytes of the module's variables, at the end of the file."""

    def open(self) -> tuple[list[Allocation], Array]:
        """The allocations and the module's variables, their bytes those of the file."""
        found: list[Allocation] = []
        contents = _map(self.path, self.size)
        for place in self.places:
            data = contents[place.offset : place.offset + place.size]
            data.flags.writeable = place.writable
            found.append(Allocation(place.base, data, place.name, place.describe, contents))
        return found, contents[self.size - self.module_size :]


def _map(path: str, size: int) -> Any:
    """A file's bytes."""
    if not size:
        return np.empty(0, np.uint8)
    with open(path, "r+b") as file:
        return np.frombuffer(mmap.mmap(file.fileno(), size), np.uint8)


@contextlib.contextmanager
def share(allocations: Sequence[Allocation], module: Array) -> Generator[SharedMemory | None]:
    """All this memory in a file for the time of the block, copied back at its end; `None` where that cannot be."""
    # Tensors that overlap are one region; each has its own part of it.
    regions = merged(allocations)
    offsets: list[int] = []
    size = 0
    for region in regions:
        # An address has the alignment that it has in the caller's memory.
        offsets.append(size + int(region.start) % _PAGE)
        size = -(-(offsets[-1] + region.size) // _PAGE) * _PAGE
    size += module.size
    file = _reserve(size)
    if file is None:
        yield None
        return
    with file:
        path = f"/proc/{os.getpid()}/fd/{file.fileno()}"
        contents = _map(path, size)
        for region, offset in zip(regions, offsets, strict=True):
            contents[offset : offset + region.size] = region.data
        contents[size - module.size :] = module
        places: list[_Place] = []
        for each in allocations:
            offset = next(
                (
                    offset + each.base - int(region.start)
                    for region, offset in zip(regions, offsets, strict=True)
                    if 0 <= each.base - int(region.start) < region.size
                ),
                0,
            )
            writable = bool(each.data.flags.writeable)
            places.append(_Place(offset, each.base, each.size, each.name, each.describe, writable))
        yield SharedMemory(path, size, places, module.size)
        module[:] = contents[size - module.size :]
        for region, offset in zip(regions, offsets, strict=True):
            if region.writable:
                region.data[:] = contents[offset : offset + region.size]


def _reserve(size: int) -> IO[bytes] | None:
    """A new file of so many bytes, in memory if possible; `None` when there is no room for it.

    It has no name, so that it goes with this process, however that ends.
    """
    for folder in (_SHARED_FOLDER, tempfile.gettempdir()):
        if not os.path.isdir(folder):
            continue
        try:
            file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - the caller closes it
        except OSError:
            continue
        try:
            # Without, a write into the mapping would end the process when the folder is full.
            if size:
                os.posix_fallocate(file.fileno(), 0, size)
            return file
        except OSError as failure:
            file.close()
            if failure.errno not in (errno.ENOSPC, errno.EFBIG, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOMEM):
                raise
    return None
