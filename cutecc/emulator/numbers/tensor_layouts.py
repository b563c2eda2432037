"""Where the rows and columns of D lie in tensor memory (PTX ISA, "Data Path Layout Organization").

A column of D is a column of tensor memory, a row is a lane. Of a pair of blocks each has its part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.tensor_memory import LANES

_QUARTER: Final = LANES // 4


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Some rows and columns of D, in lanes of a block's tensor memory, from the address's column on."""

    block: int
    """Of the pair; else 0."""
    lanes: Array
    rows: slice
    columns: slice

    @property
    def width(self) -> int:
        """Columns."""
        return self.columns.stop - self.columns.start


@cache
def parts_of(rows: int, columns: int, pair: bool) -> tuple[Part, ...] | None:
    """The parts of D, `rows` by `columns`, of one block or a pair; `None` where there is no such layout."""
    lanes = np.arange(LANES)
    everything = slice(0, columns)
    match rows, pair:
        case 256, True:  # Layout A.
            return tuple(Part(half, lanes, slice(128 * half, 128 * half + 128), everything) for half in range(2))
        case 128, True:  # Layout B: a block's lower lanes have the left half of its rows' columns.
            width = columns // 2
            return tuple(
                Part(
                    half,
                    lanes[64 * side : 64 * side + 64],
                    slice(64 * half, 64 * half + 64),
                    slice(width * side, width * side + width),
                )
                for half in range(2)
                for side in range(2)
            )
        case 128, False:  # Layout D.
            return (Part(0, lanes, slice(0, 128), everything),)
        case 64, False:  # Layout F: the lower half of each warp's lanes.
            row = np.arange(64)
            return (Part(0, row // 16 * _QUARTER + row % 16, slice(0, 64), everything),)
        case _:
            return None
