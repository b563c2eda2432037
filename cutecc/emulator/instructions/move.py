"""`mov`: registers, constants, special registers, addresses of variables; and packing and unpacking of vectors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecc.emulator.instructions.elementwise import bits_reader, bits_type, bits_writer, function_of
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.numbers.code import Value
from cutecc.emulator.numbers.packed import join, split
from cutecc.ptx.syntax import Sink, Vector

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes


@instruction("mov.{pred,b16,b32,b64,u16,u32,u64,s16,s32,s64,f16,bf16,f16x2,bf16x2,f32,f64}")
def mov(operation: Operation) -> Step:
    destination, source = operation.operands
    if isinstance(source, Vector):
        return _pack(operation, source)
    if isinstance(destination, Vector):
        return _unpack(operation, destination)
    read = bits_reader(operation, source, operation.form.type)
    write = bits_writer(operation, destination, bits_type(operation.form.type))
    return lambda gang, lanes: write(gang, lanes, read(gang))


@instruction("mov.b128")
def mov_wide(operation: Operation) -> Step:
    """Registers of 128 bits are two in braces."""
    destination, source = operation.operands
    read, write = operation.vector_reader(source, "b64", 2), operation.vector_writer(destination, "b64", 2)
    return lambda gang, lanes: write(gang, lanes, read(gang))


def _part(operation: Operation, count: int) -> str:
    """The bits type of one of several parts."""
    bits = 8 * DTYPES[operation.form.type].itemsize
    if count not in (2, 4) or bits // count < 8:
        raise operation.error(f"'{operation.form}' has {count} parts")
    return f"b{bits // count}"


def _pack(operation: Operation, source: Vector) -> Step:
    """The first item is the lowest."""
    count, whole = len(source.items), bits_type(operation.form.type)
    part = _part(operation, count)

    def body(*items: Value) -> Value:
        return join(items)

    function = function_of(Form("mov", ("pack",)), body, [whole], [part] * count)
    readers = [bits_reader(operation, item, part) for item in source.items]
    write = bits_writer(operation, operation.operands[0], whole)
    return lambda gang, lanes: write(gang, lanes, function(*[read(gang) for read in readers]))


def _unpack(operation: Operation, destination: Vector) -> Step:
    count, whole = len(destination.items), bits_type(operation.form.type)
    part = _part(operation, count)

    def body(value: Value) -> tuple[Value, ...]:
        return tuple(split(value, count))

    function = function_of(Form("mov", ("unpack",)), body, [part] * count, [whole])
    read = bits_reader(operation, operation.operands[1], whole)
    wanted = [
        (index, bits_writer(operation, item, part))
        for index, item in enumerate(destination.items)
        if not isinstance(item, Sink)
    ]

    def step(gang: Gang, lanes: Lanes) -> None:
        parts = function(read(gang))
        for index, write in wanted:
            write(gang, lanes, parts[index])

    return step
