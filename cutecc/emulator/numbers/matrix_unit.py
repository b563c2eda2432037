"""A step of a matrix unit as machine code: terms are aligned to the largest of them, cut, and added."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Final

from cutecc.emulator.numbers.code import WIDTH, Code, Value, vector
from cutecc.emulator.numbers.compiled import machine_code, together

Unit = Callable[..., None]
"""Addresses of A, B and C, `float64`, one matrix behind the other; of their exponents, of 16 bits; and of D. Then the
rows of all matrices together, rows of one, K, and columns, a multiple of 8."""
_BIAS: Final = 1023
_LEAST: Final = -133
"""No sum is aligned to less: on an H200 -132 gives other results, and so does -134."""
_F16_ZERO: Final = -25
"""2 to this, and what is less, is 0 in `f16`."""
_LARGEST: Final = 900
"""An exponent beyond all of finite terms, so that scales stay finite where a term is infinite."""


@cache
def unit(fraction: int, kept: int | None) -> Unit:
    """Keeps of each term `fraction` bits below the largest exponent, of an `f32` result `kept` behind the leading one.

    Without `kept` the result is the whole sum, of which `f16` is made. A result of 0 has no sign, nor has one that
    becomes 0.
    """
    arguments = [ctypes.c_void_p] * 7 + [ctypes.c_int64] * 4
    with together():
        (address,) = machine_code(_text(fraction, kept), ["sums"])
    return ctypes.CFUNCTYPE(None, *arguments)(address)


def _text(fraction: int, kept: int | None) -> str:
    """The IR; `WIDTH` columns at a time."""
    code = Code()
    code.lines += [
        "define void @sums(ptr %a, ptr %b, ptr %c, ptr %ea, ptr %eb, ptr %ec, ptr %d,",
        "i64 %all, i64 %rows, i64 %depth, i64 %columns) {",
        "entry:",
        "%size = mul i64 %depth, %columns",
        "br label %row",
        "row:",
        "%r = phi i64 [0, %entry], [%r.next, %row.end]",
        "%matrix = udiv i64 %r, %rows",
        "%of_b = mul i64 %matrix, %size",
        "%of_a = mul i64 %r, %depth",
        "%of_c = mul i64 %r, %columns",
        "br label %column",
        "column:",
        "%j = phi i64 [0, %row], [%j.next, %column.end]",
        "%at_c = add i64 %of_c, %j",
        "%at_b = add i64 %of_b, %j",
    ]
    first = _load(code, "%ec", "%at_c", "i16")
    code.lines += ["br label %largest", "largest:", *_counter("largest", "column")]
    before = Value(code, "%exponent", "i16")
    code.lines.append(f"%exponent = phi {vector('i16')} [{first.text}, %column], [%larger, %largest]")
    row, column = _pair(code, "largest", "%ea", "%eb", "i16")
    larger = before.most(row + column, signed=True)
    code.lines += [
        f"%larger = add {vector('i16')} {larger.text}, zeroinitializer",
        *_again("largest", "scale"),
        "scale:",
    ]
    exponent = Value(code, "%larger", "i16").most(_LEAST, signed=True).least(_LARGEST, signed=True)
    shift = (fraction - exponent).resize("i64", signed=True)
    scale, back = ((shift + _BIAS) << 52).float(), ((_BIAS - shift) << 52).float()
    start = _whole(_load(code, "%c", "%at_c", "double").fmul(scale))
    code.lines += ["br label %sum", "sum:", *_counter("sum", "scale")]
    code.lines.append(f"%total = phi {vector('double')} [{start.text}, %scale], [%more, %sum]")
    row, column = _pair(code, "sum", "%a", "%b", "double")
    term = _whole(row.fmul(column).fmul(scale))
    code.lines += [
        f"%more = fadd {vector('double')} %total, {term.text}",
        *_again("sum", "column.end"),
        "column.end:",
    ]
    found = Value(code, "%more", "double").fmul(back)
    found = _half(found) if kept is None else _single(found, kept).fadd(found.real(0.0))
    code.lines += [
        "%to = getelementptr double, ptr %d, i64 %at_c",
        f"store {vector('double')} {found.text}, ptr %to, align 8",
        f"%j.next = add i64 %j, {WIDTH}",
        "%j.more = icmp ult i64 %j.next, %columns",
        "br i1 %j.more, label %column, label %row.end",
        "row.end:",
        "%r.next = add i64 %r, 1",
        "%r.more = icmp ult i64 %r.next, %all",
        "br i1 %r.more, label %row, label %end",
        "end:",
        "ret void",
        "}",
    ]
    return "\n".join([*code.lines, *sorted(code.declarations)])


def _counter(name: str, before: str) -> list[str]:
    """A loop over K begins: `%name.k` counts."""
    return [f"%{name}.k = phi i64 [0, %{before}], [%{name}.next, %{name}]"]


def _again(name: str, after: str) -> list[str]:
    return [
        f"%{name}.next = add i64 %{name}.k, 1",
        f"%{name}.more = icmp ult i64 %{name}.next, %depth",
        f"br i1 %{name}.more, label %{name}, label %{after}",
    ]


def _load(code: Code, array: str, place: str, type_: str) -> Value:
    """`WIDTH` elements from this place on."""
    at = code.emit(f"getelementptr {type_}, ptr {array}, i64 {place}", "i64").text
    return code.emit(f"load {vector(type_)}, ptr {at}, align {2 if type_ == 'i16' else 8}", type_)


def _pair(code: Code, loop: str, left: str, right: str, type_: str) -> tuple[Value, Value]:
    """An element of the row of A, for all columns, and `WIDTH` of the row of B, at the loop's K."""
    place = code.emit(f"add i64 %of_a, %{loop}.k", "i64").text
    at = code.emit(f"getelementptr {type_}, ptr {left}, i64 {place}", "i64").text
    one = code.emit(f"load {type_}, ptr {at}", type_).text
    some = code.emit(f"insertelement {vector(type_)} poison, {type_} {one}, i64 0", type_).text
    same = f"shufflevector {vector(type_)} {some}, {vector(type_)} poison, <{WIDTH} x i32> zeroinitializer"
    row = code.emit(same, type_)
    line = code.emit(f"mul i64 %{loop}.k, %columns", "i64").text
    return row, _load(code, right, code.emit(f"add i64 %at_b, {line}", "i64").text, type_)


def _whole(value: Value) -> Value:
    """Cut to a whole number."""
    return value.code.call("trunc", "double", value)


def _half(found: Value) -> Value:
    """The sum, or 0 where `f16` holds no number that small."""
    return (found.bits() << 1).at_most(_BIAS + _F16_ZERO << 53).then(found.real(0.0), found)


def _single(found: Value, kept: int) -> Value:
    """Cut to what `f32` holds, subnormal numbers included, and to `kept` bits behind the leading one."""
    normal = found.bits() & -(1 << 52 - kept)
    subnormal = _whole(found.fmul(found.real(2.0**149))).fmul(found.real(2.0**-149)).bits()
    return (found.bits() << 1).below(_BIAS - 126 << 53).then(subnormal, normal).float()
