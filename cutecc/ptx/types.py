"""The types of PTX: how many bits each has, and which of CuTe's elements it is."""

from __future__ import annotations

from typing import Final

TYPE_BITS: Final = {
    **{f"{kind}{bits}": bits for kind in "sub" for bits in (8, 16, 32, 64)},
    **{"f16": 16, "bf16": 16, "f16x2": 32, "bf16x2": 32, "tf32": 32, "f32": 32, "f32x2": 64, "f64": 64, "b128": 128},
    **{"e4m3": 8, "e5m2": 8, "s4": 4, "u4": 4, "e2m1": 4, "b1": 1},
}
"""Of what a register holds; of `tf32` the lowest 13 have no meaning."""

NARROW_FLOATS: Final = {"f8E4M3FN": "e4m3", "f8E5M2": "e5m2"}
"""By CuTe's name of a float of 8 bits that matrices are multiplied of: PTX's."""
ELEMENT_TYPES: Final = {
    **{name: name for name in ("f64", "f32", "tf32", "f16", "bf16")},
    **{"i32": "s32", "si32": "s32", "i8": "s8", "si8": "s8", "ui8": "u8"},
    **NARROW_FLOATS,
    **{"f6E2M3FN": "e2m3", "f6E3M2FN": "e3m2", "f4E2M1FN": "e2m1", "f8E8M0FNU": "ue8m0"},
}
"""The same of all that they are multiplied of, of the sums, and of scales."""
