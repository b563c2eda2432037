"""Printing becomes `printf`, on the device and on the host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from cutecc.ir import editing, llvm_types
from cutecc.ir.mlir import ir
from cutecc.ir.types import CoordTensor, MemRef, Pointer, TileValue, view
from cutecc.ir.walking import walk
from cutecc.layout import Symbolic, show, show_tile
from cutecc.passes.base import ModulePass
from cutecc.passes.debug_counter import limited
from cutecc.passes.lowering.values.host import is_on_device
from cutecc.passes.lowering.values.integers import converted
from cutecc.passes.lowering.values.leaves import Leaves, carried_by, numbers
from cutecc.passes.lowering.values.materialize import plain
from cutecc.passes.lowering.values.pointers import element_pointer
from cutecc.passes.registry import register


@register
@dataclass(frozen=True)
class LowerPrinting(ModulePass):
    """Write `cute.print` as a call of `printf` whose format spells layouts and tuples out.

    Each `{}` becomes the conversion of its value; a value of CuTe's becomes its text, with a conversion for every `?`.
    """

    name: ClassVar[str] = "lower-printing"
    lowers: ClassVar[tuple[str, ...]] = ("cute.print",)

    def run(self, module: ir.Module) -> None:
        leaves = Leaves()
        formats = _HostFormats(module)
        for operation in limited(walk(module, *self.lowers)):
            with ir.InsertionPoint(operation), operation.location:
                format, values = _formatted(operation, leaves)
                if is_on_device(operation):
                    print_on_device(format, values)
                else:
                    formats.print(format, values)
            editing.erase(operation)


def print_on_device(format: str, values: list[ir.Value]) -> None:
    """`printf` in a kernel."""
    ir.Operation.create("gpu.printf", operands=values, attributes={"format": ir.StringAttr.get(format)})


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
    widened = "arith.extui" if isinstance(value.type, ir.IntegerType) else "llvm.ptrtoint"
    address = ir.Operation.create(widened, [ir.IntegerType.get_signless(64)], [value]).result
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


class _HostFormats:
    """The format strings of the host function, constants of the module."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module
        self._count = 0

    def print(self, format: str, values: list[ir.Value]) -> None:
        """`printf` in a host function."""
        integer, byte = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(8)
        pointer = llvm_types.pointer()
        data = format.encode() + b"\0"
        array = ir.Type.parse(f"!llvm.array<{len(data)} x i8>")
        name = self._declare(format, array)
        attributes: dict[str, Any] = {"global_name": ir.FlatSymbolRefAttr.get(name)}
        address = ir.Operation.create("llvm.mlir.addressof", [pointer], attributes=attributes).result
        first = element_pointer(address, byte, [], [0])
        function = ir.Type.parse("!llvm.func<i32 (ptr, ...)>")
        call: dict[str, Any] = {
            "callee": ir.FlatSymbolRefAttr.get("printf"),
            "var_callee_type": ir.TypeAttr.get(function),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1 + len(values), 0]),
            "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
        }
        ir.Operation.create("llvm.call", [integer], [first, *self._promoted(values)], attributes=call)

    def _promoted(self, values: list[ir.Value]) -> list[ir.Value]:
        """As C passes them on: floating point as `double`."""
        double = ir.F64Type.get()
        return [
            converted("arith.extf", value, double)
            if isinstance(value.type, ir.FloatType) and value.type.width < 64
            else value
            for value in values
        ]

    def _declare(self, format: str, array: ir.Type) -> str:
        name = f"printfFormat_{self._count}"
        body = self._module.body
        with ir.InsertionPoint.at_block_begin(body), ir.Location.unknown():
            if not self._count:
                # Parsed without one, it would be at a line of this text.
                text = "llvm.func @printf(!llvm.ptr, ...) -> i32 loc(unknown)"
                if not any(_symbol(operation) == "printf" for operation in body.operations):
                    ir.InsertionPoint.at_block_begin(body).insert(ir.Operation.parse(text))
            quoted = str(ir.StringAttr.get(format + "\0"))
            text = (
                f"llvm.mlir.global internal constant @{name}({quoted}) {{addr_space = 0 : i32}} : {array} loc(unknown)"
            )
            ir.InsertionPoint.at_block_begin(body).insert(ir.Operation.parse(text))
        self._count += 1
        return name


def _symbol(operation: ir.OpView) -> str | None:
    attributes = operation.operation.attributes
    return attributes["sym_name"].value if "sym_name" in attributes else None
