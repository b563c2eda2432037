"""Printing becomes `printf`, on the device and on the host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from cutecc.ir import llvm_types
from cutecc.ir.building import at_start, located
from cutecc.ir.mlir import arith, gpu, ir, llvm
from cutecc.ir.types import CoordTensor, MemRef, Pointer, TileValue, view
from cutecc.layout import Symbolic, show, show_tile
from cutecc.passes.leaf_conversion import Converted, LeafConversion, converts_leaves
from cutecc.passes.lowering.values.host import is_on_device
from cutecc.passes.lowering.values.integers import converted
from cutecc.passes.lowering.values.leaves import Leaves, carried_by, numbers
from cutecc.passes.lowering.values.materialize import plain
from cutecc.passes.lowering.values.pointers import element_pointer
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerPrinting(LeafConversion):
    """Write `cute.print` as a call of `printf` whose format spells layouts and tuples out.

    Each `{}` becomes the conversion of its value; a value of CuTe's becomes its text, with a conversion for every `?`.
    """

    name: ClassVar[str] = "lower-printing"

    @converts_leaves("cute.print")
    def print(self, operation: ir.Operation, leaves: Leaves) -> Converted:
        format, values = _formatted(operation, leaves)
        if is_on_device(operation):
            gpu.printf(format, *values)
        else:
            _print_on_host(_body_around(operation), format, values)
        return []


def _formatted(operation: ir.Operation, leaves: Leaves) -> tuple[str, list[ir.Value]]:
    signed = list(operation.attributes["operand_signed"]) if "operand_signed" in operation.attributes else None
    pieces: list[str] = []
    values: list[ir.Value] = []
    operands = list(operation.operands)
    taken = 0
    for piece in format_pieces(format_of(operation)):
        given = range(taken, min(taken + piece.operands, len(operands)))
        taken = given.stop
        if len(given) < piece.operands:
            # There is nothing to print in its place.
            pieces.append(piece.text.replace("%", "%%"))
            continue
        pieces.append(piece.text)
        for index in given:
            is_signed = not piece.text.endswith("u") and (signed is None or signed[index])
            text, found = formatted_value(operands[index], leaves, is_signed=is_signed)
            if piece.text == "{}":
                pieces[-1] = text
            values += found
    return "".join(pieces), values


def format_of(operation: ir.Operation) -> str:
    """The format of a `cute.print`; one that has none prints its values alone."""
    return (
        operation.attributes["fmt"].value
        if "fmt" in operation.attributes
        else " ".join("{}" for _ in operation.operands)
    )


class Piece(NamedTuple):
    """A part of a format."""

    text: str
    operands: int = 0
    """How many values it prints or is told its width and precision by; none for text."""


_PLACEHOLDER = re.compile(
    r"\{\}|%%|%[-+ #0]*(?:\d+|\*)?(?:\.(?:\d+|\*)?)?(?:hh?|ll?|[jztL])?[diouxXfFeEgGaAcsp]|%",
)
"""`{}`, or a conversion of C's `printf`: flags, width, precision, length, specifier (ISO/IEC 9899:2018, 7.21.6.1).
`%n` is none here: it prints nothing, and writes to memory."""


def format_pieces(format: str) -> Iterator[Piece]:
    """The text between placeholders, as `printf` takes it, and these: `{}` and conversions of C.

    A percent sign that begins no conversion is text, and is doubled.
    """
    position = 0
    text = ""
    for found in _PLACEHOLDER.finditer(format):
        text += format[position : found.start()]
        position = found.end()
        placeholder = found[0]
        if placeholder in ("%", "%%"):
            text += "%%"
            continue
        if text:
            yield Piece(text)
        text = ""
        yield Piece(placeholder, 1 + placeholder.count("*"))
    if text := text + format[position:]:
        yield Piece(text)


def formatted_value(value: ir.Value, leaves: Leaves, *, is_signed: bool = True) -> tuple[str, list[ir.Value]]:
    """The format of a value, and what it takes."""
    if carried_by(value.type) is None:
        return _formatted_number(value, is_signed=is_signed)
    given = leaves.of(value)
    type_view = view(value.type)
    if isinstance(type_view, Pointer):
        return _formatted_pointer(type_view, given[0])
    if isinstance(type_view, MemRef):
        text, pointer = _formatted_pointer(type_view.pointer, given[0])
        return f"{text} o {_spelled(type_view.layout)}", [*pointer, *given[1:]]
    if isinstance(type_view, CoordTensor):
        return f"{_spelled(type_view.offset)} o {_spelled(type_view.layout)}", given
    if isinstance(type_view, TileValue):
        return _spelled(show_tile(type_view.tile), type_view.tile), given
    return _spelled(plain(type_view)), given


def _spelled(value: Any, source: Any = None) -> str:
    """The text of a layout or tuple with a conversion for each number that is not known."""
    text = value if isinstance(value, str) else show(value)
    for number in numbers(value if source is None else source):
        if isinstance(number, Symbolic):
            text = text.replace(str(number), "%lld" if number.width == 64 else "%d", 1)
    return text


def _formatted_pointer(pointer: Pointer, value: ir.Value) -> tuple[str, list[ir.Value]]:
    wide = ir.IntegerType.get_signless(64)
    address = arith.extui(wide, value) if isinstance(value.type, ir.IntegerType) else llvm.ptrtoint(wide, value)
    alignment = f", align<{pointer.alignment}>" if pointer.alignment else ""
    return f"raw_ptr(0x%016llx: {pointer.element}, {pointer.space}{alignment})", [address]


def _formatted_number(value: ir.Value, *, is_signed: bool) -> tuple[str, list[ir.Value]]:
    type = value.type
    if isinstance(type, ir.IntegerType):
        width = type.width
        letter = "d" if is_signed and width != 1 else "u" if width != 1 else "d"
        if width < 32:
            widened = "arith.extsi" if is_signed and width != 1 else "arith.extui"
            value = converted(widened, value, ir.IntegerType.get_signless(32))
        return (f"%ll{letter}" if width == 64 else f"%{letter}"), [value]
    if isinstance(type, ir.FloatType) and type.width < 16:
        value = converted("arith.extf", value, ir.F32Type.get())
    if str(type).startswith("!llvm.ptr"):
        return "%p", [value]
    return "%f", [value]


def _body_around(operation: ir.Operation) -> ir.Block:
    """The body of the module that the host function of `operation` is in."""
    while (parent := operation.parent) is not None:
        operation = parent.operation
    return operation.regions[0].blocks[0]


def _print_on_host(module: ir.Block, format: str, values: list[ir.Value]) -> None:
    """`printf` in a host function. The format is a constant of the module."""
    function = ir.TypeAttr.get(ir.Type.parse("!llvm.func<i32 (ptr, ...)>"))
    symbols = [each.attributes["sym_name"].value for each in module.operations if "sym_name" in each.attributes]
    name = f"printfFormat_{sum(each.startswith('printfFormat_') for each in symbols)}"
    array = ir.Type.parse(f"!llvm.array<{len(format.encode()) + 1} x i8>")
    with at_start(module), located(ir.Location.unknown()):
        text = ir.StringAttr.get(format + "\0")
        internal = ir.Attribute.parse("#llvm.linkage<internal>")
        llvm.mlir_global(array, name, internal, constant=True, value=text, addr_space=0)
        if "printf" not in symbols:
            llvm.func("printf", function)
    address = llvm.mlir_addressof(llvm_types.pointer(), name)
    first = element_pointer(address, ir.IntegerType.get_signless(8), [], [0])
    result = ir.IntegerType.get_signless(32)
    llvm.call(result, [first, *map(_promoted, values)], [], [], callee="printf", var_callee_type=function)


def _promoted(value: ir.Value) -> ir.Value:
    """As C passes it on: floating point as `double`."""
    is_narrow = isinstance(value.type, ir.FloatType) and value.type.width < 64
    return converted("arith.extf", value, ir.F64Type.get()) if is_narrow else value
