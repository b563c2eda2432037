"""CuTe's numeric types: their names in argument specs, widths, and the DSL classes that stand for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

from cutecc.support.spelling import close_names

Kind = Literal["float", "signed", "unsigned", "bool"]


@dataclass(frozen=True)
class NumericType:
    """One numeric type of CuTe, spelled as MLIR prints it, with `u` for the unsigned integers."""

    name: str
    kind: Kind
    width: int
    """Bits of one element."""
    dsl_name: str
    """The class of this name in the `cutlass` package."""

    def __str__(self) -> str:
        return self.name

    @property
    def natural_alignment(self) -> int:
        """The largest power of two, in bytes, that divides the size of an element; 1 for types narrower than a byte."""
        size = max(1, self.width // 8)
        return size & -size

    @property
    def is_integer(self) -> bool:
        """Whether this is a signed or unsigned integer; `bool` is not."""
        return self.kind in ("signed", "unsigned")

    @property
    def is_scalar(self) -> bool:
        """Whether a kernel can take one value of this type at run time; narrower types occur in memory only."""
        return self.kind == "bool" or (self.width in (16, 32, 64)) or (self.width == 8 and self.is_integer)


_TYPES = [
    NumericType("f64", "float", 64, "Float64"),
    NumericType("f32", "float", 32, "Float32"),
    NumericType("tf32", "float", 32, "TFloat32"),
    NumericType("f16", "float", 16, "Float16"),
    NumericType("bf16", "float", 16, "BFloat16"),
    NumericType("f8E4M3FN", "float", 8, "Float8E4M3FN"),
    NumericType("f8E5M2", "float", 8, "Float8E5M2"),
    NumericType("f8E4M3", "float", 8, "Float8E4M3"),
    NumericType("f8E4M3B11FNUZ", "float", 8, "Float8E4M3B11FNUZ"),
    NumericType("f8E8M0FNU", "float", 8, "Float8E8M0FNU"),
    NumericType("fnv8E5M3FNU", "float", 8, "FloatNV8E5M3FNU"),
    NumericType("f6E3M2FN", "float", 6, "Float6E3M2FN"),
    NumericType("f6E2M3FN", "float", 6, "Float6E2M3FN"),
    NumericType("f4E2M1FN", "float", 4, "Float4E2M1FN"),
    NumericType("f6E3M2FNx4", "float", 24, "Float6E3M2FNx4"),
    NumericType("f6E2M3FNx4", "float", 24, "Float6E2M3FNx4"),
    NumericType("f4E2M1FNx2", "float", 8, "Float4E2M1FNx2"),
    NumericType("i128", "signed", 128, "Int128"),
    NumericType("i64", "signed", 64, "Int64"),
    NumericType("i32", "signed", 32, "Int32"),
    NumericType("i16", "signed", 16, "Int16"),
    NumericType("i8", "signed", 8, "Int8"),
    NumericType("i4", "signed", 4, "Int4"),
    NumericType("u128", "unsigned", 128, "Uint128"),
    NumericType("u64", "unsigned", 64, "Uint64"),
    NumericType("u32", "unsigned", 32, "Uint32"),
    NumericType("u16", "unsigned", 16, "Uint16"),
    NumericType("u8", "unsigned", 8, "Uint8"),
    NumericType("bool", "bool", 1, "Boolean"),
]

# The names that numpy, torch and the DSL itself use, where they are not the DSL's class name in lower case.
_ALIASES = {
    "double": "f64",
    "float": "f32",
    "half": "f16",
    "long": "i64",
    "int": "i32",
    "i1": "bool",
    "float8_e4m3fn": "f8E4M3FN",
    "float8_e5m2": "f8E5M2",
    "float8_e4m3": "f8E4M3",
    "float8_e4m3b11fnuz": "f8E4M3B11FNUZ",
    "float8_e8m0fnu": "f8E8M0FNU",
    "float6_e3m2fn": "f6E3M2FN",
    "float6_e2m3fn": "f6E2M3FN",
    "float4_e2m1fn": "f4E2M1FN",
    "e4m3": "f8E4M3FN",
    "e5m2": "f8E5M2",
}


@cache
def _by_name() -> dict[str, NumericType]:
    types = {dtype.name.lower(): dtype for dtype in _TYPES}
    names = types | {dtype.dsl_name.lower(): dtype for dtype in _TYPES}
    return names | {alias: types[name.lower()] for alias, name in _ALIASES.items()}


def numeric_types() -> list[NumericType]:
    """Every numeric type that specs know."""
    return list(_TYPES)


def find_numeric_type(name: str) -> NumericType | None:
    """The numeric type called `name`, in any case and also by its numpy, torch or DSL name."""
    return _by_name().get(name.lower())


def close_type_names(name: str) -> list[str]:
    """Names of numeric types that `name` may be a misspelling of, best first, in their canonical spelling."""
    close = close_names(name, _by_name(), most=3)
    return list(dict.fromkeys(_by_name()[match].name for match in close))
