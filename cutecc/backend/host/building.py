"""Building a host program: blocks within blocks, equal steps shared."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence

from cutecc.backend.host.failure import UntranslatableError
from cutecc.record.host_program import Block, Instruction, Op, ValueType

_MOST_NESTED = 40

_Key = tuple[Op, ValueType, tuple[int, ...], int | None]


class ProgramBuilder:
    """Takes instructions in order and hands out value numbers.

    Of two equal steps without effect, the second is the value of the first where that one has already run. Constants
    stand at the start of the program.
    """

    def __init__(self) -> None:
        self.types: list[ValueType] = []
        self.constants: dict[int, int] = {}
        """The immediate of every value that is a constant."""
        self._constant_values: dict[tuple[ValueType, int], int] = {}
        self._block = Block()
        self._seen: list[dict[_Key, int]] = [{}]
        """What has run, for the open block and every one around it."""

    def value(self, type_: ValueType) -> int:
        """A new value number: a leaf, a block's parameter, a result."""
        self.types.append(type_)
        return len(self.types) - 1

    def values(self, types: Sequence[ValueType]) -> list[int]:
        """New value numbers, one per type."""
        return [self.value(type_) for type_ in types]

    def constant(self, type_: ValueType, immediate: int) -> int:
        """A constant: an integer of any sign, or the bits of a float."""
        immediate &= (1 << _WIDTH[type_]) - 1
        value = self._constant_values.get((type_, immediate))
        if value is None:
            value = self._constant_values[type_, immediate] = self.value(type_)
            self.constants[value] = immediate
        return value

    def pure(self, op: Op, type_: ValueType, *operands: int, immediate: int | None = None) -> int:
        """The result of a step that has no effect and always gives the same."""
        key = (op, type_, operands, immediate)
        for seen in self._seen:
            if (value := seen.get(key)) is not None:
                return value
        value = self._seen[-1][key] = self.value(type_)
        self.append(Instruction(op, list(operands), [value], immediate))
        return value

    def effect(self, op: Op, type_: ValueType, *operands: int, immediate: int | None = None) -> int:
        """The result of a step that must stay where it is."""
        value = self.value(type_)
        self.append(Instruction(op, list(operands), [value], immediate))
        return value

    def append(self, instruction: Instruction) -> None:
        """Put an instruction into the open block."""
        self._block.instructions.append(instruction)

    @property
    def open_block(self) -> Block:
        """The block that instructions go to now."""
        return self._block

    @contextlib.contextmanager
    def block(self, parameters: Sequence[int] = ()) -> Generator[Block]:
        """Inside, instructions go to a new block, which the caller puts into an `if` or `while`."""
        if len(self._seen) > _MOST_NESTED:
            raise UntranslatableError(f"the host function nests blocks deeper than {_MOST_NESTED}")
        outer, self._block = self._block, Block(parameters=list(parameters))
        self._seen.append({})
        try:
            yield self._block
        finally:
            self._block = outer
            self._seen.pop()

    def finish(self, yields: list[int]) -> Block:
        """The outermost block, constants first."""
        constants = [Instruction("constant", [], [value], bits) for value, bits in self.constants.items()]
        return Block(instructions=constants + self._block.instructions, yields=yields)


_WIDTH: dict[ValueType, int] = {
    **{"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64},
    **{"f16": 16, "bf16": 16, "f32": 32, "f64": 64},
}
