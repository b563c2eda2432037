"""The instruction descriptor of `tcgen05.mma`: 32 bits (PTX ISA, "Instruction descriptor")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cutecc.ptx.types import TYPE_BITS

_FLOATS: Final = {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"}
TYPES: Final = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": _FLOATS,
    "i8": {0: "u8", 1: "s8"},
    "mxf8f6f4": _FLOATS,
    "mxf4": {1: "e2m1"},
    "mxf4nvf4": {1: "e2m1"},
}
"""Of A and B, by kind and the bits that say so."""
RESULTS: Final = {"f16": ("f16", "f32"), "tf32": ("f32",), "f8f6f4": ("f16", "f32"), "i8": ("s32",)}
"""Of D, by kind without scales; with scales it is f32."""
SCALE_VECTORS: Final = {"mxf8f6f4": (32,), "mxf4": (32,), "mxf4nvf4": (32, 16)}
"""Elements along K that share a scale, by kind; the first is what it is where nothing says so."""
DEPTH_BYTES: Final = 32
"""Of A and B along K."""
_RESULTS: Final = {0: "f16", 1: "f32", 2: "s32"}
_SCALES: Final = {0: "ue4m3", 1: "ue8m0"}


@dataclass(frozen=True, slots=True)
class InstructionDescriptor:
    """What the bits say."""

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
    saturate: bool = False
    scales: str | None = None
    """Type of the scales; `None` without."""
    scale_a: int = 0
    """The first byte of a cell with scales of A that count."""
    scale_b: int = 0
    deep: bool = False
    """Whether K is 96."""

    @property
    def in_a_byte(self) -> int:
        """Elements of A and B of up to 8 bits: two in the kinds of 4 bits alone."""
        return 2 if "4" in self.kind and "8" not in self.kind else 1

    @property
    def depth(self) -> int:
        """K."""
        return DEPTH_BYTES * self.in_a_byte // max(TYPE_BITS.get(self.a, 8) // 8, 1)

    @classmethod
    def decode(cls, bits: int, kind: str) -> InstructionDescriptor | str:
        """Or what is wrong with it."""
        types, scaled = TYPES[kind], kind in SCALE_VECTORS
        a, b = types.get(bits >> 7 & 7), types.get(bits >> 10 & 7)
        d = "f32" if scaled else _RESULTS.get(bits >> 4 & 3)
        if a is None or b is None:
            return f"names the types {bits >> 7 & 7} of A and {bits >> 10 & 7} of B, which kind::{kind} has not"
        if d is None or (not scaled and d not in RESULTS[kind]) or (d == "f16" and a == "bf16"):
            return f"names the type {d or bits >> 4 & 3} of D, which kind::{kind} has not"
        m, n = (bits >> 24 & 31) << 4, (bits >> 17 & 63) << 3
        flags = [bool(bits >> each & 1) for each in (15, 16, 13, 14, 2)]
        if not scaled:
            return cls(kind, m, n, d, a, b, *flags, saturate=bool(bits >> 3 & 1))
        scales = _SCALES[bits >> 23 & 1]
        return cls(
            kind,
            m,
            n,
            d,
            a,
            b,
            *flags,
            scales=scales,
            scale_a=bits >> 29 & 3,
            scale_b=bits >> 4 & 3,
            deep=bool(bits >> 31),
        )
