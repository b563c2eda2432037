"""The wheel's `int-range-optimizations`, upstream MLIR's pass of that name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cutecc.ir.mlir import ir, rewrite
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.standins import int_ranges as r
from cutecc.passes.nvidia.standins.range_analysis import RangeAnalysis, Record
from cutecc.passes.nvidia.standins.range_transfer import integer_width
from cutecc.passes.registry import register
from cutecc.record import Provider

_CONSTANTS = {"arith.constant", "llvm.mlir.constant", "cute.static", "ub.poison"}
_REMAINDERS = ("arith.remsi", "arith.remui")

# Operations that do nothing but compute their result, so that they go once it is a constant.
_PURE_PREFIXES = ("arith.", "vector.", "math.", "index.", "cute.", "nvvm.read.ptx.sreg.")


@register
@dataclass(frozen=True)
class IntRangeOptimizations(ModulePass):
    """Replace integers that can have one value by constants, and drop `arith.remsi` and `remui` that change nothing.

    The rewrites run in MLIR's greedy driver, which also removes what is dead and gathers constants at the function's
    start: so it runs also where no range helps. Observed: the wheel's driver does not fold.
    """

    name: ClassVar[str] = "int-range-optimizations"
    provider: ClassVar[Provider] = "stand-in"

    def run(self, module: ir.Module) -> None:
        analysis = RangeAnalysis(module)
        patterns = rewrite.RewritePatternSet()
        materialize = _materialize(analysis)
        for name in sorted({record.name for record in analysis.records if _has_constant(analysis, record)}):
            patterns.add(name, materialize)
        if any(record.name in _REMAINDERS for record in analysis.records):
            drop = _drop_remainder(analysis)
            for name in _REMAINDERS:
                patterns.add(name, drop, 2)
        config = rewrite.GreedyRewriteConfig()
        config.enable_folding = False
        rewrite.apply_patterns_and_fold_greedily(module, patterns.freeze(), config)


def _has_constant(analysis: RangeAnalysis, record: Record) -> bool:
    if record.name in _CONSTANTS:
        return False
    arguments = (number for blocks in record.regions for block in blocks for number in block.arguments)
    return any(analysis.constant(number) is not None for number in (*record.results, *arguments))


def _materialize(analysis: RangeAnalysis) -> Any:
    """The pattern that replaces results and arguments of regions by constants where they can have one value."""

    def known_constant(value: Any) -> int | None:
        number = analysis.numbers.get(value)
        return None if number is None else analysis.constant(number)

    def rewrite_op(op: Any, rewriter: Any) -> bool:
        operation = op.operation
        changed = False
        for value in operation.results:
            constant = known_constant(value)
            if constant is not None and _is_used(value):
                with rewriter.ip, operation.location:
                    replacement = _constant(value, constant)
                if len(operation.results) == 1 and operation.name.startswith(_PURE_PREFIXES):
                    rewriter.replace_op(operation, [replacement])
                    return False
                value.replace_all_uses_with(replacement)
                changed = True
        for region in operation.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    constant = known_constant(argument)
                    if constant is not None and _is_used(argument):
                        with ir.InsertionPoint.at_block_begin(block), argument.location:
                            argument.replace_all_uses_with(_constant(argument, constant))
                        changed = True
        return not changed

    return rewrite_op


def _drop_remainder(analysis: RangeAnalysis) -> Any:
    """The pattern that replaces `x % c` by `x` where `0 <= x < c` always holds."""

    def rewrite_op(op: Any, rewriter: Any) -> bool:
        operation = op.operation
        dividend, divisor = operation.operands
        number = analysis.numbers.get(dividend)
        known = None if number is None else analysis.ranges[number]
        modulus = _positive_constant(divisor)
        if known is None or modulus is None:
            return True
        low, high = (known[1], known[2]) if operation.name == "arith.remui" else (known[3], known[4])
        limit = min(modulus, 1 << (known[0] - 1))
        if not 0 <= low <= high < limit:
            return True
        rewriter.replace_op(operation, [dividend])
        return False

    return rewrite_op


def _positive_constant(value: Any) -> int | None:
    owner = value.owner
    if isinstance(owner, ir.Block) or owner.operation.name != "arith.constant":
        return None
    attribute = owner.operation.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr) or attribute.value <= 0:
        return None
    return int(attribute.value)


def _is_used(value: Any) -> bool:
    return next(iter(value.uses), None) is not None


def _constant(value: Any, constant: int) -> Any:
    value_type = value.type
    element = value_type.element_type if isinstance(value_type, ir.ShapedType) else value_type
    attribute: Any = ir.IntegerAttr.get(element, r.to_signed(constant, integer_width(value_type)))
    if isinstance(value_type, ir.ShapedType):
        attribute = ir.DenseElementsAttr.get_splat(value_type, attribute)
    return ir.Operation.create("arith.constant", results=[value_type], attributes={"value": attribute}).results[0]
