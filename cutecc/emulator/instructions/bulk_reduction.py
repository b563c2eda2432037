"""Reductions of bulk copies: what is in memory, combined with what comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import numpy as np

from cutecc.emulator.instructions.atomics import update_of
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.lanes import Array

if TYPE_CHECKING:
    from cutecc.emulator.instructions.operation import Operation

REDUCTIONS: Final = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
_UNSIGNED: Final = {"b32": "u32", "b64": "u64"}

Reduce = Callable[[Array, Array], Array]
"""Old and new bytes, flat and contiguous → the bytes that replace the old ones."""


def reduction(operation: Operation, name: str, type_: str, space: str) -> Reduce:
    """The reduction of elements of a type in `global` or `shared` memory; the same as `red` does for a thread."""
    prepare = update_of(operation, name, _UNSIGNED.get(type_, type_), space)
    dtype = DTYPES[type_]

    def reduce(old: Array, new: Array) -> Array:
        values = np.ascontiguousarray(new).view(dtype)
        update = prepare(values, values)
        return update(np.ascontiguousarray(old).view(bits_of(dtype)), np.arange(values.size)).view(np.uint8)

    return reduce
