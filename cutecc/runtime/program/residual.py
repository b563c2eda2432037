"""The code that remains of a partially evaluated program: statements over symbols, and how they become Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from cutecc.record.host_program import Op, ValueType
from cutecc.runtime.program.number_expressions import Number, is_integer

SymbolType: TypeAlias = ValueType | Literal["bits", "map"]
"""`bits` is an integer of some bytes of memory, `map` the bytes of a TMA descriptor."""


class Symbol:
    """A value that varies: a variable of the generated code."""

    __slots__ = ("field", "name", "size", "source", "type")

    def __init__(self, name: str, type_: SymbolType, size: int) -> None:
        self.name = name
        self.type: SymbolType = type_
        self.size = size
        """Bytes that it takes in memory."""
        self.source: tuple[Symbol, int] | None = None
        """The descriptor, and the offset in it, that an integer was loaded from."""
        self.field: BitField | None = None
        """Which bits of another symbol an integer is made of, where it is that simple."""

    @property
    def bits(self) -> str:
        """An expression of the unsigned integer with this value's bits; not of a descriptor."""
        if self.type == "bits" or self.type == "map" or is_integer(self.type):
            return self.name
        return f"bits_{self.type}({self.name})"


class BitField(NamedTuple):
    """Some bits of an unsigned integer, moved: `(base & mask) << shift`, to the right if `shift` is negative."""

    base: Symbol
    mask: int
    shift: int

    def then(self, op: Op, operand: int, bits: int) -> BitField | None:
        """The field after `op` with a known operand, in `bits` bits; None if it is no field any more."""
        mask, shift = self.mask, self.shift
        match op:
            case "and":
                mask &= _moved(operand, -shift)
            case "shl" if operand < bits:
                shift += operand
            case "lshr" if operand < bits:
                shift -= operand
            case "udiv" if operand > 0 and operand & (operand - 1) == 0:
                shift -= operand.bit_length() - 1
            case "trunc" | "zext":
                pass
            case _:
                return None
        # Bits that are moved out at either end are gone.
        mask &= _moved((1 << bits) - 1, -shift)
        return BitField(self.base, mask, shift) if mask else None

    @property
    def text(self) -> str:
        """The field as an expression."""
        masked = f"{self.base.name} & {self.mask}"
        if self.shift == 0:
            return masked
        return f"({masked}) << {self.shift}" if self.shift > 0 else f"({masked}) >> {-self.shift}"


def _moved(bits: int, shift: int) -> int:
    return bits << shift if shift >= 0 else bits >> -shift


Value: TypeAlias = Number | Symbol
"""A number that is known, or one that varies."""


class Compute(NamedTuple):
    """`target = text`, which does nothing else."""

    target: Symbol
    text: str
    uses: Sequence[Symbol]


class Effect(NamedTuple):
    """A statement that is kept whether or not anything reads what it assigns."""

    text: str
    uses: Sequence[Symbol] = ()


class Branch:
    """A condition that varies."""

    __slots__ = ("condition", "otherwise", "then")

    def __init__(self, condition: Symbol) -> None:
        self.condition = condition
        self.then: list[Statement] = []
        self.otherwise: list[Statement] = []


Statement: TypeAlias = Compute | Effect | Branch


def live(statements: list[Statement], used: set[str]) -> list[Statement]:
    """The statements that matter when the names in `used` are read afterwards; adds what they read to `used`."""
    kept: list[Statement] = []
    for statement in reversed(statements):
        match statement:
            case Compute():
                if statement.target.name not in used:
                    continue
                used.update(use.name for use in statement.uses)
            case Effect():
                used.update(use.name for use in statement.uses)
            case Branch():
                after = set(used)
                statement.then = live(statement.then, used)
                statement.otherwise = live(statement.otherwise, after)
                if not statement.then and not statement.otherwise:
                    continue
                used |= after
                used.add(statement.condition.name)
        kept.append(statement)
    kept.reverse()
    return kept


def lines(statements: list[Statement], depth: int) -> list[str]:
    """The statements as Python, indented by `depth`."""
    indent, written = " " * depth, list[str]()
    for statement in statements:
        match statement:
            case Compute():
                written.append(f"{indent}{statement.target.name} = {statement.text}")
            case Effect():
                written.append(indent + statement.text)
            case Branch():
                written.append(f"{indent}if {statement.condition.name}:")
                written += lines(statement.then, depth + 1) or [f"{indent} pass"]
                if statement.otherwise:
                    written += [f"{indent}else:", *lines(statement.otherwise, depth + 1)]
    return written


def count(statements: list[Statement]) -> int:
    """Statements, those in branches included."""
    inner = (each for each in statements if isinstance(each, Branch))
    return len(statements) + sum(count(each.then) + count(each.otherwise) for each in inner)


class SymbolicMemory:
    """Memory of which some bytes vary."""

    def __init__(self, size: int) -> None:
        self.known = bytearray(size)
        """The bytes that do not vary."""
        self.varying: dict[int, tuple[Symbol, int]] = {}
        """By offset: which byte of which symbol it is, counted from the lowest."""

    def copy(self) -> SymbolicMemory:
        """The same memory, changed on its own from here on."""
        other = SymbolicMemory(0)
        other.known, other.varying = bytearray(self.known), dict(self.varying)
        return other

    def store(self, offset: int, data: bytes) -> None:
        """Write bytes that do not vary."""
        self.known[offset : offset + len(data)] = data
        if self.varying:
            for position in range(offset, offset + len(data)):
                self.varying.pop(position, None)

    def store_symbol(self, offset: int, symbol: Symbol) -> None:
        """Write all bytes of a symbol."""
        for index in range(symbol.size):
            self.varying[offset + index] = (symbol, index)

    def whole(self, offset: int, size: int) -> tuple[Symbol, int] | None:
        """The one symbol whose bytes, from the given one on, these are; None where there is none."""
        found = self.varying.get(offset)
        if found is None:
            return None
        symbol, first = found
        same = all(self.varying.get(offset + index) == (symbol, first + index) for index in range(1, size))
        return found if same else None

    def expression(self, offset: int, size: int) -> tuple[str, list[Symbol]]:
        """The unsigned integer of `size` bytes as an expression; the symbols in it, none if it is a number."""
        number, parts, symbols, position = 0, list[str](), list[Symbol](), 0
        while position < size:
            found = self.varying.get(offset + position)
            if found is None:
                number |= self.known[offset + position] << 8 * position
                position += 1
                continue
            symbol, first = found
            length = 1
            while position + length < size and self.varying.get(offset + position + length) == (symbol, first + length):
                length += 1
            parts.append(_shifted(symbol, first, length, position))
            symbols.append(symbol)
            position += length
        return " | ".join([*parts, *([str(number)] if number or not parts else [])]), symbols

    def differences(self, other: SymbolicMemory) -> list[tuple[int, int]]:
        """Offset and size, at most 8, of the pieces that are not the same in both."""
        offsets = {
            offset
            for offset in self.varying.keys() | other.varying.keys()
            if self.varying.get(offset) != other.varying.get(offset)
        }
        if self.known != other.known:
            offsets.update(
                offset
                for offset, (mine, its) in enumerate(zip(self.known, other.known, strict=True))
                if mine != its and offset not in self.varying and offset not in other.varying
            )
        pieces: list[tuple[int, int]] = []
        for offset in sorted(offsets):
            if pieces and sum(pieces[-1]) == offset and offset % 8:
                pieces[-1] = (pieces[-1][0], pieces[-1][1] + 1)
            else:
                pieces.append((offset, 1))
        return pieces


def _shifted(symbol: Symbol, first: int, length: int, position: int) -> str:
    """`length` bytes of a symbol from its byte `first`, moved to byte `position`."""
    if symbol.type == "map":
        text = f"from_bytes({symbol.name}[{first}:{first + length}], 'little')"
    elif (first, length) == (0, symbol.size):
        text = symbol.bits
    else:
        text = f"(({symbol.bits} >> {8 * first}) & {(1 << 8 * length) - 1})"
    return f"({text} << {8 * position})" if position else text
