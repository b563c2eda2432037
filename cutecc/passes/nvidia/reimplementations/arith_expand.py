"""The wheel's `arith-expand`, upstream MLIR's pass of that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import PassError
from cutecc.ir.mlir import ir, rewrite
from cutecc.passes.base import ModulePass
from cutecc.passes.registry import register
from cutecc.record import Provider

Expansion = Callable[[Any, Any, Any], Any]
"""From the operation and its two operands to the value that replaces its result; inserts before the operation."""

_INTEGER_PREDICATES = {"eq": 0, "ne": 1, "slt": 2, "sgt": 4, "ult": 6, "ugt": 8}
_FLOAT_PREDICATES = {"ugt": 9, "ult": 11, "uno": 14}


@register
@dataclass(frozen=True)
class ArithExpand(ModulePass):
    """Express divisions that round up or down, minima, maxima and scaled conversions in simpler `arith` operations.

    The driver is MLIR's dialect conversion with the wheel's target, because it also folds: an illegal operation that
    folds is not expanded, and operations of other dialects fold in passing.
    """

    name: ClassVar[str] = "arith-expand"
    provider: ClassVar[Provider] = "stand-in"

    include_bf16: bool = False
    """Expand `extf` and `truncf` of bf16 too. The wheel never asks for it; this pass then refuses."""
    include_f8e8m0: bool = False
    """Expand `extf` and `truncf` of f8E8M0FNU too. As above."""
    include_f4e2m1: bool = False
    """Expand `extf` and `truncf` of f4E2M1FN too. As above."""

    def run(self, module: ir.Module) -> None:
        if self.include_bf16 or self.include_f8e8m0 or self.include_f4e2m1:
            raise PassError("arith-expand cannot expand conversions between floating-point types here")
        target = rewrite.ConversionTarget()
        target.add_legal_dialect("arith", "vector")
        target.add_illegal_op(*_EXPANSIONS)
        patterns = rewrite.RewritePatternSet()
        for name, expansion in _EXPANSIONS.items():
            patterns.add(name, _pattern(expansion))
        rewrite.apply_partial_conversion(module.operation, target, patterns.freeze())


def _pattern(expansion: Expansion) -> Any:
    def rewrite_op(op: Any, rewriter: Any) -> bool:
        operation = op.operation
        with rewriter.ip, operation.location:
            result = expansion(operation, operation.operands[0], operation.operands[1])
        if result is None:
            return True
        rewriter.replace_op(operation, [result])
        return False

    return rewrite_op


def _create(name: str, result: Any, *operands: Any, **attributes: Any) -> Any:
    return ir.Operation.create(name, results=[result], operands=operands, attributes=attributes).results[0]


def _binary(name: str, left: Any, right: Any) -> Any:
    return _create(name, left.type, left, right)


def _with_element(like: Any, element: Any) -> Any:
    """`like`, a scalar or vector type, with other elements."""
    return ir.VectorType.get(like.shape, element) if isinstance(like, ir.VectorType) else element


def _element(of: Any) -> Any:
    return of.element_type if isinstance(of, ir.ShapedType) else of


def _constant(of: Any, value: int) -> Any:
    attribute: Any = ir.IntegerAttr.get(_element(of), value)
    if isinstance(of, ir.ShapedType):
        attribute = ir.DenseElementsAttr.get_splat(of, attribute)
    return _create("arith.constant", of, value=attribute)


def _compare(name: str, predicate: int, left: Any, right: Any) -> Any:
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return _create(name, _with_element(left.type, ir.IntegerType.get_signless(1)), left, right, predicate=attribute)


def _cmpi(predicate: str, left: Any, right: Any) -> Any:
    return _compare("arith.cmpi", _INTEGER_PREDICATES[predicate], left, right)


def _cmpf(predicate: str, left: Any, right: Any) -> Any:
    return _compare("arith.cmpf", _FLOAT_PREDICATES[predicate], left, right)


def _select(condition: Any, on_true: Any, on_false: Any) -> Any:
    return _create("arith.select", on_true.type, condition, on_true, on_false)


def _ceildivsi(_: Any, a: Any, b: Any) -> Any:
    """`a / b`, plus one where it is inexact and `a` and `b` have the same sign."""
    zero, one = _constant(a.type, 0), _constant(a.type, 1)
    quotient = _binary("arith.divsi", a, b)
    inexact = _cmpi("ne", a, _binary("arith.muli", quotient, b))
    same_sign = _cmpi("eq", _cmpi("slt", a, zero), _cmpi("slt", b, zero))
    round_up = _binary("arith.andi", inexact, same_sign)
    return _select(round_up, _binary("arith.addi", quotient, one), quotient)


def _floordivsi(_: Any, a: Any, b: Any) -> Any:
    """`a / b`, minus one where it is inexact and `a` and `b` differ in sign."""
    quotient = _binary("arith.divsi", a, b)
    inexact = _cmpi("ne", a, _binary("arith.muli", quotient, b))
    zero = _constant(a.type, 0)
    other_sign = _cmpi("ne", _cmpi("slt", a, zero), _cmpi("slt", b, zero))
    round_down = _binary("arith.andi", inexact, other_sign)
    return _select(round_down, _binary("arith.addi", quotient, _constant(a.type, -1)), quotient)


def _ceildivui(_: Any, a: Any, b: Any) -> Any:
    """`(a - 1) / b + 1`, and zero for zero."""
    zero = _constant(a.type, 0)
    is_zero = _cmpi("eq", a, zero)
    one = _constant(a.type, 1)
    quotient = _binary("arith.divui", _binary("arith.subi", a, one), b)
    return _select(is_zero, zero, _binary("arith.addi", quotient, one))


def _integer_extremum(predicate: str) -> Expansion:
    return lambda _, a, b: _select(_cmpi(predicate, a, b), a, b)


def _float_extremum(predicate: str, keeps_nan: bool) -> Expansion:
    """`maximumf` and `minimumf` return a NaN operand, `maxnumf` and `minnumf` the other one."""

    def expand(_: Any, a: Any, b: Any) -> Any:
        extremum = _select(_cmpf(predicate, a, b), a, b)
        checked = b if keeps_nan else a
        return _select(_cmpf("uno", checked, checked), b, extremum)

    return expand


def _scale(scale: Any) -> Any:
    """The scale as an f8E8M0FNU; wider ones are reduced to their exponent. `None` for other narrow types."""
    element, exponent = _element(scale.type), ir.Type.parse("f8E8M0FNU")
    if element == exponent:
        return scale
    return _create("arith.truncf", _with_element(scale.type, exponent), scale) if element.width >= 16 else None


def _scaling_extf(operation: Any, value: Any, scale: Any) -> Any:
    exponent = _scale(scale)
    if exponent is None:
        return None
    result = operation.results[0].type
    factor = _create("arith.extf", result, exponent)
    return _binary("arith.mulf", _create("arith.extf", result, value), factor)


def _scaling_truncf(operation: Any, value: Any, scale: Any) -> Any:
    exponent = _scale(scale)
    if exponent is None:
        return None
    divisor = _create("arith.extf", value.type, exponent)
    return _create("arith.truncf", operation.results[0].type, _binary("arith.divf", value, divisor))


_EXPANSIONS: dict[str, Expansion] = {
    "arith.ceildivsi": _ceildivsi,
    "arith.ceildivui": _ceildivui,
    "arith.floordivsi": _floordivsi,
    "arith.maxsi": _integer_extremum("sgt"),
    "arith.maxui": _integer_extremum("ugt"),
    "arith.minsi": _integer_extremum("slt"),
    "arith.minui": _integer_extremum("ult"),
    "arith.maximumf": _float_extremum("ugt", keeps_nan=True),
    "arith.minimumf": _float_extremum("ult", keeps_nan=True),
    "arith.maxnumf": _float_extremum("ugt", keeps_nan=False),
    "arith.minnumf": _float_extremum("ult", keeps_nan=False),
    "arith.scaling_extf": _scaling_extf,
    "arith.scaling_truncf": _scaling_truncf,
}
