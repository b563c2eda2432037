"""Comparison and selection (PTX ISA, "Comparison and Selection Instructions")."""

from __future__ import annotations

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_step
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.logic import combine
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.numbers.code import Body, Value
from cutecc.emulator.numbers.formats import FORMATS, unpacked
from cutecc.emulator.numbers.packed import join, split
from cutecc.emulator.numbers.real import flushed
from cutecc.ptx.syntax import Pair

_INTEGER = {"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}
"""Comparisons of unsigned integers under names of their own."""
_OPERATORS = ("eq", "ne", "lt", "le", "gt", "ge", *_INTEGER, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
_BOOLEANS = ("and", "or", "xor")
_SOURCES = (
    *(f"{kind}{bits}" for kind in "bus" for bits in (16, 32, 64)),
    *("f16", "f16x2", "bf16", "bf16x2", "f32", "f64"),
)
_LIST = {
    name: f"{{{','.join(values)}}}" for name, values in {"op": _OPERATORS, "bool": _BOOLEANS, "of": _SOURCES}.items()
}


def compared(operator: str, type_: str, ftz: bool, a: Value, b: Value) -> Value:
    """Whether the comparison holds, of one value each, an `i1`."""
    if type_ not in FORMATS:
        signed = type_.startswith("s") and operator not in _INTEGER
        return {
            "eq": lambda: a.same(b),
            "ne": lambda: a.differs(b),
            "lt": lambda: a.below(b, signed),
            "le": lambda: a.at_most(b, signed),
            "gt": lambda: b.below(a, signed),
            "ge": lambda: b.at_most(a, signed),
        }[_INTEGER.get(operator, operator)]()
    if ftz and type_ in ("f16", "f32"):
        a, b = flushed(a, FORMATS[type_]), flushed(b, FORMATS[type_])
    first, second = (each.float() if type_ in ("f32", "f64") else unpacked(each, FORMATS[type_]) for each in (a, b))
    if operator in ("num", "nan"):
        return first.compare("ord" if operator == "num" else "uno", second)
    # `ne` too is false of a NaN; the forms with `u` are true.
    condition = f"u{operator[:-1]}" if operator.endswith("u") else f"o{operator}"
    return first.compare(condition, second)


def _parts(operator: str, type_: str, ftz: bool, a: Value, b: Value) -> list[Value]:
    """The comparison of one, or of both halves."""
    if not type_.endswith("x2"):
        return [compared(operator, type_, ftz, a, b)]
    pairs = zip(split(a, 2), split(b, 2), strict=True)
    return [compared(operator, type_.removesuffix("x2"), ftz, one, other) for one, other in pairs]


@instruction(f"setp.{_LIST['op']}.{_LIST['bool']}?.ftz?.{_LIST['of']}")
def setp(operation: Operation) -> Step:
    """`p|q`: what holds and, with a `.BoolOp` combined too, its opposite; of two halves, that of each."""
    form = operation.form
    boolean = form.one_of(*_BOOLEANS)
    both = isinstance(operation.operands[0], Pair)

    def body(a: Value, b: Value, *also: Value) -> tuple[Value, ...]:
        parts = _parts(form.modifiers[0], form.type, form.has("ftz"), a, b)
        first, second = parts if len(parts) == 2 else (parts[0], ~parts[0])
        found = (first, second) if both else (first,)
        return tuple(combine(boolean, each, also[0]) for each in found) if boolean else found

    operands = [form.type, form.type, *(["pred"] if boolean else [])]
    return elementwise_step(operation, body, ["pred"] * (2 if both else 1), operands)


@instruction(f"set.{_LIST['op']}.{_LIST['bool']}?.ftz?.{{u16,s16,u32,s32,f16,bf16,f32,f16x2,bf16x2}}.{_LIST['of']}")
def set_(operation: Operation) -> Step:
    """All ones, or 1.0 in a floating type, where it holds; else 0."""
    form = operation.form
    boolean = form.one_of(*_BOOLEANS)
    result, source = form.modifiers[-2:]

    def body(a: Value, b: Value, *also: Value) -> Value:
        found = _parts(form.modifiers[0], source, form.has("ftz"), a, b)
        if boolean:
            found = [combine(boolean, each, also[0]) for each in found]
        number = result.removesuffix("x2")
        if number in FORMATS:
            format_ = FORMATS[number]
            width, true = format_.width, format_.bias << format_.mantissa
        else:
            width, true = int(number[1:]) // len(found), -1
        zero = a.code.constant(f"i{width}", 0)
        return join([each.then(true, zero) for each in found])

    operands = [source, source, *(["pred"] if boolean else [])]
    return elementwise_step(operation, body, [result], operands)


@elementwise(
    "selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}",
    operands="T T pred",
)
def selp(form: Form) -> Body:
    return lambda a, b, condition: condition.then(a, b)


@elementwise("slct.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.s32", "T2", "T2 T2 s32")
@elementwise("slct.ftz?.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.f32", "T2", "T2 T2 f32")
def slct(form: Form) -> Body:
    """`a` where the third operand is at least 0, -0 too."""

    def body(a: Value, b: Value, number: Value) -> Value:
        return compared("ge", form.type, form.has("ftz"), number, number.constant(0)).then(a, b)

    return body
