"""Element-wise bodies as functions, and the loop that NumPy calls around them.

`body(p0, p1, …)` handles `WIDTH` elements: pointers to those of the operands, then of the results.

`loop(args, dimensions, steps, data)` has pointers to the first elements of all operands and results, their number, the
distances in bytes between elements, and in `data` the body. Where all elements lie side by side the body works on
them directly; elsewhere, and at the end, on copies, elements past the end being the last one again. A constant
(distance 0) is spread over a buffer that is read again and again. A loop belongs to types and a
rounding mode, which it sets, not to a body.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.emulator.numbers.code import WIDTH, Body, Code, Rounding, Value, apply, vector

ELEMENT_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_MODES: dict[Rounding, int] = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}


def body_text(body: Body, operands: Sequence[str], results: Sequence[str], rounding: Rounding = "rn") -> str:
    """The IR of a module with the function `body`."""
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
    pointers = ", ".join(f"ptr %p{index}" for index in range(len(operands) + len(results)))
    head = f"define void @body({pointers}) {_attribute(rounding)}{{"
    return "\n".join([head, *code.lines, "ret void", "}", *sorted(code.declarations)])


def loop_text(operands: Sequence[str], results: Sequence[str], rounding: Rounding = "rn") -> str:
    """The IR of a module with the function `loop`, for bodies of these types."""
    types = (*operands, *results)
    direct, gather, scatter = ["direct:"], _each("gather", "head"), _each("scatter", "gather.end")
    for index, type_ in enumerate(types):
        direct += _element("l", index, "%i")
        copy = gather if index < len(operands) else scatter
        name, kind = ("gather" if copy is gather else "scatter"), _memory_type(type_)
        copy += [
            *_element("g", index, f"%{name}.at"),
            f"%c{index} = getelementptr {kind}, ptr %some{index}, i64 %{name}.k",
        ]
        source, to = (f"%g{index}", f"%c{index}") if copy is gather else (f"%c{index}", f"%g{index}")
        copy += [f"%e{index} = load {kind}, ptr {source}", f"store {kind} %e{index}, ptr {to}"]
    lines = [
        f"define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %body) {_attribute(rounding)}{{",
        "entry:",
        "%n = load i64, ptr %dimensions",
        "%last = sub i64 %n, 1",
        "%empty = icmp sle i64 %n, 0",
        "br i1 %empty, label %end, label %start",
        "start:",
        *_set_mode(rounding, rounding),
        *_prologue(operands, results),
        "br label %head",
        "head:",
        "%i = phi i64 [0, %start], [%next, %tail]",
        f"%next = add i64 %i, {WIDTH}",
        "%inside = icmp sle i64 %next, %n",
        "%together = and i1 %inside, %close",
        "br i1 %together, label %direct, label %gather",
        *direct,
        _call("%l", len(types)),
        "br label %tail",
        *gather,
        *_again("gather"),
        "gather.end:",
        _call("%some", len(types)),
        "br label %scatter",
        *scatter,
        *_again("scatter"),
        "scatter.end:",
        "br label %tail",
        "tail:",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %head, label %finish",
        "finish:",
        *_set_mode(rounding, "rn"),
        "br label %end",
        "end:",
        "ret void",
        "}",
        "declare void @llvm.set.rounding(i32)",
    ]
    return "\n".join(lines)


def _attribute(rounding: Rounding) -> str:
    """What tells LLVM that a function depends on the rounding mode."""
    return "" if rounding == "rn" else "strictfp "


def _set_mode(rounding: Rounding, mode: Rounding) -> list[str]:
    """Sets the mode, in a loop of another than nearest."""
    return [] if rounding == "rn" else [f"call void @llvm.set.rounding(i32 {_MODES[mode]}) strictfp"]


def _memory_type(type_: str) -> str:
    return "i8" if type_ == "i1" else type_


def _held(type_: str) -> str:
    """`WIDTH` elements as they are in memory."""
    return vector(_memory_type(type_))


def _call(name: str, count: int) -> str:
    return f"call void %body({', '.join(f'ptr {name}{index}' for index in range(count))})"


def _prologue(operands: Sequence[str], results: Sequence[str]) -> list[str]:
    """Pointers `%pK`, distances `%sK`, copies `%someK`, and whether all elements lie `%close`."""
    lines: list[str] = []
    close = "true"
    for index, type_ in enumerate((*operands, *results)):
        kind, memory = _held(type_), _memory_type(type_)
        lines += [
            f"%some{index} = alloca {kind}",
            f"%pa{index} = getelementptr ptr, ptr %args, i64 {index}",
            f"%p0{index} = load ptr, ptr %pa{index}",
            f"%sa{index} = getelementptr i64, ptr %steps, i64 {index}",
            f"%s{index} = load i64, ptr %sa{index}",
            f"%dense{index} = icmp eq i64 %s{index}, {ELEMENT_BYTES[type_]}",
        ]
        if index < len(operands):
            lines += [
                f"%buffer{index} = alloca {kind}",
                f"%first{index} = load {memory}, ptr %p0{index}",
                f"%one{index} = insertelement {kind} poison, {memory} %first{index}, i64 0",
                f"%all{index} = shufflevector {kind} %one{index}, {kind} poison, <{WIDTH} x i32> zeroinitializer",
                f"store {kind} %all{index}, ptr %buffer{index}",
                f"%same{index} = icmp eq i64 %s{index}, 0",
                f"%p{index} = select i1 %same{index}, ptr %buffer{index}, ptr %p0{index}",
                f"%fits{index} = or i1 %dense{index}, %same{index}",
            ]
        else:
            lines += [
                f"%p{index} = getelementptr i8, ptr %p0{index}, i64 0",
                f"%fits{index} = or i1 %dense{index}, false",
            ]
        lines.append(f"%close{index} = and i1 {close}, %fits{index}")
        close = f"%close{index}"
    return [*lines, f"%close = and i1 {close}, true"]


def _element(name: str, index: int, place: str) -> list[str]:
    """The pointer `%nameK` to the element at this place."""
    offset = f"%{name}o{index}"
    return [
        f"{offset} = mul i64 {place}, %s{index}",
        f"%{name}{index} = getelementptr i8, ptr %p{index}, i64 {offset}",
    ]


def _each(name: str, before: str) -> list[str]:
    """The start of a loop over `WIDTH` elements from `%i`: `%name.k` counts, `%name.at` is the element."""
    return [
        f"{name}:",
        f"%{name}.k = phi i64 [0, %{before}], [%{name}.next, %{name}]",
        f"%{name}.j = add i64 %i, %{name}.k",
        f"%{name}.past = icmp sgt i64 %{name}.j, %last",
        f"%{name}.at = select i1 %{name}.past, i64 %last, i64 %{name}.j",
    ]


def _again(name: str) -> list[str]:
    return [
        f"%{name}.next = add i64 %{name}.k, 1",
        f"%{name}.over = icmp eq i64 %{name}.next, {WIDTH}",
        f"br i1 %{name}.over, label %{name}.end, label %{name}",
    ]
