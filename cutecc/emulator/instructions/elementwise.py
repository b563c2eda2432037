"""Instructions that compute each thread's result from its own operands, as compiled functions on bits.

A row gives a body of `cutecc.emulator.numbers.code`, which sees the bits of each operand as an integer (a predicate as
`i1`) and gives those of the results; or a NumPy ufunc on unsigned integers. Bodies are compiled when a kernel has the
form, once a process, all that are new in a kernel together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation, Reader, Writer, computing
from cutecc.emulator.instructions.table import Function, Step, instruction
from cutecc.emulator.instructions.types import DTYPES
from cutecc.emulator.numbers.code import Body, Rounding
from cutecc.emulator.numbers.compiled import compile_ufunc, together
from cutecc.ptx.syntax import Immediate, Operand, Pair, Register, Sink, Vector

if TYPE_CHECKING:
    from cutecc.emulator.machine.gang import Gang
    from cutecc.emulator.machine.lanes import Lanes

Make = Callable[[Form], Body] | Callable[[Form], np.ufunc]

_functions: dict[object, Function] = {}


def elementwise(
    pattern: str, result: str = "T", operands: str = "T T", rounding: Rounding | None = None
) -> Callable[[Make], Make]:
    """Make the function below, called with the form, give the body of an instruction.

    `result` and `operands` are types, one a word; `T` is the form's last modifier, `T2` the one before. The floating
    operations of the body round as the form says (`.rz`), or by `rounding`.
    """

    def register(make: Make) -> Make:
        def build(operation: Operation) -> Step:
            modifiers = operation.form.modifiers
            types = {"T": modifiers[-1], "T2": modifiers[-2:][0]}
            results = [types.get(each, each) for each in result.split()]
            sources = [types.get(each, each) for each in operands.split()]
            return elementwise_step(operation, make(operation.form), results, sources, rounding)

        build.__module__ = make.__module__  # the family that the row belongs to
        instruction(pattern)(build)
        return make

    return register


def elementwise_rows(rows: Mapping[str, Make], result: str = "T", operands: str = "T T") -> None:
    """The same for several instructions with operands of these types: what gives the body of each, by its pattern."""
    for pattern, make in rows.items():
        elementwise(pattern, result, operands)(make)


def elementwise_step(
    operation: Operation,
    body: Body | np.ufunc,
    results: Sequence[str],
    operands: Sequence[str],
    rounding: Rounding | None = None,
    form: Form | None = None,
) -> Step:
    """The step of an instruction: the first operand is the result or `d|p`, all others are read as these types, those
    in braces one by one.

    Bodies of equal forms must be equal; `form` is another than the instruction's own where a body depends on more.
    """
    destination, *rest = operation.operands
    sources = [each for operand in rest for each in (operand.items if isinstance(operand, Vector) else (operand,))]
    if len(sources) != len(operands):
        raise operation.error(f"'{operation.form}' takes {len(operands)} operands besides its result")
    function = function_of(form or operation.form, body, results, operands, rounding)
    readers = [bits_reader(operation, each, type_) for each, type_ in zip(sources, operands, strict=True)]
    destinations = (destination.first, destination.second) if isinstance(destination, Pair) else (destination,)
    writers = [bits_writer(operation, each, type_) for each, type_ in zip(destinations, results, strict=False)]
    if len(results) > 1 and len(writers) == 1:
        several = function
        return computing(lambda *values: several(*values)[0], readers, writers)
    return computing(function, readers, writers)


def function_of(
    form: Form, body: Body | np.ufunc, results: Sequence[str], operands: Sequence[str], rounding: Rounding | None = None
) -> Function:
    """The compiled function of a form."""
    if isinstance(body, np.ufunc):
        return cast(Function, body)
    key = (form, tuple(results), tuple(operands))
    with together():
        found = _functions.get(key)
        if found is None:
            mode = rounding or cast(Rounding, form.one_of("rz", "rm", "rp", default="rn"))
            inputs, outputs = [[llvm_type(type_) for type_ in types] for types in (operands, results)]
            found = _functions[key] = compile_ufunc(str(form), body, inputs, outputs, mode, later=True)
    return found


def llvm_type(type_: str) -> str:
    """The integer type of the bits of a PTX type: `i32` for `f32`, `i1` for `pred`."""
    return "i1" if type_ == "pred" else f"i{8 * DTYPES[type_].itemsize}"


def bits_type(type_: str) -> str:
    """The type `.b32` of the same width; `pred` for itself."""
    return "pred" if type_ == "pred" else f"b{8 * DTYPES[type_].itemsize}"


def bits_reader(operation: Operation, operand: Operand, type_: str) -> Reader:
    """Reads an operand of this type as its bits: bool or unsigned."""
    if isinstance(operand, Immediate) and DTYPES[type_].kind == "f" and operand.kind != "integer":
        dtype = DTYPES[type_]
        value = operation.reader(operand, type_)(cast("Gang", None)).view(f"u{dtype.itemsize}")
        return lambda gang: value
    return operation.reader(operand, bits_type(type_))


def bits_writer(operation: Operation, operand: Operand, type_: str) -> Writer:
    """Writes a result given as bits of this type."""
    dtype = DTYPES[type_]
    if isinstance(operand, Sink):
        return operation.writer(operand, type_)
    wider = isinstance(operand, Register) and operation.scope.width(operand.name).itemsize > dtype.itemsize
    if dtype.kind != "i" or not wider:
        return operation.writer(operand, bits_type(type_))
    write = operation.writer(operand, type_)

    def write_signed(gang: Gang, lanes: Lanes, value: Any) -> None:
        write(gang, lanes, value.view(dtype))

    return write_signed
