"""Memory of the host function, and text: `llvm.alloca`, `load`, `store`, `getelementptr`, `addressof`, `printf`."""

from __future__ import annotations

from typing import Any, cast

from cutecc.backend.host.failure import untranslatable
from cutecc.backend.host.layouts import Layout
from cutecc.backend.host.number_operations import sign_extended
from cutecc.backend.host.state import Handler, Translation
from cutecc.ir.mlir import ir
from cutecc.record.host_program import Allocation, Instruction

_DYNAMIC = -(2**31)
"""Stands among the constant indices of a `getelementptr` for an operand."""


def allocate(state: Translation, size: int, align: int) -> int:
    """The address of new memory, in bytes."""
    state.allocations.append(Allocation(size, align))
    return state.build.pure("address", "i64", immediate=len(state.allocations) - 1)


def displaced(state: Translation, address: int, offset: int) -> int:
    """`address` plus a constant number of bytes."""
    if offset == 0:
        return address
    return state.build.pure("add", "i64", address, state.build.constant("i64", offset))


def load(state: Translation, address: int, layout: Layout) -> list[int]:
    """The numbers of a `layout` at `address`, as they are now."""
    return [state.build.effect("load", type_, displaced(state, address, offset)) for offset, type_ in layout.numbers]


def _alloca(state: Translation, operation: ir.Operation) -> None:
    (count,) = operation.operands
    layout = state.layout(operation.attributes["elem_type"].value)
    given = operation.attributes["alignment"].value if "alignment" in operation.attributes else 0
    size = layout.size * state.constant(operation, count)
    state.numbers[state.result(operation)] = (allocate(state, size, given or layout.align),)


def _load(state: Translation, operation: ir.Operation) -> None:
    (address,) = operation.operands
    result = state.result(operation)
    state.numbers[result] = load(state, state.one(operation, address), state.layout(result.type))


def _store(state: Translation, operation: ir.Operation) -> None:
    value, address = operation.operands
    start = state.one(operation, address)
    for number, (offset, _) in zip(state.of(operation, value), state.layout(value.type).numbers, strict=True):
        state.build.append(Instruction("store", [displaced(state, start, offset), number]))


def _element(state: Translation, operation: ir.Operation) -> None:
    base, *dynamic = operation.operands
    constants = [int(index) for index in operation.attributes["rawConstantIndices"]]
    if base in state.text_addresses:
        if any(constants):
            raise untranslatable(operation, "takes the address of a part of a string")
        state.text_addresses[state.result(operation)] = state.text_addresses[base]
        return
    address = state.one(operation, base)
    layout = state.layout(operation.attributes["elem_type"].value)
    rest = iter(dynamic)
    offset = 0
    for level, index in enumerate(constants):
        if level and not (0 <= index < len(layout.parts) or (index == _DYNAMIC and layout.parts)):
            raise untranslatable(operation, "goes beyond the end of an array")
        if index == _DYNAMIC:
            stride = layout.size if level == 0 else layout.parts[0][2].size
            number = sign_extended(state, state.one(operation, next(rest)))
            step = state.build.pure("mul", "i64", number, state.build.constant("i64", stride))
            address = state.build.pure("add", "i64", address, step)
            layout = layout if level == 0 else layout.parts[0][2]
        elif level == 0:
            offset += index * layout.size
        else:
            inner, _, layout = layout.part((index,))
            offset += inner
    state.numbers[state.result(operation)] = (displaced(state, address, offset),)


def _address_of(state: Translation, operation: ir.Operation) -> None:
    name = operation.attributes["global_name"].value
    value: Any = state.symbols[name].attributes.get("value") if name in state.symbols else None
    if not isinstance(value, ir.StringAttr):
        raise untranslatable(operation, f"takes the address of `@{name}`, which is not a string")
    content: bytes = cast("Any", value).value_bytes
    text = content.partition(b"\0")[0]
    state.text_addresses[state.result(operation)] = text.decode(errors="replace")


def _call(state: Translation, operation: ir.Operation) -> None:
    callee = operation.attributes["callee"].value if "callee" in operation.attributes else "an address"
    if callee != "printf":
        raise untranslatable(operation, f"calls {callee}")
    text, *arguments = operation.operands
    if text not in state.text_addresses:
        raise untranslatable(operation, "prints by a format that is computed")
    values = [state.one(operation, argument) for argument in arguments]
    state.build.effect("print", "i32", *values, immediate=state.string(state.text_addresses[text]))


def _ignore(state: Translation, operation: ir.Operation) -> None:
    """Says something to an optimiser only."""


HANDLERS: dict[str, Handler] = {
    "llvm.alloca": _alloca,
    "llvm.load": _load,
    "llvm.store": _store,
    "llvm.getelementptr": _element,
    "llvm.mlir.addressof": _address_of,
    "llvm.call": _call,
    "llvm.intr.assume": _ignore,
}
