"""PTX instructions as inline assembly: what operands, modifiers and results of NVVM's operations are in one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cutecc.ir.building import before
from cutecc.ir.inline_assembly import inline_assembly_whole
from cutecc.ir.mlir import ir, llvm
from cutecc.ir.structs import member

_SPACES = {"": "", "1": ".global", "3": ".shared", "7": ".shared::cluster"}
_SHORT_SPACES = ("3", "7")
"""Address spaces whose pointers take 32 bits."""
_ENUMERATION = re.compile(r"#nvvm\.\w+<(\w+)>|#nvvm<\w+ (\w+)>")

MAY_OVERFLOW = 0
"""Of an operation that says nothing of overflow."""


@dataclass(frozen=True)
class Register:
    """How inline assembly holds a value of one type."""

    constraint: str
    width: int
    """In bits."""
    integer: str = ""
    """The integer type that the value goes through; empty where it goes as it is."""


REGISTERS = {
    "i8": Register("h", 8, "i16"),
    "i16": Register("h", 16),
    "f16": Register("h", 16, "i16"),
    "bf16": Register("h", 16, "i16"),
    "i32": Register("r", 32),
    "i64": Register("l", 64),
    "i128": Register("q", 128),
    "f32": Register("f", 32),
    "f64": Register("d", 64),
    "vector<2xf16>": Register("r", 32, "i32"),
    "vector<2xbf16>": Register("r", 32, "i32"),
}


def named(operation: ir.Operation, attribute: str) -> str:
    """The name that an enumeration attribute holds, empty without one."""
    if attribute not in operation.attributes:
        return ""
    text = str(operation.attributes[attribute])
    found = _ENUMERATION.search(text)
    return (found[1] or found[2]) if found else text


def modifier(operation: ir.Operation, attribute: str) -> str:
    """The name that an enumeration attribute holds, as PTX appends it; empty for `none`."""
    name = named(operation, attribute)
    return f".{name}" if name and name != "none" else ""


def flag(operation: ir.Operation, attribute: str, spelling: str) -> str:
    """`spelling` where an attribute is set, to whatever is not false."""
    return spelling if attribute in operation.attributes and "false" not in str(operation.attributes[attribute]) else ""


def address_space(pointer: ir.Value) -> str:
    """The number of a pointer's address space, empty of a generic one."""
    found = re.search(r"<(\d+)>$", str(pointer.type))
    return found[1] if found else ""


def state_space(pointer: ir.Value) -> str:
    """The same as PTX appends it to an instruction."""
    return _SPACES[address_space(pointer)]


def pointer_constraint(pointer: ir.Value) -> str:
    """How inline assembly holds a pointer."""
    return "r" if address_space(pointer) in _SHORT_SPACES else "l"


def elements_of(type_: ir.Type) -> tuple[int, str]:
    """How many registers a value takes, and the type of each: a vector of two 16-bit floats takes one."""
    text = str(type_)
    found = re.fullmatch(r"vector<(\d+)x(\w+)>", text)
    if found is None or text in REGISTERS:
        return 1, text
    return int(found[1]), found[2]


def type_suffix(type_: ir.Type) -> str:
    """A type as names of instructions have it: `f32`, and `f16x2` for two in one register."""
    found = re.fullmatch(r"vector<(\d+)x(\w+)>", str(type_))
    return f"{found[2]}x{found[1]}" if found else str(type_)


def vector_suffix(count: int) -> str:
    """As PTX appends it for so many registers."""
    return f".v{count}" if count > 1 else ""


def assemble(
    operation: ir.Operation,
    instruction: str,
    pointers: list[ir.Value],
    values: list[ir.Value],
    last: list[ir.Value] | None = None,
    *,
    addresses_after: list[ir.Value] | None = None,
    after_address: str = "",
    side_effects: bool = True,
) -> None:
    """Put `instruction result, [pointer]after_address, values…, [address]…, last…` in the place of `operation`.

    Vectors are in braces. Without side effects it reaches no memory.
    """
    with before(operation):
        results = list(operation.results)
        count, element = elements_of(results[0].type) if results else (0, "")
        register = REGISTERS.get(element)
        constraints = [f"={register.constraint}"] * count if register else []
        parts = [_listed(0, count)] if results else []
        operands: list[ir.Value] = []

        def add(new: list[ir.Value], constraint: str) -> str:
            first = count + len(operands)
            operands.extend(new)
            constraints.extend([constraint] * len(new))
            return _listed(first, len(new))

        parts += [f"[{add([pointer], pointer_constraint(pointer))}]{after_address}" for pointer in pointers]
        parts += [add(_pieces(value), REGISTERS[elements_of(value.type)[1]].constraint) for value in values]
        parts += [f"[{add([pointer], pointer_constraint(pointer))}]" for pointer in addresses_after or []]
        parts += [add([value], REGISTERS[str(value.type)].constraint) for value in last or []]
        clobbers = ["~{memory}"] if side_effects else []
        held = ir.Type.parse(register.integer or element) if register else None
        made = inline_assembly_whole(
            f"{instruction} {', '.join(parts)};",
            [*constraints, *clobbers],
            [held] * count if held else [],
            operands,
            side_effects=side_effects,
        )
        for result in results:
            result.replace_all_uses_with(_whole(made[0], result.type, count, element))
    operation.erase()


def _listed(first: int, count: int) -> str:
    names = ", ".join(f"${first + index}" for index in range(count))
    return f"{{{names}}}" if count > 1 else names


def _pieces(value: ir.Value) -> list[ir.Value]:
    """`value` as what goes into registers."""
    count, element = elements_of(value.type)
    if count == 1:
        return [into_register(value, element)]
    return [into_register(each, element) for each in taken_apart(value, count)]


def _whole(made: ir.Value, type_: ir.Type, count: int, element: str) -> ir.Value:
    """The value of `type_` that came in registers."""
    if count == 1:
        return from_register(made, element)
    return put_together(type_, [from_register(member(made, index), element) for index in range(count)])


def taken_apart(vector: ir.Value, count: int) -> list[ir.Value]:
    """The elements of a vector, of which it has `count`."""
    return [llvm.extractelement(vector, _constant(index)) for index in range(count)]


def put_together(type_: ir.Type, elements: Sequence[ir.Value]) -> ir.Value:
    """The vector of `type_` that has these elements."""
    vector = llvm.mlir_poison(type_)
    for index, element in enumerate(elements):
        vector = llvm.insertelement(vector, element, _constant(index))
    return vector


def into_register(value: ir.Value, element: str) -> ir.Value:
    """`value`, of the type `element`, of the type that its register holds."""
    integer = REGISTERS[element].integer
    if not integer:
        return value
    type_ = ir.Type.parse(integer)
    return llvm.zext(type_, value) if element == "i8" else llvm.bitcast(type_, value)


def from_register(value: ir.Value, element: str) -> ir.Value:
    """The value of the type `element` that a register held."""
    if not REGISTERS[element].integer:
        return value
    type_ = ir.Type.parse(element)
    return truncated(value, type_) if element == "i8" else llvm.bitcast(type_, value)


def truncated(value: ir.Value, type_: ir.Type) -> ir.Value:
    """The lowest bits of an integer."""
    return llvm.trunc(type_, value, MAY_OVERFLOW)


def _constant(value: int) -> ir.Value:
    return llvm.mlir_constant(ir.IntegerAttr.get(ir.IntegerType.get_signless(32), value))
