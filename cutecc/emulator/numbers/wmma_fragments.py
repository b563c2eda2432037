"""Which thread of a warp holds which element of a matrix of `wmma`, and how many registers it takes.

The manual says how many (PTX ISA, "Matrix Fragments for WMMA"), and leaves open which: a program may load, store and
multiply a fragment, or do the same to all of its elements. Here

- A and B lie in the order of memory, one thirty-second after the other: of `n` elements thread `t` holds those from
  `t * n / 32` on. So where they are depends on whether they are loaded by rows or by columns, which `wmma.mma` is told
  as well. Of `f16` there are always 16 to a thread: what is too many are copies.
- C and D lie as `mma` has them, `f16` in the same order as `f32`.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import numpy as np

from cutecc.emulator.machine.lanes import WARP
from cutecc.emulator.numbers.fragments import Major, MatrixFragment, MatrixShape, fragment_c
from cutecc.emulator.numbers.matrix_elements import SUMS, kind_of
from cutecc.ptx.types import TYPE_BITS

Role = Literal["a", "b", "c", "d"]
_LARGE: Final = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
SHAPES: Final[dict[str, tuple[MatrixShape, ...]]] = {
    **dict.fromkeys(("f16", "bf16", "int8"), _LARGE),
    "tf32": ((16, 16, 8),),
    "f64": ((8, 8, 4),),
    "int4": ((8, 8, 32),),
    "b1": ((8, 8, 128),),
}
"""By the kind of A and B (PTX ISA, "Matrix Shape")."""
_SUB_BYTE: Final = ("int4", "b1")
"""Kinds that lie by rows in A, and by columns in B, and not otherwise."""
_F16_REGISTERS: Final = 8
"""Of A and B, whatever their shape."""
_WORD: Final = 32
"""Bits of a register, but of `f64`."""


@cache
def fragment(role: Role, shape: MatrixShape, type_: str, major: Major) -> MatrixFragment | None:
    """A matrix of this type; how C and D lie in memory makes no difference. `None` where there is no such matrix."""
    m, n, k = shape
    packed = max(1, _WORD // TYPE_BITS[type_])
    if role in ("c", "d"):
        kinds = (kind for kind, shapes in SHAPES.items() if shape in shapes)
        return fragment_c(m, n, packed) if any(type_ in SUMS[kind] for kind in kinds) else None
    kind = kind_of(type_)
    if shape not in SHAPES.get(kind, ()) or (kind in _SUB_BYTE and (role, major) not in (("a", "row"), ("b", "col"))):
        return None
    return _in_order(*((m, k) if role == "a" else (k, n)), packed, major, _F16_REGISTERS if kind == "f16" else None)


def _in_order(rows: int, columns: int, packed: int, major: Major, registers: int | None) -> MatrixFragment:
    own = rows * columns // WARP
    item = np.arange((registers or own // packed) * packed).reshape(-1, 1, packed)
    place = np.arange(WARP)[None, :, None] * own + item % own
    row, column = np.divmod(place, columns) if major == "row" else np.divmod(place, rows)[::-1]
    return MatrixFragment((rows, columns), row, column)
