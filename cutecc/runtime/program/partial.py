"""Partial evaluation of host programs: some leaves are numbers, the others vary.

Whatever does not depend on a varying leaf is computed here and now: arithmetic, branches, loops, memory, the fixed
bytes of parameter blocks. The rest is written down as residual statements.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Sequence
from typing import Final, cast

from cutecc.errors import LaunchError
from cutecc.record.host_program import Block, HostProgram, Instruction, LaunchSite, Op, TensorMapSite, ValueType
from cutecc.runtime.launch import TENSOR_MAP_BYTES, Dim3, Launch
from cutecc.runtime.program.allocations import AddressSpace, address_of
from cutecc.runtime.program.evaluation import result_types
from cutecc.runtime.program.number_expressions import (
    ARITHMETIC,
    BITS,
    DIVISIONS,
    FORMATS,
    NAMESPACE,
    SIZES,
    Number,
    constant,
    expression,
    function,
    is_integer,
)
from cutecc.runtime.program.residual import BitField, Branch, Compute, Statement, Symbol, SymbolicMemory, Value
from cutecc.runtime.program.statements import StatementWriter, Unplannable

MAX_STEPS: Final = 50_000
"""Instructions that are executed."""
MAX_LAUNCHES: Final = 256


class _Ended(Exception):
    """The program ends here with an error."""


class PartialEvaluation:
    """One partial evaluation: the residual `code`, and the launches that it makes.

    Raises `Unplannable`.
    """

    def __init__(self, program: HostProgram, leaves: Sequence[Number], varying: Collection[int]) -> None:
        self.program = program
        self.space = AddressSpace(program.allocations)
        self.memory = SymbolicMemory(self.space.total)
        self.values: dict[int, Value] = {}
        self.code = StatementWriter()
        self.launches: list[Launch] = []
        self._kernel_of: dict[int, str] = {}
        self._steps = 0
        for number, leaf in enumerate(program.leaves):
            rounding = f"round_{leaf.type}" if leaf.type in ("f16", "bf16", "f32") else ""
            if number in varying:
                symbol = Symbol(f"v{number}", leaf.type, SIZES[leaf.type])
                if rounding:
                    symbol = self.code.compute(f"{rounding}({symbol.name})", leaf.type, symbol)
                self.values[number] = symbol
            else:
                rounded = cast("Callable[[Number], Number]", NAMESPACE[rounding]) if rounding else None
                self.values[number] = rounded(leaves[number]) if rounded else leaves[number]
        try:
            self._run(program.body)
            self._return_if_error(program.body.yields[0])
        except _Ended:
            pass

    def _fixed(self, number: int) -> int:
        """A value that is not to vary."""
        value = self.values[number]
        if isinstance(value, Symbol):
            raise Unplannable
        return int(value)

    def _end(self, message: str, location: str | None = None) -> None:
        self.code.effect(f"fail({self.code.name(message)}, {self.code.name(location)})")
        raise _Ended

    # Execution

    def _run(self, block: Block) -> None:
        self._steps += len(block.instructions) + 1
        if self._steps > MAX_STEPS:
            raise Unplannable
        for instruction in block.instructions:
            try:
                self._execute(instruction)
            except LaunchError as failure:
                self._end(failure.message)

    def _execute(self, instruction: Instruction) -> None:
        op, operands, results = instruction.op, instruction.operands, instruction.results
        if op in ARITHMETIC:
            self.values[results[0]] = self._arithmetic(instruction)
            return
        match op:
            case "constant":
                self.values[results[0]] = constant(self.program.types[results[0]], instruction.immediate or 0)
            case "address":
                self.values[results[0]] = address_of(instruction.immediate or 0)
            case "load":
                self.values[results[0]] = self._load(operands[0], self.program.types[results[0]])
            case "store":
                self._store(operands[0], self.values[operands[1]], self.program.types[operands[1]])
            case "if":
                self._conditional(instruction)
            case "while":
                self._loop(instruction)
            case "return_if_error":
                self._return_if_error(operands[0])
            case "fail":
                self._fail(
                    self.values[operands[0]], self.program.strings[instruction.immediate or 0], instruction.location
                )
            case "print":
                self._print(operands, self.program.strings[instruction.immediate or 0])
                self.values[results[0]] = 0
            case "launch":
                assert instruction.launch is not None
                self.values[results[0]] = self._launch(instruction.launch)
                self._kernel_of[results[0]] = self.program.kernels[instruction.launch.kernel].name
            case "encode_tensor_map":
                assert instruction.tensor_map is not None
                self.values[results[0]] = self._tensor_map(operands[0], instruction.tensor_map)
            case _:
                raise AssertionError(op)

    def _arithmetic(self, instruction: Instruction) -> Value:
        op = instruction.op
        operands = [self.values[operand] for operand in instruction.operands]
        types, result = result_types(self.program, instruction)
        if op == "select" and not isinstance(operands[0], Symbol):
            return operands[1] if operands[0] else operands[2]
        symbols = [operand for operand in operands if isinstance(operand, Symbol)]
        if not symbols:
            return function(op, types, result)(*operands)
        last = operands[-1]
        if last == 0 and op in _ZERO_IS_NEUTRAL:
            return operands[0]
        if (field := self._field(op, operands, types[-1], result)) is not None:
            symbol = self.code.compute(field.text, result, field.base)
            symbol.field = field
            return symbol
        text = expression(op, [self.code.text(operand) for operand in operands], types[-1], result)
        if op in DIVISIONS and (isinstance(last, Symbol) or not 0 < last < 1 << (BITS[result] - 1)):
            # It can fail, so that it stays even if nothing uses it.
            symbol = self.code.symbol(result)
            self.code.effect(f"{symbol.name} = {text}", *symbols)
            return symbol
        return self.code.compute(text, result, *symbols)

    @staticmethod
    def _field(op: Op, operands: Sequence[Value], source: ValueType, result: ValueType) -> BitField | None:
        """The bits of another symbol that the operation gives, as a TMA descriptor's rounded address is."""
        symbol, last = operands[0], operands[-1]
        if not is_integer(source) or not isinstance(symbol, Symbol):
            return None
        if op not in ("trunc", "zext") and (len(operands) != 2 or isinstance(last, Symbol)):
            return None
        known = 0 if isinstance(last, Symbol) else int(last)
        before = symbol.field or BitField(symbol, (1 << BITS[source]) - 1, 0)
        return before.then(op, known, BITS[result])

    def _loop(self, instruction: Instruction) -> None:
        condition, body = instruction.blocks
        entering = [self.values[operand] for operand in instruction.operands]
        while True:
            self.values.update(zip(condition.parameters, entering, strict=True))
            self._run(condition)
            entering = [self.values[number] for number in condition.yields[1:]]
            if not self._fixed(condition.yields[0]):
                break
            self.values.update(zip(body.parameters, entering, strict=True))
            self._run(body)
            entering = [self.values[number] for number in body.yields]
        self.values.update(zip(instruction.results, entering, strict=True))

    def _conditional(self, instruction: Instruction) -> None:
        condition = self.values[instruction.operands[0]]
        if not isinstance(condition, Symbol):
            chosen = instruction.blocks[0 if condition else 1]
            self._run(chosen)
            yields = [self.values[number] for number in chosen.yields]
            self.values.update(zip(instruction.results, yields, strict=True))
            return
        # Copying and comparing memory is work too.
        self._steps += self.space.total // 256
        branch = Branch(condition)
        outer, before = self.code.statements, self.memory.copy()
        then = self._arm(instruction.blocks[0], branch.then)
        after_then, self.memory = self.memory, before
        otherwise = self._arm(instruction.blocks[1], branch.otherwise)
        self.code.statements = outer
        self.code.add(branch)
        if then is None and otherwise is None:
            raise _Ended
        if then is None or otherwise is None:
            # The other arm ends the program: what holds after this one holds.
            merged = cast("list[Value]", otherwise if then is None else then)
            self.memory = self.memory if then is None else after_then
        else:
            types: list[ValueType] = [self.program.types[number] for number in instruction.results]
            merged = [self._choose(branch, *each) for each in zip(types, then, otherwise, strict=True)]
            self._merge_memory(branch, after_then, self.memory)
        self.values.update(zip(instruction.results, merged, strict=True))

    def _arm(self, block: Block, statements: list[Statement]) -> list[Value] | None:
        """Run one arm of a branch; what it yields, None if it ends the program."""
        self.code.statements = statements
        try:
            self._run(block)
        except _Ended:
            return None
        return [self.values[number] for number in block.yields]

    def _choose(self, branch: Branch, type_: ValueType, then: Value, otherwise: Value) -> Value:
        """The value after a branch."""
        if then is otherwise or (_is_integer_number(then) and _is_integer_number(otherwise) and then == otherwise):
            return then
        symbol = self.code.symbol(type_)
        for arm, value in ((branch.then, then), (branch.otherwise, otherwise)):
            arm.append(Compute(symbol, self.code.text(value), [value] if isinstance(value, Symbol) else []))
        return symbol

    def _merge_memory(self, branch: Branch, then: SymbolicMemory, otherwise: SymbolicMemory) -> None:
        """Memory after a branch: what differs between the arms becomes symbols that each arm assigns."""
        for offset, size in then.differences(otherwise):
            symbol = self.code.symbol("bits", size)
            for arm, memory in ((branch.then, then), (branch.otherwise, otherwise)):
                arm.append(Compute(symbol, *memory.expression(offset, size)))
            otherwise.store_symbol(offset, symbol)
        self.memory = otherwise

    def _return_if_error(self, number: int) -> None:
        status, kernel = self.values[number], self._kernel_of.get(number, "")
        if status == 0:
            return
        text = f"fail_status({self.code.text(status)}, {self.code.name(kernel)})"
        if not isinstance(status, Symbol):
            self.code.effect(text)
            raise _Ended
        self.code.effect(f"if {status.name}: {text}", status)

    def _fail(self, condition: Value, message: str, location: str | None) -> None:
        if isinstance(condition, Symbol):
            failure = f"fail({self.code.name(message)}, {self.code.name(location)})"
            self.code.effect(f"if {condition.name}: {failure}", condition)
        elif condition:
            self._end(message, location)

    def _print(self, operands: Sequence[int], text: str) -> None:
        from cutecc.runtime.program.printing import formatter

        values = [self.values[operand] for operand in operands]
        types: list[ValueType] = [self.program.types[operand] for operand in operands]
        shown = formatter(text, types)
        if any(isinstance(value, Symbol) for value in values):
            arguments = ", ".join(map(self.code.text, values))
            self.code.effect(f"host.print({self.code.name(shown)}({arguments}))", *values)
        else:
            self.code.effect(f"host.print({self.code.name(shown(*cast('list[Number]', values)))})")

    # Memory

    def _place(self, address: int, size: int) -> int:
        return self.space.offset(self._fixed(address), size)

    def _load(self, address: int, type_: ValueType) -> Value:
        size = SIZES[type_]
        offset = self._place(address, size)
        found = self.memory.whole(offset, size)
        if found and (found[0].type, found[1]) == (type_, 0):
            return found[0]
        text, symbols = self.memory.expression(offset, size)
        if not symbols:
            bits = int(text)
            return bits & 1 if type_ == "i1" else constant(type_, bits)
        if type_ == "i1":
            text = f"({text}) & 1"
        elif not is_integer(type_):
            text = f"float_{type_}({text})"
        symbol = self.code.compute(text, type_, *symbols)
        if found and found[0].type == "map" and is_integer(type_) and type_ != "i1":
            symbol.source = found
        return symbol

    def _store(self, address: int, value: Value, type_: ValueType) -> None:
        offset = self._place(address, SIZES[type_])
        if isinstance(value, Symbol):
            self.memory.store_symbol(offset, value)
        else:
            self.memory.store(offset, _bytes_of(value, type_))

    # The outside world

    def _launch(self, site: LaunchSite) -> Symbol:
        if len(self.launches) == MAX_LAUNCHES:
            raise Unplannable
        kernel = self.program.kernels[site.kernel]
        number = len(self.launches)
        stream = self.values[site.stream]
        launch = Launch(
            kernel,
            cast("Dim3", tuple(map(self._fixed, site.grid))),
            cast("Dim3", tuple(map(self._fixed, site.block))),
            self._fixed(site.shared_bytes),
            -1 if isinstance(stream, Symbol) else int(stream),
            {attribute.name: tuple(map(self._fixed, attribute.operands)) for attribute in site.attributes},
            bytearray(kernel.parameter_bytes),
        )
        self.launches.append(launch)
        varying: dict[int, Symbol] = {}
        for write in site.parameters:
            value, type_ = self.values[write.value], self.program.types[write.value]
            if isinstance(value, Symbol):
                varying[write.offset] = value
            else:
                launch.parameters[write.offset : write.offset + SIZES[type_]] = _bytes_of(value, type_)
        self.code.write_parameters(number, varying)
        status = self.code.symbol("i32")
        self.code.effect(f"{status.name} = launch{number}({self.code.text(stream)})", stream)
        return status

    def _tensor_map(self, address: int, site: TensorMapSite) -> Symbol:
        offset = self._place(address, TENSOR_MAP_BYTES)
        modes = [
            [self.values[number] for number in numbers]
            for numbers in (site.sizes, site.strides, site.box, site.element_strides)
        ]
        base = self.values[site.address]
        texts = [str(site.data_type), self.code.text(base), *map(self.code.tuple, modes)]
        texts += map(str, (site.interleave, site.swizzle, site.l2_promotion, site.fill))
        made = self.code.symbol("map", TENSOR_MAP_BYTES)
        status = self.code.symbol("i32")
        text = f"{made.name}, {status.name} = encode(host, TensorMap({', '.join(texts)}))"
        self.code.effect(text, base, *(value for mode in modes for value in mode))
        self.memory.store_symbol(offset, made)
        return status


_ZERO_IS_NEUTRAL: Final = frozenset(("add", "sub", "or", "xor", "shl", "lshr", "ashr"))


def _is_integer_number(value: Value) -> bool:
    return isinstance(value, int)


def _bytes_of(value: Number, type_: ValueType) -> bytes:
    if type_ == "bf16":
        value = function("bitcast", ("bf16",), "i16")(value)
    return struct.pack(f"<{FORMATS[type_]}", value)
