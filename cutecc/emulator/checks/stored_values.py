"""What stores write: whether threads write the same, and whether that is another value than there is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.lanes import Array, Mask
from cutecc.ptx.syntax import Vector

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation
    from cutecc.emulator.machine.gang import Gang


def same_value(gang: Gang, mask: Mask, operation: Operation, one: NDArray[Any], two: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether pairs of threads, by their place in the mask, store the same."""
    result = np.ones(len(one), np.bool_)
    for value in _values(gang, mask, operation):
        result &= value[one] == value[two]
    return result


def changes(gang: Gang, mask: Mask, operation: Operation, places: Array, parts: NDArray[Any]) -> NDArray[np.bool_]:
    """Whether threads, by their place in the mask, store another value than there is, which they have not yet.

    `places` are of the shared memory of all blocks.
    """
    result = np.zeros(len(parts), np.bool_)
    starts = places[mask][parts].astype(np.intp)
    for number, value in enumerate(_values(gang, mask, operation)):
        stored = np.ascontiguousarray(value[parts])[:, None].view(np.uint8)
        size = stored.shape[1]
        there = gang.machine.memory.shared[starts[:, None] + (number * size + np.arange(size))]
        result |= (stored != there).any(axis=1)
    return result


def _values(gang: Gang, mask: Mask, operation: Operation) -> Iterator[Array]:
    """Each element that a store writes, of the threads in the mask: bits."""
    if operation.form.has("bulk"):
        yield np.zeros(int(np.count_nonzero(mask)), np.uint32)
        return
    source = operation.operands[1]
    type_ = "u32" if operation.form.opcode == "mbarrier" else operation.form.type
    for item in source.items if isinstance(source, Vector) else (source,):
        value = np.broadcast_to(operation.reader(item, type_)(gang), gang.shape)[mask]
        yield value.view(bits_of(DTYPES[type_]))
