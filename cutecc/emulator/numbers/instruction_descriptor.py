"""The instruction descriptor of `tcgen05.mma`: 32 bits (PTX ISA, "Instruction descriptor")."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypedDict

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
"""Of B along K, and of A where it is dense."""
_RESULTS: Final = {0: "f16", 1: "f32", 2: "s32"}
_SCALES: Final = {0: "ue4m3", 1: "ue8m0"}
_BITS: Final = {"tf32": 32, "f16": 16, "bf16": 16, "e2m3": 6, "e3m2": 6, "e2m1": 4}
_SHIFTS: Final = (0, 8, 16, 32)


def _listed(types: Mapping[int, str]) -> str:
    return ", ".join(f"{number} for {name}" for number, name in types.items())


class _Fields(TypedDict, total=False):
    """Those that not all kinds have."""

    saturate: bool
    selector: int
    most_shifted: int
    scales: str
    scale_a: int
    scale_b: int
    deep: bool


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
    selector: int = 0
    """Of the metadata of a sparse A: how many columns behind the address they are."""
    most_shifted: int = 0
    """By how many columns of B `.ws` may shift."""
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
        return 2 if self.kind in ("mxf4", "mxf4nvf4") else 1

    def element_bits(self, type_: str) -> int:
        return _BITS.get(type_, 8)

    @property
    def in_a_word(self) -> int:
        """Elements of A or B in 32 bits, where those of less than a byte have one each."""
        return 32 // max(self.element_bits(self.a), 8 // self.in_a_byte)

    @property
    def depth(self) -> int:
        """K, of which a sparse A has half."""
        return 96 if self.deep else DEPTH_BYTES // 4 * self.in_a_word * (1 + self.sparse)

    @property
    def stored_depth(self) -> int:
        """Along K, of A as it is in memory."""
        return self.depth // (1 + self.sparse)

    @classmethod
    def decode(cls, bits: int, kind: str) -> InstructionDescriptor | str:
        """Or what is wrong with it."""
        types, scaled = TYPES[kind], kind in SCALE_VECTORS
        a, b = types.get(bits >> 7 & 7), types.get(bits >> 10 & 7)
        d = "f32" if scaled else _RESULTS.get(bits >> 4 & 3, "")
        if a is None or b is None:
            text = f"names the types {bits >> 7 & 7} of A and {bits >> 10 & 7} of B, which kind::{kind} has not"
            return f"{text}\nbits 7 to 9 are A's and 10 to 12 B's, {_listed(types)}"
        if d not in RESULTS.get(kind, ("f32",)) or (d == "f16" and "bf16" in (a, b)):
            text = f"names the type {d or bits >> 4 & 3} of D, which kind::{kind} has not for A and B of {a} and {b}"
            legal = [each for each in RESULTS.get(kind, ("f32",)) if each != "f16" or "bf16" not in (a, b)]
            return f"{text}\nhave it accumulate in {' or '.join(legal)}"
        fields = cls._scaled(bits, kind) if scaled else cls._plain(bits)
        found = cls(
            kind=kind,
            m=(bits >> 24 & 31) << 4,
            n=(bits >> 17 & 63) << 3,
            d=d,
            a=a,
            b=b,
            transpose_a=bool(bits >> 15 & 1),
            transpose_b=bool(bits >> 16 & 1),
            negate_a=bool(bits >> 13 & 1),
            negate_b=bool(bits >> 14 & 1),
            sparse=bool(bits >> 2 & 1),
            **fields,
        )
        return found._refusal() or found

    @staticmethod
    def _plain(bits: int) -> _Fields:
        return {"saturate": bool(bits >> 3 & 1), "selector": bits & 3, "most_shifted": _SHIFTS[bits >> 30]}

    @staticmethod
    def _scaled(bits: int, kind: str) -> _Fields:
        return {
            "scales": _SCALES[bits >> 23 & 1],
            "scale_a": bits >> 29 & 3,
            "scale_b": bits >> 4 & 3,
            "deep": kind in ("mxf4", "mxf4nvf4") and bool(bits >> 31),
        }

    def _refusal(self) -> str | None:
        """What the kind has not of what the fields say."""
        wrong = {
            "negates A or B": self.kind == "i8" and (self.negate_a or self.negate_b),
            "saturates": self.saturate and self.kind != "i8",
            "has A or B MN-major": self.in_a_byte == 2 and (self.transpose_a or self.transpose_b),
            f"selects metadata {self.selector}": self.selector and self.kind not in ("f16", "tf32"),
            "names scales of ue4m3": self.scales == "ue4m3" and self.kind != "mxf4nvf4",
            "has K = 96 and a sparse A": self.deep and self.sparse,
        }
        found = next((text for text, is_so in wrong.items() if is_so), None)
        if found is not None:
            return f"{found}, which kind::{self.kind} has not\nleave it out, or multiply by a kind that has it"
        transposed = [*[self.a] * self.transpose_a, *[self.b] * self.transpose_b]
        if any(self.element_bits(each) < 8 for each in transposed):
            return (
                "has elements of 4 or 6 bits MN-major, which have to be K-major\n"
                "lay the matrix out with K contiguous, and clear its bit, 15 for A and 16 for B"
            )
        return None
