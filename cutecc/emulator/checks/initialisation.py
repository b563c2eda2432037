"""Which bytes of a load count as read, and what of local memory has been written.

A vector load whose element goes to a register that nobody reads does not read that element: compilers load more than
they need where that is aligned.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.checks.registers import uses_of
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.machine.gang import Gang
from cutecc.emulator.machine.lanes import Array, Lanes, Mask
from cutecc.emulator.machine.program import Program
from cutecc.ptx.syntax import Register, Vector


@lru_cache(maxsize=16)
def wanted_elements(program: Program) -> dict[int, NDArray[np.bool_]]:
    """By operation: which elements of a vector load anybody reads. Loads of which all are read are left out."""
    read = frozenset[int]().union(*(use.reads for use in uses_of(program)))
    found: dict[int, NDArray[np.bool_]] = {}
    for operation in program.operations:
        first = operation.operands[0] if operation.operands else None
        if operation.form.opcode == "ld" and isinstance(first, Vector):
            wanted = [isinstance(each, Register) and operation.scope.slot(each.name) in read for each in first.items]
            if not all(wanted):
                found[operation.index] = np.array(wanted)
    return found


class LocalMemory:
    """Which bytes of each thread's local memory have been written."""

    def __init__(self, size: int) -> None:
        """`size` in bytes, of one thread."""
        self._size = size
        self._written: WeakKeyDictionary[Gang, NDArray[np.bool_]] = WeakKeyDictionary()

    def write(self, gang: Gang, lanes: Lanes, addresses: Array, size: int) -> None:
        self._of(gang)[self._places(lanes, addresses, size)] = True

    def missing(self, gang: Gang, lanes: Lanes, addresses: Array, size: int) -> Mask:
        """The threads that read a byte that they have not written."""
        places = self._places(lanes, addresses, size)
        result = np.zeros(gang.shape, np.bool_)
        result[lanes.mask] = ~self._of(gang)[places].all(axis=1)
        return result

    def _of(self, gang: Gang) -> NDArray[np.bool_]:
        found = self._written.get(gang)
        if found is None:
            found = self._written[gang] = np.zeros((*gang.shape, self._size), np.bool_)
        return found

    @staticmethod
    def _places(lanes: Lanes, addresses: Array, size: int) -> tuple[Any, Any, Any]:
        warps, threads = np.nonzero(lanes.mask)
        offsets = addresses[lanes.mask].astype(np.intp)[:, None] + np.arange(size)
        return warps[:, None], threads[:, None], offsets


def used_bytes(wanted: dict[int, NDArray[np.bool_]], operation: Operation, granules: int) -> NDArray[np.bool_] | bool:
    """Which of the granules of an access count as read."""
    elements = wanted.get(operation.index)
    if elements is None:
        return True
    if granules >= len(elements):
        return np.repeat(elements, granules // len(elements))
    return np.asarray(elements.reshape(granules, -1).any(axis=1))
