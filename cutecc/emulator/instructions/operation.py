"""One instruction on its way to a step: reading and writing its operands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.types import DTYPES, bits_of
from cutecc.emulator.machine.lanes import Array, Lanes
from cutecc.emulator.numbers.compiled import merger
from cutecc.errors import EmulatorError
from cutecc.ptx.syntax import (
    Address,
    Immediate,
    Instruction,
    Not,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)

if TYPE_CHECKING:
    from cutecc.emulator.instructions.table import Function, Step
    from cutecc.emulator.machine.fragment import Waiting
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.program import FunctionScope

_TEXTURES = {"tex", "tld4", "txq", "suld", "sust", "sured", "suq", "istypep"}
"""Instructions on textures and surfaces (PTX ISA, "Texture Instructions", "Surface Instructions")."""
Reader = Callable[["Gang"], Any]
"""An operand's value: an array `(warps, 32)`, or a scalar for a constant; a tuple of them for braces."""
Writer = Callable[["Gang", "Lanes", Any], None]
"""Puts a result (an array, or a scalar) into its register, for these threads only."""


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One instruction, its form, and its place in the program."""

    index: int
    """In `Program.operations`."""
    instruction: Instruction
    form: Form
    scope: FunctionScope

    @property
    def operands(self) -> tuple[Operand, ...]:
        return self.instruction.operands

    def error(self, message: str, hints: Sequence[str] = ()) -> EmulatorError:
        """An error of this instruction, with the line of Python and the PTX it belongs to."""
        return EmulatorError(
            message,
            location=self.instruction.location,
            notes=[f"PTX line {self.instruction.line}: {self.instruction.text}"],
            hints=list(hints),
        )

    def unmodelled(self) -> EmulatorError:
        """The error of a program that comes to an instruction which the emulator does not know."""
        if self.form.opcode in _TEXTURES:
            return self.error(
                f"the emulator has no textures and no surfaces, which '{self.form}' accesses",
                hints=["pass the array as a pointer, and load from that; the kernel compiles, and runs on a GPU"],
            )
        return self.error(
            f"the emulator does not model '{self.form}'",
            hints=["docs/emulator.md lists what it models; the kernel compiles, and runs on a GPU"],
        )

    @property
    def where(self) -> str:
        """`kernel.py:30:9`, or the line of PTX."""
        return str(self.instruction.location or f"PTX line {self.instruction.line}")

    def is_used(self, operand: Operand) -> bool:
        """Whether another operand of the function than this one, a result, is the same register."""
        return isinstance(operand, Register) and self.scope.uses(operand.name) > 1

    # Reading.

    def condition(self) -> Reader | None:
        """Reads whether a thread executes it; `None` where all do."""
        guard = self.instruction.guard
        if guard is None:
            return None
        return self.reader(Not(guard.register) if guard.negated else guard.register, "pred")

    def reader(self, operand: Operand, type_: str) -> Reader:
        """Reads one operand as this type. A wider register gives its low bits."""
        dtype = DTYPES[type_]
        match operand:
            case Register(name):
                return self._register_reader(name, dtype)
            case Immediate():
                value = _constant(operand, dtype)
                return lambda gang: value
            case Special(name):
                return lambda gang: _as(gang.special(name), dtype)
            case Symbol(name, offset):
                space, address = self.symbol(name)
                if space == "shared" and self.scope.names_ranks:
                    return lambda gang: _as(gang.shared_base + np.uint64(address + offset), dtype)
                if space == "local" and self.scope.has_frames:
                    return lambda gang: _as(gang.stack + np.uint64(address + offset), dtype)
                constant = np.array((address + offset) & (2**64 - 1), np.uint64).astype(dtype)[()]
                return lambda gang: constant
            case Not(register) if dtype.kind == "b":
                read = self._register_reader(register.name, dtype)
                return lambda gang: ~read(gang)
            case _:
                raise self.error(f"'{self.form}' cannot read an operand like this")

    def vector_reader(self, operand: Operand, type_: str, count: int) -> Reader:
        """Reads so many operands in braces, as a tuple; one is as good without."""
        readers = [self.reader(item, type_) for item in self.in_braces(operand, count)]
        return lambda gang: tuple(read(gang) for read in readers)

    def _register_reader(self, name: str, dtype: np.dtype[Any]) -> Reader:
        slot, width = self.scope.slot(name), self.scope.width(name)
        self._check_kind(name, dtype)
        if width == dtype:
            return lambda gang: gang.registers[slot]
        return lambda gang: _as(gang.registers[slot], dtype)

    def address(self, operand: Operand) -> Reader:
        """Reads the address in brackets, as `uint64`, an array `(warps, 32)`."""
        if not isinstance(operand, Address):
            raise self.error(f"'{self.form}' needs an address in brackets here")
        read, offset = self.reader(operand.base, "u64"), np.uint64(operand.offset & (2**64 - 1))
        narrow = isinstance(operand.base, Register) and self.scope.width(operand.base.name).itemsize == 4
        limit = np.uint64(2**32 - 1)

        def address(gang: Gang) -> Array:
            found = read(gang)
            if offset:
                found = (found + offset) & limit if narrow else found + offset
            return found if found.shape else np.broadcast_to(found, gang.shape)

        return address

    # Writing.

    def writer(self, operand: Operand, type_: str) -> Writer:
        """Writes a result of this type; a wider register gets it extended, with its sign if the type has one."""
        match operand:
            case Register(name):
                slot, width = self.scope.slot(name), self.scope.width(name)
                dtype = DTYPES[type_]
                self._check_kind(name, dtype)
                extended = dtype if dtype.itemsize == width.itemsize else np.dtype(f"{_sign(dtype)}{width.itemsize}")
                merge = merger(width)

                def write(gang: Gang, lanes: Lanes, value: Any) -> None:
                    if value.dtype != width:
                        value = (value if extended.itemsize == value.dtype.itemsize else value.astype(extended)).view(
                            width
                        )
                    if not lanes.full:
                        value = merge(lanes.mask, value, gang.registers[slot])
                    elif not value.shape:
                        value = np.full(gang.shape, value)
                    gang.registers[slot] = value

                return write
            case Sink():
                return lambda gang, lanes, value: None
            case _:
                raise self.error(f"'{self.form}' cannot write to an operand like this")

    def vector_writer(self, operand: Operand, type_: str, count: int) -> Writer:
        """Writes so many results into registers in braces; one is as good without."""
        writers = [self.writer(item, type_) for item in self.in_braces(operand, count)]

        def write_all(gang: Gang, lanes: Lanes, value: Any) -> None:
            for write, each in zip(writers, value, strict=True):
                write(gang, lanes, each)

        return write_all

    def writers(self, operand: Operand, types: Sequence[str]) -> list[Writer]:
        """The writers of `d` or `d|p`."""
        operands = (operand.first, operand.second) if isinstance(operand, Pair) else (operand,)
        return [self.writer(each, type_) for each, type_ in zip(operands, types, strict=False)]

    # What operands are.

    def in_braces(self, operand: Operand, count: int) -> tuple[Operand, ...]:
        """The operands in braces, which have to be so many; one is as good without."""
        items = operand.items if isinstance(operand, Vector) else (operand,)
        if len(items) != count:
            raise self.error(f"'{self.form}' has {count} operand{'s' * (count > 1)} in braces here, not {len(items)}")
        return items

    def constant(self, operand: Operand) -> int:
        """The integer that an operand has to be, of 32 bits."""
        if not isinstance(operand, Immediate) or operand.kind != "integer" or not -(2**31) <= operand.bits < 2**31:
            raise self.error(f"'{self.form}' needs a constant of 32 bits here")
        return operand.bits

    def symbol(self, name: str) -> tuple[str, int]:
        """State space and address of what a name means."""
        found = self.scope.symbol(name)
        if found is None:
            raise self.error(f"the PTX does not declare '{name}'")
        return found

    def _check_kind(self, register: str, dtype: np.dtype[Any]) -> None:
        """Predicates are no numbers."""
        if (self.scope.width(register).kind == "b") != (dtype.kind == "b"):
            raise self.error(
                f"'{self.form}' needs {'a predicate' if dtype.kind == 'b' else 'no predicate'}: {register}"
            )


def computing(function: Function, readers: Sequence[Reader], writers: Sequence[Writer]) -> Step:
    """The step of an instruction that only computes; of several results those without a writer are not wanted."""
    if len(writers) > 1:

        def step_of_several(gang: Gang, lanes: Lanes) -> Waiting | None:
            for write, value in zip(writers, function(*[read(gang) for read in readers]), strict=False):
                write(gang, lanes, value)

        return step_of_several
    (write,) = writers
    match readers:
        case [a]:
            return lambda gang, lanes: write(gang, lanes, function(a(gang)))
        case [a, b]:
            return lambda gang, lanes: write(gang, lanes, function(a(gang), b(gang)))
        case [a, b, c]:
            return lambda gang, lanes: write(gang, lanes, function(a(gang), b(gang), c(gang)))
        case _:
            return lambda gang, lanes: write(gang, lanes, function(*[read(gang) for read in readers]))


def _as(value: Any, dtype: np.dtype[Any]) -> Any:
    """The same bits as another type; of a wider value the low bits, of a narrower one with zeros in front."""
    if value.dtype.itemsize == dtype.itemsize and dtype.kind != "b":
        return value.view(dtype)
    return value.astype(bits_of(dtype)).view(dtype)


def _sign(dtype: np.dtype[Any]) -> str:
    return "i" if dtype.kind == "i" else "u"


def _constant(operand: Immediate, dtype: np.dtype[Any]) -> Any:
    """A constant as a NumPy scalar of the type."""
    if operand.kind == "integer":
        if dtype.kind == "b":
            return np.bool_(operand.bits != 0)
        if dtype.kind == "f":
            return dtype.type(operand.bits)
        size = 8 * dtype.itemsize
        return np.array(operand.bits & ((1 << size) - 1), f"u{dtype.itemsize}").view(dtype)[()]
    width = np.dtype(np.float32 if operand.kind == "f32" else np.float64)
    value = np.array(operand.bits, bits_of(width))
    if width.itemsize == dtype.itemsize:
        return value.view(dtype)[()]
    if dtype.kind == "f":
        return value.view(width).astype(dtype)[()]
    return value.astype(dtype)[()]
