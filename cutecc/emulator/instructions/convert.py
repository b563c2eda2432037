"""Conversions between number types (PTX ISA, "cvt" and "cvt.pack").

Integers from floats are clamped to their range; a NaN gives 0, or the integer with only the highest bit set where one
of the two has 64 bits. A NaN result is the format's canonical one; from and to `f64` it keeps its sign and the upper
bits of its payload, and becomes quiet.
"""

from __future__ import annotations

from typing import cast

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_step
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.instructions.operation import Operation
from cutecc.emulator.instructions.table import Step, instruction
from cutecc.emulator.numbers.code import Body, Value
from cutecc.emulator.numbers.formats import FORMATS, Format, Mode, packed, packed_integer, unpacked
from cutecc.emulator.numbers.real import canonical, clamped, flushed, positive

_INTEGERS = ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "s64")
_FLOATS = ("f16", "bf16", "f32", "f64")
_ROUND = {"rni": "roundeven", "rzi": "trunc", "rmi": "floor", "rpi": "ceil"}
_INTEGER_LIST, _FLOAT_LIST = f"{{{','.join(_INTEGERS)}}}", f"{{{','.join(_FLOATS)}}}"
_NEAR = "{rn,rz,rm,rp}"


def is_signed(type_: str) -> bool:
    return type_.startswith("s")


def bits_in(type_: str) -> int:
    return int("".join(filter(str.isdigit, type_)))


def limits(type_: str) -> tuple[int, int]:
    """The least and the largest integer of the type."""
    bits = bits_in(type_)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed(type_) else (0, (1 << bits) - 1)


# Integers from integers.


@instruction(f"cvt.sat?.{_INTEGER_LIST}.{_INTEGER_LIST}")
def integer_from_integer(operation: Operation) -> Step:
    form = operation.form
    to, source = form.modifiers[-2:]
    least, largest = limits(to)

    def body(a: Value) -> Value:
        if form.has("sat"):
            wide = a.resize("i128", is_signed(source))
            a = wide.most(least, signed=True).least(largest, signed=True)
        return a.resize(f"i{bits_in(to)}", is_signed(source))

    return elementwise_step(operation, body, [to], [source])


# Floats from integers.


@instruction(f"cvt.{_NEAR}.sat?.{_FLOAT_LIST}.{_INTEGER_LIST}")
def float_from_integer(operation: Operation) -> Step:
    form = operation.form
    to, source = form.modifiers[-2:]
    format_, mode = FORMATS[to], cast(Mode, form.modifiers[0])

    def body(a: Value) -> Value:
        bits = packed_integer(a, format_, mode, is_signed(source)).resize(f"i{format_.width}")
        return clamped(bits, format_) if form.has("sat") else bits

    return elementwise_step(operation, body, [to], [source], "rn")


# Integers from floats.


@instruction(f"cvt.{{rni,rzi,rmi,rpi}}.ftz?.sat?.{_INTEGER_LIST}.{_FLOAT_LIST}")
def integer_from_float(operation: Operation) -> Step:
    form = operation.form
    to, source = form.modifiers[-2:]
    least, largest = limits(to)
    nan = 1 << (bits_in(to) - 1) if "f64" in source or bits_in(to) == 64 else 0

    def body(a: Value) -> Value:
        if form.has("ftz") and source == "f32":
            a = flushed(a, FORMATS["f32"])
        value = a.code.call(_ROUND[form.modifiers[0]], "double", unpacked(a, FORMATS[source]))
        low, high = value.compare("olt", value.real(float(least))), value.compare("oge", value.real(float(largest + 1)))
        inside = (low | high | value.is_nan()).then(value.real(0.0), value)
        found = inside.integer("i64", signed=is_signed(to))
        found = low.then(least, high.then(largest, found))
        return value.is_nan().then(nan, found).resize(f"i{bits_in(to)}")

    return elementwise_step(operation, body, [to], [source], "rn")


# Floats from floats.


@instruction(f"cvt.{{rn,rz,rm,rp,rni,rzi,rmi,rpi}}?.relu?.satfinite?.ftz?.sat?.{_FLOAT_LIST}.{_FLOAT_LIST}")
def float_from_float(operation: Operation) -> Step:
    form = operation.form
    to, source = form.modifiers[-2:]

    target = FORMATS[to]

    def body(a: Value) -> Value:
        bits = _rounded(form, a, source, to)
        if form.has("sat"):
            bits = clamped(bits, target)
        return positive(bits, target) if form.has("relu") else bits

    return elementwise_step(operation, body, [to], [source], "rn")


def _rounded(form: Form, a: Value, source: str, to: str) -> Value:
    """The bits of one float as another, before `.sat` and `.relu`. To `f16` (so an H200 has it) `.ftz` does nothing."""
    target, wide = FORMATS[to], FORMATS["f64"]
    whole = _ROUND.get(form.one_of(*_ROUND))
    flush = form.has("ftz") and to != "f16"
    if (source, to) == ("bf16", "f32"):
        a, source = a.resize("i32") << 16, "f32"
        if not flush:
            return a
    if flush and source == "f32":
        a = canonical(flushed(a, FORMATS["f32"]), FORMATS["f32"])
    if source == to and not whole:
        return a
    value = unpacked(a, FORMATS[source])
    if whole:
        value = a.code.call(whole, "double", value)
    if to == "f64":
        return value.is_nan().then(value.bits() | wide.quiet, value.bits())
    mode = cast(Mode, form.one_of("rn", "rz", "rm", "rp", default="rn"))
    bits = packed(value, target, mode, form.has("satfinite"), flush)
    if source == "f64":
        bits = value.is_nan().then(_payload_of_double(a, target), bits)
    return bits.resize(f"i{target.width}")


def _payload_of_double(a: Value, target: Format) -> Value:
    """A NaN in `f64` as one in another format: its sign and the upper bits of its payload, made quiet."""
    wide = FORMATS["f64"]
    payload = (a & (wide.quiet * 2 - 1)) >> (wide.mantissa - target.mantissa)
    return ((a >> (wide.width - 1)) << (target.width - 1)) | payload | target.infinity | target.quiet


@elementwise("cvt.rna.tf32.f32", "b32", "f32")
def tf32_away(form: Form) -> Body:
    """Half of a unit in the last place is added to what is finite, and the low 13 bits are cut off: of a NaN too."""
    return lambda a: (a & 0x7FFFFFFF).below(FORMATS["f32"].infinity).then(a + 0x1000, a) & 0xFFFFE000


@elementwise("cvt.{rn,rz,rna}.relu?.satfinite?.relu?.tf32.f32", "b32", "f32", "rn")
def tf32(form: Form) -> Body:
    """The low 13 bits of the result are 0, of a NaN too."""
    format_ = FORMATS["tf32"]

    def body(a: Value) -> Value:
        mode = cast(Mode, form.modifiers[0])
        bits = packed(unpacked(a, FORMATS["f32"]), format_, mode, form.has("satfinite")).resize("i32") << 13
        return bits.most(0, signed=True) if form.has("relu") else bits

    return body


# Integers packed with saturation.


@instruction("cvt.pack.sat.{u16,s16}.s32", "cvt.pack.sat.{u2,s2,u4,s4,u8,s8}.s32.b32")
def pack(operation: Operation) -> Step:
    """`b` lowest, `a` above it, and above both the low bits of `c`."""
    to = operation.form.modifiers[2]
    least, largest = limits(to)
    bits = bits_in(to)

    def body(a: Value, b: Value, *others: Value) -> Value:
        mask = (1 << bits) - 1
        high, low = (each.most(least, signed=True).least(largest, signed=True) & mask for each in (a, b))
        result = low | (high << bits)
        return result | (others[0] << (2 * bits)) if others else result

    return elementwise_step(operation, body, ["b32"], ["s32", "s32", "b32"][: len(operation.operands) - 1])
