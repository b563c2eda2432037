"""What the range analysis keeps of a module: its control flow, and what integers that could be constant come from.

Where an operation is left out, none that is kept uses its results, of whatever type: so leaving it out changes neither
what is found nor in which order.
"""

from __future__ import annotations

from typing import Any

from cutecc.errors import PassError
from cutecc.ir.bytecode import Block as BytecodeBlock
from cutecc.ir.bytecode import Bytecode, Op
from cutecc.ir.mlir import ir
from cutecc.passes.nvidia.reimplementations.range_transfer import (
    OPTIONAL_ATTRIBUTES,
    REQUIRED_ATTRIBUTES,
    SPECIAL_REGISTER,
    TUPLE_WIDTH,
    is_tuple,
    transfer_of,
)

CONSTANTS = {"arith.constant", "llvm.mlir.constant", "cute.static", "ub.poison"}
_REGION_BRANCHES = {"scf.if", "scf.for", "scf.while", "scf.execute_region", "scf.index_switch"}
_TERMINATORS = {"scf.yield", "scf.condition", "scf.reduce", "func.return", "llvm.return"}

# What visits wait in the worklist, one bit each. A bit also stays set where a visit can change nothing any more.
DEAD_CODE, CONSTANT, CONSTANT_BLOCK, RANGE, RANGE_BLOCK = 1, 2, 4, 8, 16


class Kind:
    """What operations of one name with results of the same types have in common."""

    __slots__ = (
        *("attribute", "folds", "integers", "is_region_branch", "is_terminator", "name", "never", "transfer"),
        *("type_texts", "widths"),
    )

    def __init__(self, name: str, widths: list[int], type_texts: list[str]) -> None:
        self.name = name
        self.transfer = transfer_of(name)
        self.widths = widths
        self.type_texts = type_texts
        self.integers = [width > 0 and not text for width, text in zip(widths, type_texts, strict=True)]
        self.is_region_branch = name in _REGION_BRANCHES
        self.is_terminator = name in _TERMINATORS
        self.folds = self.transfer is not None and self.integers == [True] and name.startswith("arith.")
        self.attribute = _attribute_use(name)
        self.never = 0 if self.is_terminator else DEAD_CODE
        """The visits that can change nothing, for an operation without regions."""
        if not widths:
            self.never |= CONSTANT
        if not any(widths if self.transfer is not None or self.is_region_branch else self.integers):
            self.never |= RANGE


def _attribute_use(name: str) -> int:
    """Whether an operation's first property is read: 0 for no, 1 where it has to be there, 2 where it may be."""
    if name in REQUIRED_ATTRIBUTES:
        return 1
    return 2 if name in OPTIONAL_ATTRIBUTES or name.startswith(SPECIAL_REGISTER) else 0


class Block:
    """A block, its arguments by number, and the edges that region control flow takes into it."""

    __slots__ = ("arguments", "edges", "entry", "live", "operations", "owner", "pending")

    def __init__(self, owner: Record, entry: bool, arguments: range) -> None:
        self.owner = owner
        self.entry = entry
        self.arguments = arguments
        self.live = False
        self.pending = 0 if arguments else CONSTANT_BLOCK | RANGE_BLOCK
        self.operations: list[Record] = []
        self.edges: dict[Record, list[int]] = {}


class Record:
    """An operation, its operands and results by number."""

    __slots__ = (
        *("attribute", "block", "cache", "edges", "index", "kind", "never", "operands", "pending", "records"),
        *("regions", "results"),
    )

    def __init__(self, records: Records, index: int, kind: Kind, block: Block, op: Op) -> None:
        self.records = records
        self.index = index
        """Its number in the bytecode's order, which is the program's."""
        self.kind = kind
        self.block = block
        self.operands = op[4]
        self.results = range(op[2], op[3])
        self.never = self.pending = kind.never
        self.attribute: Any = None
        """The first of its properties, where its transfer function looks at it."""
        self.cache: Any = None
        self.regions: list[list[Block]] = _NO_REGIONS
        if op[5]:
            self.regions = []
            self.edges: dict[Record, list[int]] = {}
            self.never = self.pending = kind.never & ~DEAD_CODE


_NO_REGIONS: list[list[Block]] = []
_NO_USERS: list[Record] = []


class Records:
    """The records of a module."""

    def __init__(self, module: ir.Module) -> None:
        self.code = code = Bytecode(module)
        self._types = code.types
        self._type_widths: dict[int, int] = {}
        self._type_texts: dict[int, str] = {}
        self._kinds: dict[Any, Kind] = {}
        self._attributes: dict[tuple[int, int], Any] = {}
        self._by_index: list[Record | None] = [None] * len(code.ops)
        self._kept = self._slice()
        self.count = len(code.types)
        """How many values there are."""
        self.users: list[list[Record]] = [_NO_USERS] * self.count
        self.all: list[Record] = []
        """In the program's order."""
        top = code.ops[0]
        module_record = Record(self, 0, Kind("builtin.module", [], []), Block.__new__(Block), top)
        self.top = Block(module_record, True, range(0))
        self._fill(self.top, top[5][0][0])
        for users in self.users:
            if len(users) > 1:
                users.reverse()  # MLIR lists the newest use first

    def definition(self, number: int) -> Record | None:
        """The operation whose result a value is."""
        index = self.code.definitions[number]
        return self._by_index[index] if index >= 0 else None

    def width(self, number: int) -> int:
        """The bits of the range that is kept for a value; 0 for none."""
        return self._width(self._types[number])

    def is_integer(self, number: int) -> bool:
        return self._is_integer_type(self._types[number])

    def type_text(self, number: int) -> str:
        """The text of a value's type where it is no builtin type."""
        kind = self._types[number]
        self._width(kind)
        return self._type_texts[kind]

    def release(self) -> None:
        """Let go of the records, which refer to each other: else the garbage collector has to find out."""
        for record in self.all:
            del record.block
            record.edges = record.regions = _NONE
        del self.all, self.top, self.users, self._by_index

    def _width(self, kind: int) -> int:
        width = self._type_widths.get(kind)
        if width is None:
            width = self.code.tables.integer_width(kind)
            text = "" if width else self.code.tables.type_text(kind)
            if is_tuple(text):
                width = TUPLE_WIDTH
            self._type_widths[kind], self._type_texts[kind] = width, text
        return width

    def _is_integer_type(self, kind: int) -> bool:
        return self._width(kind) > 0 and not self._type_texts[kind]

    def _slice(self) -> bytearray:
        """Which operations matter: a byte for each."""
        ops, types, names = self.code.ops, self._types, self.code.tables.names
        never, maybe, always = 0, 1, 2
        uses = [
            always if name in _TERMINATORS else maybe if transfer_of(name) and name not in CONSTANTS else never
            for name in names
        ]
        kept = bytearray(len(ops))
        waiting: list[int] = []
        for index, (name, _, first, end, _, regions, successors) in enumerate(ops):
            use = uses[name]
            if use or regions or successors:
                if use == maybe and not (first < end and self._is_integer_type(types[first])):
                    continue
                kept[index] = 1
                waiting.append(index)
        self._keep_operands(kept, waiting)
        return kept

    def _keep_operands(self, kept: bytearray, waiting: list[int]) -> None:
        """Keep what the operations that are `waiting` are computed from."""
        ops, definitions = self.code.ops, self.code.definitions
        while waiting:
            for operand in ops[waiting.pop()][4]:
                index = definitions[operand]
                if index >= 0 and not kept[index]:
                    kept[index] = 1
                    waiting.append(index)

    def _fill(self, block: Block, code: BytecodeBlock) -> None:
        ops, kept, users, types, kinds = self.code.ops, self._kept, self.users, self._types, self._kinds
        by_index, in_order, in_block = self._by_index, self.all, block.operations
        for index in code.operations:
            if not kept[index]:
                continue
            op = ops[index]
            name, properties, first, end, operands, regions, successors = op
            key = (name, types[first]) if end - first == 1 else (name, *types[first:end])
            kind = kinds.get(key)
            if kind is None:
                kind = kinds[key] = self._kind(name, types[first:end])
            if successors:
                raise PassError(
                    f"int-range-optimizations met {kind.name}, a branch to another block of its region",
                    hints=["run it before structured control flow is lowered to branches"],
                )
            record = Record(self, index, kind, block, op)
            if kind.attribute and properties >= 0:
                record.attribute = self._attribute(name, properties, kind.attribute == 2)
            by_index[index] = record
            in_order.append(record)
            in_block.append(record)
            for operand in operands:
                others = users[operand]
                if others:
                    others.append(record)
                else:
                    users[operand] = [record]
            if regions:
                self._fill_regions(record, regions)

    def _fill_regions(self, record: Record, regions: list[list[BytecodeBlock]]) -> None:
        for inner_blocks in regions:
            blocks = [Block(record, inner is inner_blocks[0], range(inner.first, inner.end)) for inner in inner_blocks]
            record.regions.append(blocks)
        for blocks, inner_blocks in zip(record.regions, regions, strict=True):
            for nested, inner in zip(blocks, inner_blocks, strict=True):
                self._fill(nested, inner)

    def _kind(self, name: int, types: list[int]) -> Kind:
        widths = [self._width(kind) for kind in types]
        return Kind(self.code.tables.names[name], widths, [self._type_texts[kind] for kind in types])

    def _attribute(self, name: int, properties: int, optional: bool) -> Any:
        key = (name, properties)
        if key not in self._attributes:
            self._attributes[key] = self.code.tables.first_property(properties, optional)
        return self._attributes[key]


_NONE: Any = ()
