"""Which thread of a warp holds which element of a matrix (PTX ISA, "Matrix Fragments for mma").

With `group = lane / 4` and `quad = lane % 4`, and `packed` elements of a multiplicand in a 32-bit register:

- element `i` of register `r` of A is in row `group + 8 * (r % 2)` and column
  `quad * packed + i + 4 * packed * (r / 2)`; with 8 rows, in row `group` and column `quad * packed + i`;
- of B, it is in row `quad * packed + i + 4 * packed * r` and column `group`;
- element `i` of C and D is in row `group + 8 * (i / 2)` and column `2 * quad + i % 2`.

`m8n8k4` of `f16` is another matter: the four quad pairs of a warp, threads `4q…4q+3` and `4q+16…4q+19`, multiply a
matrix each.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np

from cutecc.emulator.machine.lanes import WARP, Array

Major = Literal["row", "col"]
MatrixShape = tuple[int, int, int]
"""M, N and K."""


@dataclass(frozen=True, eq=False)
class MatrixFragment:
    """A matrix that lies in the registers of a warp."""

    shape: tuple[int, int]
    """Rows and columns. What a warp holds several of, as quad pairs do, lies one below the other."""
    rows: Array
    """Shape `(registers, 32, packed)`: the row of each element of each register of each lane."""
    columns: Array

    @property
    def registers(self) -> int:
        return self.rows.shape[0]

    @property
    def packed(self) -> int:
        """Elements in a register."""
        return self.rows.shape[2]

    @property
    def places(self) -> Array:
        """For each element of the fragment, flat: where it is in the matrix, row by row."""
        return (self.rows * self.shape[1] + self.columns).reshape(-1)

    @property
    def holders(self) -> Array:
        """For each element of the matrix, row by row: where it is in the fragment, flat; of several copies the last."""
        found = np.empty(self.shape[0] * self.shape[1], np.intp)
        found[self.places] = np.arange(self.places.size)
        return found


def _indices(registers: int, packed: int) -> tuple[Array, Array, Array, Array]:
    """Register, group, thread of the quad, and element of the register, to be broadcast against one another."""
    lane = np.arange(WARP)[None, :, None]
    return np.arange(registers)[:, None, None], lane // 4, lane % 4, np.arange(packed)[None, None, :]


def _fragment(rows: int, columns: int, row: Array, column: Array) -> MatrixFragment:
    return MatrixFragment((rows, columns), *np.broadcast_arrays(row, column))


@cache
def fragment_a(rows: int, depth: int, packed: int) -> MatrixFragment:
    """A, `rows` by `depth`, with so many elements in a register."""
    tall = rows // 8
    register, group, quad, element = _indices(rows * depth // WARP // packed, packed)
    column = quad * packed + element + 4 * packed * (register // tall)
    return _fragment(rows, depth, group + 8 * (register % tall), column)


@cache
def fragment_b(depth: int, columns: int, packed: int) -> MatrixFragment:
    """B, `depth` by `columns`, 8 of them."""
    register, group, quad, element = _indices(depth * columns // WARP // packed, packed)
    return _fragment(depth, columns, quad * packed + element + 4 * packed * register, group)


@cache
def fragment_c(rows: int, columns: int, packed: int) -> MatrixFragment:
    """C and D, with two elements in a register if they are `f16`, else one. Wide ones are those of wgmma."""
    register, group, quad, element = _indices(rows * columns // WARP // packed, packed)
    item, tall = register * packed + element, rows // 8
    column = 8 * (item // (2 * tall)) + 2 * quad + item % 2
    return _fragment(rows, columns, group + 8 * (item // 2 % tall), column)


# m8n8k4 of f16: matrix q of quad pair q, four of them one below the other.


def _quad_pairs(registers: int, packed: int) -> tuple[Array, Array, Array, Array]:
    """Quad pair, thread of the quad, 4 for its upper half, and element of the fragment."""
    lane = np.arange(WARP)[None, :, None]
    item = np.arange(registers)[:, None, None] * packed + np.arange(packed)[None, None, :]
    return lane % 16 // 4, lane % 4, 4 * (lane // 16), item


@cache
def quad_pair_a(major: Major) -> MatrixFragment:
    """A of `m8n8k4`: four matrices of 8 by 4."""
    pair, thread, half, item = _quad_pairs(2, 2)
    row, column = (thread + half, item) if major == "row" else (item + half, thread)
    return _fragment(32, 4, 8 * pair + row, column)


@cache
def quad_pair_b(major: Major) -> MatrixFragment:
    """B of `m8n8k4`: four matrices of 4 by 8."""
    pair, thread, half, item = _quad_pairs(2, 2)
    row, column = (thread, item + half) if major == "row" else (item, thread + half)
    return _fragment(16, 8, 4 * pair + row, column)


@cache
def quad_pair_c(packed: int) -> MatrixFragment:
    """C and D of `m8n8k4`: four matrices of 8 by 8; two elements in a register are `f16`, one is `f32`."""
    pair, thread, half, item = _quad_pairs(8 // packed, packed)
    if packed == 2:
        return _fragment(32, 8, 8 * pair + thread + half, item)
    row, column = thread % 2 + item // 2 % 2 * 2, item // 4 * 4 + thread // 2 * 2 + item % 2
    return _fragment(32, 8, 8 * pair + half + row, column)


@dataclass(frozen=True, eq=False)
class Metadata:
    """Where the metadata of a sparse A, of 16 rows, lies in a register of a warp.

    A word has 32 bits. Multiplicands of 16 bits and more need 16 bits for a row of a half or the whole of K: those of
    row `group` are in the lower half of a word, those of row `group + 8` in the upper one. Smaller multiplicands need
    32 bits for a row of a half or the whole of K: rows `group` and `group + 8` are in words of neighbouring threads.
    """

    lanes: Array
    """Shape `(16, parts)`: whose word has the metadata of a row of a part of K."""
    shifts: Array
    """Shape `(16, parts)`: its lowest bit in the word."""
    bits: int
    """16 or 32."""


@cache
def metadata(element_bits: int, parts: int, selector: int) -> Metadata:
    """Metadata of elements of so many bits; K has `parts`, 1 or 2, and `selector` says which threads provide it."""
    row, part = np.arange(16)[:, None], np.arange(parts)[None, :]
    if element_bits >= 16:
        return Metadata(row % 8 * 4 + selector * parts + part, row // 8 * 16 + 0 * part, 16)
    return Metadata(row % 8 * 4 + 2 * (selector + part) + row // 8, 0 * (row + part), 32)


# Matrices of which every second element is zero and not stored (PTX ISA, "Sparse matrix storage").


def dense(stored: Array, metadata: Array, element_bits: int) -> Array:
    """`(…, rows, K / 2)` stored elements with zeros between them, `(…, rows, K)`.

    `metadata` holds numbers of 4 bits along K, one for two elements stored out of four (of 4-bit elements: two pairs
    out of four; of 32-bit ones: one out of two). The lower two bits are the place of the first among the four, the
    upper two that of the second. Of 32-bit elements they are places of halves: 0b0100 is the first element, 0b1110 the
    second. Other patterns, and two equal places, have no defined meaning.
    """
    places = np.arange(4, dtype=metadata.dtype)
    if element_bits == 32:
        chosen = (metadata[..., None] >> 1 & 1) == places[:2]
        values = np.where(chosen, stored[..., None], 0)
        return values.reshape(*stored.shape[:-1], -1)
    # Of 4-bit elements neighbours are zero, or stored, together.
    alike = 2 if element_bits == 4 else 1
    pairs = stored.reshape(*metadata.shape, 2, 1, alike)
    first = (metadata[..., None] & 3) == places
    second = (metadata[..., None] >> 2 & 3) == places
    values = np.where(first[..., None], pairs[..., 0, :, :], np.where(second[..., None], pairs[..., 1, :, :], 0))
    return values.reshape(*stored.shape[:-1], -1)


def nibbles(words: Array, bits: int) -> Array:
    """The metadata of `bits` bits, 16 or 32, in each word as numbers of 4 bits, lowest first, in one more axis."""
    return words[..., None] >> np.arange(0, bits, 4, dtype=np.uint32) & np.uint32(15)
