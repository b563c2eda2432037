"""The loop around an element-wise body, in the form that NumPy calls.

`loop(args, dimensions, steps, data)`: pointers to the first elements of all operands and results, their number, and
the distances in bytes between elements. `WIDTH` elements go at a time. Where everything lies close together they are
loaded and stored as one; elsewhere, and at the end, one by one, elements past the end being the last one again. A
constant (distance 0) is spread over a buffer that is read again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

from cutecc.emulator.numbers.code import WIDTH, Body, Code, Rounding, Value, vector

ELEMENT_BYTES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8}
_MODES: dict[Rounding, int] = {"rz": 0, "rn": 1, "rp": 2, "rm": 3}


def loop_text(body: Body, operands: Sequence[str], results: Sequence[str], rounding: Rounding = "rn") -> str:
    """The IR of a module with the function `loop`."""
    code = Code(rounding)
    held = ["i8" if each == "i1" else each for each in operands]
    inputs = [Value(code, f"%x{index}", type_) for index, type_ in enumerate(held)]
    found = body(*[value.differs(0) if type_ == "i1" else value for value, type_ in zip(inputs, operands, strict=True)])
    outputs = found if isinstance(found, tuple) else (found,)
    for value, type_ in zip(outputs, results, strict=True):
        assert value.type == type_, f"the body gives {value.type} for {type_}"
    outputs = [value.resize("i8") if value.type == "i1" else value for value in outputs]
    directed = rounding != "rn"
    declarations = set(code.declarations)
    if directed:
        declarations.add("declare void @llvm.set.rounding(i32)")
    loads, stores = _memory(held, [each.type for each in outputs], [each.text for each in outputs])
    lines = [
        f"define void @loop(ptr %args, ptr %dimensions, ptr %steps, ptr %data) {'strictfp ' if directed else ''}{{",
        "entry:",
        *([f"call void @llvm.set.rounding(i32 {_MODES[rounding]}) strictfp"] if directed else []),
        "%n = load i64, ptr %dimensions",
        "%last = sub i64 %n, 1",
        *_prologue(held, [each.type for each in outputs]),
        "%empty = icmp sle i64 %n, 0",
        "br i1 %empty, label %end, label %head",
        "head:",
        "%i = phi i64 [0, %entry], [%next, %tail]",
        f"%next = add i64 %i, {WIDTH}",
        "%inside = icmp sle i64 %next, %n",
        "%together = and i1 %inside, %close",
        "br i1 %together, label %load, label %gather",
        *loads,
        *code.lines,
        *stores,
        "tail:",
        "%more = icmp slt i64 %next, %n",
        "br i1 %more, label %head, label %end",
        "end:",
        *(["call void @llvm.set.rounding(i32 1) strictfp"] if directed else []),
        "ret void",
        "}",
        *sorted(declarations),
    ]
    return "\n".join(lines)


def _prologue(inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Pointers `%pK`, distances `%sK`, and whether all is `%close`."""
    lines: list[str] = []
    close = "true"
    for index, type_ in enumerate((*inputs, *outputs)):
        size = ELEMENT_BYTES[type_]
        lines += [
            f"%some{index} = alloca {vector(type_)}",
            f"%pa{index} = getelementptr ptr, ptr %args, i64 {index}",
            f"%p0{index} = load ptr, ptr %pa{index}",
            f"%sa{index} = getelementptr i64, ptr %steps, i64 {index}",
            f"%s{index} = load i64, ptr %sa{index}",
        ]
        if index < len(inputs):
            lines += [
                f"%buffer{index} = alloca {vector(type_)}",
                f"%first{index} = load {type_}, ptr %p0{index}",
                f"%one{index} = insertelement {vector(type_)} poison, {type_} %first{index}, i64 0",
                f"%all{index} = shufflevector {vector(type_)} %one{index}, {vector(type_)} poison, "
                f"<{WIDTH} x i32> zeroinitializer",
                f"store {vector(type_)} %all{index}, ptr %buffer{index}",
                f"%same{index} = icmp eq i64 %s{index}, 0",
                f"%p{index} = select i1 %same{index}, ptr %buffer{index}, ptr %p0{index}",
                f"%dense{index} = icmp eq i64 %s{index}, {size}",
                f"%fits{index} = or i1 %dense{index}, %same{index}",
            ]
        else:
            lines += [
                f"%p{index} = getelementptr i8, ptr %p0{index}, i64 0",
                f"%fits{index} = icmp eq i64 %s{index}, {size}",
            ]
        lines.append(f"%close{index} = and i1 {close}, %fits{index}")
        close = f"%close{index}"
    return [*lines, f"%close = and i1 {close}, true"]


def _memory(inputs: Sequence[str], outputs: Sequence[str], values: Sequence[str]) -> tuple[list[str], list[str]]:
    """Loads into `%xK`, and stores of the values, in both ways."""
    load, gather, gathered, body = ["load:"], _each("gather", "head"), ["gather.end:"], ["body:"]
    store, spill, scatter = ["store:"], ["spill:"], _each("scatter", "spill")
    for index, type_ in enumerate(inputs):
        kind, align = vector(type_), f"align {ELEMENT_BYTES[type_]}"
        load += [*_element("l", index, "%i"), f"%xl{index} = load {kind}, ptr %l{index}, {align}"]
        gather += [
            *_element("g", index, "%gather.at"),
            f"%ge{index} = load {type_}, ptr %g{index}, {align}",
            f"%gp{index} = getelementptr {type_}, ptr %some{index}, i64 %gather.k",
            f"store {type_} %ge{index}, ptr %gp{index}, {align}",
        ]
        gathered.append(f"%xg{index} = load {kind}, ptr %some{index}")
        body.append(f"%x{index} = phi {kind} [%xl{index}, %load], [%xg{index}, %gather.end]")
    for number, (type_, value) in enumerate(zip(outputs, values, strict=True)):
        index, kind, align = len(inputs) + number, vector(type_), f"align {ELEMENT_BYTES[type_]}"
        store += [*_element("l", index, "%i"), f"store {kind} {value}, ptr %l{index}, {align}"]
        spill.append(f"store {kind} {value}, ptr %some{index}")
        scatter += [
            f"%gp{index} = getelementptr {type_}, ptr %some{index}, i64 %scatter.k",
            f"%ge{index} = load {type_}, ptr %gp{index}, {align}",
            *_element("g", index, "%scatter.at"),
            f"store {type_} %ge{index}, ptr %g{index}, {align}",
        ]
    before = [*load, "br label %body", *gather, *_again("gather"), *gathered, "br label %body", *body]
    after = ["br i1 %together, label %store, label %spill", *store, "br label %tail"]
    return before, [*after, *spill, "br label %scatter", *scatter, *_again("scatter"), "scatter.end:", "br label %tail"]


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
