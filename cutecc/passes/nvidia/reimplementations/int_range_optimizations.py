"""The wheel's `int-range-optimizations`, upstream MLIR's pass of that name."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from cutecc.ir.building import at_start, located
from cutecc.ir.constants import constant_of_type
from cutecc.ir.mlir import ir, rewrite
from cutecc.passes.base import ModulePass
from cutecc.passes.nvidia.reimplementations import int_ranges as r
from cutecc.passes.nvidia.reimplementations.range_analysis import RangeAnalysis
from cutecc.passes.nvidia.reimplementations.range_records import CONSTANTS, Record
from cutecc.passes.registry import register
from cutecc.record import Provider
from cutecc.support.garbage import without_collection

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
    provider: ClassVar[Provider] = "reimplementation"

    def run(self, module: ir.Module) -> None:
        with without_collection():
            analysis = RangeAnalysis(module)
            patterns = _patterns(module, analysis)
            analysis.records.release()
            del analysis
            config = rewrite.GreedyRewriteConfig()
            config.enable_folding = False
            rewrite.apply_patterns_and_fold_greedily(module, patterns.freeze(), config)


@dataclass(slots=True)
class _Constants:
    """Which results of an operation, and which arguments of its regions' blocks, are which unsigned numbers."""

    results: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    arguments: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])


def _patterns(module: ir.Module, analysis: RangeAnalysis) -> Any:
    patterns = rewrite.RewritePatternSet()
    constants = _constants(analysis)
    if constants:
        operations = _operations(module, analysis, constants)
        materialize = _materialize({_anchor(operation): constants[record] for operation, record in operations})
        for name in sorted({record.kind.name for record in constants}):
            patterns.add(name, materialize)
    ranges = analysis.ranges
    dividends = [
        record
        for record in analysis.records.all
        if record.kind.name in _REMAINDERS and ranges[record.operands[0]] is not None
    ]
    if dividends:
        operations = _operations(module, analysis, dividends)
        drop = _drop_remainder({operation.operands[0]: ranges[record.operands[0]] for operation, record in operations})
        for name in _REMAINDERS:
            patterns.add(name, drop, 2)
    return patterns


def _constants(analysis: RangeAnalysis) -> dict[Record, _Constants]:
    """The operations that have constants to be spelled out."""
    records, values = analysis.records, analysis.constants()
    found: defaultdict[Record, _Constants] = defaultdict(_Constants)
    for number, constant in values.items():
        record = records.definition(number)
        if record is not None and record.kind.name not in CONSTANTS:
            found[record].results.append((number - record.results.start, constant))
    for record in records.all:
        for region, blocks in enumerate(record.regions):
            for position, block in enumerate(blocks):
                for argument in block.arguments:
                    if argument in values:
                        index = argument - block.arguments.start
                        found[record].arguments.append((region, position, index, values[argument]))
    return found


def _operations(module: ir.Module, analysis: RangeAnalysis, records: Iterable[Record]) -> list[tuple[Any, Record]]:
    """Records with the operations that they stand for.

    Patterns that match nothing are the cheapest way to reach all operations of some names: the others stay in C++.
    """
    found: list[Any] = []

    def find(op: Any, _: Any) -> bool:
        found.append(op.operation)
        return True

    by_index = {record.index: record for record in records}
    names = {record.kind.name for record in by_index.values()}
    patterns = rewrite.RewritePatternSet()
    for name in names:
        patterns.add(name, find)
    rewrite.walk_and_apply_patterns(module.operation, patterns.freeze())
    order = analysis.records.code.post_order(names)
    pairs = zip(found, order, strict=True)
    return [(operation, by_index[index]) for operation, index in pairs if index in by_index]


def _anchor(operation: Any) -> Any:
    """A value by which to know an operation again: an operation's own hash changes with its operands."""
    for value in operation.results:
        return value
    for region in operation.regions:
        for block in region.blocks:
            for argument in block.arguments:
                return argument
    return None


def _materialize(known: dict[Any, _Constants]) -> Any:
    """The pattern that replaces results and arguments of regions by constants where they can have one value."""

    def rewrite_op(op: Any, rewriter: Any) -> bool:
        operation = op.operation
        constants = known.get(_anchor(operation))
        if constants is None:
            return True
        changed = False
        for position, constant in constants.results:
            value = operation.results[position]
            if _is_used(value):
                with rewriter.ip, operation.location:
                    replacement = _constant(value, constant)
                if len(operation.results) == 1 and operation.name.startswith(_PURE_PREFIXES):
                    rewriter.replace_op(operation, [replacement])
                    return False
                value.replace_all_uses_with(replacement)
                changed = True
        for region, position, argument, constant in constants.arguments:
            block = operation.regions[region].blocks[position]
            value = block.arguments[argument]
            if _is_used(value):
                with at_start(block), located(value):
                    value.replace_all_uses_with(_constant(value, constant))
                changed = True
        return not changed

    return rewrite_op


def _drop_remainder(ranges: dict[Any, r.Range | None]) -> Any:
    """The pattern that replaces `x % c` by `x` where `0 <= x < c` always holds; `ranges` are those of the `x`."""

    def rewrite_op(op: Any, rewriter: Any) -> bool:
        operation = op.operation
        dividend, divisor = operation.operands
        known = ranges.get(dividend)
        if known is None:
            return True
        modulus = _positive_constant(divisor)
        if modulus is None:
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
    width = 64 if isinstance(element, ir.IndexType) else element.width
    return constant_of_type(r.to_signed(constant, width), value_type)
