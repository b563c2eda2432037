"""Operations of the wheel's NVVM dialect that LLVM 22 has no intrinsic for, or a wrong one, as the PTX that they are.

What remains unknown is found when the intrinsics are checked (`cutecc.backend.llvm.generation`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from cutecc.ir.mlir import ir

_SPACES = {"": "", "1": ".global", "3": ".shared", "7": ".shared::cluster"}
_SHORT_SPACES = ("3", "7")
"""Address spaces whose pointers take 32 bits."""
_ENUMERATION = re.compile(r"#nvvm\.\w+<(\w+)>|#nvvm<\w+ (\w+)>")


@dataclass(frozen=True)
class _Register:
    """How inline assembly holds a value of one type."""

    constraint: str
    width: int
    """In bits."""
    integer: str = ""
    """The integer type that the value goes through; empty where it goes as it is."""


_REGISTERS = {
    "i8": _Register("h", 8, "i16"),
    "i16": _Register("h", 16),
    "f16": _Register("h", 16, "i16"),
    "bf16": _Register("h", 16, "i16"),
    "i32": _Register("r", 32),
    "i64": _Register("l", 64),
    "f32": _Register("f", 32),
    "f64": _Register("d", 64),
    "vector<2xf16>": _Register("r", 32, "i32"),
    "vector<2xbf16>": _Register("r", 32, "i32"),
}


def replace_newer_operations(device: ir.Operation) -> None:
    """Rewrite the operations in `device` that LLVM 22 has no right intrinsic for as inline assembly, as known here."""
    found: list[tuple[ir.Operation, _Spelling]] = []

    def collect(operation: ir.Operation) -> ir.WalkResult:
        if spelling := _SPELLINGS.get(operation.name):
            found.append((operation, spelling))
        return ir.WalkResult.ADVANCE

    device.walk(collect)
    for operation, spelling in found:
        spelling(operation)


def _atomic(operation: ir.Operation) -> None:
    pointer, *values = operation.operands
    kind = _named(operation, "op")
    value_type = str(values[0].type)
    register = _REGISTERS.get(value_type)
    if register is None or kind == "sub":
        return
    if kind == "fadd" or (kind == "add" and "f" in value_type):
        suffix = {"f16": "noftz.f16", "bf16": "noftz.bf16"}.get(value_type, value_type)
        if value_type.startswith("vector"):
            suffix = f"noftz.{value_type[9:-1]}x2"
        instruction = f"add.{suffix}"
    else:
        name = kind.removeprefix("u") if kind in ("umin", "umax") else kind
        sign = {"add": "u", "inc": "u", "dec": "u", "min": "s", "max": "s", "umin": "u", "umax": "u"}.get(kind, "b")
        instruction = f"{name}.{sign}{register.width}"
    order = _modifier(operation, "memOrder")
    scope = _modifier(operation, "syncscope")
    _assemble(operation, f"atom{_space(pointer)}{order}{scope}.{instruction}", [pointer], values)


def _reduction(operation: ir.Operation) -> None:
    pointer, value, *hint = operation.operands
    count, element = _elements(value.type)
    if hint or element not in _REGISTERS:
        return
    order, scope = _modifier(operation, "memOrder"), _modifier(operation, "memScope")
    kind = _named(operation, "type")
    rounding = ".noftz" if "16" in kind else ""
    instruction = f"red{order}{scope}{_space(pointer)}.{_named(operation, 'op')}{rounding}{_vector(count)}.{kind}"
    _assemble(operation, instruction, [pointer], [value])


def _load(operation: ir.Operation) -> None:
    pointer, *hint = operation.operands
    modifiers = _access_modifiers(operation, pointer)
    count, element = _elements(operation.results[0].type)
    if hint or modifiers is None or element not in _REGISTERS:
        return
    prefetch = _named(operation, "prefetch").removeprefix("size_").removesuffix("b")
    if prefetch and prefetch != "none":
        modifiers += f".L2::{prefetch}B"
    _assemble(operation, f"ld{modifiers}{_vector(count)}.b{_REGISTERS[element].width}", [pointer], [])


def _store(operation: ir.Operation) -> None:
    value, pointer, *hint = operation.operands
    modifiers = _access_modifiers(operation, pointer)
    count, element = _elements(value.type)
    if hint or modifiers is None or element not in _REGISTERS:
        return
    _assemble(operation, f"st{modifiers}{_vector(count)}.b{_REGISTERS[element].width}", [pointer], [value], braces=True)


def _asynchronous_store(operation: ir.Operation) -> None:
    pointer, value, barrier = operation.operands
    count, element = _elements(value.type)
    if element not in _REGISTERS:
        return
    width = _REGISTERS[element].width
    instruction = f"st.async.shared::cluster.mbarrier::complete_tx::bytes{_vector(count)}.b{width}"
    _assemble(operation, instruction, [pointer], [value], [barrier], braces=True)


def _arrive(operation: ir.Operation) -> None:
    """`mbarrier.arrive` with a count, and `.expect_tx` with bytes; neither with a predicate."""
    barrier, *count = operation.operands
    if len(count) > 1:
        return
    relaxed = "relaxed" in operation.attributes and "true" in str(operation.attributes["relaxed"])
    order = ".relaxed" if relaxed else ".release"
    semantics = f"{order}{_modifier(operation, 'scope') or '.cta'}"
    if semantics == ".release.cta":  # what is meant without it
        semantics = ""
    results = [result.type for result in operation.results]  # none of another block's barrier
    first = len(results)
    arguments = ", ".join([f"[${first}]", *(f"${first + 1}" for _ in count)])
    kind = operation.name.removeprefix("nvvm.mbarrier.")
    text = f"mbarrier.{kind}{semantics}{_space(barrier)}.b64 {'$0' if results else '_'}, {arguments};"
    constraints = [*("=l" for _ in results), _pointer_constraint(barrier), *("r" for _ in count), "~{memory}"]
    with operation.location, ir.InsertionPoint(operation):
        made = _assembly(text, ",".join(constraints), results, [barrier, *count])
    for result, state in zip(operation.results, made.results, strict=True):
        result.replace_all_uses_with(state)
    operation.erase()


def _expect(operation: ir.Operation) -> None:
    """`mbarrier.expect_tx`: of another block's barrier, LLVM 22 has it with another type of address."""
    barrier, count = operation.operands
    text = f"mbarrier.expect_tx.relaxed{_modifier(operation, 'scope') or '.cta'}{_space(barrier)}.b64 [$0], $1;"
    with operation.location, ir.InsertionPoint(operation):
        _assembly(text, f"{_pointer_constraint(barrier)},r,~{{memory}}", [], [barrier, count])
    operation.erase()


def _try_wait(operation: ir.Operation) -> None:
    barrier, phase, *limit = operation.operands
    kind = _named(operation, "kind") or "try"
    order = _modifier(operation, "order") or ".acquire"
    scope = _modifier(operation, "scope") or ".cta"
    space = ".shared::cta" if _address_space(barrier) == "3" else ""
    instruction = f"mbarrier.{kind}_wait.parity{order}{scope}{space}.b64"
    i32 = ir.IntegerType.get_signless(32)
    most = ", $3" if limit else ""
    text = f"{{ .reg .pred p; {instruction} p, [$1], $2{most}; selp.b32 $0, 1, 0, p; }}"
    constraints = ",".join(["=r", _pointer_constraint(barrier), "r", *("r" for _ in limit), "~{memory}"])
    with operation.location, ir.InsertionPoint(operation):
        waited = _assembly(text, constraints, [i32], [barrier, phase, *limit]).results[0]
        truncated = _create("llvm.trunc", [ir.IntegerType.get_signless(1)], [waited])
    operation.results[0].replace_all_uses_with(truncated)
    operation.erase()


def _prefetch(operation: ir.Operation) -> None:
    """`prefetch.tensormap`: LLVM 22 has two of one that is a parameter of the kernel, in either address space."""
    pointer, *policy = operation.operands
    if "tensormap" in operation.attributes and not policy and not _address_space(pointer):
        _assemble(operation, "prefetch.tensormap", [pointer], [])


def _called(operation: ir.Operation) -> None:
    """A call of an intrinsic by its name, with or without the type that it is for at the end."""
    name = operation.attributes["intrin"].value
    known = _INTRINSICS.get(name)
    if known is None and len(operation.results) == 1:
        known = _INTRINSICS.get(f"{name}.{_suffix(operation.results[0].type)}")
    if known is None:
        return
    text, constraints = known
    with operation.location, ir.InsertionPoint(operation):
        result = operation.results[0]
        made = _assembly(text, constraints, [result.type], list(operation.operands), side_effects=False)
        result.replace_all_uses_with(made.results[0])
    operation.erase()


_INTRINSICS = {
    f"llvm.nvvm.tanh.approx.{suffix}": (f"tanh.approx.{suffix} $0, $1;", f"={register},{register}")
    for suffix, register in (("f32", "f"), ("f16", "h"), ("bf16", "h"), ("f16x2", "r"), ("bf16x2", "r"))
}
"""Intrinsics without side effects that LLVM 22 does not have: the instruction, and its constraints."""
_Spelling = Callable[[ir.Operation], None]


def _packing_conversion(operation: ir.Operation) -> None:
    """`cvt` of two `f32`s into halves of a register. The third operand is for those that join more."""
    first, second, _ = operation.operands
    kind = _named(operation, "to")
    if kind not in ("f16x2", "bf16x2"):
        return
    relu = ".relu" if "true" in str(operation.attributes["relu"]) else ""
    modifiers = f"{_modifier(operation, 'rnd')}{relu}{_modifier(operation, 'sat')}"
    with operation.location, ir.InsertionPoint(operation):
        text = f"cvt{modifiers}.{kind}.f32 $0, $1, $2;"
        result = operation.results[0]
        packed = _assembly(text, "=r,f,f", [result.type], [first, second], side_effects=False)
        result.replace_all_uses_with(packed.results[0])
    operation.erase()


_SPELLINGS: dict[str, _Spelling] = {
    "nvvm.atomicrmw": _atomic,
    "nvvm.red": _reduction,
    "nvvm.load.ext": _load,
    "nvvm.store.ext": _store,
    "nvvm.store.async": _asynchronous_store,
    "nvvm.mbarrier.arrive": _arrive,
    "nvvm.mbarrier.arrive.expect_tx": _arrive,
    "nvvm.mbarrier.expect_tx": _expect,
    "nvvm.mbarrier.try_wait.parity.timelimit": _try_wait,
    "nvvm.mbarrier.wait.parity": _try_wait,
    "nvvm.prefetch": _prefetch,
    "nvvm.cvt.packfloat.f32": _packing_conversion,
    "llvm.call_intrinsic": _called,
}
"""Each leaves alone what it has no spelling for."""


def _named(operation: ir.Operation, attribute: str) -> str:
    """The name that an enumeration attribute holds, empty without one."""
    if attribute not in operation.attributes:
        return ""
    text = str(operation.attributes[attribute])
    found = _ENUMERATION.search(text)
    return (found[1] or found[2]) if found else text


def _modifier(operation: ir.Operation, attribute: str) -> str:
    name = _named(operation, attribute)
    return f".{name}" if name and name != "none" else ""


def _access_modifiers(operation: ir.Operation, pointer: ir.Value) -> str | None:
    """What comes after `ld` and `st`; `None` for what has no spelling here."""
    order = _modifier(operation, "order")
    if order in (".constant", ".mmio") or "unified" in operation.attributes:
        return None
    scope = _modifier(operation, "scope") if order not in ("", ".weak", ".volatile") else ""
    space = _space(pointer)
    if "sharedSpace" in operation.attributes:
        space = f".shared::{_named(operation, 'sharedSpace')}"
    cache = _modifier(operation, "cacheModifier")
    evict = _named(operation, "evict")
    # `evict_normal` is what there is without one.
    eviction = f".L1::{evict.replace('evict_no_', 'no_')}" if evict not in ("", "none", "evict_normal") else ""
    return f"{order}{scope}{space}{cache}{eviction}"


def _address_space(pointer: ir.Value) -> str:
    found = re.search(r"<(\d+)>$", str(pointer.type))
    return found[1] if found else ""


def _space(pointer: ir.Value) -> str:
    return _SPACES[_address_space(pointer)]


def _pointer_constraint(pointer: ir.Value) -> str:
    return "r" if _address_space(pointer) in _SHORT_SPACES else "l"


def _elements(type_: ir.Type) -> tuple[int, str]:
    """How many registers a value takes, and the type of each: a vector of two 16-bit floats takes one."""
    text = str(type_)
    found = re.fullmatch(r"vector<(\d+)x(\w+)>", text)
    if found is None or text in _REGISTERS:
        return 1, text
    return int(found[1]), found[2]


def _suffix(type_: ir.Type) -> str:
    """A type as names of instructions have it: `f32`, and `f16x2` for two in one register."""
    found = re.fullmatch(r"vector<(\d+)x(\w+)>", str(type_))
    return f"{found[2]}x{found[1]}" if found else str(type_)


def _vector(count: int) -> str:
    return f".v{count}" if count > 1 else ""


def _assemble(
    operation: ir.Operation,
    instruction: str,
    pointers: list[ir.Value],
    values: list[ir.Value],
    last: list[ir.Value] | None = None,
    *,
    braces: bool = False,
) -> None:
    """Put `instruction result, [pointer], values…, [last]` in the place of `operation`.

    The result is in braces when it is a vector; with `braces`, so are the values.
    """
    with operation.location, ir.InsertionPoint(operation):
        results = list(operation.results)
        count, element = _elements(results[0].type) if results else (0, "")
        register = _REGISTERS.get(element)
        constraints = [f"={register.constraint}"] * count if register else []
        parts = [_listed(0, count)] if results else []
        operands: list[ir.Value] = []

        def add(new: list[ir.Value], constraint: list[str]) -> list[int]:
            first = count + len(operands)
            operands.extend(new)
            constraints.extend(constraint)
            return [first + index for index in range(len(new))]

        for pointer in pointers:
            parts.append(f"[${add([pointer], [_pointer_constraint(pointer)])[0]}]")
        for value in values:
            pieces = _pieces(value)
            numbers = add(pieces, [_REGISTERS[_elements(value.type)[1]].constraint] * len(pieces))
            parts.append(_listed(numbers[0], len(numbers)))
        for pointer in last or []:
            parts.append(f"[${add([pointer], [_pointer_constraint(pointer)])[0]}]")
        text = f"{instruction} {', '.join(parts)};"
        held = ir.Type.parse(register.integer or element) if register else None
        assembly = _assembly(text, ",".join([*constraints, "~{memory}"]), [held] * count if held else [], operands)
        for result in results:
            result.replace_all_uses_with(_whole(assembly.results[0], result.type, count, element))
    operation.erase()


def _listed(first: int, count: int) -> str:
    names = ", ".join(f"${first + index}" for index in range(count))
    return f"{{{names}}}" if count > 1 else names


def _pieces(value: ir.Value) -> list[ir.Value]:
    """`value` as what goes into registers."""
    count, element = _elements(value.type)
    if count == 1:
        return [_into_register(value, element)]
    element_type = ir.Type.parse(element)
    return [
        _into_register(_create("llvm.extractelement", [element_type], [value, _constant(index)]), element)
        for index in range(count)
    ]


def _whole(made: ir.Value, type_: ir.Type, count: int, element: str) -> ir.Value:
    """The value of `type_` that came in registers."""
    if count == 1:
        return _from_register(made, element)
    register = _REGISTERS[element]
    whole = _create("llvm.mlir.poison", [type_], [])
    for index in range(count):
        position = ir.Attribute.parse(f"array<i64: {index}>")
        held = _create("llvm.extractvalue", [ir.Type.parse(register.integer or element)], [made], position=position)
        whole = _create("llvm.insertelement", [type_], [whole, _from_register(held, element), _constant(index)])
    return whole


def _into_register(value: ir.Value, element: str) -> ir.Value:
    integer = _REGISTERS[element].integer
    if not integer:
        return value
    return _create("llvm.zext" if element == "i8" else "llvm.bitcast", [ir.Type.parse(integer)], [value])


def _from_register(value: ir.Value, element: str) -> ir.Value:
    if not _REGISTERS[element].integer:
        return value
    return _create("llvm.trunc" if element == "i8" else "llvm.bitcast", [ir.Type.parse(element)], [value])


def _constant(value: int) -> ir.Value:
    i32 = ir.IntegerType.get_signless(32)
    return _create("llvm.mlir.constant", [i32], [], value=ir.IntegerAttr.get(i32, value))


def _assembly(
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


def _create(name: str, results: list[ir.Type], operands: list[ir.Value], **attributes: ir.Attribute) -> ir.Value:
    return ir.Operation.create(name, results, operands, attributes).results[0]
