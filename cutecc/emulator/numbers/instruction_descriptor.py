"""The instruction descriptor of `tcgen05.mma`: 32 bits (PTX ISA, "Instruction descriptor")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

_FLOATS: Final = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
TYPES: Final = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": _FLOATS,
    "i8": {0: "u8", 1: "s8"},
}
"""Of A and B, by kind and the bits that say so."""
RESULTS: Final = {"f16": ("f16", "f32"), "tf32": ("f32",), "f8f6f4": ("f16", "f32"), "i8": ("s32",)}
"""Of D, by kind."""
_RESULTS: Final = {0: "f16", 1: "f32", 2: "s32"}


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """What the bits say of a multiplication without scales."""

    kind: str
    m: int
    n: int
    d: str
    a: str
    b: str
    transpose_a: bool
    """MN-major."""
    transpose_b: bool
    negate_a: bool
    negate_b: bool
    sparse: bool
    saturate: bool

    @classmethod
    def decode(cls, bits: int, kind: str) -> InstructionDescriptor | str:
        """Or what is wrong with it."""
        types = TYPES[kind]
        a, b, d = types.get(bits >> 7 & 7), types.get(bits >> 10 & 7), _RESULTS.get(bits >> 4 & 3)
        if a is None or b is None:
            return f"names the types {bits >> 7 & 7} of A and {bits >> 10 & 7} of B, which kind::{kind} has not"
        if d not in RESULTS[kind] or (d == "f16" and a == "bf16"):
            return f"names the type {d or bits >> 4 & 3} of D, which kind::{kind} has not"
        return cls(
            kind,
            (bits >> 24 & 31) << 4,
            (bits >> 17 & 63) << 3,
            d,
            a,
            b,
            bool(bits >> 15 & 1),
            bool(bits >> 16 & 1),
            bool(bits >> 13 & 1),
            bool(bits >> 14 & 1),
            bool(bits >> 2 & 1),
            bool(bits >> 3 & 1),
        )
