"""How the values of PTX types are held in arrays.

A register holds the bits: `bool` for predicates, else an unsigned integer of the register's width. Instructions read
and write them as their own types.
"""

from __future__ import annotations

from typing import Any

import numpy as np

DTYPES: dict[str, np.dtype[Any]] = {
    "pred": np.dtype(np.bool_),
    **{
        f"{sign}{8 * size}": np.dtype(f"{kind}{size}")
        for sign, kind in (("s", "i"), ("u", "u"), ("b", "u"))
        for size in (1, 2, 4, 8)
    },
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    # Two values, or one that NumPy has no type for: their bits.
    **dict.fromkeys(("f16x2", "bf16x2", "tf32", "s16x2", "u16x2", "s8x4", "u8x4"), np.dtype(np.uint32)),
    **dict.fromkeys(("bf16", "e4m3x2", "e5m2x2", "ue8m0x2"), np.dtype(np.uint16)),
    "f32x2": np.dtype(np.uint64),
}
"""The dtype in which an operand of this type is read and a result is given."""


def bits_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype of a register that holds values of this one."""
    return dtype if dtype.kind == "b" else np.dtype(f"u{dtype.itemsize}")
