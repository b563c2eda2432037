"""The wheel's `arith-expand`, upstream MLIR's pass of that name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.errors import PassError
from cutecc.ir.constants import constant_of_type
from cutecc.ir.mlir import arith, ir, rewrite
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
    provider: ClassVar[Provider] = "reimplementation"

    include_bf16: bool = False
    """Expand `extf` and `truncf` of bf16 too. The wheel never asks for it; this pass then refuses."""
    include_f8e8m0: bool = False
    """Expand `extf` and `truncf` of f8E8M0FNU too. As above."""
    include_f4e2m1: bool = False
    """Expand `extf` and `truncf` of f4E2M1FN too. As above."""

    def run(self, module: ir.Module) -> None:
        if self.include_bf16 or self.include_f8e8m0 or self.include_f4e2m1:
            raise PassError("arith-expand cannot expand conversions between floating-point types here")
        patterns = rewrite.RewritePatternSet()
        for name, expansion in _EXPANSIONS.items():
            patterns.add(name, _pattern(expansion))
        if not hasattr(rewrite, "ConversionTarget"):
            # Bindings before 4.8 have no driver that folds like this; what is left to fold, `canonicalize` does.
            rewrite.walk_and_apply_patterns(module.operation, patterns.freeze())
            return
        target = rewrite.ConversionTarget()
        target.add_legal_dialect("arith", "vector")
        target.add_illegal_op(*_EXPANSIONS)
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


def _with_element(like: Any, element: Any) -> Any:
    """`like`, a scalar or vector type, with other elements."""
    return ir.VectorType.get(like.shape, element) if isinstance(like, ir.VectorType) else element


def _element(of: Any) -> Any:
    return of.element_type if isinstance(of, ir.ShapedType) else of


def _cmpi(predicate: str, left: Any, right: Any) -> Any:
    return arith.cmpi(_INTEGER_PREDICATES[predicate], left, right)


def _cmpf(predicate: str, left: Any, right: Any) -> Any:
    return arith.cmpf(_FLOAT_PREDICATES[predicate], left, right)


def _ceildivsi(_: Any, a: Any, b: Any) -> Any:
    """`a / b`, plus one where it is inexact and `a` and `b` have the same sign."""
    zero, one = constant_of_type(0, a.type), constant_of_type(1, a.type)
    quotient = arith.divsi(a, b)
    inexact = _cmpi("ne", a, arith.muli(quotient, b))
    same_sign = _cmpi("eq", _cmpi("slt", a, zero), _cmpi("slt", b, zero))
    round_up = arith.andi(inexact, same_sign)
    return arith.select(round_up, arith.addi(quotient, one), quotient)


def _floordivsi(_: Any, a: Any, b: Any) -> Any:
    """`a / b`, minus one where it is inexact and `a` and `b` differ in sign."""
    quotient = arith.divsi(a, b)
    inexact = _cmpi("ne", a, arith.muli(quotient, b))
    zero = constant_of_type(0, a.type)
    other_sign = _cmpi("ne", _cmpi("slt", a, zero), _cmpi("slt", b, zero))
    round_down = arith.andi(inexact, other_sign)
    return arith.select(round_down, arith.addi(quotient, constant_of_type(-1, a.type)), quotient)


def _ceildivui(_: Any, a: Any, b: Any) -> Any:
    """`(a - 1) / b + 1`, and zero for zero."""
    zero = constant_of_type(0, a.type)
    is_zero = _cmpi("eq", a, zero)
    one = constant_of_type(1, a.type)
    quotient = arith.divui(arith.subi(a, one), b)
    return arith.select(is_zero, zero, arith.addi(quotient, one))


def _integer_extremum(predicate: str) -> Expansion:
    return lambda _, a, b: arith.select(_cmpi(predicate, a, b), a, b)


def _float_extremum(predicate: str, keeps_nan: bool) -> Expansion:
    """`maximumf` and `minimumf` return a NaN operand, `maxnumf` and `minnumf` the other one."""

    def expand(_: Any, a: Any, b: Any) -> Any:
        extremum = arith.select(_cmpf(predicate, a, b), a, b)
        checked = b if keeps_nan else a
        return arith.select(_cmpf("uno", checked, checked), b, extremum)

    return expand


def _scale(scale: Any) -> Any:
    """The scale as an f8E8M0FNU; wider ones are reduced to their exponent. `None` for other narrow types."""
    element, exponent = _element(scale.type), ir.Type.parse("f8E8M0FNU")
    if element == exponent:
        return scale
    return arith.truncf(_with_element(scale.type, exponent), scale) if element.width >= 16 else None


def _scaling_extf(operation: Any, value: Any, scale: Any) -> Any:
    exponent = _scale(scale)
    if exponent is None:
        return None
    result = operation.results[0].type
    factor = arith.extf(result, exponent)
    return arith.mulf(arith.extf(result, value), factor)


def _scaling_truncf(operation: Any, value: Any, scale: Any) -> Any:
    exponent = _scale(scale)
    if exponent is None:
        return None
    divisor = arith.extf(value.type, exponent)
    return arith.truncf(operation.results[0].type, arith.divf(value, divisor))


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
