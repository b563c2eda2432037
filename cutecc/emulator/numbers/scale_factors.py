"""Where the scales of A and B are in tensor memory (PTX ISA, "Scale factor layout"), and how many there are.

A scale is a byte. 32 rows of A, or columns of B, are in the lanes of a warp, the next 32 in the next column of tensor
memory; a cell has four scales that follow one another along K. Where more are needed than the cell has from the first
one on, the rest is in the cell 4 columns further on, 8 where there are more than 128 rows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array
from cutecc.emulator.memory.tensor_memory import CELL, WARP_LANES

_COUNTS: Final = {
    "mxf8f6f4": {"": 1, "scale_vec::1X": 1, "block32": 1},
    "mxf4": {"": 2, "scale_vec::2X": 2, "block32": 2},
    "mxf4nvf4": {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
}
"""Along K where that is not 96, by kind and modifier."""
VECTORS: Final = tuple(each for each in {name: None for names in _COUNTS.values() for name in names} if each)
"""Modifiers that say how many there are."""
_FIRST: Final = {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}
"""Bytes of a cell that may be the first, by count."""
_FEWEST_OF_UE4M3: Final = 4


def count_of_scales(kind: str, vector: str, deep: bool) -> int | None:
    """Scales along K of a kind and modifier (or ""); `None` where there is no such combination. `deep`: K is 96."""
    count = _COUNTS.get(kind, {}).get(vector)
    if count is None or (deep and vector.startswith("scale_vec")):
        return None
    return count * 3 // 2 if deep else count


def scale_types(kind: str, count: int) -> tuple[str, ...]:
    """Those that so many scales of a kind may have."""
    return ("ue8m0", "ue4m3") if kind == "mxf4nvf4" and count >= _FEWEST_OF_UE4M3 else ("ue8m0",)


def refusal_of_scales(count: int, firsts: Iterable[int], type_: str) -> str | None:
    """What is wrong with first bytes or the type, and what there is; `None` if nothing is."""
    for first in firsts:
        if first not in _FIRST[count]:
            legal = ", ".join(map(str, _FIRST[count]))
            text = f"has scales from byte {first} of a cell on, where {count} of them begin at byte {legal}"
            return f"{text}\nfurther scales are in the next columns: it is the address that chooses there"
    if type_ == "ue4m3" and count < _FEWEST_OF_UE4M3:
        return f"names {count} scales of ue4m3 along K, of which 4 and 6 may be\ntake .block16, or scales of ue8m0"
    return None


@dataclass(frozen=True, eq=False, slots=True)
class ScalePlaces:
    """Those of some rows, from an address on: arrays of shape `(rows, scales)`."""

    lanes: Array
    columns: Array
    bytes: Array
    """In the cell."""

    @property
    def width(self) -> int:
        """Columns, from the first to the last."""
        return int(self.columns.max()) + 1

    def gather(self, words: Array, lane: int, column: int) -> Array:
        """The scales as bytes, `(rows, scales)`, of a tensor memory."""
        return words.view(np.uint8)[self.lanes + lane, (self.columns + column) * CELL + self.bytes]


@cache
def scale_places(rows: int, first: int, count: int) -> ScalePlaces:
    """Of `count` scales for each row, from a byte of the cell on."""
    row, place = np.arange(rows)[:, None], first + np.arange(count)[None, :]
    apart = 4 * -(-rows // 128)
    arrays = np.broadcast_arrays(row % WARP_LANES, row // WARP_LANES + place // CELL * apart, place % CELL)
    return ScalePlaces(*arrays)
