"""The instruction descriptor of each kind of `tcgen05.mma`: its fields, and what they mean.

PTX ISA, 9.7.16.4.2 "Instruction descriptor", tables 42 (tf32, f16, f8f6f4, i8), 43 (mxf8f6f4) and 44 (mxf4, mxf4nvf4);
9.7.16.10.1 "Transpose and Negate operations", table 49.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    F16 = "f16"
    TF32 = "tf32"
    F8F6F4 = "f8f6f4"
    I8 = "i8"
    MXF8F6F4 = "mxf8f6f4"
    MXF4 = "mxf4"
    MXF4NVF4 = "mxf4nvf4"

    @property
    def is_scaled(self) -> bool:
        return self in (Kind.MXF8F6F4, Kind.MXF4, Kind.MXF4NVF4)

    @property
    def is_4_bit(self) -> bool:
        return self in (Kind.MXF4, Kind.MXF4NVF4)


_NARROW = {"e4m3": 0, "e5m2": 1, "e2m3": 3, "e3m2": 4, "e2m1": 5}
OPERAND_TYPES: dict[Kind, dict[str, int]] = {
    Kind.F16: {"f16": 0, "bf16": 1},
    Kind.TF32: {"tf32": 2},
    Kind.F8F6F4: _NARROW,
    Kind.I8: {"u8": 0, "s8": 1},
    Kind.MXF8F6F4: _NARROW,
    Kind.MXF4: {"e2m1": 1},
    Kind.MXF4NVF4: {"e2m1": 1},
}
RESULT_TYPES: dict[Kind, dict[str, int]] = {
    Kind.F16: {"f16": 0, "f32": 1},
    Kind.TF32: {"f32": 1},
    Kind.F8F6F4: {"f16": 0, "f32": 1},
    Kind.I8: {"s32": 2},
}
"""Of D, where the descriptor has it; scaled kinds have f32."""
SCALE_TYPES: dict[Kind, dict[str, int]] = {
    Kind.MXF8F6F4: {"ue8m0": 1},
    Kind.MXF4: {"ue8m0": 1},
    Kind.MXF4NVF4: {"ue4m3": 0, "ue8m0": 1},
}
TRANSPOSES = {kind for kind in Kind if not kind.is_4_bit}
"""Kinds whose operands may be MN-major."""
NEGATES = {kind for kind in Kind if kind is not Kind.I8}
MOST_SHIFTED = (0, 8, 16, 32)
"""Columns of B by which `.ws` may shift, by the value of the field."""


@dataclass(frozen=True)
class Field:
    name: str
    first: int
    count: int


_SPARSITY = (Field("sparse", 2, 1),)
_SIGNS_AND_MAJORS = (
    Field("negate_a", 13, 1),
    Field("negate_b", 14, 1),
    Field("transpose_a", 15, 1),
    Field("transpose_b", 16, 1),
    Field("n_eighths", 17, 6),
)
_PLAIN = (
    Field("sparsity_selector", 0, 2),
    *_SPARSITY,
    Field("saturate", 3, 1),
    Field("d_type", 4, 2),
    Field("a_type", 7, 3),
    Field("b_type", 10, 3),
    *_SIGNS_AND_MAJORS,
    Field("m_sixteenths", 24, 5),
    Field("max_shift", 30, 2),
)
_SCALED = (
    *_SPARSITY,
    Field("b_scale_id", 4, 2),
    Field("a_type", 7, 3),
    Field("b_type", 10, 3),
    *_SIGNS_AND_MAJORS,
    Field("scale_type", 23, 1),
    # The manual has M >> 7 in bits 27 and 28, below which three bits are reserved: the same bits.
    Field("m_sixteenths", 24, 5),
    Field("a_scale_id", 29, 2),
)
_SCALED_4_BIT = (
    *(field for field in _SCALED if field.name != "b_type"),
    # One bit less than of other kinds, so that bit 12 is reserved.
    Field("b_type", 10, 2),
    Field("k_is_96", 31, 1),
)


def fields_of(kind: Kind) -> tuple[Field, ...]:
    if kind.is_4_bit:
        return _SCALED_4_BIT
    return _SCALED if kind.is_scaled else _PLAIN


@dataclass(frozen=True)
class InstructionDescriptor:
    """What a descriptor says; what its kind has no field for is 0."""

    m_sixteenths: int
    n_eighths: int
    a_type: int
    b_type: int
    d_type: int = 0
    sparse: int = 0
    sparsity_selector: int = 0
    saturate: int = 0
    negate_a: int = 0
    negate_b: int = 0
    transpose_a: int = 0
    transpose_b: int = 0
    max_shift: int = 0
    scale_type: int = 0
    a_scale_id: int = 0
    b_scale_id: int = 0
    k_is_96: int = 0

    @property
    def m(self) -> int:
        return 16 * self.m_sixteenths

    @property
    def n(self) -> int:
        return 8 * self.n_eighths

    def k(self, kind: Kind) -> int:
        """Elements of a row of A before compression: the kind says it, but for one bit of two kinds."""
        if self.k_is_96:
            return 96
        return DENSE_K[kind] * (2 if self.sparse else 1)

    def encode(self, kind: Kind) -> int:
        return sum(getattr(self, field.name) << field.first for field in fields_of(kind))


DENSE_K = {
    Kind.F16: 16,
    Kind.TF32: 8,
    Kind.F8F6F4: 32,
    Kind.I8: 32,
    Kind.MXF8F6F4: 32,
    Kind.MXF4: 64,
    Kind.MXF4NVF4: 64,
}


def decode(bits: int, kind: Kind) -> InstructionDescriptor:
    """Raises ValueError where reserved bits are set."""
    read = {field.name: bits >> field.first & (1 << field.count) - 1 for field in fields_of(kind)}
    descriptor = InstructionDescriptor(**read)
    if descriptor.encode(kind) != bits:
        raise ValueError(f"reserved bits of {bits:#x} are set")
    return descriptor


def operand_type(kind: Kind, code: int) -> str:
    """Raises KeyError for a code without meaning."""
    return {number: name for name, number in OPERAND_TYPES[kind].items()}[code]


def refusal_of_fields(kind: Kind, descriptor: InstructionDescriptor) -> str | None:
    """What of the fields' values has no meaning for the kind, shapes apart, or None."""
    if {descriptor.a_type, descriptor.b_type} - set(OPERAND_TYPES[kind].values()):
        return "type of an operand"
    if kind in RESULT_TYPES and descriptor.d_type not in RESULT_TYPES[kind].values():
        return "type of the result"
    if kind is Kind.F16 and not descriptor.d_type and (descriptor.a_type or descriptor.b_type):
        return "f16 results are of f16 operands"
    if kind.is_scaled and descriptor.scale_type not in SCALE_TYPES[kind].values():
        return "type of the scales"
    if kind not in TRANSPOSES and (descriptor.transpose_a or descriptor.transpose_b):
        return "transposed operands"
    if kind not in NEGATES and (descriptor.negate_a or descriptor.negate_b):
        return "negated operands"
    return _refusal_of_sparsity(kind, descriptor)


def _refusal_of_sparsity(kind: Kind, descriptor: InstructionDescriptor) -> str | None:
    if descriptor.saturate and kind is not Kind.I8:
        return "saturation"
    if descriptor.sparsity_selector and kind not in (Kind.F16, Kind.TF32):
        return "sparsity selector"
    if descriptor.k_is_96 and descriptor.sparse:
        return "K = 96 is dense"
    return None
