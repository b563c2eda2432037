"""What PTX text is made of (PTX ISA, "Syntax" and "Instruction Set")."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from cutecc.errors import SourceLocation

StateSpace = Literal["reg", "const", "global", "local", "param", "shared"]


@dataclass(frozen=True, slots=True)
class Register:
    """A register by its name, `%r12`. Names declared in an inner `{ … }` are made unique by the parser."""

    name: str


@dataclass(frozen=True, slots=True)
class Special:
    """A special register by its name, `%tid.x`."""

    name: str


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant: an integer of any sign, or the bits of a float (`0f3F800000`, `0d…`; decimals are `f64`)."""

    kind: Literal["integer", "f32", "f64"]
    bits: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, parameter, function or label by its name, and bytes added to its address."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Vector:
    """Operands in braces: `{%r1, %r2}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two results: `%p1|%p2`."""

    first: Operand
    second: Operand


@dataclass(frozen=True, slots=True)
class Not:
    """A negated predicate operand: `!%p1`."""

    register: Register


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a result that nobody wants."""


@dataclass(frozen=True, slots=True)
class Address:
    """An operand in brackets: `[%rd1+16]`, or for tensor copies `[%rd1, {%r1, %r2}]`."""

    base: Register | Symbol | Immediate
    offset: int = 0
    """Bytes."""
    coordinates: Vector | None = None


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parenthesised lists of a `call`: `(retval0)`, `(param0, param1)`."""

    items: tuple[Operand, ...]


Operand = Register | Special | Immediate | Symbol | Vector | Pair | Not | Sink | Address | Arguments


@dataclass(frozen=True, slots=True)
class Guard:
    """What an instruction is predicated on: `@%p1`, `@!%p1`."""

    register: Register
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction as written."""

    opcode: str
    """The part before the first dot: `ld`."""
    modifiers: tuple[str, ...]
    """The parts behind it, without dots: `("global", "v4", "b32")`."""
    operands: tuple[Operand, ...]
    guard: Guard | None
    line: int
    """Line of the PTX text, from 1."""
    text: str
    """As written, without guard, comments and surplus blanks, with its `;`."""
    location: SourceLocation | None = None
    """The line of Python: of inlined code the outermost call. `None` when the PTX does not say."""

    @property
    def name(self) -> str:
        """Opcode and modifiers: `ld.global.v4.b32`."""
        return ".".join((self.opcode, *self.modifiers))


@dataclass(frozen=True, slots=True)
class InitialAddress:
    """An address in the initial value of a variable: `generic(table)+8`, or one byte of it, `0xFF00(table)`."""

    place: int
    """Bytes from the start of the variable."""
    size: int
    """Bytes that it takes there."""
    symbol: Symbol
    is_generic: bool = False
    shift: int = 0
    """Bits of the address below those that are taken."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable or parameter."""

    name: str
    space: StateSpace
    type: str
    """Of an element: `b8`."""
    count: int | None
    """Elements; `None` for an array whose size the declaration leaves open."""
    align: int
    """Bytes."""
    initial: bytes | None = None
    is_extern: bool = False
    addresses: tuple[InitialAddress, ...] = ()
    """What the initial value, which has zeros there, has besides constants."""


@dataclass(frozen=True, slots=True)
class Function:
    """An `.entry` or a `.func`."""

    name: str
    is_entry: bool
    parameters: tuple[Variable, ...]
    results: tuple[Variable, ...]
    registers: dict[str, str]
    """Name → type, `%r12` → `b32`, all that are declared anywhere in the body."""
    variables: tuple[Variable, ...]
    """`.local`, `.shared`, `.param` and so on, declared in the body."""
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]
    """Label → index of the instruction that follows it; `len(instructions)` at the end."""
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """`.branchtargets` lists, by their label."""
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """Performance directives with numbers: `reqntid` → `(128, 1, 1)`."""
    is_declaration: bool = False
    """Only declared here: `.extern .func vprintf`."""


@dataclass(frozen=True, slots=True)
class Module:
    """One PTX text."""

    version: tuple[int, int]
    target: str
    """`sm_90a`."""
    variables: dict[str, Variable]
    """Module scope: `.global`, `.const`, `.shared`."""
    functions: dict[str, Function]


def registers_of(instruction: Instruction) -> Iterator[str]:
    """The names of all registers in an instruction, its guard's too, once for each time it is written."""
    if instruction.guard is not None:
        yield instruction.guard.register.name
    yield from registers_in(instruction.operands)


def registers_in(operands: Iterable[Operand]) -> Iterator[str]:
    """The names of all registers in operands."""
    return (each.name for each in _simple_operands(operands) if isinstance(each, Register))


def symbols_of(instruction: Instruction) -> Iterator[str]:
    """The names of all variables, parameters, functions and labels in an instruction."""
    return (each.name for each in _simple_operands(instruction.operands) if isinstance(each, Symbol))


def callee_of(instruction: Instruction) -> str | None:
    """The name of the function that an instruction calls; `None` for other instructions and calls of a pointer."""
    if instruction.opcode != "call":
        return None
    called = next((each for each in instruction.operands if not isinstance(each, Arguments)), None)
    return called.name if isinstance(called, Symbol) else None


def _simple_operands(operands: Iterable[Operand]) -> Iterator[Operand]:
    """What operands are made of."""
    for operand in operands:
        match operand:
            case Not(register):
                yield register
            case Pair(first, second):
                yield from _simple_operands((first, second))
            case Address(base, _, None):
                yield base
            case Address(base, _, Vector(items)):
                yield base
                yield from _simple_operands(items)
            case Vector(items) | Arguments(items):
                yield from _simple_operands(items)
            case _:
                yield operand
