"""Registers of 128 bits: the machine has two of 64 for each, the lower one first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from cutecc.ptx.syntax import Address, Arguments, Function, Instruction, Operand, Register, Vector, registers_of

_WIDE = "b128"
_HALVES = ("v2", "b64")
_ACCESSES = ("ld", "ldu", "st")


def split_wide(function: Function) -> Function:
    """The function with two registers in braces wherever one of 128 bits is written."""
    wide = {name for name, type_ in function.registers.items() if type_ == _WIDE}
    if not wide:
        return function
    registers: dict[str, str] = {}
    for name, type_ in function.registers.items():
        registers.update(dict.fromkeys(_halves(name), "b64") if name in wide else {name: type_})
    instructions = tuple(_split(each, wide) for each in function.instructions)
    return replace(function, registers=registers, instructions=instructions)


def _halves(name: str) -> tuple[str, str]:
    return f"{name}.low", f"{name}.high"


def _split(instruction: Instruction, wide: set[str]) -> Instruction:
    if wide.isdisjoint(registers_of(instruction)):
        return instruction
    modifiers = instruction.modifiers
    if instruction.opcode in _ACCESSES:
        modifiers = tuple(half for each in modifiers for half in (_HALVES if each == _WIDE else (each,)))
    operands = tuple(_operand(each, wide) for each in instruction.operands)
    return replace(instruction, modifiers=modifiers, operands=operands)


def _operand(operand: Operand, wide: set[str]) -> Operand:
    match operand:
        case Register(name) if name in wide:
            return Vector(tuple(Register(half) for half in _halves(name)))
        case Vector(items):
            return Vector(tuple(_flat(items, wide)))
        case Arguments(items):
            return Arguments(tuple(_flat(items, wide)))
        case Address(_, _, Vector() as coordinates):
            return replace(operand, coordinates=_operand(coordinates, wide))
        case _:
            return operand


def _flat(items: Iterable[Operand], wide: set[str]) -> Iterator[Operand]:
    for item in items:
        halves = _operand(item, wide)
        if isinstance(item, Register) and isinstance(halves, Vector):
            yield from halves.items
        else:
            yield halves
