"""Logic and shifts (PTX ISA, "Logic and Shift Instructions"), and `prmt`."""

from __future__ import annotations

import numpy as np

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_rows, elementwise_step
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.numbers.code import Body, Value
from cutecc.ptx.syntax import Immediate

elementwise_rows(
    {
        "and.{pred,b16,b32,b64}": lambda form: np.bitwise_and,
        "or.{pred,b16,b32,b64}": lambda form: np.bitwise_or,
        "xor.{pred,b16,b32,b64}": lambda form: np.bitwise_xor,
    }
)
elementwise_rows(
    {
        "not.{pred,b16,b32,b64}": lambda form: np.invert,
        "cnot.{b16,b32,b64}": lambda form: lambda a: a.same(0).resize(a.type),
    },
    operands="T",
)


@instruction("lop3.{or,and}?.b32")
def lop3(operation: Operation) -> Step:
    """Any function of three bits, by its table; `.or` and so on combine whether the result is 0 with a predicate."""
    form = operation.form
    table = operation.operands[4]
    if not isinstance(table, Immediate):
        raise operation.error("the table of 'lop3' must be a constant")
    logical = form.one_of("or", "and")

    def body(a: Value, b: Value, c: Value, _: Value, *predicate: Value) -> Value | tuple[Value, Value]:
        result = three_bits(table.bits & 0xFF, a, b, c)
        if not logical:
            return result
        return result, combine(logical, result.differs(0), predicate[0])

    results = ["b32", "pred"] if logical else ["b32"]
    operands = ["b32"] * 4 + (["pred"] if logical else [])
    # The table is part of the function.
    named = Form(form.opcode, (*form.modifiers, str(table.bits & 0xFF)))
    return elementwise_step(operation, body, results, operands, form=named)


def three_bits(table: int, a: Value, b: Value, c: Value) -> Value:
    """Bit `4 * a + 2 * b + c` of the table, at each place."""
    result = a.constant(0)
    for index in range(8):
        if table >> index & 1:
            term = a if index & 4 else ~a
            term = term & (b if index & 2 else ~b)
            result = result | (term & (c if index & 1 else ~c))
    return result


def combine(name: str, first: Value, second: Value) -> Value:
    """`.and`, `.or`, `.xor`."""
    return first & second if name == "and" else first | second if name == "or" else first ^ second


# Shifts: an amount of the width or more leaves zeros, or copies of the sign.


@elementwise("shl.{b16,b32,b64}", operands="T u32")
def shl(form: Form) -> Body:
    def body(a: Value, amount: Value) -> Value:
        shift = amount.least(a.width - 1).resize(a.type)
        return amount.below(a.width).then(a << shift, a.constant(0))

    return body


@elementwise("shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64}", operands="T u32")
def shr(form: Form) -> Body:
    def body(a: Value, amount: Value) -> Value:
        shift = amount.least(a.width - 1).resize(a.type)
        if form.type.startswith("s"):
            return a.sign_shift(shift)
        return amount.below(a.width).then(a >> shift, a.constant(0))

    return body


@elementwise("shf.{l,r}.{clamp,wrap}.b32", operands="b32 b32 u32")
def shf(form: Form) -> Body:
    """`a` is the low word, `b` the high one."""

    def body(a: Value, b: Value, amount: Value) -> Value:
        shift = (amount & 31 if form.has("wrap") else amount.least(32)).resize("i64")
        whole = a.resize("i64") | (b.resize("i64") << 32)
        return (((whole << shift) >> 32) if form.has("l") else whole >> shift).resize("i32")

    return body


# Bytes.


@elementwise("prmt.b32", operands="b32 b32 b32")
def prmt(form: Form) -> Body:
    def body(a: Value, b: Value, selector: Value) -> Value:
        result = a.constant(0)
        for index in range(4):
            nibble = (selector >> (4 * index)) & 15
            byte = _byte(a, b, nibble & 7)
            sign = (byte << 24).sign_shift(31) & 0xFF
            result = result | ((nibble & 8).differs(0).then(sign, byte) << (8 * index))
        return result

    return body


@elementwise("prmt.b32.{f4e,b4e,rc8,ecl,ecr,rc16}", "b32", "b32 b32 b32")
def prmt_mode(form: Form) -> Body:
    def body(a: Value, b: Value, selector: Value) -> Value:
        result = a.constant(0)
        for index in range(4):
            place = _place(form.type, selector & 3, index)
            result = result | (_byte(a, b, place) << (8 * index))
        return result

    return body


def _place(mode: str, way: Value, index: int) -> Value:
    """Which of the eight bytes becomes byte `index` of the result."""
    match mode:
        case "f4e":
            return way + index
        case "b4e":
            return (way - index) & 7
        case "rc8":
            return way
        case "ecl":
            return way.most(index)
        case "ecr":
            return way.least(index)
        case _:
            return ((way & 1) << 1) | (index & 1)


def _byte(a: Value, b: Value, place: Value) -> Value:
    """One of the eight bytes of `a` and, behind it, `b`."""
    word = (place & 4).differs(0).then(b, a)
    return (word >> ((place & 3) << 3)) & 0xFF
