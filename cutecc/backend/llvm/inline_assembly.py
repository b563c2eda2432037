"""PTX instructions as inline assembly: what operands, modifiers and results of NVVM's operations are in one."""

from __future__ import annotations

import re
from dataclasses import dataclass

from cutecc.ir.mlir import ir

_SPACES = {"": "", "1": ".global", "3": ".shared", "7": ".shared::cluster"}
_SHORT_SPACES = ("3", "7")
"""Address spaces whose pointers take 32 bits."""
_ENUMERATION = re.compile(r"#nvvm\.\w+<(\w+)>|#nvvm<\w+ (\w+)>")


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
    with operation.location, ir.InsertionPoint(operation):
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
        made = inline_assembly(
            f"{instruction} {', '.join(parts)};",
            ",".join([*constraints, *clobbers]),
            [held] * count if held else [],
            operands,
            side_effects=side_effects,
        )
        for result in results:
            result.replace_all_uses_with(_whole(made.results[0], result.type, count, element))
    operation.erase()


def _listed(first: int, count: int) -> str:
    names = ", ".join(f"${first + index}" for index in range(count))
    return f"{{{names}}}" if count > 1 else names


def _pieces(value: ir.Value) -> list[ir.Value]:
    """`value` as what goes into registers."""
    count, element = elements_of(value.type)
    if count == 1:
        return [into_register(value, element)]
    element_type = ir.Type.parse(element)
    return [
        into_register(create("llvm.extractelement", [element_type], [value, _constant(index)]), element)
        for index in range(count)
    ]


def _whole(made: ir.Value, type_: ir.Type, count: int, element: str) -> ir.Value:
    """The value of `type_` that came in registers."""
    if count == 1:
        return from_register(made, element)
    register = REGISTERS[element]
    whole = create("llvm.mlir.poison", [type_], [])
    for index in range(count):
        position = ir.Attribute.parse(f"array<i64: {index}>")
        held = create("llvm.extractvalue", [ir.Type.parse(register.integer or element)], [made], position=position)
        whole = create("llvm.insertelement", [type_], [whole, from_register(held, element), _constant(index)])
    return whole


def into_register(value: ir.Value, element: str) -> ir.Value:
    """`value`, of the type `element`, of the type that its register holds."""
    integer = REGISTERS[element].integer
    if not integer:
        return value
    return create("llvm.zext" if element == "i8" else "llvm.bitcast", [ir.Type.parse(integer)], [value])


def from_register(value: ir.Value, element: str) -> ir.Value:
    """The value of the type `element` that a register held."""
    if not REGISTERS[element].integer:
        return value
    return create("llvm.trunc" if element == "i8" else "llvm.bitcast", [ir.Type.parse(element)], [value])


def _constant(value: int) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    return create("llvm.mlir.constant", [i32], [], value=ir.IntegerAttr.get(i32, value))


def inline_assembly(
    text: str, constraints: str, results: list[ir.Type], operands: list[ir.Value], *, side_effects: bool = True
) -> ir.Operation:
    """Inline assembly; several results come as a structure."""
    if len(results) > 1:
        results = [ir.Type.parse(f"!llvm.struct<({', '.join(map(str, results))})>")]
    attributes: dict[str, ir.Attribute] = {
        "asm_string": ir.StringAttr.get(text),
        "constraints": ir.StringAttr.get(constraints),
    }
    if side_effects:
        attributes["has_side_effects"] = ir.UnitAttr.get()
    return ir.Operation.create("llvm.inline_asm", results, operands, attributes)


def create(name: str, results: list[ir.Type], operands: list[ir.Value], **attributes: ir.Attribute) -> ir.Value:
    """The first result of a new operation."""
    return ir.Operation.create(name, results, operands, attributes).results[0]
