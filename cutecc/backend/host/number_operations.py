"""Operations on numbers, and taking structs apart and together: `arith`, `math`, `ub`, and their like in `llvm`."""

from __future__ import annotations

import struct
from typing import Any, cast

from cutecc.backend.host.failure import untranslatable
from cutecc.backend.host.layouts import BYTES
from cutecc.backend.host.state import Handler, Translation
from cutecc.ir.mlir import ir
from cutecc.record.host_program import Op, ValueType

_SAME_TYPE: dict[str, Op] = {
    **{"arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul"},
    **{"arith.divui": "udiv", "arith.divsi": "sdiv", "arith.remui": "urem", "arith.remsi": "srem"},
    **{"arith.andi": "and", "arith.ori": "or", "arith.xori": "xor"},
    **{"arith.shli": "shl", "arith.shrui": "lshr", "arith.shrsi": "ashr"},
    **{"arith.minui": "umin", "arith.maxui": "umax", "arith.minsi": "smin", "arith.maxsi": "smax"},
    **{"arith.addf": "fadd", "arith.subf": "fsub", "arith.mulf": "fmul", "arith.divf": "fdiv", "arith.negf": "fneg"},
    **{"math.ctlz": "ctlz", "math.cttz": "cttz", "math.ctpop": "ctpop", "math.absi": "abs"},
    **{"llvm.intr.ctlz": "ctlz", "llvm.intr.cttz": "cttz", "llvm.intr.ctpop": "ctpop"},
}
"""Operands and result of one type."""

_CONVERSIONS: dict[str, Op] = {
    **{"arith.extui": "zext", "arith.extsi": "sext", "arith.trunci": "trunc", "arith.bitcast": "bitcast"},
    **{"arith.sitofp": "sitofp", "arith.uitofp": "uitofp", "arith.fptosi": "fptosi", "arith.fptoui": "fptoui"},
    **{"arith.extf": "fpext", "arith.truncf": "fptrunc"},
}

_INTEGER_PREDICATES: tuple[Op, ...] = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")
"""By the number that `arith.cmpi` has for them."""

_FLOAT_PREDICATES: dict[int, Op] = {1: "foeq", 2: "fogt", 3: "foge", 4: "folt", 5: "fole", 13: "fune"}
"""By the number that `arith.cmpf` has for them."""

_FORMATS: dict[ValueType, str] = {"f16": "e", "f32": "f", "f64": "d"}
"""How `struct` packs them."""

_UNDEFINED = ("ub.poison", "llvm.mlir.poison", "llvm.mlir.undef", "llvm.mlir.zero")
_SAME_NUMBERS = ("cuda.cast", "llvm.addrspacecast", "llvm.bitcast")


def _same_type(state: Translation, operation: ir.Operation) -> None:
    type_ = state.result_type(operation)
    value = state.build.pure(_SAME_TYPE[operation.name], type_, *state.operands(operation))
    state.numbers[state.result(operation)] = (value,)


def _convert(state: Translation, operation: ir.Operation) -> None:
    value = state.build.pure(_CONVERSIONS[operation.name], state.result_type(operation), *state.operands(operation))
    state.numbers[state.result(operation)] = (value,)


def _resize(state: Translation, operation: ir.Operation) -> None:
    """An integer cast whose direction the types tell; addresses are 64 bits wide."""
    (value,) = state.operands(operation)
    target = state.result_type(operation)
    state.numbers[state.result(operation)] = (_resized(state, value, target, signed=operation.name in _SIGN_EXTENDS),)


_SIGN_EXTENDS = ("arith.index_cast",)


def _resized(state: Translation, value: int, target: ValueType, *, signed: bool) -> int:
    source = state.build.types[value]
    if source == target:
        return value
    op: Op = "trunc" if BYTES[source] > BYTES[target] or target == "i1" else "sext" if signed else "zext"
    return state.build.pure(op, target, value)


def sign_extended(state: Translation, value: int) -> int:
    """An integer as `i64`."""
    return _resized(state, value, "i64", signed=True)


def _compare(state: Translation, operation: ir.Operation) -> None:
    op = _INTEGER_PREDICATES[int(operation.attributes["predicate"].value)]
    state.numbers[state.result(operation)] = (state.build.pure(op, "i1", *state.operands(operation)),)


def _compare_floats(state: Translation, operation: ir.Operation) -> None:
    op = _FLOAT_PREDICATES.get(int(operation.attributes["predicate"].value))
    if op is None:
        raise untranslatable(operation, "compares floating-point numbers in a way that host programs cannot")
    state.numbers[state.result(operation)] = (state.build.pure(op, "i1", *state.operands(operation)),)


def _select(state: Translation, operation: ir.Operation) -> None:
    condition, true, false = operation.operands
    chosen = state.one(operation, condition)
    state.numbers[state.result(operation)] = [
        yes if yes == no else state.build.pure("select", state.build.types[yes], chosen, yes, no)
        for yes, no in zip(state.of(operation, true), state.of(operation, false), strict=True)
    ]


def _constant(state: Translation, operation: ir.Operation) -> None:
    result = state.result(operation)
    types = state.layout(result.type).types
    value: Any = operation.attributes["value"]
    if isinstance(value, ir.IntegerAttr | ir.BoolAttr | ir.FloatAttr):
        values = [value.value]
    elif isinstance(value, ir.DenseElementsAttr):
        values = [value.get_splat_value().value] * len(types) if value.is_splat else list(cast("Any", value))
    else:
        raise untranslatable(operation, f"has the constant `{value}`")
    state.numbers[result] = [
        state.build.constant(type_, float_bits(each, type_) if isinstance(each, float) else int(each))
        for each, type_ in zip(values, types, strict=True)
    ]


def float_bits(value: float, type_: ValueType) -> int:
    """The bits of a number that `type_` can hold."""
    if type_ == "bf16":
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    return int.from_bytes(struct.pack(f"<{_FORMATS[type_]}", value), "little")


def _undefined(state: Translation, operation: ir.Operation) -> None:
    result = state.result(operation)
    state.numbers[result] = state.zeros(state.layout(result.type))


def _same_numbers(state: Translation, operation: ir.Operation) -> None:
    (value,) = operation.operands
    result = state.result(operation)
    numbers = state.of(operation, value)
    if [state.build.types[number] for number in numbers] != state.layout(result.type).types:
        raise untranslatable(operation, f"casts `{value.type}` to `{result.type}`")
    state.numbers[result] = numbers


def _extract(state: Translation, operation: ir.Operation) -> None:
    (whole,) = operation.operands
    _, first, part = state.layout(whole.type).part(operation.attributes["position"])
    state.numbers[state.result(operation)] = state.of(operation, whole)[first : first + len(part.numbers)]


def _insert(state: Translation, operation: ir.Operation) -> None:
    whole, part = operation.operands
    _, first, _ = state.layout(whole.type).part(operation.attributes["position"])
    numbers, inserted = state.of(operation, whole), state.of(operation, part)
    state.numbers[state.result(operation)] = [*numbers[:first], *inserted, *numbers[first + len(inserted) :]]


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_SAME_TYPE, _same_type),
    **dict.fromkeys(_CONVERSIONS, _convert),
    **dict.fromkeys(_UNDEFINED, _undefined),
    **dict.fromkeys(_SAME_NUMBERS, _same_numbers),
    **dict.fromkeys(("arith.constant", "llvm.mlir.constant"), _constant),
    **dict.fromkeys(("llvm.ptrtoint", "llvm.inttoptr", "arith.index_castui", *_SIGN_EXTENDS), _resize),
    "arith.cmpi": _compare,
    "arith.cmpf": _compare_floats,
    "arith.select": _select,
    "llvm.extractvalue": _extract,
    "llvm.insertvalue": _insert,
}
