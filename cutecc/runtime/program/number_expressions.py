"""What each arithmetic operation of a host program means, as one table of Python expressions.

The evaluator and launch plans paste the expressions into the code that they generate; `function` makes one callable,
for values known beforehand.
"""

from __future__ import annotations

import functools
import math
import struct
from collections.abc import Callable, Sequence
from typing import Final, NoReturn

from cutecc.errors import LaunchError
from cutecc.record.host_program import Op, ValueType

Number = int | float

BITS: Final[dict[ValueType, int]] = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "f16": 16,
    "bf16": 16,
    "f32": 32,
    "f64": 64,
}
"""Every value type and its width."""
SIZES: Final[dict[ValueType, int]] = {type_: (bits + 7) // 8 for type_, bits in BITS.items()}
"""Bytes that a value takes in memory and in a parameter block; an `i1` takes one byte, 0 or 1."""
FORMATS: Final[dict[ValueType, str]] = {
    "i1": "B",
    "i8": "B",
    "i16": "H",
    "i32": "I",
    "i64": "Q",
    "f16": "e",
    "bf16": "H",  # its bits
    "f32": "f",
    "f64": "d",
}
"""The code of `struct` for each type."""

INTEGER_BINARY: Final[frozenset[Op]] = frozenset(
    ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr", "umin", "umax")
) | frozenset[Op](("smin", "smax"))
INTEGER_UNARY: Final[frozenset[Op]] = frozenset(("ctlz", "cttz", "ctpop", "abs"))
INTEGER_COMPARISONS: Final[frozenset[Op]] = frozenset(
    ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
)
FLOAT_COMPARISONS: Final[frozenset[Op]] = frozenset(("foeq", "fune", "folt", "fole", "fogt", "foge"))
FLOAT_BINARY: Final[frozenset[Op]] = frozenset(("fadd", "fsub", "fmul", "fdiv"))
CONVERSIONS: Final[frozenset[Op]] = frozenset(
    ("zext", "sext", "trunc", "bitcast", "sitofp", "uitofp", "fptosi", "fptoui", "fpext", "fptrunc")
)
ARITHMETIC: Final[frozenset[Op]] = (
    INTEGER_BINARY
    | INTEGER_UNARY
    | INTEGER_COMPARISONS
    | FLOAT_COMPARISONS
    | FLOAT_BINARY
    | CONVERSIONS
    | frozenset[Op](("fneg", "select"))
)
"""Operations that read and change nothing but values; the divisions among them can fail."""
DIVISIONS: Final[frozenset[Op]] = frozenset(("udiv", "sdiv", "urem", "srem"))


def is_integer(type_: ValueType) -> bool:
    """Whether values of the type are integers."""
    return type_[0] == "i"


def expression(op: Op, operands: Sequence[str], source: ValueType, result: ValueType) -> str:
    """A Python expression for `op`, over operands that are names or decimal literals.

    `source` is the type of the last operand. The names of `NAMESPACE` are to be in scope. It raises `LaunchError` where
    the operation fails.
    """
    a, b = operands[0], operands[-1]
    bits = BITS[source]
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    match op:
        case "select":
            return f"{operands[1]} if {a} else {b}"
        case "shl" | "lshr" | "ashr":
            return _shift(op, a, b, bits)
        case "udiv" | "urem" | "sdiv" | "srem":
            return _division(op, a, b, bits)
        case "fadd" | "fsub" | "fmul" | "fdiv" | "fptrunc":
            return _rounded(_FLOATS[op].format(a=a, b=b), result)
        case "sext":
            return f"{a} | {(1 << BITS[result]) - 1 - mask} if {a} & {sign} else {a}"
        case "trunc":
            return f"{a} & {(1 << BITS[result]) - 1}"
        case "sitofp" | "uitofp":
            number = f"({a} ^ {sign}) - {sign}" if op == "sitofp" else a
            return f"float({number})" if result == "f64" else _rounded(f"to_odd({number})", result)
        case "fptosi":
            half = 1 << (BITS[result] - 1)
            return f"to_integer({a}, {-half}, {half - 1}) & {2 * half - 1}"
        case "fptoui":
            return f"to_integer({a}, 0, {(1 << BITS[result]) - 1})"
        case "bitcast":
            if is_integer(source) == is_integer(result):
                return a if source == result else f"float_{result}(bits_{source}({a}))"
            return f"float_{result}({a})" if is_integer(source) else f"bits_{source}({a})"
        case _:
            return _TEMPLATES[op].format(a=a, b=b, mask=mask, sign=sign, bits=bits)


_TEMPLATES: Final[dict[str, str]] = {
    "add": "{a} + {b} & {mask}",
    "sub": "{a} - {b} & {mask}",
    "mul": "{a} * {b} & {mask}",
    "and": "{a} & {b}",
    "or": "{a} | {b}",
    "xor": "{a} ^ {b}",
    "umin": "{a} if {a} < {b} else {b}",
    "umax": "{a} if {a} > {b} else {b}",
    "smin": "{a} if {a} ^ {sign} < {b} ^ {sign} else {b}",
    "smax": "{a} if {a} ^ {sign} > {b} ^ {sign} else {b}",
    "ctlz": "{bits} - ({a}).bit_length()",
    "cttz": "({a} & -{a}).bit_length() - 1 if {a} else {bits}",
    "ctpop": "({a}).bit_count()",
    "abs": "-{a} & {mask} if {a} & {sign} else {a}",
    "eq": "1 if {a} == {b} else 0",
    "ne": "1 if {a} != {b} else 0",
    "ult": "1 if {a} < {b} else 0",
    "ule": "1 if {a} <= {b} else 0",
    "ugt": "1 if {a} > {b} else 0",
    "uge": "1 if {a} >= {b} else 0",
    "slt": "1 if {a} ^ {sign} < {b} ^ {sign} else 0",
    "sle": "1 if {a} ^ {sign} <= {b} ^ {sign} else 0",
    "sgt": "1 if {a} ^ {sign} > {b} ^ {sign} else 0",
    "sge": "1 if {a} ^ {sign} >= {b} ^ {sign} else 0",
    "foeq": "1 if {a} == {b} else 0",
    "fune": "1 if {a} != {b} else 0",
    "folt": "1 if {a} < {b} else 0",
    "fole": "1 if {a} <= {b} else 0",
    "fogt": "1 if {a} > {b} else 0",
    "foge": "1 if {a} >= {b} else 0",
    "fneg": "-{a}",
    "zext": "{a}",
    "fpext": "{a}",
}

_FLOATS: Final[dict[str, str]] = {
    "fadd": "{a} + {b}",
    "fsub": "{a} - {b}",
    "fmul": "{a} * {b}",
    "fdiv": "divide({a}, {b})",
    "fptrunc": "{a}",
}
"""In doubles. Rounded once more to a type of at most 24 bits, each is the correctly rounded result of that type."""


def _rounded(text: str, result: ValueType) -> str:
    return text if result == "f64" else f"round_{result}({text})"


def _shift(op: str, a: str, b: str, bits: int) -> str:
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    if op == "ashr":
        amount = str(min(int(b), bits - 1)) if b.isdecimal() else f"({b} if {b} < {bits} else {bits - 1})"
        return f"(({a} ^ {sign}) - {sign} >> {amount}) & {mask}"
    shifted = f"{a} << {b} & {mask}" if op == "shl" else f"{a} >> {b}"
    if b.isdecimal():
        return shifted if int(b) < bits else "0"
    return f"{shifted} if {b} < {bits} else 0"


def _division(op: str, a: str, b: str, bits: int) -> str:
    mask, sign = (1 << bits) - 1, 1 << (bits - 1)
    if not (b.isdecimal() and 0 < int(b) < sign):
        return f"{op}({a}, {b}, {sign})" if op in ("sdiv", "srem") else f"{op}({a}, {b})"
    operator = "//" if op in ("udiv", "sdiv") else "%"
    if op in ("udiv", "urem"):
        return f"{a} {operator} {b}"
    return f"{a} {operator} {b} if {a} < {sign} else -(({mask + 1} - {a}) {operator} {b}) & {mask}"


@functools.cache
def function(op: Op, operand_types: tuple[ValueType, ...], result: ValueType) -> Callable[..., Number]:
    """`op` as a function of its operands."""
    names = [f"x{index}" for index in range(len(operand_types))]
    text = expression(op, names, operand_types[-1], result)
    return eval(f"lambda {', '.join(names)}: {text}", NAMESPACE)


def undefined(what: str) -> NoReturn:
    """End the program because of `what` it did."""
    raise LaunchError(f"the host program {what}")


def _udiv(a: int, b: int) -> int:
    return a // b if b else undefined("divides by zero")


def _urem(a: int, b: int) -> int:
    return a % b if b else undefined("divides by zero")


def _signed_operands(a: int, b: int, sign: int) -> tuple[int, int]:
    if b == 0:
        undefined("divides by zero")
    if a == sign and b == 2 * sign - 1:
        undefined("divides the smallest integer by -1, which overflows")
    return (a ^ sign) - sign, (b ^ sign) - sign


def _sdiv(a: int, b: int, sign: int) -> int:
    x, y = _signed_operands(a, b, sign)
    quotient = abs(x) // abs(y)
    return (quotient if (x < 0) == (y < 0) else -quotient) & (2 * sign - 1)


def _srem(a: int, b: int, sign: int) -> int:
    x, y = _signed_operands(a, b, sign)
    remainder = abs(x) % abs(y)
    return (-remainder if x < 0 else remainder) & (2 * sign - 1)


def _divide(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def _to_integer(x: float, low: int, high: int) -> int:
    if not math.isfinite(x):
        return 0
    whole = int(x)
    return whole if low <= whole <= high else 0


def _to_odd(x: int) -> float:
    """`x` in 53 bits, an inexact one made odd: rounding it again to at most 51 bits is then right."""
    extra = abs(x).bit_length() - 53
    if extra <= 0:
        return float(x)
    kept = abs(x) >> extra
    kept |= kept << extra != abs(x)
    return math.copysign(float(kept << extra), x)


def _packed_rounding(code: str) -> Callable[[float], float]:
    form = struct.Struct(f"<{code}")

    def rounded(x: float) -> float:
        try:
            return form.unpack(form.pack(x))[0]
        except OverflowError:
            return math.copysign(math.inf, x)

    return rounded


def _round_bf16(x: float) -> float:
    if not math.isfinite(x) or x == 0:
        return x
    # 8 bits of precision; the smallest subnormal number is 2**-133.
    unit = max(math.frexp(x)[1] - 8, -133)
    whole = round(math.ldexp(x, -unit))
    if abs(whole).bit_length() + unit > 128:
        return math.copysign(math.inf, x)
    return math.copysign(math.ldexp(whole, unit), x)


_F32: Final = struct.Struct("<f")
_U32: Final = struct.Struct("<I")


def _bits_bf16(x: float) -> int:
    if x != x:
        return 0x7FC0 if math.copysign(1.0, x) > 0 else 0xFFC0
    return _U32.unpack(_F32.pack(x))[0] >> 16


def _float_bf16(bits: int) -> float:
    return _F32.unpack(_U32.pack(bits << 16))[0]


def _reinterpretation(source: str, result: str) -> Callable[[Number], Number]:
    pack, unpack = struct.Struct(f"<{source}").pack, struct.Struct(f"<{result}").unpack
    return lambda value: unpack(pack(value))[0]


NAMESPACE: Final[dict[str, object]] = {
    "udiv": _udiv,
    "urem": _urem,
    "sdiv": _sdiv,
    "srem": _srem,
    "divide": _divide,
    "to_integer": _to_integer,
    "to_odd": _to_odd,
    "round_f16": _packed_rounding("e"),
    "round_bf16": _round_bf16,
    "round_f32": _packed_rounding("f"),
    "bits_f16": _reinterpretation("e", "H"),
    "bits_bf16": _bits_bf16,
    "bits_f32": _reinterpretation("f", "I"),
    "bits_f64": _reinterpretation("d", "Q"),
    "float_f16": _reinterpretation("H", "e"),
    "float_bf16": _float_bf16,
    "float_f32": _reinterpretation("I", "f"),
    "float_f64": _reinterpretation("Q", "d"),
}
"""What the expressions refer to."""


def constant(type_: ValueType, bits: int) -> Number:
    """The value of type `type_` that the bits mean."""
    return bits if is_integer(type_) else function("bitcast", (_CARRIERS[BITS[type_]],), type_)(bits)


_CARRIERS: Final[dict[int, ValueType]] = {16: "i16", 32: "i32", 64: "i64"}
