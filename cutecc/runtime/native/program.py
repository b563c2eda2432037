"""A host program as LLVM IR: integers map one to one, its allocations are stack memory, branches are blocks.

Memory is reached through addresses whose allocation is known when the code is written. Where only the offset is not, it
is checked; an address that could lie in any of several allocations is not supported. As numbers, addresses are those
of `cutecc.runtime.program.allocations`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.record.host_program import Block, HostProgram, Instruction, ValueType
from cutecc.runtime.launch import TENSOR_MAP_BYTES
from cutecc.runtime.native.code import Code
from cutecc.runtime.native.driver import DriverCalls
from cutecc.runtime.native.errors import Unsupported
from cutecc.runtime.native.numbers import LLVM_TYPES, arithmetic, constant, store_value
from cutecc.runtime.program.allocations import address_of
from cutecc.runtime.program.evaluation import MAX_STEPS, steps_of_round
from cutecc.runtime.program.number_expressions import SIZES

_ALIGNMENT = 64
"""Bytes: what a TMA descriptor needs, the most of all that a program stores."""


@dataclass(frozen=True)
class _Address:
    """Where an integer points into the program's memory."""

    allocation: int
    offset: int | None
    """Bytes; `None` when it is known only when the program runs."""


class ProgramCode:
    """The instructions of one program, written into a function."""

    def __init__(self, code: Code, program: HostProgram, leaves: Sequence[str], calls: DriverCalls) -> None:
        self._code = code
        self._program = program
        self._calls = calls
        self._values = dict(enumerate(leaves))
        self._addresses: dict[int, _Address] = {}
        self._constants: dict[int, int] = {}
        self._steps: str | None = None
        self._memory = [code.stack(allocation.size, _ALIGNMENT) for allocation in program.allocations]

    def write(self) -> None:
        """Write the program; what follows runs when it has ended with status 0."""
        for memory, allocation in zip(self._memory, self._program.allocations, strict=True):
            self._code.zero(memory, allocation.size)
        self._block(self._program.body)
        self._end_unless_zero([self._values[value] for value in self._program.body.yields])

    def _block(self, block: Block) -> None:
        for instruction in block.instructions:
            self._instruction(instruction)

    def _instruction(self, instruction: Instruction) -> None:
        operands = [self._values[operand] for operand in instruction.operands]
        match instruction.op:
            case "constant":
                (result,) = instruction.results
                self._constants[result] = instruction.immediate or 0
                self._values[result] = constant(self._program.types[result], instruction.immediate or 0)
            case "address":
                self._point(instruction)
            case "load":
                self._load(instruction)
            case "store":
                self._store(instruction, operands)
            case "if":
                self._if(instruction, operands[0])
            case "while":
                self._while(instruction, operands)
            case "return_if_error":
                self._end_unless_zero(operands)
            case "fail":
                self._code.require(self._code.value(f"xor i1 {operands[0]}, true"))
            case "launch":
                assert instruction.launch is not None
                self._finish(instruction, self._calls.launch(self._code, instruction.launch, self._values))
            case "encode_tensor_map":
                assert instruction.tensor_map is not None
                memory = self._memory_at(instruction.operands[0], TENSOR_MAP_BYTES)
                self._finish(instruction, self._calls.encode(self._code, instruction.tensor_map, memory, self._values))
            case "print":
                raise Unsupported("the host program prints")
            case _:
                self._arithmetic(instruction, operands)

    def _finish(self, instruction: Instruction, result: str) -> None:
        for value in instruction.results:
            self._values[value] = result

    def _arithmetic(self, instruction: Instruction, operands: list[str]) -> None:
        (result,) = instruction.results
        types = self._program.types
        kinds: list[ValueType] = [types[operand] for operand in instruction.operands]
        value = arithmetic(self._code, instruction.op, kinds, operands, types[result])
        if value is None:
            raise Unsupported(f"the host program computes with {', '.join((*kinds, types[result]))}")
        self._values[result] = value
        if instruction.op in ("add", "sub"):
            self._derive(instruction, result)

    def _end_unless_zero(self, statuses: list[str]) -> None:
        for status in statuses:
            zero = self._code.value(f"icmp eq i32 {status}, 0")
            if zero != "true":
                self._calls.note_status(self._code, status)
                self._code.require(zero)
                self._calls.note_status(self._code, "-1")

    # Memory.

    def _point(self, instruction: Instruction) -> None:
        (result,) = instruction.results
        allocation = instruction.immediate or 0
        self._values[result] = str(address_of(allocation))
        self._addresses[result] = _Address(allocation, 0)

    def _derive(self, instruction: Instruction, result: int) -> None:
        """Follow an address through the addition or subtraction of a number."""
        first, second = instruction.operands
        if instruction.op == "add" and second in self._addresses:
            first, second = second, first
        base = self._addresses.get(first)
        if base is None or second in self._addresses:
            return
        by = self._constants.get(second)
        if by is None or base.offset is None:
            self._addresses[result] = _Address(base.allocation, None)
        else:
            offset = base.offset + (by if instruction.op == "add" else -by)
            # An i64 is a residue: a large one stands for a negative offset.
            self._addresses[result] = _Address(base.allocation, (offset + (1 << 63)) % (1 << 64) - (1 << 63))

    def _memory_at(self, value: int, size: int) -> str:
        """The pointer to `size` bytes at an address of the program; outside of its allocation it escapes."""
        address = self._addresses.get(value)
        if address is None:
            raise Unsupported("the host program computes where its memory is")
        memory = self._memory[address.allocation]
        last = self._program.allocations[address.allocation].size - size
        if address.offset is not None:
            if not 0 <= address.offset <= last:
                raise Unsupported("the host program leaves its memory")
            return self._code.at(memory, address.offset)
        if last < 0:
            raise Unsupported("the host program leaves its memory")
        offset = self._code.value(f"sub i64 {self._values[value]}, {address_of(address.allocation)}")
        self._code.require(self._code.value(f"icmp ule i64 {offset}, {last}"))
        return self._code.value(f"getelementptr i8, ptr {memory}, i64 {offset}")

    def _load(self, instruction: Instruction) -> None:
        (result,) = instruction.results
        kind = self._program.types[result]
        memory = self._memory_at(instruction.operands[0], SIZES[kind])
        if kind == "i1":
            byte = self._code.load("i8", memory)
            self._values[result] = self._code.value(f"trunc i8 {byte} to i1")
        else:
            self._values[result] = self._code.load(LLVM_TYPES[kind], memory)

    def _store(self, instruction: Instruction, operands: list[str]) -> None:
        kind = self._program.types[instruction.operands[1]]
        memory = self._memory_at(instruction.operands[0], SIZES[kind])
        store_value(self._code, LLVM_TYPES[kind], operands[1], memory)

    # Control flow.

    def _if(self, instruction: Instruction, condition: str) -> None:
        code = self._code
        starts = [code.new_block(), code.new_block()]
        end = code.new_block()
        code.do(f"br i1 {condition}, label %{starts[0]}, label %{starts[1]}")
        arrivals: list[tuple[str, list[str]]] = []
        for start, block in zip(starts, instruction.blocks, strict=True):
            code.begin(start)
            self._block(block)
            arrivals.append((code.block, [self._values[value] for value in block.yields]))
            code.do(f"br label %{end}")
        code.begin(end)
        for position, result in enumerate(instruction.results):
            kind = LLVM_TYPES[self._program.types[result]]
            sources = ", ".join(f"[ {values[position]}, %{block} ]" for block, values in arrivals)
            self._values[result] = code.value(f"phi {kind} {sources}")

    def _while(self, instruction: Instruction, operands: list[str]) -> None:
        code = self._code
        condition, body = instruction.blocks
        # Values travel between rounds through stack memory, which LLVM turns into registers.
        head, inside, end = code.new_block(), code.new_block(), code.new_block()
        places = [self._place(value) for value in condition.parameters]
        for place, operand in zip(places, operands, strict=True):
            self._put(place, operand)
        code.do(f"br label %{head}")
        code.begin(head)
        self._count_steps(steps_of_round(instruction))
        for value, (kind, place) in zip(condition.parameters, places, strict=True):
            self._values[value] = code.load(kind, place, align=8)
        self._block(condition)
        proceed, *passed = condition.yields
        for value, result in zip(passed, instruction.results, strict=True):
            self._values[result] = self._values[value]
        for value, parameter in zip(passed, body.parameters, strict=True):
            self._values[parameter] = self._values[value]
        code.do(f"br i1 {self._values[proceed]}, label %{inside}, label %{end}")
        code.begin(inside)
        self._block(body)
        for place, value in zip(places, body.yields, strict=True):
            self._put(place, self._values[value])
        code.do(f"br label %{head}")
        code.begin(end)

    def _place(self, value: int) -> tuple[str, str]:
        return LLVM_TYPES[self._program.types[value]], self._code.stack(8)

    def _put(self, place: tuple[str, str], operand: str) -> None:
        self._code.store(place[0], operand, place[1], align=8)

    def _count_steps(self, more: int) -> None:
        """Go on only for as long as the evaluator does."""
        code = self._code
        if self._steps is None:
            self._steps = code.counter()
        steps = code.value(f"add i64 {code.load('i64', self._steps, align=8)}, {more}")
        code.store("i64", steps, self._steps, align=8)
        code.require(code.value(f"icmp ule i64 {steps}, {MAX_STEPS}"))
