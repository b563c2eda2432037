"""Transcendental functions of `double`s, but for `tanh` well below half an ulp of `f32` off."""

from __future__ import annotations

import math

from cutecc.emulator.numbers.code import Value

_TERMS = 13


def exp2(x: Value) -> Value:
    """2**x. Of numbers beyond ±1000 that of ±1000, which no smaller format tells from infinity or 0."""
    inside = x.compare("olt", x.real(-1000.0)).then(x.real(-1000.0), x)
    inside = x.compare("ogt", x.real(1000.0)).then(x.real(1000.0), inside)
    whole = x.code.call("roundeven", "double", inside)
    rest = inside.fsub(whole)
    result = x.real(math.log(2) ** _TERMS / math.factorial(_TERMS))
    for power in reversed(range(_TERMS)):
        result = result.fma(rest, x.real(math.log(2) ** power / math.factorial(power)))
    number = x.is_nan().then(x.real(0.0), whole)
    scale = (number.integer("i64", signed=True) + 1023) << 52
    return result.fmul(scale.float())


def tanh(x: Value) -> Value:
    """tanh x as hardware approximates it: x up to 2^-8 (2^-17.5 relative off), ±1 from 8 on; elsewhere exact."""
    bits = x.bits()
    size = (bits & (2**63 - 1)).float()
    power = exp2(size.fmul(x.real(2 / math.log(2))))
    one = x.real(1.0)
    result = one.fsub(x.real(2.0).fdiv(power.fadd(one)))
    result = size.compare("oge", x.real(8.0)).then(one, result)
    result = size.compare("ole", x.real(2.0**-8)).then(size, result)
    return (result.bits() | (bits & (1 << 63))).float()


def library(name: str, x: Value) -> Value:
    """`sin`, `cos` or `log2` of the C library."""
    return x.code.call(name, "double", x)
