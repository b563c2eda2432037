"""`malloc` and `free` of the CUDA device runtime (CUDA C++ Programming Guide, "Dynamic Global Memory Allocation and
Operations")."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array, Lanes
from cutecc.emulator.memory.heap import Heap, Refusal

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang

NAMES: Final = ("malloc", "free")
"""Kernels that call these have a heap."""
_REFUSED: Final[dict[Refusal, str]] = {
    "freed": "frees memory that has been freed already",
    "inside": "frees an address in the midst of what malloc has given",
    "never": "frees an address that malloc has not given",
}


def allocate(operation: Operation, gang: Gang, lanes: Lanes, arguments: list[Array]) -> Array:
    """`malloc(size)`: each thread's own memory, or null where there is none left."""
    machine, heap = gang.machine, _heap(operation, gang)
    sizes = np.broadcast_to(arguments[0], gang.shape)
    found = np.zeros(gang.shape, np.uint64)
    for thread in np.flatnonzero(lanes.mask).tolist():
        row, lane = divmod(thread, WARP)
        found[row, lane] = address = heap.allocate(int(sizes[row, lane]))
        if address and machine.watch.listens:
            machine.watch.allocated(address, heap.size_of(address))
    return found


def release(operation: Operation, gang: Gang, lanes: Lanes, arguments: list[Array]) -> None:
    """`free(address)`: of null nothing happens; of anything else that `malloc` has not given, a GPU may do anything."""
    machine, heap = gang.machine, _heap(operation, gang)
    addresses = np.broadcast_to(arguments[0], gang.shape)
    for thread in np.flatnonzero(lanes.mask & (addresses != 0)).tolist():
        row, lane = divmod(thread, WARP)
        address = int(addresses[row, lane])
        one = gang.mask((row, lane))
        size = heap.size_of(address)
        if size and machine.watch.listens:
            machine.watch.freed(gang, Lanes(one), operation, address, size)
        refusal = heap.release(address)
        if refusal is not None:
            where = machine.memory.describer("generic", addresses)
            machine.fault("heap", _REFUSED[refusal], operation, gang, one, where)


def _heap(operation: Operation, gang: Gang) -> Heap:
    found = gang.machine.memory.heap
    if found is None:
        raise operation.error("the program has no heap")
    return found
