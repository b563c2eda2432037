"""SIMD video instructions: two or four small integers in a register (PTX ISA, "Video Instructions").

CUDA's intrinsics for several integers (`__vabsdiffu4`) become these. Of each operand all elements are taken in their
order, which is all that compilers write.
"""

from __future__ import annotations

from collections.abc import Callable

from cutecc.emulator.instructions.elementwise import elementwise
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.numbers.code import Body, Value
from cutecc.emulator.numbers.packed import join, split

_Compute = Callable[[Value, Value], Value]


def _difference(a: Value, b: Value) -> Value:
    return a.most(b, signed=True) - a.least(b, signed=True)


_OPERATIONS: dict[str, _Compute] = {
    "vadd": lambda a, b: a + b,
    "vsub": lambda a, b: a - b,
    # Half of the sum, away from zero.
    "vavrg": lambda a, b: (a + b + (a + b).below(0, signed=True).then(0, a.constant(1))).sign_shift(1),
    "vabsdiff": _difference,
    "vmin": lambda a, b: a.least(b, signed=True),
    "vmax": lambda a, b: a.most(b, signed=True),
}


def _body(form: Form, count: int, compute: _Compute) -> Body:
    result, first, second = form.modifiers[:3]
    width = 32 // count
    lowest, highest = (-(1 << width - 1), (1 << width - 1) - 1) if result == "s32" else (0, (1 << width) - 1)

    def body(a: Value, b: Value, c: Value) -> Value:
        pairs = zip(split(a, count), split(b, count), strict=True)
        found = [
            compute(one.resize("i32", signed=first == "s32"), other.resize("i32", signed=second == "s32"))
            for one, other in pairs
        ]
        if form.has("add"):
            for each in found:
                c = c + each
            return c
        if form.has("sat"):
            found = [each.most(lowest, signed=True).least(highest, signed=True) for each in found]
        return join([each.resize(f"i{width}") for each in found])

    return body


def _row(name: str, count: int) -> None:
    pattern = f"{name}{count}.{{u32,s32}}.{{u32,s32}}.{{u32,s32}}.{{sat,add}}?"
    elementwise(pattern, result="u32", operands="u32 u32 u32")(lambda form: _body(form, count, _OPERATIONS[name]))


for _name in _OPERATIONS:
    for _count in (2, 4):
        _row(_name, _count)
