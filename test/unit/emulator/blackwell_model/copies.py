"""`tcgen05.cp` with its multicasts and decompression, and `tcgen05.shift`.

PTX ISA, 9.7.16.9.1 "Optional Decompression", 9.7.16.9.2 "tcgen05.cp", 9.7.16.9.3 "tcgen05.shift"; 9.7.16.2.3 "Data
Movement Shape" for `.31x256b`. Where an element of the source is in shared memory `shared_descriptor` says: the source
is a K-major matrix of so many rows, of 16 or 32 bytes each. The text of the multicasts leaves open which half of the
source each warp of a pair gets; here it is as the layouts of CuTe DSL's atoms have it, by ascending warp. The same
holds for `.4x256b`, whose rows go to lanes 32 apart.
"""

from __future__ import annotations

from enum import Enum

import numpy as np

from blackwell_model.cells import LANES_OF_A_WARP, Cell
from blackwell_model.loads_and_stores import Words

SHIFTED_COLUMNS = 8
"""32 bytes."""


class CopyShape(Enum):
    """With the multicast that some shapes require; the others have none."""

    S128X256B = "128x256b"
    S4X256B = "4x256b"
    S128X128B = "128x128b"
    S64X128B_02_13 = "64x128b.warpx2::02_13"
    S64X128B_01_23 = "64x128b.warpx2::01_23"
    S32X128B = "32x128b.warpx4"

    @property
    def rows(self) -> int:
        return int(self.value.partition("x")[0])

    @property
    def bytes_of_a_row(self) -> int:
        """In tensor memory; of a decompressed copy, those of the source without what pads them are fewer."""
        return int(self.value.partition("x")[2].partition("b")[0]) // 8


class Compression(Enum):
    """Source formats of `.b8x16`: 16 elements in 16 bytes, the last of which are padding."""

    B6X16_P32 = 6
    B4X16_P64 = 4


def destination_lanes(shape: CopyShape, row: int) -> tuple[int, ...]:
    """Where a row of the source goes, in lanes from the address on."""
    warp, inside = divmod(row, LANES_OF_A_WARP)
    match shape:
        case CopyShape.S128X256B | CopyShape.S128X128B:
            return (row,)
        case CopyShape.S4X256B:
            return (row * LANES_OF_A_WARP,)
        case CopyShape.S64X128B_02_13:
            warps = (warp, warp + 2)
        case CopyShape.S64X128B_01_23:
            warps = (2 * warp, 2 * warp + 1)
        case CopyShape.S32X128B:
            warps = (0, 1, 2, 3)
    return tuple(each * LANES_OF_A_WARP + inside for each in warps)


def destination_column(byte: int) -> tuple[int, int]:
    """Column from the address on, and first bit in it, of a byte of a row in tensor memory."""
    column, place = divmod(byte, 4)
    return column, 8 * place


def source_bytes(compression: Compression | None, destination_byte: int) -> tuple[int, int, int]:
    """The bits of a row of the source that become a byte of tensor memory: first byte, first bit in it, and how many.

    A row has as many bytes of the source as of tensor memory, 16 elements in each 16 bytes.
    """
    if compression is None:
        return destination_byte, 0, 8
    unit, element = divmod(destination_byte, 16)
    byte, bit = divmod(element * compression.value, 8)
    return 16 * unit + byte, bit, compression.value


def decompress(compression: Compression, unit: bytes) -> bytes:
    """16 bytes of the source as the 16 bytes that tensor memory gets.

    6 bits are the low ones of their byte. 4 bits are in the middle, where those of a format with two bits more of
    mantissa would be: what they mean is the same as e2m3.
    """
    if len(unit) != 16:
        raise ValueError("16 elements and their padding are 16 bytes")
    bits = int.from_bytes(unit, "little")
    elements = (bits >> each * compression.value & (1 << compression.value) - 1 for each in range(16))
    return bytes(each << 2 if compression is Compression.B4X16_P64 else each for each in elements)


def copy(
    memory: Words, destination: Cell, shape: CopyShape, rows: list[bytes], compression: Compression | None = None
) -> Words:
    """The memory of a block afterwards. Of `.cta_group::2`, the peer's with the peer's own rows: both are copied."""
    after = memory.copy()
    for row, source in enumerate(rows):
        if compression is not None:
            units = (source[first : first + 16] for first in range(0, len(source), 16))
            source = b"".join(decompress(compression, each) for each in units)
        words = np.frombuffer(source, np.uint32)
        for lane in destination_lanes(shape, row):
            after[destination.lane + lane, destination.column : destination.column + len(words)] = words
    return after


def shift_down(memory: Words, first: Cell) -> Words:
    """The memory after `tcgen05.shift.down`: each lane of a warp's 32 has what the next one had, the last one keeps it.

    The manual's text and its shape `.31x256b` are of one warp's lanes, those from the address on. That "down" is
    towards lane 0 follows from `.4x256b` being pipelined after it: what a shift leaves to be written is the last lane.
    """
    after = memory.copy()
    columns = slice(first.column, first.column + SHIFTED_COLUMNS)
    lanes = first.lane
    after[lanes : lanes + LANES_OF_A_WARP - 1, columns] = memory[lanes + 1 : lanes + LANES_OF_A_WARP, columns]
    return after
