"""Arithmetic of `f16` and `bf16`, one or two in a register (PTX ISA, "Half Precision Floating Point Instructions").

Computed in `double`, which holds sums and products of both exactly enough, and rounded once. A NaN result is `0x7fff`.
`ex2` and `tanh` are what an H200 gives, as far as measured: cut off, not rounded, from an approximation in `f32`. The
manual's bounds are 2^-9.9 (`ex2.f16`), 2^-7 (`ex2.bf16`), 2^-10.987 (`tanh.f16`) and 2^-8 (`tanh.bf16`) relative.
"""

from __future__ import annotations

import math

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_rows
from cutecc.emulator.instructions.floating import choice
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.numbers.code import Body, Compute, Value, compute_one
from cutecc.emulator.numbers.formats import FORMATS, Format, Mode, add_to_odd, packed, unpacked
from cutecc.emulator.numbers.functions import exp2, tanh
from cutecc.emulator.numbers.packed import halves
from cutecc.emulator.numbers.real import canonical, clamped, flushed, magnitude, positive

_TYPES = "{f16,f16x2,bf16,bf16x2}"
_OUTSIDE = 0x7FF7
"""The bits of the NaN that tensor copies fill with, in both formats: "OOB NaN" in the manual."""


def format_of(form: Form) -> Format:
    return FORMATS[form.type.removesuffix("x2")]


def each_half(form: Form, compute: Compute) -> Compute:
    """The body for one value, or for both of a register."""
    return halves(compute) if form.type.endswith("x2") else compute


def in_doubles(form: Form, compute: Compute, mode: Mode = "rn") -> Compute:
    """The body for a function of `double`s, with the form's `.ftz`, `.sat` and `.relu`."""
    return each_half(form, one_in_doubles(form, compute, mode))


def one_in_doubles(form: Form, compute: Compute, mode: Mode = "rn") -> Compute:
    """The same for one value."""
    format_ = format_of(form)
    flush = form.has("ftz")

    def body(*operands: Value) -> Value:
        if flush:
            operands = tuple(flushed(each, format_) for each in operands)
        result = compute_one(compute, [unpacked(each, format_) for each in operands])
        bits = packed(result, format_, mode, flush=flush).resize("i16")
        if form.has("sat"):
            bits = clamped(bits, format_)
        if form.has("relu"):
            bits = positive(bits, format_)
        return bits

    return body


elementwise_rows(
    {
        f"add.rn?.ftz?.sat?.{_TYPES}": lambda form: in_doubles(form, add_to_odd),
        f"sub.rn?.ftz?.sat?.{_TYPES}": lambda form: in_doubles(
            form, lambda a, b: add_to_odd(a, (b.bits() ^ (1 << 63)).float())
        ),
        f"mul.rn?.ftz?.sat?.{_TYPES}": lambda form: in_doubles(form, lambda a, b: a.fmul(b)),
        f"min.ftz?.NaN?.xorsign?.abs?.{_TYPES}": lambda form: each_half(form, choice(form, format_of(form))),
        f"max.ftz?.NaN?.xorsign?.abs?.{_TYPES}": lambda form: each_half(form, choice(form, format_of(form))),
    }
)
elementwise_rows(
    {
        f"abs.ftz?.{_TYPES}": lambda form: each_half(form, lambda a: _signless(form, magnitude(a, format_of(form)))),
        f"neg.ftz?.{_TYPES}": lambda form: each_half(form, lambda a: _signless(form, a ^ 0x8000)),
    },
    operands="T",
)


@elementwise(f"fma.rn.{{oob,ftz}}?.sat?.relu?.{_TYPES}", operands="T T T")
def fma(form: Form) -> Body:
    """`.oob`: +0 where `a` or `b` is the NaN that says "out of bounds", of either sign.

    The manual says "either of the operands"; on an H200 these are the factors, and in `c` it is a NaN like others.
    """
    fused = one_in_doubles(form, lambda a, b, c: add_to_odd(a.fmul(b), c))

    def inside(a: Value, b: Value, c: Value) -> Value:
        outside = magnitude(a, format_of(form)).same(_OUTSIDE) | magnitude(b, format_of(form)).same(_OUTSIDE)
        return outside.then(0, compute_one(fused, [a, b, c]))

    return each_half(form, inside if form.has("oob") else fused)


def _signless(form: Form, bits: Value) -> Value:
    bits = canonical(bits, format_of(form))
    return flushed(bits, format_of(form)) if form.has("ftz") else bits


@elementwise(f"ex2.approx.ftz?.{_TYPES}", operands="T")
def ex2(form: Form) -> Body:
    def compute(x: Value) -> Value:
        limit = x.real(2.0 ** (format_of(form).bias + 1))
        tiny = magnitude(x.bits(), FORMATS["f64"]).below((1023 - 23) << 52)
        found = tiny.then(x.real(1.0), exp2(x).narrow().widen())
        return found.compare("oge", limit).then(x.real(math.inf), found)

    return in_doubles(form, compute, "rz")


@elementwise(f"tanh.approx.{_TYPES}", operands="T")
def hyperbolic_tangent(form: Form) -> Body:
    """x below 2^-8 + 2^-15. Elsewhere 24 numbers of `f16`, of each sign, and 1 of `bf16` are a unit off an H200's."""

    def compute(x: Value) -> Value:
        small = magnitude(x.bits(), FORMATS["f64"]).below((1023 - 8 << 52) + (1 << 45))
        return small.then(x, tanh(x).narrow().widen())

    return in_doubles(form, compute, "rz")
