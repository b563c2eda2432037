"""Where the scale factors of block-scaled products are in tensor memory.

PTX ISA, 9.7.16.10.7 "Block Scaling" with tables 54 and 55, 9.7.16.10.7.2 "Scale Factor A ID" and 9.7.16.10.7.3 "Scale
Factor B ID". The layouts are pictures (figures 231 to 258). The text has: a scale is a byte, the id is the first byte
of a word that is used; they are "duplicated to all 32 lane partitions". Pictures and CuTe's fragments for scales agree
in: rows go along 32 lanes, then to the next column, so 128 rows are 4 columns; where more than 4 bytes are needed from
the id on, the rest is in the word of the next 4 columns, or of the next 8 for more than 128 rows.
"""

from __future__ import annotations

from dataclasses import dataclass

from blackwell_model.cells import LANES_OF_A_WARP, Bits, Cell
from blackwell_model.instruction_descriptor import Kind

PARTITIONS = 4
ROWS_OF_A_CHUNK = 128
BYTES_OF_A_WORD = 4


@dataclass(frozen=True)
class ScaleVectors:
    """How many scales a row of A, or a column of B, has, and for how many elements each is."""

    count: int
    block: int

    @property
    def ids(self) -> tuple[int, ...]:
        """Which scale factor ids there are: first bytes, aligned to what is selected, of which 3 and 6 are to 1 and 2.

        6 bytes, of 16 elements each, begin at the first or third byte of a word.
        """
        return {1: (0, 1, 2, 3), 2: (0, 2), 3: (0, 1, 2, 3), 4: (0,), 6: (0, 2)}[self.count]


def vectors_of(kind: Kind, qualifier: str | None, k: int) -> ScaleVectors:
    """For `scale_vec::1X`, `::2X`, `::4X`, `block16` or `block32`; None where the instruction has none of them.

    `k` counts elements before compression, so a scale of a sparse A is for twice as many of them as its name says.
    Raises ValueError for what tables 54 and 55 have not.
    """
    allowed: dict[Kind, dict[str | None, int]] = {
        Kind.MXF8F6F4: {None: 1, "scale_vec::1X": 1, "block32": 1},
        Kind.MXF4: {None: 2, "scale_vec::2X": 2, "block32": 2},
        Kind.MXF4NVF4: {"scale_vec::2X": 2, "block32": 2, "scale_vec::4X": 4, "block16": 4},
    }
    count = allowed[kind].get(qualifier) if kind in allowed else None
    if count is None:
        raise ValueError(f"{kind.value} has no {qualifier}")
    if k == 96:
        if qualifier not in (None, "block16", "block32"):
            raise ValueError("K = 96 has block16 and block32")
        count = count * 3 // 2
    return ScaleVectors(count, k // count)


def types_of(kind: Kind, vectors: ScaleVectors) -> tuple[str, ...]:
    """Which types scales may have; ue4m3 is for 4 and 6 of them."""
    if kind is Kind.MXF4NVF4 and vectors.count in (4, 6):
        return ("ue8m0", "ue4m3")
    return ("ue8m0",)


def scale_of(vectors: ScaleVectors, k: int) -> int:
    """Which of its row's scales an element has."""
    return k // vectors.block


def words_apart(rows: int) -> int:
    """Columns from one word of a row's scales to the next one."""
    return PARTITIONS * -(-rows // ROWS_OF_A_CHUNK)


def columns_of(rows: int, vectors: ScaleVectors, scale_id: int) -> int:
    """How many columns are read from the address on, the first to the last one."""
    last_word = (scale_id + vectors.count - 1) // BYTES_OF_A_WORD
    return last_word * words_apart(rows) + -(-rows // LANES_OF_A_WARP)


def place_of_scale(address: Cell, rows: int, row: int, scale_id: int, index: int, partition: int = 0) -> Bits:
    """Of the scale with this index of a row of A in its block, or of a column of B, as one partition of lanes has it.

    `rows` is how many the block has of A, or N of B: each block of a pair has the scales of its own rows of A and of
    all columns of B.
    """
    word, byte = divmod(scale_id + index, BYTES_OF_A_WORD)
    chunk, lane = divmod(row, LANES_OF_A_WARP)
    cell = address.moved(partition * LANES_OF_A_WARP + lane, word * words_apart(rows) + chunk)
    return Bits(cell, 8 * byte, 8)


def place_of_b_scale_in_halves(
    address: Cell, n: int, column: int, scale_id: int, index: int, partition: int = 0
) -> Bits:
    """The same for B where N is in two halves of the lanes, which is layout B (M = 128 of two blocks).

    Each half of the lanes has the scales of its half of N, in both of its partitions (0 and 1). The manual has no words
    for it; CuTe's `ScaleFactorDuplicated2by2` is so for N of 128 and more.
    """
    half, inside = divmod(column, n // 2)
    first = address.moved(half * 2 * LANES_OF_A_WARP)
    return place_of_scale(first, n // 2, inside, scale_id, index, partition)
