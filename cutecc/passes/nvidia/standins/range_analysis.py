"""Which integers a value can be: upstream MLIR's dead code, constant propagation and integer range analyses.

The wheel's `int-range-optimizations` decides with upstream's `DataFlowSolver`, and its result depends on the order of
visits: a loop-carried value that changes a second time is given up. So this follows upstream's order, one queue for
the three analyses (mlir/lib/Analysis/DataFlow/{DeadCode,ConstantPropagation,IntegerRange,Sparse}Analysis.cpp).
"""

from __future__ import annotations

import contextlib
import enum
import gc
from collections import deque
from collections.abc import Generator
from typing import Any

from cutecc.ir.mlir import ir
from cutecc.passes.nvidia.standins import int_ranges as r
from cutecc.passes.nvidia.standins.range_transfer import (
    TUPLE_WIDTH,
    Range,
    Transfer,
    integer_width,
    is_tuple,
    transfer_of,
)

_REGION_BRANCHES = {"scf.if", "scf.for", "scf.while", "scf.execute_region", "scf.index_switch"}
_CALLABLES = {"func.func", "cuda.kernel", "gpu.func", "llvm.func"}
_TERMINATORS = {"scf.yield", "scf.condition", "scf.reduce", "func.return", "cf.br", "cf.cond_br", "llvm.return"}

_UNKNOWN = "unknown"
"""Constant propagation: the value is no constant. A constant is its unsigned number; not yet visited is `None`."""

_MAX_CHANGES = 200
"""Tuples have no widening of their own; after so many changes a value is given up."""


class _Visit(enum.IntEnum):
    DEAD_CODE = 0
    CONSTANTS = 1
    CONSTANTS_BLOCK = 2
    RANGES = 3
    RANGES_BLOCK = 4


class Block:
    """A block, its arguments by number, and the edges that region control flow takes into it."""

    __slots__ = ("arguments", "edges", "entry", "live", "mlir", "operations", "owner")

    def __init__(self, mlir: Any, owner: Record, entry: bool) -> None:
        self.mlir = mlir
        self.owner = owner
        self.entry = entry
        self.live = False
        self.operations: list[Record] = []
        self.arguments: list[int] = []
        self.edges: dict[Record, list[int]] = {}


class Record:
    """An operation, its operands and results by number, and what is looked up once."""

    __slots__ = (
        *("block", "branches", "cache", "edges", "integers", "name", "operand_widths", "operands", "operation"),
        *("regions", "results", "successors", "tracked", "transfer", "type_texts", "widths"),
    )

    def __init__(self, operation: Any, name: str, block: Block | None) -> None:
        self.operation = operation
        self.name = name
        self.block = block
        self.operands: list[int] = []
        self.operand_widths: list[int] = []
        self.results: list[int] = []
        self.widths: list[int] = []
        self.integers: list[bool] = []
        self.type_texts: list[str] = []
        self.regions: list[list[Block]] = []
        self.edges: dict[Record, list[int]] = {}
        self.successors = False
        self.branches = False
        self.tracked = False
        self.transfer: Transfer | None = None
        self.cache: Any = None


@contextlib.contextmanager
def _without_garbage_collection() -> Generator[None]:
    """Hundreds of thousands of records that all live on would be traversed over and over: half of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class RangeAnalysis:
    """The ranges of all values of a module; `exact` is false where control flow was met that is not modelled."""

    def __init__(self, module: ir.Module) -> None:
        self.exact = True
        self.records: list[Record] = []
        self.numbers: dict[Any, int] = {}
        self.values: list[Any] = []
        self.ranges: list[Range | None] = []
        self._constants: list[Any] = []
        self._changes: list[int] = []
        self._widths: list[int] = []
        self._integer: list[bool] = []
        self._users: list[list[Record]] = []
        self._definitions: list[Record | None] = []
        self._dependents: dict[int, dict[Record | Block, None]] = {}
        self._queue: deque[tuple[_Visit, Any]] = deque()
        self._pending: set[tuple[_Visit, Any]] = set()
        self._type_info: dict[Any, tuple[int, bool, str]] = {}
        self._forward: list[tuple[Record, int, Any]] = []
        with _without_garbage_collection():
            self._run(module)

    def _run(self, module: ir.Module) -> None:
        top = Record(module.operation, "builtin.module", None)
        self._top = Block(module.body, top, entry=True)
        self._top.live = True
        top.regions = [[self._top]]
        self._read(self._top)
        for record, position, value in self._forward:
            number = self.numbers[value]
            record.operands[position] = number
            record.operand_widths[position] = self._widths[number]
            self._users[number].append(record)
        for users in self._users:
            users.reverse()  # MLIR lists the newest use first
        self._solve()

    def constant(self, number: int) -> int | None:
        """The one value that an integer can have, as an unsigned number."""
        known = self.ranges[number]
        return None if known is None or not self._integer[number] else r.constant_value(known)

    # Reading the module once.

    def _number(self, value: Any, definition: Record | None) -> int:
        value_type = value.type
        info = self._type_info.get(value_type)
        if info is None:
            width, text = integer_width(value_type), ""
            if not width:
                text = str(value_type)
                width = TUPLE_WIDTH if is_tuple(text) else 0
            info = self._type_info[value_type] = (width, not text, text)
        number = len(self.values)
        self.numbers[value] = number
        self.values.append(value)
        self.ranges.append(None)
        self._constants.append(None)
        self._changes.append(0)
        self._widths.append(info[0])
        self._integer.append(info[1] and info[0] > 0)
        self._users.append([])
        self._definitions.append(definition)
        if definition is not None:
            definition.widths.append(info[0])
            definition.integers.append(info[1] and info[0] > 0)
            definition.type_texts.append(info[2])
        return number

    def _read(self, block: Block) -> None:
        numbers, users = self.numbers, self._users
        for op in block.mlir.operations:
            operation = op.operation
            record = Record(operation, operation.name, block)
            record.transfer = transfer_of(record.name)
            for value in operation.operands:
                number = numbers.get(value)
                if number is None:
                    self._forward.append((record, len(record.operands), value))
                    number = -1
                    record.operand_widths.append(0)
                else:
                    users[number].append(record)
                    record.operand_widths.append(self._widths[number])
                record.operands.append(number)
            record.results = [self._number(value, record) for value in operation.results]
            record.tracked = any(record.widths)
            record.successors = len(operation.successors) > 0
            block.operations.append(record)
            self.records.append(record)
            for region in operation.regions:
                blocks: list[Block] = []
                for mlir_block in region.blocks:
                    nested = Block(mlir_block, record, entry=not blocks)
                    nested.arguments = [self._number(argument, None) for argument in mlir_block.arguments]
                    blocks.append(nested)
                record.regions.append(blocks)
                for nested in blocks:
                    self._read(nested)
            record.branches = bool(record.regions) or record.successors or record.name in _TERMINATORS

    # The worklist.

    def _solve(self) -> None:
        for record in self.records:
            if record.branches:
                self._visit_dead_code(record)
        self._initialize(self._top, self._visit_constants, self._visit_constants_block)
        self._initialize(self._top, self._visit_ranges, self._visit_ranges_block)
        visitors = {
            _Visit.DEAD_CODE: self._visit_dead_code,
            _Visit.CONSTANTS: self._visit_constants,
            _Visit.CONSTANTS_BLOCK: self._visit_constants_block,
            _Visit.RANGES: self._visit_ranges,
            _Visit.RANGES_BLOCK: self._visit_ranges_block,
        }
        while self._queue:
            item = self._queue.popleft()
            self._pending.discard(item)
            visitors[item[0]](item[1])

    def _initialize(self, block: Block, visit: Any, visit_block: Any) -> None:
        for record in block.operations:
            visit(record)
            for blocks in record.regions:
                for nested in blocks:
                    visit_block(nested)
                    self._initialize(nested, visit, visit_block)

    def _enqueue(self, visit: _Visit, target: Record | Block) -> None:
        item = (visit, target)
        if item not in self._pending:
            self._pending.add(item)
            self._queue.append(item)

    def _depend(self, number: int, target: Record | Block) -> None:
        self._dependents.setdefault(number, {})[target] = None

    def _join_range(self, number: int, known: Range | None) -> None:
        if known is None or not self._widths[number]:
            return
        old = self.ranges[number]
        new = known if old is None else r.union(old, known)
        if new != old:
            self._set_range(number, new)

    def _set_range(self, number: int, new: Range) -> None:
        self.ranges[number] = new
        for target in self._dependents.get(number, ()):
            self._enqueue(_Visit.RANGES if isinstance(target, Record) else _Visit.RANGES_BLOCK, target)
        for user in self._users[number]:
            if user.tracked:
                self._enqueue(_Visit.RANGES, user)
        # Both analyses feed one constant: what ranges cannot prove constant is none, and the other way round.
        constant = r.constant_value(new) if self._integer[number] else None
        self._join_constant(number, _UNKNOWN if constant is None else constant)

    def _join_constant(self, number: int, constant: Any) -> None:
        old = self._constants[number]
        new = constant if old is None or old == constant else _UNKNOWN
        if constant is None or new == old:
            return
        self._constants[number] = new
        for target in self._dependents.get(number, ()):
            self._enqueue(_Visit.CONSTANTS if isinstance(target, Record) else _Visit.CONSTANTS_BLOCK, target)
        users = self._users[number]
        for user in users:
            if user.results:
                self._enqueue(_Visit.CONSTANTS, user)
        for user in users:
            if user.branches:
                self._enqueue(_Visit.DEAD_CODE, user)

    # Dead code.

    def _make_live(self, block: Block) -> None:
        if block.live:
            return
        block.live = True
        for visit in (_Visit.CONSTANTS_BLOCK, _Visit.RANGES_BLOCK):
            self._enqueue(visit, block)
        for record in block.operations:
            if record.branches:
                self._enqueue(_Visit.DEAD_CODE, record)
        for record in block.operations:
            if record.results:
                self._enqueue(_Visit.CONSTANTS, record)
        for record in block.operations:
            if record.tracked:
                self._enqueue(_Visit.RANGES, record)

    def _add_edge(self, source: Record, operands: list[int], target: Record | Block) -> None:
        """Control passes from `source` to a region's entry, or with an operation's results back to its block."""
        if isinstance(target, Block):
            self._make_live(target)
        if source in target.edges:
            return
        target.edges[source] = operands
        if isinstance(target, Block):
            self._enqueue(_Visit.CONSTANTS_BLOCK, target)
            self._enqueue(_Visit.RANGES_BLOCK, target)
        else:
            self._enqueue(_Visit.CONSTANTS, target)
            self._enqueue(_Visit.RANGES, target)

    def _visit_dead_code(self, record: Record) -> None:
        block = record.block
        assert block is not None
        if not block.live:
            return
        if record.regions:
            if record.name in _REGION_BRANCHES:
                if self._operands_visited(record):
                    self._enter_regions(record)
            else:
                for blocks in record.regions:
                    if blocks:
                        self._make_live(blocks[0])
        if record.successors:
            self.exact = False
        elif record.name in _TERMINATORS and block.owner.name in _REGION_BRANCHES and self._operands_visited(record):
            self._leave_region(record, block.owner)

    def _operands_visited(self, record: Record) -> bool:
        return all(self._constants[number] is not None for number in record.operands)

    def _decided(self, number: int) -> int | None:
        constant = self._constants[number]
        return None if constant is _UNKNOWN else constant

    def _enter_regions(self, record: Record) -> None:
        match record.name:
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
        selector = self._decided(record.operands[0])
        if selector is None:
            return record.regions
        cases = list(ir.DenseI64ArrayAttr(record.operation.attributes["cases"]))
        return [record.regions[1 + cases.index(selector)] if selector in cases else record.regions[0]]

    def _leave_region(self, record: Record, owner: Record) -> None:
        operands = record.operands
        if record.name == "scf.condition":
            condition = self._decided(operands[0])
            if condition is None or condition:
                self._add_edge(record, operands[1:], owner.regions[1][0])
            if not condition:
                self._add_edge(record, operands[1:], owner)
        elif owner.name == "scf.while":
            self._add_edge(record, operands, owner.regions[0][0])
        else:
            if owner.name == "scf.for" and self._trip_count(owner) != 1:
                self._add_edge(record, operands, owner.regions[0][0])
            self._add_edge(record, operands, owner)

    def _trip_count(self, loop: Record) -> int | None:
        low, high, step = (self._spelled_constant(number) for number in loop.operands[:3])
        if low is None or high is None or step is None or step <= 0:
            return None
        return max(0, -((low - high) // step))

    def _spelled_constant(self, number: int) -> int | None:
        definition = self._definitions[number]
        if definition is None or definition.name != "arith.constant":
            return None
        return int(ir.IntegerAttr(definition.operation.attributes["value"]).value)

    # Constant propagation, as far as it decides which regions run.

    def _visit_constants(self, record: Record) -> None:
        block = record.block
        assert block is not None
        if not record.results or not block.live:
            return
        if record.name in _REGION_BRANCHES:
            self._join_edges(record, record.results, constants=True)
            return
        if record.regions or not record.transfer:
            constant: Any = _UNKNOWN
            if not record.regions and not self._operands_visited(record):
                return
        else:
            if not self._operands_visited(record):
                return
            constant = self._folded(record)
        for number in record.results:
            self._join_constant(number, constant)

    def _folded(self, record: Record) -> Any:
        """The constant that folding makes of constant operands: what the ranges of single values give."""
        if len(record.results) != 1 or not record.integers[0] or not record.name.startswith("arith."):
            return _UNKNOWN
        operands: list[Range | None] = []
        for number, width in zip(record.operands, record.operand_widths, strict=True):
            constant = self._constants[number]
            if constant is _UNKNOWN or not width:
                return _UNKNOWN
            operands.append(r.constant(constant, width))
        assert record.transfer is not None
        known = record.transfer(record, operands)
        constant = r.constant_value(known[0]) if known else None
        return _UNKNOWN if constant is None else constant

    def _visit_constants_block(self, block: Block) -> None:
        if not block.arguments or not block.live:
            return
        if not block.entry or block.owner.name not in _REGION_BRANCHES:
            for number in block.arguments:
                self._join_constant(number, _UNKNOWN)
            return
        arguments = block.arguments
        if block.owner.name == "scf.for":
            self._join_constant(arguments[0], _UNKNOWN)
            arguments = arguments[1:]
        self._join_edges(block, arguments, constants=True)

    def _join_edges(self, target: Record | Block, numbers: list[int], constants: bool) -> None:
        for operands in list(target.edges.values()):
            for operand, number in zip(operands, numbers, strict=True):
                self._depend(operand, target)
                if constants:
                    self._join_constant(number, self._constants[operand])
                else:
                    self._join_range(number, self.ranges[operand])

    # Ranges.

    def _visit_ranges(self, record: Record) -> None:
        block = record.block
        assert block is not None
        if not record.tracked or not block.live:
            return
        if record.name in _REGION_BRANCHES:
            self._join_edges(record, record.results, constants=False)
            return
        if record.transfer is None:
            for number in record.results:
                if self._integer[number]:
                    self._join_range(number, r.full(self._widths[number]))
            return
        known = record.transfer(record, [self.ranges[number] for number in record.operands])
        if known is None:
            return
        for number, result in zip(record.results, known, strict=True):
            self._join_result(number, result)

    def _join_result(self, number: int, known: Range) -> None:
        if not self._widths[number]:
            return
        old = self.ranges[number]
        new = known if old is None else r.union(old, known)
        if new == old:
            return
        self._changes[number] += 1
        yielded = old is not None and any(user.name in _TERMINATORS for user in self._users[number])
        if (yielded and self._integer[number]) or self._changes[number] > _MAX_CHANGES:
            new = r.full(self._widths[number])
        self._set_range(number, new)

    def _visit_ranges_block(self, block: Block) -> None:
        if not block.arguments or not block.live:
            return
        owner = block.owner.name
        if not block.entry or owner not in _REGION_BRANCHES:
            if not block.entry or owner not in _CALLABLES:
                self.exact = False
            for number in block.arguments:
                if self._integer[number]:
                    self._join_range(number, r.full(self._widths[number]))
            return
        arguments = block.arguments
        if owner == "scf.for":
            for _ in block.edges:
                self._join_induction(block)
            arguments = arguments[1:]
        self._join_edges(block, arguments, constants=False)

    def _join_induction(self, block: Block) -> None:
        """The induction variable runs from the lower bound's least value to below the upper bound's greatest."""
        number, (low, high, step) = block.arguments[0], block.owner.operands[:3]
        width = self._widths[number]
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
