"""Reading a whole module at once: its bytecode, decoded into numbers.

Walking through the bindings makes an object per operation, operand, result and type, 10 µs per operation; bytecode is
written in C++ and decoded here in 1 µs per operation. Format: mlir/docs/BytecodeFormat.md, version 6.
"""

from __future__ import annotations

import io
from collections.abc import Container
from itertools import repeat
from typing import NamedTuple

from cutecc.ir.bytecode_tables import IR, LENGTHS, Tables, section, varint
from cutecc.ir.mlir import ir

_ATTRIBUTES, _RESULTS, _OPERANDS, _SUCCESSORS, _REGIONS, _USE_LISTS, _PROPERTIES = (1 << bit for bit in range(7))
_RARE = _SUCCESSORS | _REGIONS | _USE_LISTS
_ONE = 3  # the number 1, as it is written


class Block(NamedTuple):
    """A block: its arguments are the values from `first` to before `end`; its operations, by number."""

    first: int
    end: int
    operations: list[int]


Op = tuple[int, int, int, int, list[int], list[list[Block]], bool]
"""The number of its name, of its properties or -1, its results (first, and after the last), its operands, its regions'
blocks, whether it has successors."""

_NO_OPERANDS: list[int] = []
_NO_REGIONS: list[list[Block]] = []


class Bytecode:
    """A module's operations in program order, its own first. Values and types are numbers."""

    def __init__(self, module: ir.Module) -> None:
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        self._data = buffer.getvalue()
        self.tables = Tables(self._data)
        self.ops: list[Op] = []
        self.definitions: list[int] = []
        """By value: the operation that it is a result of; for a block's argument -1."""
        self.types: list[int] = []
        self._scope: list[int] = []  # the numbers of the values in sight, by their numbers in bytecode
        start, _ = self.tables.sections[IR]
        self._block(start, 0)

    def post_order(self, names: Container[str]) -> list[int]:
        """The operations of these names, those inside an operation's regions before it."""
        wanted = [name in names for name in self.tables.names]
        found = [index for index, op in enumerate(self.ops) if wanted[op[0]]]
        return sorted(found, key=lambda index: (self._last(index), -index))

    def _last(self, index: int) -> int:
        """The last operation inside an operation's regions; itself where there is none."""
        for blocks in reversed(self.ops[index][5]):
            for block in reversed(blocks):
                if block.operations:
                    return self._last(block.operations[-1])
        return index

    def _region(self, position: int) -> tuple[int, list[Block]]:
        data, scope, first = self._data, self._scope, len(self.types)
        count, position = varint(data, position)
        if not count:
            return position, []
        values, position = varint(data, position)
        self.types += [0] * values
        self.definitions += [-1] * values
        outer = len(scope)
        scope += range(first, first + values)
        blocks: list[Block] = []
        for _ in range(count):
            position, first, block = self._block(position, first)
            blocks.append(block)
        del scope[outer:]
        return position, blocks

    def _block(self, position: int, value: int) -> tuple[int, int, Block]:
        """Read a block whose first value is `value`; returns also the number after its last."""
        data, ops, scope, types, definitions = self._data, self.ops, self._scope, self.types, self.definitions
        lengths = LENGTHS
        size, position = varint(data, position)
        first = value
        if size & 1:
            position, value = self._arguments(position, value)
        operations: list[int] = []
        block = Block(first, value, operations)
        # What follows runs for every operation, so calls are avoided. A byte whose lowest bit is set is a number by
        # itself; the lowest bit that is set tells of how many bytes it is the first.
        for _ in range(size >> 1):
            op = len(ops)
            operations.append(op)
            name = data[position]
            if name & 1:
                name >>= 1
                position += 1
            else:
                name, position = varint(data, position)
            mask = data[position]
            position += 1
            position += lengths[data[position]]  # the location
            if mask & _ATTRIBUTES:
                position += lengths[data[position]]
            properties = -1
            if mask & _PROPERTIES:
                properties = data[position]
                if properties & 1:
                    properties >>= 1
                    position += 1
                else:
                    properties, position = varint(data, position)
            result = value
            if mask & _RESULTS:
                count, position = varint(data, position) if data[position] != _ONE else (1, position + 1)
                while value < result + count:
                    kind = data[position]
                    position += 1
                    if kind & 1:
                        kind >>= 1
                    elif kind & 2:
                        kind = (kind | data[position] << 8) >> 2
                        position += 1
                    else:
                        kind, position = varint(data, position - 1)
                    types[value] = kind
                    definitions[value] = op
                    value += 1
            operands: list[int] = _NO_OPERANDS
            if mask & _OPERANDS:
                count = data[position]
                position += 1
                if count & 1:
                    count >>= 1
                else:
                    count, position = varint(data, position - 1)
                operands = []
                for _ in repeat(None, count):
                    operand = data[position]
                    position += 1
                    if operand & 1:
                        operand >>= 1
                    elif operand & 2:
                        operand = (operand | data[position] << 8) >> 2
                        position += 1
                    elif operand & 4:
                        operand = (operand | data[position] << 8 | data[position + 1] << 16) >> 3
                        position += 2
                    else:
                        operand, position = varint(data, position - 1)
                    operands.append(scope[operand])
            if not mask & _RARE:
                ops.append((name, properties, result, value, operands, _NO_REGIONS, False))
                continue
            regions: list[list[Block]] = []
            ops.append((name, properties, result, value, operands, regions, mask & _SUCCESSORS > 0))
            position = self._rare(position, mask, value - result, regions)
        return position, value, block

    def _arguments(self, position: int, value: int) -> tuple[int, int]:
        """Read a block's arguments, the first of which is `value`; the number after the last."""
        data, first = self._data, value
        count, position = varint(data, position)
        for _ in range(count):
            kind, position = varint(data, position)
            self.types[value] = kind >> 1
            value += 1
            if kind & 1:
                position += LENGTHS[data[position]]
        position = self._skip_use_lists(position + 1, value - first) if data[position] else position + 1
        return position, value

    def _rare(self, position: int, mask: int, results: int, regions: list[list[Block]]) -> int:
        """Read what few operations have."""
        if mask & _SUCCESSORS:
            count, position = varint(self._data, position)
            for _ in range(count):
                position += LENGTHS[self._data[position]]
        if mask & _USE_LISTS:
            position = self._skip_use_lists(position, results)
        if mask & _REGIONS:
            position = self._regions(position, regions)
        return position

    def _regions(self, position: int, regions: list[list[Block]]) -> int:
        count, position = varint(self._data, position)
        scope = self._scope
        if count & 1:  # uses no values from outside: a section of its own, which counts values from zero
            _, position, _ = section(self._data, position)
            self._scope = []
        for _ in range(count >> 1):
            position, blocks = self._region(position)
            regions.append(blocks)
        self._scope = scope
        return position

    def _skip_use_lists(self, position: int, results: int) -> int:
        data, count = self._data, 1
        if results > 1:
            count, position = varint(data, position)
        for _ in range(count):
            if results > 1:
                position += LENGTHS[data[position]]
            indices, position = varint(data, position)
            for _ in range(indices >> 1):
                position += LENGTHS[data[position]]
        return position
