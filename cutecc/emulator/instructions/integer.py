"""Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions")."""

from __future__ import annotations

import numpy as np

from cutecc.emulator.instructions.elementwise import elementwise, elementwise_rows
from cutecc.emulator.instructions.form import Form
from cutecc.emulator.numbers.code import Body, Value
from cutecc.emulator.numbers.packed import halves, quarters

_ALL = "{u16,s16,u32,s32,u64,s64}"
_HALVES = "{u16x2,s16x2}"
_QUARTERS = "{u8x4,s8x4}"


def is_signed(form: Form) -> bool:
    return form.type.startswith("s")


elementwise_rows(
    {
        "neg.{s16,s32,s64}": lambda form: np.negative,
        "neg.s8x4": lambda form: quarters(lambda a: -a),
        "abs.{s16,s32,s64}": lambda form: lambda a: a.below(0, signed=True).then(-a, a),
        "brev.{b32,b64}": lambda form: lambda a: a.reversed(),
    },
    operands="T",
)
elementwise_rows(
    {
        "popc.{b32,b64}": lambda form: lambda a: a.ones().resize("i32"),
        "clz.{b32,b64}": lambda form: lambda a: a.leading_zeros().resize("i32"),
    },
    "u32",
    "T",
)
elementwise_rows(
    {
        f"add.{_ALL}": lambda form: np.add,
        f"sub.{_ALL}": lambda form: np.subtract,
        "add.sat.{u32,s32}": lambda form: lambda a, b: _saturated(form, "add", a, b),
        "sub.sat.s32": lambda form: lambda a, b: _saturated(form, "sub", a, b),
        f"add.{_HALVES}": lambda form: halves(lambda a, b: a + b),
        f"sub.{_HALVES}": lambda form: halves(lambda a, b: a - b),
        f"add.sat.{_HALVES}": lambda form: halves(lambda a, b: _saturated(form, "add", a, b)),
        f"add.{_QUARTERS}": lambda form: quarters(lambda a, b: a + b),
        f"sub.{_QUARTERS}": lambda form: quarters(lambda a, b: a - b),
        f"add.sat.{_QUARTERS}": lambda form: quarters(lambda a, b: _saturated(form, "add", a, b)),
        f"sub.sat.{_QUARTERS}": lambda form: quarters(lambda a, b: _saturated(form, "sub", a, b)),
        f"mul.lo.{_ALL}": lambda form: np.multiply,
        f"mul.hi.{_ALL}": lambda form: lambda a, b: high_half(a, b, is_signed(form)),
        "mul24.{lo,hi}.{u32,s32}": lambda form: lambda a, b: _product24(form, a, b),
        f"div.{_ALL}": lambda form: lambda a, b: divided(a, b, is_signed(form))[0],
        f"rem.{_ALL}": lambda form: lambda a, b: divided(a, b, is_signed(form))[1],
        f"min.{_ALL}": lambda form: lambda a, b: a.least(b, is_signed(form)),
        f"max.{_ALL}": lambda form: lambda a, b: a.most(b, is_signed(form)),
        "min.relu.s32": lambda form: lambda a, b: _relu(form, a.least(b, signed=True)),
        "max.relu.s32": lambda form: lambda a, b: _relu(form, a.most(b, signed=True)),
        f"min.relu?.{_HALVES}": lambda form: halves(lambda a, b: _relu(form, a.least(b, is_signed(form)))),
        f"max.relu?.{_HALVES}": lambda form: halves(lambda a, b: _relu(form, a.most(b, is_signed(form)))),
        f"min.relu?.{_QUARTERS}": lambda form: quarters(lambda a, b: _relu(form, a.least(b, is_signed(form)))),
        f"max.relu?.{_QUARTERS}": lambda form: quarters(lambda a, b: _relu(form, a.most(b, is_signed(form)))),
    }
)
elementwise_rows(
    {
        f"mad.lo.{_ALL}": lambda form: lambda a, b, c: a * b + c,
        f"mad.hi.sat?.{_ALL}": lambda form: lambda a, b, c: _sum(form, high_half(a, b, is_signed(form)), c),
        "mad24.{lo,hi}.sat?.{u32,s32}": lambda form: lambda a, b, c: _sum(form, _product24(form, a, b), c),
        "clmad.{lo,hi}.u64": lambda form: lambda a, b, c: _carryless(form, a, b) ^ c,
        f"sad.{_ALL}": lambda form: lambda a, b, c: a.most(b, is_signed(form)) - a.least(b, is_signed(form)) + c,
    },
    operands="T T T",
)
for _narrow, _wide in (("{u16,s16}", "b32"), ("{u32,s32}", "b64")):
    elementwise(f"mul.wide.{_narrow}", _wide)(lambda form: lambda a, b: full_product(a, b, is_signed(form)))
    elementwise(f"mad.wide.{_narrow}", _wide, f"T T {_wide}")(
        lambda form: lambda a, b, c: full_product(a, b, is_signed(form)) + c
    )


def _saturated(form: Form, operation: str, a: Value, b: Value) -> Value:
    return a.code.call(f"{form.type[0]}{operation}.sat", a.type, a, b)


def _carryless(form: Form, a: Value, b: Value) -> Value:
    """The low half of a product without carries, or the high one."""
    if form.has("hi"):
        return _carryless_low(a.reversed(), b.reversed()).reversed() >> 1
    return _carryless_low(a, b)


def _carryless_low(a: Value, b: Value) -> Value:
    product = a.constant(0)
    for bit in range(a.width):
        product = product ^ (a & (1 << bit)).same(0).then(0, b << bit)
    return product


def _sum(form: Form, product: Value, added: Value) -> Value:
    return product.code.call("sadd.sat", added.type, product, added) if form.has("sat") else product + added


def _relu(form: Form, value: Value) -> Value:
    return value.most(0, signed=True) if form.has("relu") else value


def full_product(a: Value, b: Value, signed: bool) -> Value:
    """Of twice the width."""
    wide = f"i{2 * a.width}"
    return a.resize(wide, signed) * b.resize(wide, signed)


def high_half(a: Value, b: Value, signed: bool) -> Value:
    """The upper half of the product."""
    return (full_product(a, b, signed) >> a.width).resize(a.type)


def _product24(form: Form, a: Value, b: Value) -> Value:
    """Of the low 24 bits: the low 32 of the 48 bits, or the high 32."""
    wide = [
        (each.resize("i64") << 40).sign_shift(40) if is_signed(form) else each.resize("i64") & 0xFFFFFF
        for each in (a, b)
    ]
    product = wide[0] * wide[1]
    return (product >> 16 if form.has("hi") else product).resize("i32")


def divided(a: Value, b: Value, signed: bool) -> tuple[Value, Value]:
    """Quotient toward zero, and remainder with the sign of `a`.

    By 0, what hardware gives is all ones; the most negative number divided by -1 is itself.
    """
    none = b.same(0)
    if not signed:
        by = none.then(1, b)
        return none.then(-1, a.unsigned_div(by)), none.then(-1, a.unsigned_rem(by))
    minus_a, minus_b = a.below(0, signed=True), b.below(0, signed=True)
    size, by = minus_a.then(-a, a), none.then(1, minus_b.then(-b, b))
    quotient = size.unsigned_div(by)
    remainder = size - quotient * by
    signed_quotient = (minus_a ^ minus_b).then(-quotient, quotient)
    return none.then(-1, signed_quotient), none.then(-1, minus_a.then(-remainder, remainder))


# Bits.


@elementwise("bfind.shiftamt?.{u32,s32,u64,s64}", "u32", "T")
def bfind(form: Form) -> Body:
    """The highest bit that is not as the sign, all ones when there is none; `.shiftamt` counts from the top."""

    def body(a: Value) -> Value:
        bits = a ^ a.sign_shift(a.width - 1) if is_signed(form) else a
        zeros = bits.leading_zeros()
        place = zeros if form.has("shiftamt") else (a.width - 1) - zeros
        return bits.same(0).then(-1, place).resize("i32")

    return body


@elementwise("fns.b32", "b32", "b32 b32 s32")
def fns(form: Form) -> Body:
    """The `offset`-th bit that is set, from `base` up, or down for a negative offset; with 0, `base` itself if set."""

    def body(mask: Value, base: Value, offset: Value) -> Value:
        start = base.least(31)
        from_base, to_base = base.constant(-1) << start, base.constant(-1) >> (31 - start)
        down = offset.below(0, signed=True)
        wanted = down.then(-offset, offset)
        found = base.constant(-1)
        for place in range(32):
            between = down.then(from_base.constant(-1 << place) & to_base, from_base & ((2 << place) - 1))
            is_set = (mask & (1 << place)).differs(0)
            within = (between & (1 << place)).differs(0)
            is_it = wanted.same(0).then(base.same(place), (mask & between).ones().same(wanted) & within)
            found = (is_set & is_it).then(place, found)
        return base.below(32).then(found, base.constant(-1))

    return body


@elementwise("bfe.{u32,s32,u64,s64}", operands="T u32 u32")
def bfe(form: Form) -> Body:
    def body(a: Value, position: Value, length: Value) -> Value:
        width = a.width
        start, size = _field(a, position, length)
        cut = width - size.most(1).least(width)
        if is_signed(form):
            field = (a.sign_shift(start.least(width - 1)) << cut).sign_shift(cut)
        else:
            field = ((start.below(width).then(a >> start.least(width - 1), a.constant(0))) << cut) >> cut
        return size.same(0).then(0, field)

    return body


@elementwise("bfi.{b32,b64}", operands="T T u32 u32")
def bfi(form: Form) -> Body:
    def body(a: Value, b: Value, position: Value, length: Value) -> Value:
        width = a.width
        start, size = _field(a, position, length)
        ones = size.same(0).then(0, a.constant(-1) >> (width - size.most(1).least(width)))
        shift = start.least(width - 1)
        inside = start.below(width).then(ones << shift, a.constant(0))
        return (b & ~inside) | ((a << shift) & inside)

    return body


def _field(a: Value, position: Value, length: Value) -> tuple[Value, Value]:
    """First bit and number of bits: of 32 bits their low bytes count, of 64 bits all of them (so an H200 has it)."""
    if a.width == 32:
        position, length = position & 0xFF, length & 0xFF
    return position.resize(a.type), length.resize(a.type)


@elementwise("bmsk.{clamp,wrap}.b32", operands="u32 u32")
def bmsk(form: Form) -> Body:
    """`b` ones from bit `a` on; what goes past the top is cut off. `.wrap` takes both modulo 32."""

    def body(a: Value, b: Value) -> Value:
        ones = (a.constant(1) << (b & 31)) - 1
        if form.has("clamp"):
            ones = b.below(32).then(ones, a.constant(-1))
        mask = ones << (a & 31)
        return mask if form.has("wrap") else a.below(32).then(mask, a.constant(0))

    return body


@elementwise("szext.{clamp,wrap}.{u32,s32}", operands="T u32")
def szext(form: Form) -> Body:
    def body(a: Value, b: Value) -> Value:
        size = b & 31
        cut = (32 - size) & 31
        shifted = a << cut
        extended = size.same(0).then(0, shifted.sign_shift(cut) if is_signed(form) else shifted >> cut)
        return b.below(32).then(extended, a) if form.has("clamp") else extended

    return body


# Dot products.


def _bytes(a: Value, signed: bool) -> list[Value]:
    """The four bytes, extended."""
    return [(a << (24 - 8 * index)).sign_shift(24) if signed else (a >> (8 * index)) & 0xFF for index in range(4)]


@elementwise("dp4a.{u32,s32}.{u32,s32}", operands="T2 T u32")
def dp4a(form: Form) -> Body:
    def body(a: Value, b: Value, c: Value) -> Value:
        first, second = _bytes(a, form.modifiers[0] == "s32"), _bytes(b, form.modifiers[1] == "s32")
        for one, other in zip(first, second, strict=True):
            c = c + one * other
        return c

    return body


@elementwise("dp2a.{lo,hi}.{u32,s32}.{u32,s32}", operands="T2 T u32")
def dp2a(form: Form) -> Body:
    def body(a: Value, b: Value, c: Value) -> Value:
        second = _bytes(b, is_signed(form))[2 if form.has("hi") else 0 :]
        signed = form.modifiers[1] == "s32"
        first = [(a << 16).sign_shift(16), a.sign_shift(16)] if signed else [a & 0xFFFF, a >> 16]
        return c + first[0] * second[0] + first[1] * second[1]

    return body
