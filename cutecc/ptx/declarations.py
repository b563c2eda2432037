"""Declarations of variables, parameters and registers (PTX ISA, "Variables")."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from cutecc.ptx.constants import parse_constant
from cutecc.ptx.scanner import ATTRIBUTE, BRACE, COMMA, IDENTIFIER, NAME, Scanner
from cutecc.ptx.syntax import Immediate, InitialAddress, StateSpace, Symbol, Variable
from cutecc.ptx.types import TYPE_BITS

TYPE_BYTES = {"pred": 1, **{name: bits // 8 for name, bits in TYPE_BITS.items() if bits >= 8}}
"""Types that registers and variables have, and their size in memory."""

_SPACE = re.compile(r"\.(reg|const|global|local|param|shared)\b(?:\[\d+\])?")
_ALIGN = re.compile(r"\.align\s+(\d+)")
_POINTER = re.compile(r"\.ptr\b(?:\s*\.(?:global|const|local|shared|param)\b)?")
_VECTOR = re.compile(r"\.v([248])\b")
_TYPE = re.compile(r"\.(\w+)")
_COUNT = re.compile(r"<\s*(\d+)\s*>")
_DIMENSION = re.compile(r"\[([^\[\]]*)\]")
_EQUALS = re.compile("=")
_CLOSE = re.compile(r"\}")
_VALUE = re.compile(r"[^,{};]+")
_ADDRESS = re.compile(
    rf"(?:(?P<mask>0[xX][fF]{{2}}0*)\s*\(\s*)?(?P<generic>generic\s*\(\s*)?(?P<name>{NAME})(?(generic)\s*\))"
    r"(?:\s*(?P<sign>[-+])\s*(?P<offset>[^\s()]+))?(?(mask)\s*\))"
)
_LARGEST_ALIGNMENT = 1 << 20
"""Bytes: far more than any hardware asks for."""
_MOST = 1 << 32
"""Elements of a variable, or registers of a declaration."""
_MOST_INITIAL = 1 << 28
"""Bytes of an initial value: they are in memory, of which a line of text must not take all."""


@dataclass(frozen=True, slots=True)
class Kind:
    """What stands before the names of a declaration."""

    space: StateSpace
    type: str
    vector: int
    align: int


def read_kind(scanner: Scanner) -> Kind:
    """`.global .align 16 .v4 .f32`, in any order that compilers write."""
    # The pattern has the names of `StateSpace`.
    space = cast(StateSpace, scanner.expect(_SPACE, "a state space such as '.global'")[1])
    align, vector, type_ = 0, 1, ""
    while not type_:
        if found := scanner.take(_ALIGN):
            align = int(found[1])
        elif found := scanner.take(_VECTOR):
            vector = int(found[1])
        elif not scanner.take(_POINTER) and not scanner.take(ATTRIBUTE):
            type_ = scanner.expect(_TYPE, "a type such as '.b32'")[1]
            if type_ not in TYPE_BYTES:
                raise scanner.error(f"variables of type '.{type_}' are not supported")
    # What `.ptr` says follows the type, and tells of what is pointed to.
    while scanner.take(_POINTER):
        scanner.take(_ALIGN)
    if found := scanner.take(_ALIGN):
        align = int(found[1])
    if align & (align - 1) or align > _LARGEST_ALIGNMENT:
        raise scanner.error(f"an alignment of {align}, which is no power of two up to {_LARGEST_ALIGNMENT}")
    return Kind(space, type_, vector, align or vector * TYPE_BYTES[type_])


def read_registers(scanner: Scanner) -> Iterator[tuple[str, str, int]]:
    """Name, type and elements (of a vector 2 or 4) of each register of a `.reg` declaration, up to its `;`."""
    kind = read_kind(scanner)
    if kind.vector > 4:
        raise scanner.error(f"a vector register of {kind.vector} elements: there are 2 or 4")
    while True:
        name = scanner.expect(IDENTIFIER, "the name of a register")[0]
        if found := scanner.take(_COUNT):
            count = _small(scanner, int(found[1]), "registers")
            yield from ((f"{name}{index}", kind.type, kind.vector) for index in range(count))
        else:
            yield name, kind.type, kind.vector
        if not scanner.take(COMMA):
            return


def read_variables(scanner: Scanner, *, is_extern: bool) -> Iterator[Variable]:
    """The variables of a declaration, up to its `;`."""
    kind = read_kind(scanner)
    while True:
        yield read_variable(scanner, kind, is_extern=is_extern)
        if not scanner.take(COMMA):
            return


def read_variable(scanner: Scanner, kind: Kind, *, is_extern: bool = False) -> Variable:
    """One name of a declaration, with its dimensions and its initial value."""
    name = scanner.expect(IDENTIFIER, "the name of a variable")[0]
    dimensions: list[int | None] = []
    while found := scanner.take(_DIMENSION):
        dimensions.append(_dimension(scanner, found[1]))
    if None in dimensions[1:]:
        raise scanner.error("only the first dimension can be left open")
    if kind.vector > 1:
        dimensions.append(kind.vector)
    row = _small(scanner, math.prod(size for size in dimensions[1:] if size is not None), "elements")
    addresses: list[InitialAddress] = []
    initial = _read_initial(scanner, kind.type, dimensions, addresses, 0) if scanner.take(_EQUALS) else None
    if not dimensions:
        count = 1
    elif dimensions[0] is not None:
        count = _small(scanner, dimensions[0] * row, "elements")
    else:
        count = None if initial is None else len(initial) // TYPE_BYTES[kind.type]
    return Variable(name, kind.space, kind.type, count, kind.align, initial, is_extern, tuple(addresses))


def _dimension(scanner: Scanner, text: str) -> int | None:
    """A number of elements; `None` where it is left open."""
    if not text.strip():
        return None
    constant = parse_constant(text.strip())
    if constant is None or constant.kind != "integer" or constant.bits < 0:
        raise scanner.error(f"'{text}' is no number of elements")
    return constant.bits


def _small(scanner: Scanner, count: int, what: str) -> int:
    if count > _MOST:
        raise scanner.error(f"{count} {what}")
    return count


def _read_initial(
    scanner: Scanner, type_: str, dimensions: list[int | None], addresses: list[InitialAddress], start: int
) -> bytes:
    """An initial value: a constant, or constants in braces for each dimension; what is left out is zero.

    It begins `start` bytes from that of its variable. What is an address is added to `addresses`.
    """
    if not dimensions:
        braced = scanner.take(BRACE)
        value = _read_value(scanner, type_, addresses, start)
        if braced:
            scanner.expect(_CLOSE, "'}'")
        return value
    scanner.expect(BRACE, "'{'")
    found = bytearray()
    while not scanner.take(_CLOSE):
        if found:
            scanner.expect(COMMA, "',' or '}'")
        scanner.skip_blanks()
        nested = len(dimensions) > 1 and scanner.text.startswith("{", scanner.position)
        inner = dimensions[1:] if nested else []
        found += _read_initial(scanner, type_, inner, addresses, start + len(found))
    size = math.prod(size for size in dimensions[1:] if size is not None) * TYPE_BYTES[type_]
    size = -(-len(found) // size) * size if dimensions[0] is None else dimensions[0] * size
    if size > _MOST_INITIAL:
        raise scanner.error(f"an initial value of {size:,} bytes")
    if len(found) > size:
        raise scanner.error("more initial values than elements")
    return bytes(found).ljust(size, b"\0")


def _read_value(scanner: Scanner, type_: str, addresses: list[InitialAddress], start: int) -> bytes:
    text = scanner.expect(_VALUE, "a constant")[0].strip()
    constant = parse_constant(text)
    if constant is None:
        size = TYPE_BYTES[type_]
        addresses.append(_initial_address(scanner, text, start, size))
        return bytes(size)
    try:
        bits = _bits(constant, type_)
    except OverflowError:
        raise scanner.error(f"the initial value '{text}' is larger than any of type '.{type_}'") from None
    return (bits & ((1 << 8 * TYPE_BYTES[type_]) - 1)).to_bytes(TYPE_BYTES[type_], "little")


def _initial_address(scanner: Scanner, text: str, place: int, size: int) -> InitialAddress:
    found = _ADDRESS.fullmatch(text)
    offset = parse_constant(found["offset"]) if found and found["offset"] else Immediate("integer", 0)
    if found is None or offset is None or offset.kind != "integer":
        raise scanner.error(f"the initial value '{text}' is no constant and no address of a variable")
    symbol = Symbol(found["name"], -offset.bits if found["sign"] == "-" else offset.bits)
    shift = 4 * (len(found["mask"]) - len("0xFF")) if found["mask"] else 0
    return InitialAddress(place, size, symbol, found["generic"] is not None, shift)


def _bits(constant: Immediate, type_: str) -> int:
    """The bits that a variable of the type gets."""
    size = TYPE_BYTES[type_]
    if constant.kind == "integer":
        if type_ not in ("f32", "f64"):
            return constant.bits
        return int.from_bytes(struct.pack(">f" if size == 4 else ">d", float(constant.bits)))
    if constant.kind == "f64" and size == 4:
        (value,) = struct.unpack(">d", constant.bits.to_bytes(8))
        return int.from_bytes(struct.pack(">f", value))
    if constant.kind == "f32" and size == 8:
        (value,) = struct.unpack(">f", constant.bits.to_bytes(4))
        return int.from_bytes(struct.pack(">d", value))
    return constant.bits
