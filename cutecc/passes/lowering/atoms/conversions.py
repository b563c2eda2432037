"""Conversions between floating-point formats of 8 bits and fewer and wider ones: a row for each.

Instructions convert two elements at once. A chip without one for a conversion computes the same bits with integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cutecc.ir.constants import constant_of_type
from cutecc.ir.inline_assembly import inline_assembly
from cutecc.ir.mlir import arith, ir
from cutecc.passes.lowering.atoms.narrow_formats import FORMATS, from_float, power_from_float, power_to_float, to_float
from cutecc.passes.lowering.values.vector_accesses import bitcast, elements_of, joined, vector_of
from cutecc.target import Target

Rounding = Literal["nearest", "up", "zero"]
"""To nearest with ties to even, upward, toward zero."""
Lower = Callable[[ir.Value, str, Rounding], ir.Value]
"""Takes a vector, the element that it becomes, and how that is rounded."""

POWERS = "f8E8M0FNU"
"""The format of powers of two: it has neither mantissa nor sign."""


@dataclass(frozen=True)
class ConversionRow:
    """How a vector of elements `source` becomes one of elements `result`."""

    source: str
    result: str
    chips: Callable[[Target], bool]
    lower: Lower


def is_narrow(element: str) -> bool:
    """Whether there are rows for `element`, a format of 8 bits or fewer."""
    return element in FORMATS or element == POWERS


def roundings(element: str) -> tuple[Rounding, ...]:
    """How numbers can be rounded to `element`."""
    return ("up", "zero") if element == POWERS else ("nearest",)


def conversion_row(source: str, result: str, target: Target) -> ConversionRow | None:
    """The first row from one format to another that the chip has."""
    return next((row for row in ROWS if (row.source, row.result) == (source, result) and row.chips(target)), None)


def _every(_: Target) -> bool:
    return True


def _ada(target: Target) -> bool:
    return (target.major, target.minor) >= (8, 9)


def _narrow(name: str) -> Lower:
    """The instruction `name`: two numbers become one register."""

    def lower(vector: ir.Value, result: str, rounding: Rounding) -> ir.Value:
        # The operation that makes numbers of 4 bits calls its attribute otherwise.
        key = "dstType" if name.endswith("f4x2") else "dstTy"
        attributes: dict[str, Any] = {key: ir.TypeAttr.get(ir.Type.parse(result))}
        if name.endswith("f8x2"):
            mode = {"nearest": "rn", "up": "rp", "zero": "rz"}[rounding]
            attributes["rnd"] = ir.Attribute.parse(f"#nvvm.fp_rnd_mode<{mode}>")
            # What is too large for `POWERS` becomes a NaN, as the wheel has it.
            saturation = "none" if result == POWERS else "satfinite"
            attributes["sat"] = ir.Attribute.parse(f"#nvvm.sat_mode<{saturation}>")
        register = ir.IntegerType.get_signless(8 if _bits(result) == 4 else 16)
        registers: list[ir.Value] = []
        for low, high in _pairs(vector):
            # The first of two operands is the upper half.
            operands = [high, low] if ".f32x2." in name else [vector_of([low, high])]
            registers.append(ir.Operation.create(name, [register], operands, attributes=attributes).result)
        return _from_registers(registers, result, _count(vector))

    return lower


_EIGHT_OF_4_BITS = """{
  .reg .b8 a, b, c, d;
  cvt.rn.satfinite.e2m1x2.f32 a, $2, $1;
  cvt.rn.satfinite.e2m1x2.f32 b, $4, $3;
  cvt.rn.satfinite.e2m1x2.f32 c, $6, $5;
  cvt.rn.satfinite.e2m1x2.f32 d, $8, $7;
  mov.b32 $0, {a, b, c, d};
}"""


def _narrow_to_4_bits(vector: ir.Value, result: str, rounding: Rounding) -> ir.Value:
    """Eight numbers become one register by assembly; with what the operation makes of two, ptxas packs bytes again."""
    elements = elements_of(vector)
    whole = len(elements) // 8 * 8
    word, constraints = ir.IntegerType.get_signless(32), ["=r", *"ffffffff"]
    registers = [
        register
        for begin in range(0, whole, 8)
        for register in inline_assembly(
            _EIGHT_OF_4_BITS, constraints, [word], elements[begin : begin + 8], side_effects=False
        )
    ]
    parts = [_from_registers(registers, result, whole)] if registers else []
    if whole < len(elements):
        parts.append(_narrow("nvvm.convert.f32x2.to.f4x2")(vector_of(elements[whole:]), result, rounding))
    return joined(parts)


def _widen(name: str) -> Lower:
    """The instruction `name`: a register becomes two numbers."""

    def lower(vector: ir.Value, result: str, rounding: Rounding) -> ir.Value:
        source = ir.VectorType(vector.type).element_type
        attributes: dict[str, Any] = {"srcType": ir.TypeAttr.get(source)}
        halves: list[ir.Value] = []
        for register in _registers(vector):
            pair = ir.Operation.create(name, [_vector(2, result)], [register], attributes=attributes).result
            halves += elements_of(pair)
        return vector_of(halves[: _count(vector)])

    return lower


def _narrow_by_integers(vector: ir.Value, result: str, rounding: Rounding) -> ir.Value:
    if result == POWERS:
        return _from_codes(power_from_float(vector, up=rounding == "up"), result, _count(vector))
    return _from_codes(from_float(vector, FORMATS[result]), result, _count(vector))


def _widen_by_integers(vector: ir.Value, result: str, rounding: Rounding) -> ir.Value:
    name = str(ir.VectorType(vector.type).element_type)
    codes = _codes(vector, 32)
    return power_to_float(codes) if name == POWERS else to_float(codes, FORMATS[name])


ROWS = (
    ConversionRow("f32", "f8E4M3FN", _ada, _narrow("nvvm.convert.f32x2.to.f8x2")),
    ConversionRow("f32", "f8E5M2", _ada, _narrow("nvvm.convert.f32x2.to.f8x2")),
    ConversionRow("f32", "f8E8M0FNU", Target.has_blackwell_forms, _narrow("nvvm.convert.f32x2.to.f8x2")),
    ConversionRow("f32", "f6E3M2FN", Target.has_blackwell_forms, _narrow("nvvm.convert.f32x2.to.f6x2")),
    ConversionRow("f32", "f6E2M3FN", Target.has_blackwell_forms, _narrow("nvvm.convert.f32x2.to.f6x2")),
    ConversionRow("f32", "f4E2M1FN", Target.has_blackwell_forms, _narrow_to_4_bits),
    ConversionRow("f16", "f8E4M3FN", _ada, _narrow("nvvm.convert.f16x2.to.f8x2")),
    ConversionRow("f16", "f8E5M2", _ada, _narrow("nvvm.convert.f16x2.to.f8x2")),
    ConversionRow("bf16", "f8E8M0FNU", Target.has_blackwell_forms, _narrow("nvvm.convert.bf16x2.to.f8x2")),
    ConversionRow("f8E4M3FN", "f16", _ada, _widen("nvvm.convert.f8x2.to.f16x2")),
    ConversionRow("f8E5M2", "f16", _ada, _widen("nvvm.convert.f8x2.to.f16x2")),
    ConversionRow("f8E8M0FNU", "bf16", Target.has_blackwell_forms, _widen("nvvm.convert.f8x2.to.bf16x2")),
    ConversionRow("f6E3M2FN", "f16", Target.has_blackwell_forms, _widen("nvvm.convert.f6x2.to.f16x2")),
    ConversionRow("f6E2M3FN", "f16", Target.has_blackwell_forms, _widen("nvvm.convert.f6x2.to.f16x2")),
    ConversionRow("f4E2M1FN", "f16", Target.has_blackwell_forms, _widen("nvvm.convert.f4x2.to.f16x2")),
    *(ConversionRow("f32", name, _every, _narrow_by_integers) for name in (*FORMATS, POWERS)),
    *(ConversionRow(name, "f32", _every, _widen_by_integers) for name in (*FORMATS, POWERS)),
)


def _registers(vector: ir.Value) -> list[ir.Value]:
    """Narrow numbers by twos, as instructions take them: in two bytes, or those of 4 bits in one."""
    if _bits(str(ir.VectorType(vector.type).element_type)) != 4:
        return [vector_of(pair) for pair in _pairs(_codes(vector, 8))]
    if _count(vector) % 2:
        vector = vector_of([element for pair in _pairs(vector) for element in pair])
    return elements_of(bitcast(vector, _vector(_count(vector) // 2, "i8")))


def _from_registers(registers: list[ir.Value], element: str, count: int) -> ir.Value:
    """The first `count` narrow numbers of registers that hold them as instructions make them."""
    each = 4 if _bits(element) == 4 else 8
    total = len(registers) * ir.IntegerType(registers[0].type).width // each
    return _from_codes(bitcast(vector_of(registers), _vector(total, f"i{each}")), element, count)


def _codes(vector: ir.Value, width: int) -> ir.Value:
    """The bits of narrow numbers, as integers of `width`."""
    bits = _bits(str(ir.VectorType(vector.type).element_type))
    codes = bitcast(vector, _vector(_count(vector), f"i{bits}"))
    if bits == width:
        return codes
    return arith.extui(_vector(_count(vector), f"i{width}"), codes)


def _from_codes(codes: ir.Value, element: str, count: int) -> ir.Value:
    """The first `count` of integers that hold the bits of narrow numbers, as these."""
    if _count(codes) != count:
        codes = vector_of(elements_of(codes)[:count])
    if str(ir.VectorType(codes.type).element_type) != f"i{_bits(element)}":
        codes = arith.trunci(_vector(count, f"i{_bits(element)}"), codes)
    return bitcast(codes, _vector(count, element))


def _pairs(vector: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
    """The elements by twos; a zero stands beside the last of an odd number."""
    elements = elements_of(vector)
    if len(elements) % 2:
        elements.append(constant_of_type(0, elements[0].type))
    return list(zip(elements[::2], elements[1::2], strict=True))


def _vector(count: int, element: str) -> ir.VectorType:
    return ir.VectorType.get([count], ir.Type.parse(element))


def _count(vector: ir.Value) -> int:
    return ir.VectorType(vector.type).shape[0]


def _bits(element: str) -> int:
    return FORMATS[element].bits if element in FORMATS else 8
