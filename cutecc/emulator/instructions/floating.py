"""Floating-point arithmetic of `f32` and `f64` (PTX ISA, "Floating Point Instructions").

A NaN result is `0x7fffffff` in `f32`; `f64` keeps the payload of an operand. `.ftz` makes zeros of results that are
below the least normal number before the exponent limits their rounding. What the manual calls approximate is rounded to
nearest here, from a result in `f64` (of `tanh` see its function): within the manual's bounds, and not always what
hardware gives. How far from exact the manual allows, and how far an H200 was:

| | manual | H200 |
|---|---|---|
| `rcp`, `div.approx`, `div.full` | 1, 2, 2 ulp | 0.9, 1.5, 1.5 ulp |
| `sqrt`, `rsqrt`, `ex2`, `tanh`, relative | 2^-23, 2^-22.9, 2^-22.5, 2^-11 | 2^-23.3, 2^-23.2, 2^-22.8, 2^-16.7 |
| `lg2`, absolute in (0.5, 2), else relative | 2^-22 | 2^-22.8, 2^-22.7 |
| `sin`, `cos`, absolute in ±2π, ±100π | 2^-20.5, 2^-14.7 | 2^-20.4, 2^-15.9 |
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_rows, elementwise_step
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.numbers.code import Body, Compute, Value, compute_one
from cutecc.emulator.numbers.formats import FORMATS, Format, unpacked
from cutecc.emulator.numbers.functions import exp2, library, tanh
from cutecc.emulator.numbers.packed import halves
from cutecc.emulator.numbers.real import (
    canonical,
    clamped,
    extreme,
    flushed,
    is_nan,
    magnitude,
    wide_result,
)

_F32, _F64 = FORMATS["f32"], FORMATS["f64"]
_ROUND = "{rn,rz,rm,rp}"
_LEAST_SCALED = (127 - 126 + 64) << 23
"""The bits of 2^64 times the least normal `float`."""


def single(form: Form, compute: Compute, scales: Sequence[int] = ()) -> Compute:
    """A body on `f32` bits of a function of `float`s, with the form's `.ftz` and `.sat`.

    Where a result near the least normal number can be inexact, `scales` are the powers of two by which the operands
    are multiplied to get 2^64 times the result: it tells whether the result is to be flushed.
    """

    def body(*operands: Value) -> Value:
        if not form.has("ftz"):
            return finished(form, compute_one(compute, [each.float() for each in operands]))
        values = [flushed(each, _F32).float() for each in operands]
        bits = finished(form, compute_one(compute, values))
        if scales:
            large = [each.fmul(each.real(2.0**scale)) for each, scale in zip(values, scales, strict=True)]
            scaled = magnitude(compute_one(compute, large).bits(), _F32)
            bits = scaled.below(_LEAST_SCALED).then(bits & (1 << 31), bits)
        return bits

    return body


def finished(form: Form, value: Value) -> Value:
    """The bits of a `float` result."""
    bits = value.bits()
    bits = clamped(bits, _F32) if form.has("sat") else value.is_nan().then(_F32.nan, bits)
    return flushed(bits, _F32) if form.has("ftz") else bits


def double(compute: Compute, first: int = 0) -> Body:
    """A body on `f64` bits of a function of `double`s; of several NaNs the first from operand `first` on counts."""

    def body(*operands: Value) -> Value:
        values = [each.float() for each in operands]
        return wide_result(compute_one(compute, values), *values[first:], *values[:first])

    return body


def approximate(form: Form, compute: Compute) -> Body:
    """A body on `f32` bits of a function of a `double`."""
    return single(form, lambda x: compute_one(compute, [x.widen()]).narrow())


# Sums and products.

_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "add": lambda a, b: a.fadd(b),
    "sub": lambda a, b: a.fsub(b),
    "mul": lambda a, b: a.fmul(b),
}


def _sum_or_product(form: Form) -> Compute:
    # Sums that small are exact.
    return single(form, _BINARY[form.opcode], (32, 32) if form.opcode == "mul" else ())


def _fused(form: Form) -> Compute:
    return single(form, lambda a, b, c: a.fma(b, c), (32, 32, 64))


def _fused_double(form: Form) -> Body:
    return double(lambda a, b, c: a.fma(b, c), first=1)


elementwise_rows(
    {
        **{f"{opcode}.{_ROUND}?.ftz?.sat?.f32": _sum_or_product for opcode in _BINARY},
        **{f"{opcode}.{_ROUND}?.ftz?.f32x2": lambda form: halves(_sum_or_product(form)) for opcode in _BINARY},
        **{f"{opcode}.{_ROUND}?.f64": lambda form: double(_BINARY[form.opcode], first=1) for opcode in _BINARY},
    }
)
elementwise_rows(
    {
        f"fma.{_ROUND}.ftz?.sat?.f32": _fused,
        f"mad.{_ROUND}?.ftz?.sat?.f32": _fused,
        f"fma.{_ROUND}.ftz?.f32x2": lambda form: halves(_fused(form)),
        f"fma.{_ROUND}.f64": _fused_double,
        f"mad.{_ROUND}?.f64": _fused_double,
    },
    operands="T T T",
)


@elementwise(f"add.{_ROUND}?.sat?.f32.{{f16,bf16}}", "f32", "T f32")
@elementwise(f"sub.{_ROUND}?.sat?.f32.{{f16,bf16}}", "f32", "T f32")
def mixed(form: Form) -> Body:
    def body(a: Value, b: Value) -> Value:
        return finished(form, _BINARY[form.opcode](unpacked(a, FORMATS[form.type]).narrow(), b.float()))

    return body


@elementwise(f"fma.{_ROUND}.sat?.f32.{{f16,bf16}}", "f32", "T T f32")
def mixed_fma(form: Form) -> Body:
    def body(a: Value, b: Value, c: Value) -> Value:
        first, second = (unpacked(each, FORMATS[form.type]).narrow() for each in (a, b))
        return finished(form, first.fma(second, c.float()))

    return body


# Signs and choices.


elementwise_rows(
    {
        "abs.ftz?.f32": lambda form: lambda a: canonical(magnitude(_taken(form, a), _F32), _F32),
        "neg.ftz?.f32": lambda form: lambda a: canonical(_taken(form, a) ^ (1 << 31), _F32),
        # A NaN keeps its sign and becomes quiet: so an H200 has it.
        "abs.f64": lambda form: lambda a: is_nan(a, _F64).then(a | _F64.quiet, magnitude(a, _F64)),
        "neg.f64": lambda form: lambda a: is_nan(a, _F64).then(a | _F64.quiet, a ^ (1 << 63)),
    },
    operands="T",
)


def _taken(form: Form, a: Value) -> Value:
    return flushed(a, _F32) if form.has("ftz") else a


@elementwise("copysign.{f32,f64}")
def copysign(form: Form) -> Body:
    """The sign of `a`, the magnitude of `b`."""
    format_ = FORMATS[form.type]
    return lambda a, b: (a & (1 << (format_.width - 1))) | magnitude(b, format_)


@instruction(*(f"{opcode}.ftz?.NaN?.xorsign?.abs?.f32" for opcode in ("min", "max")), "min.f64", "max.f64")
def choose(operation: Operation) -> Step:
    """Of two, or of three, whose magnitudes count with `.abs` alone."""
    form = operation.form
    count = len(operation.operands) - 1
    body = choice(form, FORMATS[form.type])
    return elementwise_step(operation, body, [form.type], [form.type] * count)


def choice(form: Form, format_: Format) -> Compute:
    """`min` and `max`."""

    def body(*operands: Value) -> Value:
        if form.has("ftz"):
            operands = tuple(flushed(each, format_) for each in operands)
        if form.has("abs") and not form.has("xorsign"):
            operands = tuple(magnitude(each, format_) for each in operands)
        found = operands[0]
        for other in operands[1:]:
            found = extreme(found, other, format_, form.opcode == "max", form.has("NaN"), form.has("xorsign"))
        return found

    return body


@elementwise("testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64}", "pred", "T")
def testp(form: Form) -> Body:
    """A zero is normal: so an H200 has it."""
    format_ = FORMATS[form.type]

    def body(a: Value) -> Value:
        size = magnitude(a, format_)
        least = 1 << format_.mantissa
        return {
            "finite": lambda: size.below(format_.infinity),
            "infinite": lambda: size.same(format_.infinity),
            "number": lambda: size.at_most(format_.infinity),
            "notanumber": lambda: size.above(format_.infinity),
            "normal": lambda: (size - least).below(format_.infinity - least) | size.same(0),
            "subnormal": lambda: (size - 1).below(least - 1),
        }[form.modifiers[0]]()

    return body


# Quotients, roots and functions.


def _quotient(form: Form) -> Body:
    return single(form, lambda a, b: a.fdiv(b), (64, 0))


def _reciprocal(form: Form) -> Body:
    return single(form, lambda a: a.real(1.0).fdiv(a))


def _root(form: Form) -> Body:
    return single(form, lambda a: a.sqrt())


elementwise_rows(
    {
        f"div.{_ROUND}.ftz?.f32": _quotient,
        "div.full.ftz?.f32": _quotient,
        f"div.{_ROUND}.f64": lambda form: double(lambda a, b: a.fdiv(b)),
    }
)
elementwise_rows(
    {
        f"rcp.{_ROUND}.ftz?.f32": _reciprocal,
        "rcp.approx.ftz?.f32": _reciprocal,
        f"rcp.{_ROUND}.f64": lambda form: double(lambda a: a.real(1.0).fdiv(a)),
        f"sqrt.{_ROUND}.ftz?.f32": _root,
        "sqrt.approx.ftz?.f32": _root,
        f"sqrt.{_ROUND}.f64": lambda form: double(lambda a: a.sqrt()),
        "rsqrt.approx.ftz?.f32": lambda form: approximate(form, lambda a: a.real(1.0).fdiv(a.sqrt())),
        "rsqrt.approx.f64": lambda form: double(lambda a: a.real(1.0).fdiv(a.sqrt())),
        "ex2.approx.ftz?.f32": lambda form: approximate(form, exp2),
        "lg2.approx.ftz?.f32": lambda form: approximate(form, lambda x: library("log2", x)),
        "sin.approx.ftz?.f32": lambda form: approximate(form, lambda x: library("sin", x)),
        "cos.approx.ftz?.f32": lambda form: approximate(form, lambda x: library("cos", x)),
        "tanh.approx.f32": lambda form: approximate(form, tanh),
    },
    operands="T",
)


@elementwise("div.approx.ftz?.f32")
def div_approximate(form: Form) -> Body:
    """A divisor beyond 2^126 has the reciprocal 0."""

    def divide(a: Value, b: Value) -> Value:
        size = magnitude(b.bits(), _F32)
        huge = size.above(0x7E800000) & size.at_most(_F32.infinity)
        zero = (b.bits() & (1 << 31)).float()
        return huge.then(a.fmul(zero), a.fdiv(b))

    return single(form, divide)


@elementwise("rcp.approx.ftz.f64", operands="T")
@elementwise("rsqrt.approx.ftz.f64", operands="T")
def gross(form: Form) -> Body:
    """Only the upper word of the operand counts, and the lower word of the result is 0."""

    def body(a: Value) -> Value:
        value = flushed(a & (0xFFFFFFFF << 32), _F64).float()
        root = value.sqrt() if form.opcode == "rsqrt" else value
        found = root.real(1.0).fdiv(root)
        upper = flushed(found.bits(), _F64) & (0xFFFFFFFF << 32)
        return found.is_nan().then(0x7FFFFFFF << 32, upper)

    return body
