"""Conversions to and from several narrow floats in a register (PTX ISA, "cvt").

Those of 8 and 6 bits take a byte each, those of 4 bits share one; the first operand is the upmost. `s2f6` is an integer
of 8 bits that counts 64ths. `ue8m0` is the exponent of an `f32`, 0xff a NaN, and has no sign; as a scale it multiplies
what is made of a narrow float, or divides what is to become one.

`.rs` rounds away from zero where what is cut off, and a random fraction, make one. Of the 16 random bits of each pair
of results (of `f16` each result has 13, of `bf16` 16 of its own) the lower one takes them as they are, the upper one in
the other order: so B200s have it, by public measurements of `e4m3`, `e5m2` and `e2m1` (PTX ISA, "cvt", Figures 38-41).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from cutecc.emulator.instructions.elementwise import elementwise
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.numbers.code import Body, Value
from cutecc.emulator.numbers.formats import FORMATS, Mode, packed, unpacked
from cutecc.emulator.numbers.packed import join, split

_SMALL = ("e4m3", "e5m2", "e2m1", "e2m3", "e3m2")
_SCALED = "scaled::n2::ue8m0"
_NAN = 0x7FF8 << 48
"""The bits of a `double`."""


@dataclass(frozen=True, slots=True)
class _Source:
    """One number that becomes a narrow float."""

    bits: Value
    format: str
    scale: Value | None = None
    """What it is multiplied by, a `double`."""
    random: Value | None = None
    """Of `.rs`: a fraction, times 2^63."""

    def value(self) -> Value:
        number = unpacked(self.bits, FORMATS[self.format])
        return number if self.scale is None else number.fmul(self.scale)


def _bits(name: str) -> int:
    """What a number of a format takes in a register."""
    return {"f16": 16, "bf16": 16, "e2m1": 4}.get(name, 8)


def _held(name: str, count: int = 2) -> str:
    """The bits type that holds so many values of a format."""
    return f"b{count * _bits(name)}"


def _named(type_: str) -> str:
    """The format of each of several: `e4m3` of `e4m3x4`."""
    return type_[:-2]


def _narrowed(form: Form, sources: list[_Source], to: str) -> Value:
    """These numbers, the lowest first, in the format, in one register."""
    target, part = FORMATS[to], _bits(to)
    mode = cast(Mode, form.one_of("rz", "rs", default="rn"))
    results: list[Value] = []
    for each in sources:
        found = packed(each.value(), target, mode, form.has("satfinite"), random=each.random)
        if form.has("relu"):
            found = ((found >> (target.width - 1)) & 1).differs(0).then(0, found)
        results.append(found)
    return _joined(results, part)


def _joined(parts: list[Value], bits: int) -> Value:
    """Integers of so many bits, in wider ones that can hold all, in one register; the lowest first."""
    whole = parts[0]
    for index, part in enumerate(parts[1:], 1):
        whole = whole | (part << (bits * index))
    return whole.resize(f"i{bits * len(parts)}")


def _small_ones(a: Value, name: str) -> list[Value]:
    """The codes of two narrow floats in a register."""
    mask = (1 << FORMATS[name].width) - 1
    return [(a >> (_bits(name) * index)) & mask for index in range(2)]


@elementwise("cvt.{rn,rz}.relu?.satfinite?.relu?.{f16x2,bf16x2}.f32", "T2", "f32 f32", "rn")
def halves_from_floats(form: Form) -> Body:
    return lambda a, b: _narrowed(form, [_Source(b, "f32"), _Source(a, "f32")], _named(form.modifiers[-2]))


for _name in _SMALL:

    @elementwise(f"cvt.rn.relu?.satfinite.relu?.{_name}x2.f32", _held(_name), "f32 f32", "rn")
    def small_from_floats(form: Form) -> Body:
        return lambda a, b: _narrowed(form, [_Source(b, "f32"), _Source(a, "f32")], _named(form.modifiers[-2]))

    @elementwise(f"cvt.rn.relu?.satfinite.relu?.{_name}x2.{{f16x2,bf16x2}}", _held(_name), "b32", "rn")
    def small_from_halves(form: Form) -> Body:
        source = _named(form.type)
        return lambda a: _narrowed(form, [_Source(each, source) for each in split(a, 2)], _named(form.modifiers[-2]))

    @elementwise(f"cvt.rn.relu?.f16x2.{_name}x2", "b32", _held(_name), "rn")
    @elementwise(f"cvt.rn.relu?.satfinite?.relu?.bf16x2.{_name}x2", "b32", _held(_name), "rn")
    def halves_from_small(form: Form) -> Body:
        source, to = _named(form.type), _named(form.modifiers[-2])
        return lambda a: _narrowed(form, [_Source(each, source) for each in _small_ones(a, source)], to)

    @elementwise(f"cvt.rn.relu?.satfinite?.relu?.{_SCALED}.bf16x2.{_name}x2", "b32", f"{_held(_name)} b16", "rn")
    def halves_from_scaled(form: Form) -> Body:
        source = _named(form.type)

        def body(a: Value, scales: Value) -> Value:
            pairs = zip(_small_ones(a, source), _powers(scales), strict=True)
            return _narrowed(form, [_Source(each, source, scale) for each, scale in pairs], "bf16")

        return body

    @elementwise(f"cvt.rs.relu?.satfinite.relu?.{_name}x4.f32", _held(_name, 4), "f32 f32 f32 f32 b32", "rn")
    def small_at_random(form: Form) -> Body:
        to = _named(form.modifiers[-2])

        def body(a: Value, b: Value, e: Value, f: Value, random: Value) -> Value:
            fractions = _shared_fractions(random, interleaved=to == "e2m1")
            sources = [_Source(each, "f32", random=one) for each, one in zip((f, e, b, a), fractions, strict=True)]
            return _narrowed(form, sources, to)

        return body


# Rounding at random.


@elementwise("cvt.rs.relu?.satfinite?.relu?.{f16x2,bf16x2}.f32", "T2", "f32 f32 b32", "rn")
def halves_at_random(form: Form) -> Body:
    to = _named(form.modifiers[-2])
    bits = FORMATS["f32"].mantissa - FORMATS[to].mantissa

    def body(a: Value, b: Value, random: Value) -> Value:
        low, high = (((each.resize("i64") & ((1 << bits) - 1)) << (63 - bits)) for each in split(random, 2))
        return _narrowed(form, [_Source(b, "f32", random=low), _Source(a, "f32", random=high)], to)

    return body


def _shared_fractions(random: Value, interleaved: bool) -> list[Value]:
    """Of four results, the lowest first: two share 16 bits, a half, or two bytes `interleaved`."""
    if interleaved:
        low, low_middle, high_middle, high = split(random, 4)
        pairs = [join([low, high_middle]), join([low_middle, high])]
    else:
        pairs = split(random, 2)
    return [(each.resize("i64") << 47) for pair in pairs for each in (pair, pair.reversed())]


# Powers of two: `ue8m0` is the exponent of an f32, 0xff a NaN; the sign is left out.


@elementwise("cvt.{rz,rp}.satfinite?.ue8m0x2.f32", "b16", "f32 f32", "rn")
def powers_from_floats(form: Form) -> Body:
    return lambda a, b: _joined([_power(form, each) for each in (b, a)], 8)


@elementwise("cvt.{rz,rp}.satfinite?.ue8m0x2.bf16x2", "b16", "b32", "rn")
def powers_from_halves(form: Form) -> Body:
    return lambda a: _joined([_power(form, each) for each in (a << 16, a & 0xFFFF0000)], 8)


@elementwise("cvt.rn.bf16x2.ue8m0x2", "b32", "b16", "rn")
def halves_from_powers(form: Form) -> Body:
    def body(a: Value) -> Value:
        codes = [each.resize("i32") for each in split(a, 2)]
        return _joined([code.same(0xFF).then(0x7FFF, code.same(0).then(0x40, code << 7)) for code in codes], 16)

    return body


def _power(form: Form, bits: Value) -> Value:
    size = bits & 0x7FFFFFFF
    code = size >> 23
    if form.has("rp"):
        # 2^-127, the least, is a subnormal f32.
        least = size.above(0x400000).resize("i32")
        code = code.same(0).then(least, code + (size & 0x7FFFFF).differs(0).resize("i32"))
    largest = 0xFE if form.has("satfinite") else 0xFF
    return size.above(0x7F800000).then(0xFF, code.least(largest))


def _powers(scales: Value) -> list[Value]:
    """Of two codes, the lower one first: `double`s."""
    codes = [each.resize("i64") for each in split(scales, 2)]
    return [code.same(0xFF).then(_NAN, (code + (1023 - 127)) << 52).float() for code in codes]


# Fixed-point numbers: 64ths.


@elementwise("cvt.rn.relu?.satfinite.relu?.s2f6x2.f32", "b16", "f32 f32", "rn")
def fixed_from_floats(form: Form) -> Body:
    return lambda a, b: _joined([_fixed(form, each, "f32") for each in (b, a)], 8)


@elementwise(f"cvt.rn.relu?.satfinite.relu?.{_SCALED}.s2f6x2.f32", "b16", "f32 f32 b16", "rn")
def fixed_from_scaled_floats(form: Form) -> Body:
    def body(a: Value, b: Value, scales: Value) -> Value:
        pairs = zip((b, a), _powers(scales), strict=True)
        return _joined([_fixed(form, each, "f32", scale) for each, scale in pairs], 8)

    return body


@elementwise("cvt.rn.relu?.satfinite.relu?.s2f6x2.bf16x2", "b16", "b32", "rn")
def fixed_from_halves(form: Form) -> Body:
    return lambda a: _joined([_fixed(form, each, "bf16") for each in split(a, 2)], 8)


@elementwise(f"cvt.rn.relu?.satfinite.relu?.{_SCALED}.s2f6x2.bf16x2", "b16", "b32 b16", "rn")
def fixed_from_scaled_halves(form: Form) -> Body:
    def body(a: Value, scales: Value) -> Value:
        pairs = zip(split(a, 2), _powers(scales), strict=True)
        return _joined([_fixed(form, each, "bf16", scale) for each, scale in pairs], 8)

    return body


@elementwise("cvt.rn.relu?.satfinite?.relu?.bf16x2.s2f6x2", "b32", "b16", "rn")
def halves_from_fixed(form: Form) -> Body:
    return lambda a: _narrowed(form, [_Source(_counted(each), "f64") for each in split(a, 2)], "bf16")


@elementwise(f"cvt.rn.relu?.satfinite?.relu?.{_SCALED}.bf16x2.s2f6x2", "b32", "b16 b16", "rn")
def halves_from_scaled_fixed(form: Form) -> Body:
    def body(a: Value, scales: Value) -> Value:
        pairs = zip(split(a, 2), _powers(scales), strict=True)
        return _narrowed(form, [_Source(_counted(each), "f64", scale) for each, scale in pairs], "bf16")

    return body


def _fixed(form: Form, bits: Value, source: str, scale: Value | None = None) -> Value:
    """The code, in 64 bits. What is too large becomes the largest of its sign, a NaN the largest of all."""
    value = unpacked(bits, FORMATS[source])
    if scale is not None:
        value = value.fdiv(scale)
    counted = value.fmul(value.real(64.0))
    low = value.real(0.0 if form.has("relu") else -128.0)
    inside = counted.compare("olt", low).then(low, counted)
    inside = inside.compare("olt", value.real(127.0)).then(inside, value.real(127.0))
    return value.code.call("roundeven", "double", inside).integer("i64", signed=True) & 0xFF


def _counted(code: Value) -> Value:
    """What a code means: the bits of a `double`."""
    number = code.resize("i64", signed=True).number()
    return number.fmul(number.real(1 / 64)).bits()
