"""Sparse A: which elements the metadata says are stored, and where the metadata is in tensor memory.

PTX ISA, 9.7.16.10.8 "Sparse Matrices", .1 to .3 by kind, 9.7.16.10.8.4 "Sparsity selector". The layouts are pictures
(figures 262 to 267); what is here is CuTe's fragment of metadata for M = 128, and for `.ws`. For M = 64 of layouts C
and F it has none: that rows are where layout F has them follows from the rule that A, D and the metadata have the same
lanes (9.7.16.10.8.5).
"""

from __future__ import annotations

from dataclasses import dataclass

from blackwell_model.cells import LANES, Bits, Cell
from blackwell_model.data_path import Layout
from blackwell_model.instruction_descriptor import Kind

MEANINGFUL_PAIRS = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
"""Codes of two of four; the others are undefined behaviour."""
MEANINGFUL_SINGLES = (0b1110, 0b0100)
"""Codes of one of two, for tf32."""


@dataclass(frozen=True)
class Granularity:
    """What one code of four bits is for."""

    elements: int
    """Of the row before compression."""
    stored: int
    consecutive: int
    """How many elements one index selects."""


def granularity_of(kind: Kind) -> Granularity:
    """1:2 of tf32, 4:8 in pairs of 4 bits, 2:4 of the others."""
    if kind is Kind.TF32:
        return Granularity(2, 1, 1)
    return Granularity(8, 4, 2) if kind.is_4_bit else Granularity(4, 2, 1)


def stored_elements(kind: Kind, code: int) -> tuple[int, ...]:
    """Which elements of its chunk a code says are stored, in the order of storage. Raises ValueError for others."""
    meaningful = MEANINGFUL_SINGLES if kind is Kind.TF32 else MEANINGFUL_PAIRS
    if code not in meaningful:
        raise ValueError(f"{code:#06b} has no meaning")
    first, second = code & 0b11, code >> 2
    if kind is Kind.TF32:
        # Indices of halves of 16 bits: 0 and 1, or 2 and 3.
        return (first // 2,)
    consecutive = granularity_of(kind).consecutive
    return tuple(index * consecutive + each for index in (first, second) for each in range(consecutive))


def columns_of_metadata(kind: Kind) -> int:
    """Of one instruction: 4 bits for each chunk of K."""
    return 1 if kind in (Kind.F16, Kind.TF32) else 2


def place_of_code(kind: Kind, layout: Layout, address: Cell, row: int, chunk: int, selector: int = 0) -> Bits:
    """The four bits for a chunk of a row of A in its block; `.ws` has them once more for each further part of lanes.

    Of f16 and tf32 a word has the codes of two rows, of one half of K each: rows of a group of 16 are paired with the
    one 8 further on, whose codes are in the high half, and the second half of K is 8 lanes further on.
    """
    sixteen, inside = divmod(row, 16)
    group = 32 * sixteen if layout.uses_half_of_the_lanes else 16 * sixteen
    if kind not in (Kind.F16, Kind.TF32):
        column, nibble = divmod(chunk, 8)
        return Bits(address.moved(group + inside, column), 4 * nibble, 4)
    late, line = divmod(inside, 8)
    half, nibble = divmod(chunk, 4)
    return Bits(address.moved(group + line + 8 * half, selector), 16 * late + 4 * nibble, 4)


def copies_of_metadata(layout: Layout) -> tuple[int, ...]:
    """Lanes from the address on where the same metadata is again: once for each part of N."""
    return tuple(part * LANES // layout.parts for part in range(layout.parts))
