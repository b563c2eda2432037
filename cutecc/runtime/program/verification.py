"""Well-formed host programs: what holds of one before it is evaluated or turned into code.

A program may come from a bundle that is damaged or made by hand. After `verify`, evaluating it touches no memory but
its own, takes bounded time and space, and fails in no way but `LaunchError`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NoReturn

from cutecc.record.host_program import (
    AttributeName,
    Block,
    HostProgram,
    Instruction,
    LaunchSite,
    TensorMapSite,
    ValueType,
)
from cutecc.runtime.program import number_expressions
from cutecc.runtime.program.number_expressions import BITS, SIZES, is_integer
from cutecc.runtime.program.tables import malformed, verify_tables

MAX_INSTRUCTIONS: Final = 50_000
MAX_DEPTH: Final = 48
"""Blocks within blocks, the outermost not counted."""
MAX_LOOP_DEPTH: Final = 16
"""Loops within loops."""
ATTRIBUTE_OPERANDS: Final[dict[AttributeName, int]] = {
    "cluster": 3,
    "preferred_cluster": 3,
    "cooperative": 1,
    "programmatic_serialization": 1,
    "programmatic_event": 3,
    "launch_completion_event": 2,
}
"""How many operands each launch attribute has."""


def verify(program: HostProgram) -> None:
    """Raise `RecordError`, which says what is wrong, unless the program is well formed. Takes linear time."""
    verify_tables(program)
    _Verifier(program).run()


_UNDEFINED, _VISIBLE, _GONE = range(3)


class _Verifier:
    """One walk over the instructions."""

    def __init__(self, program: HostProgram) -> None:
        self.program = program
        self.types = program.types
        self.state = bytearray(len(program.types))
        """Of each value: not yet defined, visible, or of a block that has ended."""
        self.starts = [[parameter.offset for parameter in kernel.parameters] for kernel in program.kernels]
        self.instructions = 0
        self.where = ""
        """The instruction being verified, for messages."""

    def run(self) -> None:
        body = self.program.body
        self.state[: len(self.program.leaves)] = bytes([_VISIBLE]) * len(self.program.leaves)
        if body.parameters:
            malformed("the outermost block has parameters; leaves are values 0, 1, …")
        self.block(body, 0, 0)
        self.where = "the end of the program"
        self.expect(self.uses(body.yields), ["i32"], "the status")

    # Values

    def wrong(self, what: str) -> NoReturn:
        malformed(f"{self.where}: {what}")

    def use(self, value: int) -> ValueType:
        """The type of a value that is read here."""
        if not 0 <= value < len(self.types):
            self.wrong(f"no value {value}")
        if self.state[value] != _VISIBLE:
            self.wrong(f"value {value} is not defined here")
        return self.types[value]

    def uses(self, values: Sequence[int]) -> list[ValueType]:
        types: list[ValueType] = [self.use(value) for value in values]
        return types

    def define(self, value: int, defined: list[int]) -> ValueType:
        """The type of a value that gets its number here; `defined` collects what the block defines."""
        if not 0 <= value < len(self.types):
            self.wrong(f"no value {value}")
        if self.state[value] != _UNDEFINED:
            self.wrong(f"value {value} is defined twice")
        self.state[value] = _VISIBLE
        defined.append(value)
        return self.types[value]

    def expect(self, found: Sequence[ValueType], types: Sequence[ValueType], what: str) -> None:
        if list(found) != list(types):
            self.wrong(f"{what}: ({', '.join(found)}) where ({', '.join(types)}) is expected")

    def expect_integer(self, value: int, what: str) -> None:
        if not is_integer(type_ := self.use(value)):
            self.wrong(f"{what} is {type_}, not an integer")

    # Structure

    def block(
        self, block: Block, depth: int, loops: int, outer: Sequence[ValueType] | None = None
    ) -> tuple[list[ValueType], list[int]]:
        """Verify a block entered with values of the types `outer`; the types it yields and the values it defines.

        They stay visible: the caller ends their life.
        """
        if depth > MAX_DEPTH or loops > MAX_LOOP_DEPTH:
            malformed(f"blocks are nested deeper than {MAX_DEPTH}, or loops deeper than {MAX_LOOP_DEPTH}")
        self.instructions += len(block.instructions)
        if self.instructions > MAX_INSTRUCTIONS:
            malformed(f"more than {MAX_INSTRUCTIONS} instructions")
        where, defined = self.where, list[int]()
        parameters: list[ValueType] = [self.define(value, defined) for value in block.parameters]
        self.expect(parameters, outer or [], "block parameters")
        for number, instruction in enumerate(block.instructions):
            self.where = f"{where and where + ' / '}instruction {number} ({instruction.op})"
            self.instruction(instruction, depth, loops, defined)
        self.where = where
        return self.uses(block.yields) if depth else [], defined

    def nested(self, block: Block, depth: int, loops: int, outer: Sequence[ValueType] | None = None) -> list[ValueType]:
        """`block`, whose values end with it."""
        yields, defined = self.block(block, depth + 1, loops, outer)
        for value in defined:
            self.state[value] = _GONE
        return yields

    def instruction(self, instruction: Instruction, depth: int, loops: int, defined: list[int]) -> None:
        op = instruction.op
        operands = self.uses(instruction.operands)
        blocks = {"if": 2, "while": 2}.get(op, 0)
        if len(instruction.blocks) != blocks:
            self.wrong(f"{len(instruction.blocks)} blocks where {blocks} are expected")
        if (instruction.immediate is not None) != (op in ("constant", "address", "fail", "print")):
            self.wrong("an immediate is missing" if instruction.immediate is None else "an immediate is not expected")
        if (instruction.launch is not None) != (op == "launch"):
            self.wrong("'launch' is given exactly for launches")
        if instruction.location is not None and op != "fail":
            self.wrong("'location' is given for failures alone")
        if (instruction.tensor_map is not None) != (op == "encode_tensor_map"):
            self.wrong("'tensor_map' is given exactly for descriptors")
        results: Sequence[ValueType] | None = None
        if op == "if":
            results = self.conditional(instruction, operands, depth, loops)
        elif op == "while":
            results = self.loop(instruction, operands, depth, loops)
        # A value is visible only after the instruction that defines it.
        found: list[ValueType] = [self.define(value, defined) for value in instruction.results]
        if op in number_expressions.ARITHMETIC:
            self.arithmetic(instruction, operands, found)
        elif results is not None:
            self.expect(found, results, "results")
        else:
            self.other(instruction, operands, found)

    def conditional(
        self, instruction: Instruction, operands: list[ValueType], depth: int, loops: int
    ) -> list[ValueType]:
        self.expect(operands, ["i1"], "the condition")
        then, otherwise = (self.nested(block, depth, loops) for block in instruction.blocks)
        self.expect(otherwise, then, "what the blocks yield")
        return then

    def loop(self, instruction: Instruction, operands: list[ValueType], depth: int, loops: int) -> list[ValueType]:
        condition, body = instruction.blocks
        yields = self.nested(condition, depth, loops + 1, operands)
        self.expect(yields[:1], ["i1"], "what the condition block yields first")
        self.expect(self.nested(body, depth, loops + 1, yields[1:]), operands, "what the body yields")
        return yields[1:]

    # Operations

    def arithmetic(self, instruction: Instruction, operands: list[ValueType], results: list[ValueType]) -> None:
        op = instruction.op
        if len(results) != 1 or len(operands) != _operand_count(op):
            self.wrong(f"{len(operands)} operands and {len(results)} results")
        source, result = operands[-1], results[0]
        if op == "select":
            self.expect(operands, ["i1", result, result], "operands")
            return
        if any(type_ != source for type_ in operands):
            self.wrong(f"operands of different types ({', '.join(operands)})")
        if op in number_expressions.CONVERSIONS:
            if not _converts(op, source, result):
                self.wrong(f"no conversion from {source} to {result}")
            return
        if is_integer(source) != (op[0] != "f"):
            self.wrong(f"an operand of type {source}")
        comparison = op in number_expressions.INTEGER_COMPARISONS or op in number_expressions.FLOAT_COMPARISONS
        self.expect(results, ["i1" if comparison else source], "the result")

    def other(self, instruction: Instruction, operands: list[ValueType], results: list[ValueType]) -> None:
        immediate = instruction.immediate or 0
        match instruction.op:
            case "constant":
                self.expect(operands, [], "operands")
                if len(results) != 1 or not 0 <= immediate < 1 << BITS[results[0]]:
                    self.wrong(f"the immediate {immediate} for ({', '.join(results)})")
            case "address":
                self.expect(operands, [], "operands")
                self.expect(results, ["i64"], "the result")
                if not 0 <= immediate < len(self.program.allocations):
                    self.wrong(f"no allocation {immediate}")
            case "load":
                self.expect(operands, ["i64"], "the address")
                if len(results) != 1:
                    self.wrong(f"{len(results)} results")
            case "store":
                self.expect(results, [], "results")
                if len(operands) != 2 or operands[0] != "i64":
                    self.wrong(f"operands ({', '.join(operands)}) where an address and a value are expected")
            case "return_if_error":
                self.expect(operands, ["i32"], "the status")
                self.expect(results, [], "results")
            case "fail":
                self.expect(operands, ["i1"], "the condition")
                self.expect(results, [], "results")
                self.string(immediate)
            case "print":
                self.expect(results, ["i32"], "the status")
                self.format(self.string(immediate), operands)
            case "launch":
                self.expect(operands, [], "operands")
                self.expect(results, ["i32"], "the status")
                self.launch(instruction.launch)
            case "encode_tensor_map":
                self.expect(operands, ["i64"], "the address")
                self.expect(results, ["i32"], "the status")
                self.tensor_map(instruction.tensor_map)
            case unknown:
                self.wrong(f"no operation '{unknown}'")

    def string(self, number: int) -> str:
        if not 0 <= number < len(self.program.strings):
            self.wrong(f"no string {number}")
        return self.program.strings[number]

    def format(self, text: str, operands: list[ValueType]) -> None:
        from cutecc.runtime.program.printing import parse_format

        try:
            conversions = [piece for piece in parse_format(text) if not isinstance(piece, str)]
        except ValueError as failure:
            self.wrong(str(failure))
        if len(conversions) != len(operands):
            self.wrong(f"{len(operands)} operands for a format of {len(conversions)} conversions")
        for conversion, type_ in zip(conversions, operands, strict=True):
            if conversion.takes_float == is_integer(type_):
                self.wrong(f"%{conversion.letter} of an operand of type {type_}")

    def launch(self, site: LaunchSite | None) -> None:
        assert site is not None
        if not 0 <= site.kernel < len(self.program.kernels):
            self.wrong(f"no kernel {site.kernel}")
        self.expect(self.uses(site.grid), ["i32", "i32", "i32"], "the grid")
        self.expect(self.uses(site.block), ["i32", "i32", "i32"], "the block")
        if self.use(site.shared_bytes) not in ("i32", "i64"):
            self.wrong("the bytes of shared memory are i32 or i64")
        self.expect(self.uses([site.stream]), ["i64"], "the stream")
        names = [attribute.name for attribute in site.attributes]
        if len(set(names)) != len(names):
            self.wrong("a launch attribute is given twice")
        for attribute in site.attributes:
            if ATTRIBUTE_OPERANDS.get(attribute.name) != len(attribute.operands):
                self.wrong(f"the launch attribute '{attribute.name}' with {len(attribute.operands)} operands")
            for value in attribute.operands:
                self.expect_integer(value, f"the launch attribute '{attribute.name}'")
        self.writes(site)

    def writes(self, site: LaunchSite) -> None:
        """Each write lies within one parameter, and no two overlap."""
        kernel, starts = self.program.kernels[site.kernel], self.starts[site.kernel]
        end = 0
        for write in sorted(site.parameters, key=lambda write: write.offset):
            size = SIZES[self.use(write.value)]
            index = bisect_right(starts, write.offset) - 1
            if index < 0 or write.offset + size > starts[index] + kernel.parameters[index].size:
                self.wrong(f"{size} bytes at offset {write.offset} lie within no parameter of '{kernel.name}'")
            if write.offset < end:
                self.wrong(f"two values are written at offset {write.offset} of the parameters of '{kernel.name}'")
            end = write.offset + size

    def tensor_map(self, site: TensorMapSite | None) -> None:
        assert site is not None
        self.expect(self.uses([site.address]), ["i64"], "the tensor's address")
        rank = len(site.sizes)
        counts = (len(site.strides) + 1, len(site.box), len(site.element_strides))
        if not 1 <= rank <= 5 or counts != (rank, rank, rank):
            self.wrong(f"a descriptor of rank {rank} whose strides, box and element strides are of rank {counts}")
        for value in (*site.sizes, *site.strides, *site.box, *site.element_strides):
            self.expect_integer(value, "a size or stride")
        for name, most in _TENSOR_MAP_LIMITS.items():
            if not 0 <= getattr(site, name) <= most:
                self.wrong(f"a descriptor's {name} is {getattr(site, name)}; at most {most}")


_TENSOR_MAP_LIMITS: Final = {"data_type": 15, "interleave": 2, "swizzle": 6, "l2_promotion": 3, "fill": 1}
"""The largest values of the driver's enumerations, CUDA 13."""


def _operand_count(op: str) -> int:
    if op == "select":
        return 3
    return 1 if op in number_expressions.CONVERSIONS or op in number_expressions.INTEGER_UNARY or op == "fneg" else 2


def _converts(op: str, source: ValueType, result: ValueType) -> bool:
    kinds = (is_integer(source), is_integer(result))
    match op:
        case "zext" | "sext":
            return kinds == (True, True) and BITS[source] < BITS[result]
        case "trunc":
            return kinds == (True, True) and BITS[source] > BITS[result]
        case "sitofp" | "uitofp":
            return kinds == (True, False)
        case "fptosi" | "fptoui":
            return kinds == (False, True)
        case "fpext":
            return kinds == (False, False) and BITS[source] < BITS[result]
        case "fptrunc":
            return kinds == (False, False) and BITS[source] > BITS[result]
        case _:
            return BITS[source] == BITS[result]
