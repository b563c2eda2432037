"""Where the rows and columns of D lie in tensor memory (PTX ISA, "Data Path Layout Organization").

A column of D is a column of tensor memory, a row is a lane. Of a pair of blocks each has half of the rows. In some
layouts parts of N are beside each other, in lanes of their own. A in tensor memory has its rows in the lanes of D's, so
there it is once for each part of N, and each part multiplies with the A in its own lanes; so has sparse A's metadata.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.tensor_memory import LANES, WARP_LANES


@dataclass(frozen=True, eq=False, slots=True)
class Part:
    """Some rows and columns of D, in lanes of a block's tensor memory, from the address's column on."""

    block: int
    """Of the pair; else 0."""
    lanes: Array
    """From that of the address on."""
    rows: slice
    """Of A, too."""
    columns: slice
    """Of B, too."""
    number: int
    """Of the parts of N."""

    @property
    def width(self) -> int:
        """Columns."""
        return self.columns.stop - self.columns.start


@dataclass(frozen=True, eq=False, slots=True)
class TensorLayout:
    """The parts of D."""

    name: str
    """The manual's letter."""
    shares: int
    """Parts of N."""
    lanes: tuple[int, ...]
    """Where D, A and metadata may begin."""
    parts: tuple[Part, ...]


_LAYOUTS: Final = {
    (256, True, False): ("A", 1),
    (128, True, False): ("B", 2),
    (128, False, False): ("D", 1),
    (128, False, True): ("D", 1),
    (64, False, True): ("E", 2),
    (64, False, False): ("F", 1),
    (32, False, True): ("G", 4),
}
"""The layout and its parts of N, by M, whether of a pair, and whether of `.ws`."""


@cache
def layout_of(rows: int, columns: int, *, pair: bool, stationary: bool, sparse: bool) -> TensorLayout | None:
    """Of D, `rows` by `columns`, of one block or a pair; `None` where there is no such layout."""
    found = _LAYOUTS.get((rows, pair, stationary))
    if found is None:
        return None
    name, shares = ("C", 1) if found[0] == "B" and sparse else found
    halves, blocks = name in "CF", 1 + pair
    height, width = rows // blocks, columns // shares
    row = np.arange(height)
    lanes = row // 16 * WARP_LANES + row % 16 if halves else row
    parts = tuple(
        Part(
            block,
            lanes + LANES // shares * number,
            slice(height * block, height * (block + 1)),
            slice(width * number, width * (number + 1)),
            number,
        )
        for block in range(blocks)
        for number in range(shares)
    )
    return TensorLayout(name, shares, (0, 16) if halves else (0,), parts)
