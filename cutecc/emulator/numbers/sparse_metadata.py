"""Which elements of a sparse A its metadata says are stored (PTX ISA, "Sparse Matrices").

A code of 4 bits is for a chunk along K: of two elements, one of which is stored (tf32), of four with two, or of four
pairs with two (4 bits). Rows of metadata are in the lanes of the rows of D. Of kinds f16 and tf32 a cell has codes of
two rows, 8 apart in a group of 16, and the second half of K is 8 lanes further on; others have two columns.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from cutecc.emulator.machine.lanes import Array

_IN_ONE_COLUMN: Final = ("f16", "tf32")
_SINGLES: Final = (0b1110, 0b0100)
_PAIRS: Final = (0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b0110, 0b1110)
_NOTHING: Final = -1


def metadata_columns(kind: str) -> int:
    """Columns of an instruction's metadata."""
    return 1 if kind in _IN_ONE_COLUMN else 2


def codes(words: Array, kind: str) -> Array:
    """Those of cells `(rows, columns)`, shape `(rows, chunks)`."""
    nibbles = words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15
    if kind not in _IN_ONE_COLUMN:
        return nibbles.reshape(len(words), -1)
    # Group of 16 rows, half of K, line; which of two rows, chunk of the half.
    return nibbles.reshape(-1, 2, 8, 2, 4).transpose(0, 3, 2, 1, 4).reshape(len(words), 8)


def meaningless(found: Array, kind: str) -> int | None:
    """A code that has no meaning, if there is one."""
    wrong = _stored(kind)[found][..., 0] < 0
    return int(found[wrong][0]) if wrong.any() else None


def expanded(stored: Array, found: Array, kind: str, depth: int) -> Array:
    """A `(rows, depth)` with zeros where nothing is stored."""
    of_chunks = _stored(kind)[found]
    first = 2 * of_chunks.shape[-1] * np.arange(found.shape[1], dtype=np.int64)
    places = np.add(first[:, None], of_chunks).reshape(len(stored), -1)
    matrix = np.zeros((len(stored), depth))
    np.put_along_axis(matrix, places, stored, axis=1)
    return matrix


@cache
def _stored(kind: str) -> Array:
    """Elements of its chunk that are stored, by code: shape `(16, stored)`; negative ones for codes without meaning."""
    code = np.arange(16)
    first, second = code & 3, code >> 2
    if kind == "tf32":
        found, meaningful = (first // 2)[:, None], _SINGLES
    elif kind in ("mxf4", "mxf4nvf4"):
        found, meaningful = np.stack([2 * first, 2 * first + 1, 2 * second, 2 * second + 1], axis=1), _PAIRS
    else:
        found, meaningful = np.stack([first, second], axis=1), _PAIRS
    return np.where(np.isin(code, meaningful)[:, None], found, _NOTHING)
