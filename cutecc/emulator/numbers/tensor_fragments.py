"""Which thread's register holds which cell of tensor memory (PTX ISA, "Data Movement Shape").

A shape is lanes by bits of columns; `.x2` to `.x128` repeat it along the columns. With `.pack::16b` and `.unpack::16b`
a register has the lower halves of two neighbouring columns, and the shape is twice as wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array

SHAPES: Final = {"32x32b": 32, "16x64b": 16, "16x128b": 16, "16x256b": 16, "16x32bx2": 16}
"""By name: how many lanes."""


@dataclass(frozen=True, eq=False, slots=True)
class TensorFragment:
    """Arrays of shape `(registers, 32)`."""

    lanes: Array
    """Of the register's cell, from that of the address on."""
    columns: Array
    """The same; with `packed` the first of two."""
    packed: bool

    @property
    def registers(self) -> int:
        return self.lanes.shape[0]

    @property
    def width(self) -> int:
        """How many columns from the address on it reaches."""
        return int(self.columns.max()) + 1 + self.packed

    @property
    def height(self) -> int:
        """How many lanes."""
        return int(self.lanes.max()) + 1

    def gather(self, words: Array, lane: int, column: int) -> Array:
        """The registers, shape `(registers, 32)`, of cells of a tensor memory from an address on."""
        lanes, columns = self.lanes + lane, self.columns + column
        if not self.packed:
            return words[lanes, columns]
        return (words[lanes, columns] & 0xFFFF) | words[lanes, columns + 1] << np.uint32(16)

    def scatter(self, words: Array, lane: int, column: int, registers: Array) -> None:
        """The counterpart of `gather`; the upper halves of unpacked cells become 0."""
        lanes, columns = self.lanes + lane, self.columns + column
        if not self.packed:
            words[lanes, columns] = registers
            return
        words[lanes, columns] = registers & 0xFFFF
        words[lanes, columns + 1] = registers >> np.uint32(16)

    def cells(self, lane: int, column: int) -> tuple[Array, Array]:
        """Lanes and columns of all cells from an address on, flat."""
        lanes, columns = (self.lanes + lane).reshape(-1), (self.columns + column).reshape(-1)
        if not self.packed:
            return lanes, columns
        return np.concatenate([lanes, lanes]), np.concatenate([columns, columns + 1])


@cache
def tensor_fragment(shape: str, times: int, packed: bool, split: int = 0) -> TensorFragment:
    """Of a shape that is repeated so many times; `split` columns lie between the halves of `16x32bx2`."""
    thread = np.arange(WARP)[None, :]
    per_shape = {"16x128b": 2, "16x256b": 4}.get(shape, 1)
    register = np.arange(times * per_shape)[:, None]
    quad, group, apart = thread % 4, thread // 4, 0
    match shape:
        case "32x32b":
            lane, unit = thread, register
        case "16x64b":
            lane, unit = group + 8 * (thread % 2), thread // 2 % 2 + 2 * register
        case "16x128b":
            lane, unit = group + 8 * (register % 2), quad + 4 * (register // 2)
        case "16x256b":
            lane, unit = group + 8 * (register // 2 % 2), 2 * quad + register % 2 + 8 * (register // 4)
        case "16x32bx2":
            lane, unit, apart = thread % 16, register, split * (thread // 16)
        case _:
            raise KeyError(shape)
    lanes, columns = np.broadcast_arrays(lane, unit * (1 + packed) + apart)
    return TensorFragment(lanes, columns, packed)
