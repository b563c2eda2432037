"""Conversions from and to floating-point formats of 8 bits and fewer become instructions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from cutecc.ir.mlir import ir
from cutecc.passes.base import ModulePass
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.atoms.conversions import POWERS, Rounding, conversion_row, is_narrow, roundings
from cutecc.passes.lowering.values.integers import converted
from cutecc.passes.lowering.values.leaves import CAST
from cutecc.passes.lowering.values.vector_accesses import bitcast, elements_of, vector_of
from cutecc.passes.registry import register
from cutecc.passes.rewriting import Rewriter, rewrite, rewrites
from cutecc.target import Target

_FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
"""Bits of the formats that other passes convert between."""
_TO_INTEGERS = ("arith.fptosi", "arith.fptoui")
_FROM_INTEGERS = ("arith.sitofp", "arith.uitofp")
_ROUNDINGS: tuple[tuple[str, Rounding | None], ...] = (
    ("to_nearest_even", "nearest"),
    ("downward", None),
    ("upward", "up"),
    ("toward_zero", "zero"),
    ("to_nearest_away", None),
)
"""By `arith.truncf`'s number: what it prints, and what it is here."""


@register
@dataclass(frozen=True)
class LowerConversions(ModulePass):
    """Write conversions from and to formats of 8 bits and fewer as instructions of the chip, or integer arithmetic.

    The conversions that are known are in `cutecc/passes/lowering/atoms/conversions.py`, a row each; others go through
    `f16`, `bf16` or `f32`, which hold every narrow number. Between wider formats nothing changes. A trace takes the
    bits of a `tf32` by a cast to `i32`; as `f32` stands for it by now, that is a `bitcast`.
    """

    name: ClassVar[str] = "lower-conversions"
    lowers: ClassVar[tuple[str, ...]] = ("arith.extf", "arith.truncf", *_TO_INTEGERS, *_FROM_INTEGERS)

    chip: str = "sm_80"
    """The target whose instructions there are."""

    def run(self, module: ir.Module) -> None:
        rewrite(module, [_keep_bits, self.lower], once=True)

    @rewrites(*lowers)
    def lower(self, operation: ir.Operation, rewriter: Rewriter) -> None:
        elements = [_element(value.type) for value in (operation.operands[0], operation.results[0])]
        if any(map(_is_ours, elements)):
            rewriter.replace(operation, _lowered(operation, Target.parse(self.chip)))


@rewrites(CAST)
def _keep_bits(cast: ir.Operation, rewriter: Rewriter) -> None:
    """Make a cast between `f32` and `i32` an operation that keeps the bits; leave others."""
    if len(cast.operands) != 1 or len(cast.results) != 1:
        return
    types = [cast.operands[0].type, cast.results[0].type]
    if {str(_element(type)) for type in types} == {"f32", "i32"} and all(map(_is_number, types)):
        rewriter.replace(cast, bitcast(cast.operands[0], types[1]))


def _is_number(type: ir.Type) -> bool:
    """Whether `type` is one of numbers or vectors of them."""
    return isinstance(type, ir.IntegerType | ir.FloatType | ir.VectorType)


def _element(type: ir.Type) -> ir.Type:
    return type.element_type if isinstance(type, ir.ShapedType) else type


def _is_ours(element: ir.Type) -> bool:
    return isinstance(element, ir.FloatType) and str(element) not in _FLOATS and str(element) != "tf32"


def _lowered(operation: ir.Operation, target: Target) -> ir.Value:
    value, result = operation.operands[0], operation.results[0]
    for element in (_element(value.type), _element(result.type)):
        if _is_ours(element) and not is_narrow(str(element)):
            raise error(operation, f"the open lowering does not know conversions of {element}")
    is_vector = isinstance(value.type, ir.VectorType)
    if is_vector and len(ir.VectorType(value.type).shape) != 1:
        raise error(operation, f"{operation.name} of {value.type}: vectors have one dimension here")
    vector = value if is_vector else vector_of([value])
    found = _converted(operation, vector, _element(result.type), target)
    return found if is_vector else elements_of(found)[0]


def _converted(operation: ir.Operation, vector: ir.Value, result: ir.Type, target: Target) -> ir.Value:
    """A vector's elements as `result`, one of the two formats narrow."""
    if operation.name in _FROM_INTEGERS:
        # An integer that f32 rounds is too large for all but the format of powers.
        vector = converted(operation.name, vector, ir.F32Type.get())
    if is_narrow(str(_element(vector.type))):
        vector = _widened(vector, target)
    if operation.name in _TO_INTEGERS:
        return converted(operation.name, _resized(vector, "f32"), result)
    if not is_narrow(str(result)):
        return _resized(vector, str(result))
    row = conversion_row(str(_element(vector.type)), str(result), target)
    if row is None:
        vector = _resized(vector, "f32")
        row = conversion_row("f32", str(result), target)
        assert row is not None
    return row.lower(vector, str(result), _rounding(operation, str(result)))


def _widened(vector: ir.Value, target: Target) -> ir.Value:
    source = str(_element(vector.type))
    rows = (conversion_row(source, wide, target) for wide in ("f16", "bf16", "f32"))
    row = next(row for row in rows if row is not None)
    return row.lower(vector, row.result, "nearest")


def _rounding(operation: ir.Operation, result: str) -> Rounding:
    if "roundingmode" not in operation.attributes:
        return roundings(result)[0]
    number: int = ir.IntegerAttr(operation.attributes["roundingmode"]).value
    mode, rounding = _ROUNDINGS[number]
    if rounding == "nearest" and result == POWERS:
        # No instruction has it; the wheel takes the next.
        rounding = "up"
    if rounding is None or rounding not in roundings(result):
        raise error(operation, f"numbers are not rounded {mode} to {result}")
    return rounding


def _resized(vector: ir.Value, element: str) -> ir.Value:
    """A vector of a format that is not narrow as another."""
    source = str(_element(vector.type))
    if source == element:
        return vector
    if _FLOATS[source] == _FLOATS[element]:
        return _resized(_resized(vector, "f32"), element)
    name = "arith.extf" if _FLOATS[source] < _FLOATS[element] else "arith.truncf"
    return converted(name, vector, ir.Type.parse(element))
