"""Element-wise bodies as functions, and the loop that NumPy calls around them, as LLVM IR.

`body(pointers, advances, groups)` handles `groups` (at least one) times `WIDTH` elements: of each operand, then of each
result, the array `pointers` has the place of the first ones and `advances` the distance in bytes to the next ones.

`loop(arguments, dimensions, steps, data)` has the places of the first elements of all operands and results, their
number and the distances in bytes between elements; `data` says which body and of what types (see `data_of`). Where all
elements lie side by side the body works on them directly; elsewhere, and at the end, on copies, elements past the end
being the last one again. A constant (distance 0) is spread over a copy that is read again and again. There is a loop
for each rounding mode, which it sets.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from cutecc.emulator.numbers.code import WIDTH, Body, Code, Rounding, Value, apply, vector

ELEMENT_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_MODES: dict[Rounding, int] = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}
_MOST = 16
"""Operands and results of a body."""
_COPY_BYTES = WIDTH * 8


def data_of(operands: Sequence[str], results: Sequence[str]) -> Any:
    """The loop's `data`: the address of the body (0 for now), how many operands, how many in all, and their sizes."""
    types = (*operands, *results)
    assert operands and len(types) <= _MOST
    return (ctypes.c_int64 * (3 + len(types)))(0, len(operands), len(types), *(ELEMENT_BYTES[each] for each in types))


def body_text(
    name: str, body: Body, operands: Sequence[str], results: Sequence[str], rounding: Rounding = "rn"
) -> tuple[str, set[str]]:
    """The IR of the function of a body, and the declarations that it needs."""
    code = Code(rounding)
    read = [
        code.emit(f"load {_held(type_)}, ptr %p{index}, align {ELEMENT_BYTES[type_]}", "i8" if type_ == "i1" else type_)
        for index, type_ in enumerate(operands)
    ]
    given = [value.differs(0) if type_ == "i1" else value for value, type_ in zip(read, operands, strict=True)]
    for index, (value, type_) in enumerate(zip(apply(body, given), results, strict=True), len(operands)):
        assert value.type == type_, f"the body gives {value.type} for {type_}"
        stored: Value = value.resize("i8") if type_ == "i1" else value
        code.lines.append(f"store {_held(type_)} {stored.text}, ptr %p{index}, align {ELEMENT_BYTES[type_]}")
    before, at, after = list[str](), list[str](), list[str]()
    for index in range(len(operands) + len(results)):
        before += [
            *_load(f"%first{index}", "ptr", "%pointers", index),
            *_load(f"%advance{index}", "i64", "%advances", index),
        ]
        at.append(f"%p{index} = phi ptr [%first{index}, %entry], [%next{index}, %group]")
        after.append(f"%next{index} = getelementptr i8, ptr %p{index}, i64 %advance{index}")
    lines = [
        f"define void @{name}(ptr %pointers, ptr %advances, i64 %groups) {_attribute(rounding)}{{",
        *("entry:", *before, "br label %group"),
        *("group:", "%number = phi i64 [1, %entry], [%following, %group]", *at, *code.lines, *after),
        "%following = add i64 %number, 1",
        "%more = icmp ult i64 %number, %groups",
        "br i1 %more, label %group, label %end",
        *("end:", "ret void", "}"),
    ]
    return "\n".join(lines), code.declarations


def loop_text(rounding: Rounding) -> str:
    """The IR of a module with the function `loop`."""
    return "\n".join(
        [
            f"define void @loop(ptr %arguments, ptr %dimensions, ptr %steps, ptr %data) {_attribute(rounding)}{{",
            *_entry(),
            "start:",
            *_set_mode(rounding, rounding),
            *_placed(),
            *_whole_groups(),
            *_rest_by_copies(),
            "finish:",
            *_set_mode(rounding, "rn"),
            *("br label %end", "end:", "ret void", "}"),
            "declare void @llvm.set.rounding(i32)",
            *_copy_function(),
        ]
    )


# The parts of the loop, in order.


def _entry() -> list[str]:
    """Room for what the body is given, and what `data` says. Without elements there is nothing to do."""
    return [
        "entry:",
        f"%at = alloca [{_MOST} x ptr]",
        f"%advances = alloca [{_MOST} x i64]",
        f"%copies = alloca [{_MOST} x ptr]",
        f"%space = alloca [{_MOST * _COPY_BYTES} x i8], align {_COPY_BYTES}",
        "%n = load i64, ptr %dimensions",
        "%body = load ptr, ptr %data",
        *_load("%operands", "i64", "%data", 1),
        *_load("%all", "i64", "%data", 2),
        "%sizes = getelementptr i64, ptr %data, i64 3",
        "%empty = icmp sle i64 %n, 0",
        "br i1 %empty, label %end, label %start",
    ]


def _placed() -> list[str]:
    """For each operand and result, where the body finds it; `%close.next`: whether it may go along those places.

    It may if the elements of each lie side by side, or are a constant, which is spread over a copy.
    """
    return [
        "br label %each",
        "each:",
        "%k = phi i64 [0, %start], [%k.next, %each.end]",
        "%close = phi i1 [true, %start], [%close.next, %each.end]",
        *_argument("k"),
        *_store("%k.copy", "ptr", "%copies", "%k"),
        "%k.dense = icmp eq i64 %k.step, %k.size",
        "%k.stays = icmp eq i64 %k.step, 0",
        "%k.read = icmp ult i64 %k, %operands",
        "%k.constant = and i1 %k.stays, %k.read",
        "br i1 %k.constant, label %spread, label %moves",
        "spread:",
        _copy("%k.place", "0", "%k.copy", "%k.size", "%k.size", str(WIDTH)),
        *_store("%k.copy", "ptr", "%at", "%k"),
        *_store("0", "i64", "%advances", "%k"),
        "br label %each.end",
        "moves:",
        f"%k.bytes = mul i64 %k.size, {WIDTH}",
        *_store("%k.place", "ptr", "%at", "%k"),
        *_store("%k.bytes", "i64", "%advances", "%k"),
        "br label %each.end",
        "each.end:",
        "%k.fits = or i1 %k.constant, %k.dense",
        "%close.next = and i1 %close, %k.fits",
        *_again("k", "%all", "each", "ready"),
    ]


def _whole_groups() -> list[str]:
    """The body for as many groups of `WIDTH` as it may do in place, `%whole`."""
    return [
        "ready:",
        f"%groups = udiv i64 %n, {WIDTH}",
        "%whole = select i1 %close.next, i64 %groups, i64 0",
        "%some = icmp ne i64 %whole, 0",
        "br i1 %some, label %direct, label %rest",
        "direct:",
        "call void %body(ptr %at, ptr %advances, i64 %whole)",
        "br label %rest",
    ]


def _rest_by_copies() -> list[str]:
    """The body for the elements that are left, from `%i` on `%count` at a time: gathered, computed, scattered."""
    return [
        "rest:",
        f"%done = mul i64 %whole, {WIDTH}",
        "br label %check",
        "check:",
        "%i = phi i64 [%done, %rest], [%i.next, %part.end]",
        "%left = sub i64 %n, %i",
        "%over = icmp sle i64 %left, 0",
        "br i1 %over, label %finish, label %part",
        "part:",
        f"%last.part = icmp ult i64 %left, {WIDTH}",
        f"%count = select i1 %last.part, i64 %left, i64 {WIDTH}",
        f"%missing = sub i64 {WIDTH}, %count",
        "%count.less = sub i64 %count, 1",
        "br label %gather",
        *_gather(),
        "compute:",
        "call void %body(ptr %copies, ptr %advances, i64 1)",
        "br label %scatter",
        *_scatter(),
        "part.end:",
        f"%i.next = add i64 %i, {WIDTH}",
        "br label %check",
    ]


def _gather() -> list[str]:
    """Copies of the operands' elements; the last one again where fewer than `WIDTH` are left."""
    return [
        "gather:",
        "%g = phi i64 [0, %part], [%g.next, %gather]",
        *_argument("g"),
        *_element("g"),
        _copy("%g.element", "%g.step", "%g.copy", "%g.size", "%g.size", "%count"),
        "%g.way = mul i64 %count.less, %g.step",
        "%g.last = getelementptr i8, ptr %g.element, i64 %g.way",
        "%g.filled = mul i64 %count, %g.size",
        "%g.behind = getelementptr i8, ptr %g.copy, i64 %g.filled",
        _copy("%g.last", "0", "%g.behind", "%g.size", "%g.size", "%missing"),
        *_again("g", "%operands", "gather", "compute"),
    ]


def _scatter() -> list[str]:
    """The results from their copies to where they belong."""
    return [
        "scatter:",
        "%s = phi i64 [%operands, %compute], [%s.next, %scatter]",
        *_argument("s"),
        *_element("s"),
        _copy("%s.copy", "%s.size", "%s.element", "%s.step", "%s.size", "%count"),
        *_again("s", "%all", "scatter", "part.end"),
    ]


# What the parts are made of.


def _attribute(rounding: Rounding) -> str:
    """What tells LLVM that a function depends on the rounding mode."""
    return "" if rounding == "rn" else "strictfp "


def _set_mode(rounding: Rounding, mode: Rounding) -> list[str]:
    """Sets the mode, in a loop of another than nearest."""
    return [] if rounding == "rn" else [f"call void @llvm.set.rounding(i32 {_MODES[mode]}) strictfp"]


def _held(type_: str) -> str:
    """`WIDTH` elements as they are in memory."""
    return vector("i8" if type_ == "i1" else type_)


def _load(name: str, type_: str, array: str, index: int | str) -> list[str]:
    """An element of an array of pointers or `i64`."""
    return [f"{name}.from = getelementptr i64, ptr {array}, i64 {index}", f"{name} = load {type_}, ptr {name}.from"]


def _store(value: str, type_: str, array: str, index: str) -> list[str]:
    """Into an array of pointers or `i64`."""
    place = f"{array}.of.{value.strip('%')}"
    return [f"{place} = getelementptr i64, ptr {array}, i64 {index}", f"store {type_} {value}, ptr {place}"]


def _argument(name: str) -> list[str]:
    """Of an operand or result by its number: where it is, the distance of its elements, their size, and its copy."""
    return [
        *_load(f"%{name}.place", "ptr", "%arguments", f"%{name}"),
        *_load(f"%{name}.step", "i64", "%steps", f"%{name}"),
        *_load(f"%{name}.size", "i64", "%sizes", f"%{name}"),
        f"%{name}.offset = mul i64 %{name}, {_COPY_BYTES}",
        f"%{name}.copy = getelementptr i8, ptr %space, i64 %{name}.offset",
    ]


def _element(name: str) -> list[str]:
    """Where its element `%i` is."""
    return [
        f"%{name}.distance = mul i64 %i, %{name}.step",
        f"%{name}.element = getelementptr i8, ptr %{name}.place, i64 %{name}.distance",
    ]


def _again(name: str, bound: str, loop: str, after: str) -> list[str]:
    """Goes on with the next operand or result below the bound, or after the last one elsewhere."""
    return [
        f"%{name}.next = add i64 %{name}, 1",
        f"%{name}.more = icmp ult i64 %{name}.next, {bound}",
        f"br i1 %{name}.more, label %{loop}, label %{after}",
    ]


def _copy(source: str, source_step: str, to: str, to_step: str, size: str, count: str) -> str:
    """Copies elements of a size (1, 2, 4 or 8 bytes), by their distances in bytes."""
    arguments = [f"ptr {source}", f"ptr {to}", *(f"i64 {each}" for each in (source_step, to_step, size, count))]
    return f"call void @copy({', '.join(arguments)})"


def _copy_function() -> list[str]:
    """What `_copy` calls: a loop for each size of elements."""
    sizes = (1, 2, 4, 8)
    lines = [
        "define internal void @copy(ptr %source, ptr %to, i64 %source.step, i64 %to.step, i64 %size, i64 %count) {",
        "entry:",
        "%none = icmp eq i64 %count, 0",
        "br i1 %none, label %end, label %some",
        "some:",
        f"switch i64 %size, label %size8 [{' '.join(f'i64 {each}, label %size{each}' for each in sizes[:-1])}]",
    ]
    for size in sizes:
        name = f"size{size}"
        lines += [
            f"{name}:",
            f"%k{size} = phi i64 [0, %some], [%k{size}.next, %{name}]",
            f"%from{size} = phi ptr [%source, %some], [%from{size}.next, %{name}]",
            f"%to{size} = phi ptr [%to, %some], [%to{size}.next, %{name}]",
            f"%element{size} = load i{8 * size}, ptr %from{size}",
            f"store i{8 * size} %element{size}, ptr %to{size}",
            f"%from{size}.next = getelementptr i8, ptr %from{size}, i64 %source.step",
            f"%to{size}.next = getelementptr i8, ptr %to{size}, i64 %to.step",
            f"%k{size}.next = add i64 %k{size}, 1",
            f"%more{size} = icmp ult i64 %k{size}.next, %count",
            f"br i1 %more{size}, label %{name}, label %end",
        ]
    return [*lines, "end:", "ret void", "}"]
