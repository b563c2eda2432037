"""Where D and A are in tensor memory: the layouts A to G of the data path, and how elements are packed.

PTX ISA, 9.7.16.10.5 "Data Path Layout Organization" with its table, 9.7.16.10.4 "Packing formats of elements in Tensor
and Shared memory", 9.7.16.10.9.1 for `disable-output-lane`; 9.7.14.5.14 "mma" says in words where 4 and 6 bits are in a
byte. The layouts are pictures in the manual (figures 205 to 218). The table names their organization: "4x1" is one
partition of 32 lanes after another, "2x2" and "1x4" have N in two and four parts, beside each other in lanes ("2x3", of
layout E, reads as a misprint of 2x2); which element is where is what CuTe's fragments of tensor memory have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from blackwell_model.cells import LANES, Bits, Cell
from blackwell_model.instruction_descriptor import Kind
from blackwell_model.matrix_shapes import Variant


class Layout(Enum):
    """By the manual's letters."""

    A = "M = 256, two blocks"
    B = "M = 128, two blocks, dense"
    C = "M = 128, two blocks, sparse"
    D = "M = 128, one block"
    E = "M = 64, .ws"
    F = "M = 64, not .ws"
    G = "M = 32, .ws"

    @property
    def parts(self) -> int:
        """Into how many parts N is divided, each in lanes of its own."""
        return {Layout.B: 2, Layout.E: 2, Layout.G: 4}.get(self, 1)

    @property
    def rows_of_a_block(self) -> int:
        return {Layout.A: 128, Layout.D: 128, Layout.G: 32}.get(self, 64)

    @property
    def uses_half_of_the_lanes(self) -> bool:
        """16 of each 32: which, the address says, in the same way for A, D and the metadata."""
        return self in (Layout.C, Layout.F)

    @property
    def lane_alignments(self) -> tuple[int, ...]:
        return (0, 16) if self.uses_half_of_the_lanes else (0,)


def layout_of(variant: Variant, m: int) -> Layout:
    """Raises KeyError for a shape without one."""
    if variant.cta_group == 2:
        return {256: Layout.A, 128: Layout.C if variant.sparse else Layout.B}[m]
    if variant.weight_stationary:
        return {128: Layout.D, 64: Layout.E, 32: Layout.G}[m]
    return {128: Layout.D, 64: Layout.F}[m]


@dataclass(frozen=True, order=True)
class Place:
    """A cell, of the even (0) or odd (1) block of a pair."""

    block: int
    cell: Cell


def block_and_lane(layout: Layout, row: int) -> tuple[int, int]:
    """Of a row of the matrix, in lanes from the address on; of the first part of N."""
    block, inside = divmod(row, layout.rows_of_a_block)
    if layout.uses_half_of_the_lanes:
        sixteen, inside = divmod(inside, 16)
        return block, 32 * sixteen + inside
    return block, inside


def place_of_d(layout: Layout, address: Cell, row: int, column: int, n: int) -> Place:
    block, lane = block_and_lane(layout, row)
    part, inside = divmod(column, n // layout.parts)
    return Place(block, address.moved(lane + part * LANES // layout.parts, inside))


def columns_of_d(layout: Layout, n: int) -> int:
    """How many D takes, whatever its type is."""
    return n // layout.parts


def bits_of_d(cell: Cell, dtype: str) -> Bits:
    """A cell has one element; one of 16 bits is in the low half."""
    return Bits(cell, 0, 16 if dtype == "f16" else 32)


def places_of_a_row(layout: Layout, address: Cell, row: int) -> tuple[Place, ...]:
    """Where the first column of a row of A is, in tensor memory: once for each part of N.

    Each part of the lanes multiplies with the A that it has itself. So a matrix A is there as often as N has parts, and
    where the copies differ so do the products.
    """
    block, lane = block_and_lane(layout, row)
    lanes_of_a_part = LANES // layout.parts
    return tuple(Place(block, address.moved(lane + part * lanes_of_a_part)) for part in range(layout.parts))


_A_BITS = {"tf32": 32, "f16": 16, "bf16": 16, "u8": 8, "s8": 8, "e4m3": 8, "e5m2": 8, "e2m3": 6, "e3m2": 6, "e2m1": 4}


def bits_of_a(kind: Kind, dtype: str, k: int) -> tuple[int, int, int]:
    """Of element k of a row of A, as it is stored: column from the row's first, first bit, and how many.

    Elements are packed; those of 4 and 6 bits have a byte each but for `mxf4` and `mxf4nvf4`. Of a sparse A, k counts
    the elements that are stored.
    """
    bits = _A_BITS[dtype]
    pitch = 4 if kind.is_4_bit else max(bits, 8)
    column, first = divmod(k * pitch, 32)
    # The middle of its byte, with two bits of padding on both sides.
    return column, first + (2 if pitch == 8 and bits == 4 else 0), bits


def rows_of_a_block(cta_group: int, m: int, block: int) -> range:
    """Which rows of A, and of D, a block of the pair has in its memory; all of them where there is one."""
    share = m // cta_group
    return range(block * share, (block + 1) * share)


def columns_of_b_block(cta_group: int, n: int, block: int) -> range:
    """Which columns of B a block of the pair has in its shared memory."""
    share = n // cta_group
    return range(block * share, (block + 1) * share)


def writes_lane(disable_output_lane: Sequence[int], block: int, lane: int) -> bool:
    """Whether D is written there: a vector of 4 words, or 8 for a pair, whose bits that are 1 keep lanes as they are.

    That the second four words are of the odd block is how the text of 8 words for two memories reads.
    """
    word, bit = divmod(block * LANES + lane, 32)
    return not disable_output_lane[word] >> bit & 1


def shifted_row(row: int) -> int:
    """Of which row of A in tensor memory `.ashift` puts the elements into this one: the next, but for the last.

    The text has one last row, that of the tensor memory, where `tcgen05.shift` has one for each 32.
    """
    return row if row == LANES - 1 else row + 1
