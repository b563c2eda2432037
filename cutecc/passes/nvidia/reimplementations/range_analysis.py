"""Which integers a value can be: upstream MLIR's dead code, constant propagation and integer range analyses.

The wheel's `int-range-optimizations` decides with upstream's `DataFlowSolver`, and its result depends on the order of
visits: a loop-carried value that changes a second time is given up. So this follows upstream's order, one queue for
the three analyses (mlir/lib/Analysis/DataFlow/{DeadCode,ConstantPropagation,IntegerRange,Sparse}Analysis.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cutecc.ir.bytecode_tables import Dense
from cutecc.ir.mlir import ir
from cutecc.passes.nvidia.reimplementations import int_ranges as r
from cutecc.passes.nvidia.reimplementations.range_records import (
    CONSTANT,
    CONSTANT_BLOCK,
    DEAD_CODE,
    RANGE,
    RANGE_BLOCK,
    Block,
    Record,
    Records,
)
from cutecc.passes.nvidia.reimplementations.range_transfer import Range

_UNKNOWN = "unknown"
"""Constant propagation: the value is no constant. A constant is its unsigned number; not yet visited is `None`."""

_MAX_CHANGES = 200
"""Tuples have no widening of their own; after so many changes a value is given up."""


class RangeAnalysis:
    """The ranges of a module's values, by their numbers."""

    def __init__(self, module: ir.Module) -> None:
        self.records = records = Records(module)
        self.ranges: list[Range | None] = [None] * records.count
        self._constants: list[Any] = [None] * records.count
        self._changes: dict[int, int] = {}
        self._users = records.users
        self._dependents: dict[int, dict[Record | Block, None]] = {}
        self._visits: list[int] = []
        self._targets: list[Any] = []
        self._solve(records.top)

    def constants(self) -> dict[int, int]:
        """The integers that can have one value, and it as an unsigned number."""
        is_integer = self.records.is_integer
        return {
            number: known[1] if known[1] == known[2] else known[3] & ((1 << known[0]) - 1)
            for number, known in enumerate(self.ranges)
            if known is not None and (known[1] == known[2] or known[3] == known[4]) and is_integer(number)
        }

    # The worklist.

    def _solve(self, top: Block) -> None:
        top.live = True
        for record in self.records.all:
            if not record.never & DEAD_CODE:
                self._visit_dead_code(record)
        self._initialize(top, CONSTANT, self._visit_constant, self._visit_constant_block)
        self._initialize(top, RANGE, self._visit_range, self._visit_range_block)
        visitors: dict[int, Any] = {
            DEAD_CODE: self._visit_dead_code,
            CONSTANT: self._visit_constant,
            CONSTANT_BLOCK: self._visit_constant_block,
            RANGE: self._visit_range,
            RANGE_BLOCK: self._visit_range_block,
        }
        for visit, target in zip(self._visits, self._targets, strict=True):  # grows on the way
            target.pending &= ~visit
            visitors[visit](target)

    def _initialize(self, block: Block, kind: int, visit: Any, visit_block: Any) -> None:
        for record in block.operations:
            if not record.never & kind:
                visit(record)
            for blocks in record.regions:
                for nested in blocks:
                    if nested.live:
                        visit_block(nested)
                        self._initialize(nested, kind, visit, visit_block)

    def _enqueue(self, visit: int, target: Record | Block) -> None:
        if not target.pending & visit:
            target.pending |= visit
            self._visits.append(visit)
            self._targets.append(target)

    def _enqueue_all(self, visit: int, targets: Sequence[Record]) -> None:
        for target in targets:
            if not target.pending & visit:
                target.pending |= visit
                self._visits.append(visit)
                self._targets.append(target)

    def _depend(self, number: int, target: Record | Block) -> None:
        self._dependents.setdefault(number, {})[target] = None

    def _join_range(self, number: int, known: Range | None) -> None:
        if known is None or not self.records.width(number):
            return
        old = self.ranges[number]
        new = known if old is None else r.union(old, known)
        if new != old:
            self._set_range(number, new)

    def _set_range(self, number: int, new: Range) -> None:
        self.ranges[number] = new
        if number in self._dependents:
            for target in self._dependents[number]:
                self._enqueue(RANGE if isinstance(target, Record) else RANGE_BLOCK, target)
        self._enqueue_all(RANGE, self._users[number])
        # Both analyses feed one constant: what ranges cannot prove constant is none, and the other way round.
        if self._constants[number] is not _UNKNOWN:
            constant = r.constant_value(new) if self.records.is_integer(number) else None
            self._join_constant(number, _UNKNOWN if constant is None else constant)

    def _join_constant(self, number: int, constant: Any) -> None:
        old = self._constants[number]
        new = constant if old is None or old == constant else _UNKNOWN
        if constant is None or new == old:
            return
        self._constants[number] = new
        if number in self._dependents:
            for target in self._dependents[number]:
                self._enqueue(CONSTANT if isinstance(target, Record) else CONSTANT_BLOCK, target)
        users = self._users[number]
        control = False
        for user in users:
            pending = user.pending
            if not pending & CONSTANT:
                user.pending = pending | CONSTANT
                self._visits.append(CONSTANT)
                self._targets.append(user)
            if not pending & DEAD_CODE:
                control = True
        if control:
            self._enqueue_all(DEAD_CODE, users)

    # Dead code.

    def _make_live(self, block: Block) -> None:
        if block.live:
            return
        block.live = True
        self._enqueue(CONSTANT_BLOCK, block)
        self._enqueue(RANGE_BLOCK, block)
        for visit in (DEAD_CODE, CONSTANT, RANGE):
            self._enqueue_all(visit, block.operations)

    def _add_edge(self, source: Record, operands: list[int], target: Record | Block) -> None:
        """Control passes from `source` to a region's entry, or with an operation's results back to its block."""
        if isinstance(target, Block):
            self._make_live(target)
        if source in target.edges:
            return
        target.edges[source] = operands
        if isinstance(target, Block):
            self._enqueue(CONSTANT_BLOCK, target)
            self._enqueue(RANGE_BLOCK, target)
        else:
            self._enqueue(CONSTANT, target)
            self._enqueue(RANGE, target)

    def _visit_dead_code(self, record: Record) -> None:
        block = record.block
        if not block.live:
            return
        if record.kind.is_region_branch:
            if self._operands_visited(record):
                self._enter_regions(record)
        else:
            for blocks in record.regions:
                if blocks:
                    self._make_live(blocks[0])
        if record.kind.is_terminator and block.owner.kind.is_region_branch and self._operands_visited(record):
            self._leave_region(record, block.owner)

    def _operands_visited(self, record: Record) -> bool:
        constants = self._constants
        for number in record.operands:  # noqa: SIM110  a generator takes twice the time
            if constants[number] is None:
                return False
        return True

    def _decided(self, number: int) -> int | None:
        constant = self._constants[number]
        return None if constant is _UNKNOWN else constant

    def _enter_regions(self, record: Record) -> None:
        match record.kind.name:
            case "scf.if":
                condition = self._decided(record.operands[0])
                if condition is None or condition:
                    self._add_edge(record, [], record.regions[0][0])
                if not condition:
                    self._add_edge(record, [], record.regions[1][0] if record.regions[1] else record)
            case "scf.for":
                trips, initial = self._trip_count(record), record.operands[3:]
                if trips is None or trips:
                    self._add_edge(record, initial, record.regions[0][0])
                if not trips:
                    self._add_edge(record, initial, record)
            case "scf.while":
                self._add_edge(record, record.operands, record.regions[0][0])
            case "scf.execute_region":
                self._add_edge(record, [], record.regions[0][0])
            case _:
                for blocks in self._switch_regions(record):
                    self._add_edge(record, [], blocks[0])

    def _switch_regions(self, record: Record) -> list[list[Block]]:
        selector, cases = self._decided(record.operands[0]), record.attribute
        if selector is None or not isinstance(cases, Dense):
            return record.regions
        elements = cases.elements
        return [record.regions[1 + elements.index(selector)] if selector in elements else record.regions[0]]

    def _leave_region(self, record: Record, owner: Record) -> None:
        operands = record.operands
        if record.kind.name == "scf.condition":
            condition = self._decided(operands[0])
            if condition is None or condition:
                self._add_edge(record, operands[1:], owner.regions[1][0])
            if not condition:
                self._add_edge(record, operands[1:], owner)
        elif owner.kind.name == "scf.while":
            self._add_edge(record, operands, owner.regions[0][0])
        else:
            if owner.kind.name == "scf.for" and self._trip_count(owner) != 1:
                self._add_edge(record, operands, owner.regions[0][0])
            self._add_edge(record, operands, owner)

    def _trip_count(self, loop: Record) -> int | None:
        low, high, step = (self._spelled_constant(number) for number in loop.operands[:3])
        if low is None or high is None or step is None or step <= 0:
            return None
        return max(0, -((low - high) // step))

    def _spelled_constant(self, number: int) -> int | None:
        """The value, as a signed number, where it is an `arith.constant`."""
        definition = self.records.definition(number)
        if definition is None or definition.kind.name != "arith.constant":
            return None
        return r.to_signed(definition.attribute, definition.kind.widths[0])

    # Constant propagation, as far as it decides which regions run.

    def _visit_constant(self, record: Record) -> None:
        block = record.block
        if not block.live:
            return
        if record.kind.is_region_branch:
            self._join_edges(record, record.results, constants=True)
            return
        constants = self._constants
        if not record.regions:
            for number in record.operands:
                if constants[number] is None:
                    return
        constant = self._folded(record) if record.kind.folds else _UNKNOWN
        for number in record.results:
            if constants[number] is not _UNKNOWN:
                self._join_constant(number, constant)
        if constant is _UNKNOWN:
            record.pending |= CONSTANT

    def _folded(self, record: Record) -> Any:
        """The constant that folding makes of constant operands: what the ranges of single values give."""
        operands: list[Range | None] = []
        for number in record.operands:
            constant = self._constants[number]
            if constant is _UNKNOWN:
                return _UNKNOWN
            operands.append(r.constant(constant, self.records.width(number)))
        assert record.kind.transfer is not None
        known = record.kind.transfer(record, operands)
        constant = r.constant_value(known[0]) if known else None
        return _UNKNOWN if constant is None else constant

    def _visit_constant_block(self, block: Block) -> None:
        if not block.arguments or not block.live:
            return
        if not block.entry or not block.owner.kind.is_region_branch:
            for number in block.arguments:
                self._join_constant(number, _UNKNOWN)
            return
        arguments = block.arguments
        if block.owner.kind.name == "scf.for":
            self._join_constant(arguments[0], _UNKNOWN)
            arguments = arguments[1:]
        self._join_edges(block, arguments, constants=True)

    def _join_edges(self, target: Record | Block, numbers: Sequence[int], constants: bool) -> None:
        if not numbers:
            return
        for operands in list(target.edges.values()):
            for operand, number in zip(operands, numbers, strict=True):
                self._depend(operand, target)
                if constants:
                    self._join_constant(number, self._constants[operand])
                else:
                    self._join_range(number, self.ranges[operand])

    # Ranges.

    def _visit_range(self, record: Record) -> None:
        block = record.block
        if not block.live:
            return
        kind = record.kind
        if kind.is_region_branch:
            self._join_edges(record, record.results, constants=False)
            return
        if kind.transfer is None:
            for number, integer, width in zip(record.results, kind.integers, kind.widths, strict=True):
                if integer:
                    self._join_range(number, r.full(width))
            record.pending |= RANGE
            return
        ranges = self.ranges
        known = kind.transfer(record, [ranges[number] for number in record.operands])
        if known is None:
            return
        for position, result in enumerate(known):
            if result != ranges[record.results[position]] and kind.widths[position]:
                self._join_result(record, position, result)

    def _join_result(self, record: Record, position: int, known: Range) -> None:
        number = record.results[position]
        old = self.ranges[number]
        if old is None:
            self._changes[number] = 1
            self._set_range(number, known)
            return
        new = r.union(old, known)
        if new == old:
            return
        changes = self._changes[number] = self._changes.get(number, 0) + 1
        yielded = any(user.kind.is_terminator for user in self._users[number])
        if (yielded and record.kind.integers[position]) or changes > _MAX_CHANGES:
            new = r.full(record.kind.widths[position])
        self._set_range(number, new)

    def _visit_range_block(self, block: Block) -> None:
        if not block.arguments or not block.live:
            return
        if not block.entry or not block.owner.kind.is_region_branch:
            for number in block.arguments:
                if self.records.is_integer(number):
                    self._join_range(number, r.full(self.records.width(number)))
            return
        arguments = block.arguments
        if block.owner.kind.name == "scf.for":
            if block.edges:
                self._join_induction(block)
            arguments = arguments[1:]
        self._join_edges(block, arguments, constants=False)

    def _join_induction(self, block: Block) -> None:
        """The induction variable runs from the lower bound's least value to below the upper bound's greatest."""
        number, (low, high, step) = block.arguments[0], block.owner.operands[:3]
        width = self.records.width(number)
        first, last, stride = (
            self._bound(low, block, 3, width),
            self._bound(high, block, 4, width),
            self._bound(step, block, 4, width),
        )
        if stride < 0:
            first, last = last, first
        else:
            last = r.to_signed(last - 1, width)
        if last >= first:
            self._join_range(number, r.from_signed(first, last, width))

    def _bound(self, number: int, block: Block, end: int, width: int) -> int:
        spelled = self._spelled_constant(number)
        if spelled is not None:
            return r.to_signed(spelled, width)
        self._depend(number, block)
        known = self.ranges[number]
        return known[end] if known is not None else r.signed_limits(width)[end - 3]
