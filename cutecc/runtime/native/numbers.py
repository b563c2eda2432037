"""A host program's arithmetic as LLVM IR.

`f16` and `bf16` are held as their bits in an `i16`: what x86 makes of LLVM's own types would call functions of a
library that may not be there.
"""

from __future__ import annotations

from cutecc.record.host_program import Op, ValueType
from cutecc.runtime.native.code import Code
from cutecc.runtime.program.number_expressions import BITS, DIVISIONS, INTEGER_COMPARISONS

LLVM_TYPES: dict[ValueType, str] = {
    "i1": "i1",
    "i8": "i8",
    "i16": "i16",
    "i32": "i32",
    "i64": "i64",
    "f16": "i16",
    "bf16": "i16",
    "f32": "float",
    "f64": "double",
}
_NARROW: dict[ValueType, tuple[int, int]] = {"f16": (10, 15), "bf16": (7, 127)}
"""Bits of the mantissa, and what is added to the exponent."""
_SAME = {"add", "sub", "mul", "and", "or", "xor"}
_SHIFTS = {"shl", "lshr", "ashr"}
_EXTREMES = {"umin", "umax", "smin", "smax"}
_FLOAT_COMPARISONS = {"foeq": "oeq", "fune": "une", "folt": "olt", "fole": "ole", "fogt": "ogt", "foge": "oge"}
_FLOAT_ARITHMETIC = {"fadd", "fsub", "fmul", "fdiv", "fneg"}


def constant(kind: ValueType, immediate: int) -> str:
    """The operand of that value: an integer, or the bits of a float."""
    if kind == "i1":
        return "true" if immediate & 1 else "false"
    bits = BITS[kind]
    integer = immediate & ((1 << bits) - 1)
    return f"bitcast (i{bits} {integer} to {LLVM_TYPES[kind]})" if kind in ("f32", "f64") else str(integer)


def arithmetic(code: Code, op: Op, kinds: list[ValueType], operands: list[str], result: ValueType) -> str | None:
    """The result of a pure operation on operands of `kinds`; `None` when there is no code for it.

    A division by zero or one that overflows escapes.
    """
    source = LLVM_TYPES[kinds[0]]
    first = operands[0]
    if op in _SAME:
        return code.value(f"{op} {source} {first}, {operands[1]}")
    if op in DIVISIONS:
        return _division(code, op, BITS[kinds[0]], first, operands[1])
    if op in _SHIFTS:
        return _shift(code, op, BITS[kinds[0]], first, operands[1])
    if op in _EXTREMES:
        return code.value(f"call {source} @llvm.{op}.{source}({source} {first}, {source} {operands[1]})")
    if op in ("ctlz", "cttz", "abs"):
        return code.value(f"call {source} @llvm.{op}.{source}({source} {first}, i1 false)")
    if op == "ctpop":
        return code.value(f"call {source} @llvm.ctpop.{source}({source} {first})")
    if op in INTEGER_COMPARISONS:
        return code.value(f"icmp {op} {source} {first}, {operands[1]}")
    if op == "select":
        kind = LLVM_TYPES[result]
        return code.value(f"select i1 {first}, {kind} {operands[1]}, {kind} {operands[2]}")
    if op == "bitcast":
        target = LLVM_TYPES[result]
        return first if source == target else code.value(f"bitcast {source} {first} to {target}")
    if op in ("zext", "sext", "trunc"):
        target = LLVM_TYPES[result]
        return first if source == target else code.value(f"{op} {source} {first} to {target}")
    return _floating(code, op, kinds, operands, result)


def round_float(code: Code, value: str, target: ValueType) -> tuple[str, str]:
    """A `double` rounded to a floating type, and whether it stayed within range (an i1)."""
    if target == "f64":
        return value, "true"
    size = code.value(f"call double @llvm.fabs.f64(double {value})")
    finite = code.value(f"fcmp one double {size}, 0x7FF0000000000000")
    if target == "f32":
        rounded = code.value(f"fptrunc double {value} to float")
        size = code.value(f"call float @llvm.fabs.f32(float {rounded})")
        infinite = code.value(f"fcmp oeq float {size}, 0x7FF0000000000000")
    else:
        mantissa, bias = _NARROW[target]
        largest = (2 * bias + 1) << mantissa
        bits = code.value(f"bitcast double {value} to i64")
        rounded = code.value(f"call i16 @narrow(i64 {bits}, i64 {mantissa}, i64 {bias})")
        size = code.value(f"and i16 {rounded}, 32767")
        infinite = code.value(f"icmp eq i16 {size}, {largest}")
    overflow = code.value(f"and i1 {finite}, {infinite}")
    return rounded, code.value(f"xor i1 {overflow}, true")


def store_value(code: Code, kind: str, operand: str, memory: str, offset: int = 0) -> None:
    """Store a value as the program's memory and parameter blocks hold it: an i1 as a byte, 0 or 1."""
    if kind == "i1":
        operand, kind = code.value(f"zext i1 {operand} to i8"), "i8"
    code.store(kind, operand, memory, offset)


def _division(code: Code, op: Op, bits: int, first: str, second: str) -> str:
    kind = f"i{bits}"
    if not (second.isdecimal() and 0 < int(second) < 1 << bits - 1):
        code.require(code.value(f"icmp ne {kind} {second}, 0"))
        if op in ("sdiv", "srem"):
            # Overflows, and traps on x86.
            smallest = code.value(f"icmp ne {kind} {first}, {1 << bits - 1}")
            minus_one = code.value(f"icmp ne {kind} {second}, -1")
            code.require(code.value(f"or i1 {smallest}, {minus_one}"))
    return code.value(f"{op} {kind} {first}, {second}")


def _shift(code: Code, op: Op, bits: int, first: str, second: str) -> str:
    """Shifting by the width or more shifts everything out."""
    kind = f"i{bits}"
    if bits == 1:
        # The only amounts are 0 and 1, which is the width.
        return first if op == "ashr" else code.value(f"select i1 {second}, i1 false, i1 {first}")
    within = code.value(f"icmp ult {kind} {second}, {bits}")
    if op == "ashr":
        amount = code.value(f"select i1 {within}, {kind} {second}, {kind} {bits - 1}")
        return code.value(f"ashr {kind} {first}, {amount}")
    amount = code.value(f"select i1 {within}, {kind} {second}, {kind} 0")
    shifted = code.value(f"{op} {kind} {first}, {amount}")
    return code.value(f"select i1 {within}, {kind} {shifted}, {kind} 0")


def _floating(code: Code, op: Op, kinds: list[ValueType], operands: list[str], result: ValueType) -> str | None:
    """16-bit floats are computed with as doubles and rounded once more, which gives the correctly rounded result."""
    kind = kinds[0]
    if op in ("sitofp", "uitofp") and result == "bf16" and BITS[kind] == 64:
        # Rounding to a double first could make a tie of what is none.
        return None
    if kind in _NARROW:
        operands = [_widened(code, operand, kind) for operand in operands]
        kind = "f64"
    wide = "f64" if result in _NARROW else result
    value = _float_operation(code, op, kind, operands, wide)
    return value if result == wide or value is None else round_float(code, value, result)[0]


def _float_operation(code: Code, op: Op, kind: ValueType, operands: list[str], result: ValueType) -> str | None:
    source, target = LLVM_TYPES[kind], LLVM_TYPES[result]
    joined = ", ".join(operands)
    if op in _FLOAT_ARITHMETIC:
        return code.value(f"{op} {source} {joined}")
    if op in _FLOAT_COMPARISONS:
        return code.value(f"fcmp {_FLOAT_COMPARISONS[op]} {source} {joined}")
    if op in ("sitofp", "uitofp"):
        return code.value(f"{op} {source} {joined} to {target}")
    if op in ("fpext", "fptrunc"):
        if source == target:
            return operands[0]
        return code.value(f"{'fpext' if BITS[kind] < BITS[result] else 'fptrunc'} {source} {joined} to {target}")
    if op in ("fptosi", "fptoui"):
        return _to_integer(code, op, kind, operands[0], BITS[result])
    return None


def _widened(code: Code, value: str, kind: ValueType) -> str:
    """A 16-bit float as a `double`."""
    if kind == "bf16":
        bits = code.value(f"shl i32 {code.value(f'zext i16 {value} to i32')}, 16")
        single = code.value(f"bitcast i32 {bits} to float")
        return code.value(f"fpext float {single} to double")
    return code.value(f"call double @widen(i16 {value})")


def _to_integer(code: Code, op: Op, kind: ValueType, value: str, bits: int) -> str:
    """Towards zero; 0 where the result does not fit."""
    wide = value if kind == "f64" else code.value(f"fpext float {value} to double")
    whole = code.value(f"call double @llvm.trunc.f64(double {wide})")
    signed = op == "fptosi"
    low = -(1 << bits - 1) if signed else 0
    high = 1 << (bits - 1 if signed else bits)
    above = code.value(f"fcmp oge double {whole}, {low}.0")
    below = code.value(f"fcmp olt double {whole}, {high}.0")
    fits = code.value(f"and i1 {above}, {below}")
    safe = code.value(f"select i1 {fits}, double {whole}, double 0.0")
    return code.value(f"{op} double {safe} to i{bits}")


# `narrow`: the bits of a double, rounded to nearest, ties to even, to a format of 16 bits. `biased` is 1 for what
# becomes subnormal, whose significand moves further right; a carry out of the mantissa raises the exponent by itself.
# `widen`: an `f16` as a double; a subnormal one is its bits times 2**-24.
CONVERSIONS = """
define internal i16 @narrow(i64 %bits, i64 %mantissa, i64 %bias) {
  %sign = lshr i64 %bits, 63
  %sign.high = shl i64 %sign, 15
  %exponent.all = lshr i64 %bits, 52
  %exponent = and i64 %exponent.all, 2047
  %fraction = and i64 %bits, 4503599627370495
  %special = icmp eq i64 %exponent, 2047
  %number = icmp eq i64 %fraction, 0
  %bias.twice = shl i64 %bias, 1
  %exponent.most = add i64 %bias.twice, 1
  %infinity = shl i64 %exponent.most, %mantissa
  %mantissa.less = sub i64 %mantissa, 1
  %quiet = shl i64 1, %mantissa.less
  %nan = or i64 %infinity, %quiet
  %as.special = select i1 %number, i64 %infinity, i64 %nan
  %unbiased = sub i64 %exponent, 1023
  %biased.raw = add i64 %unbiased, %bias
  %biased = call i64 @llvm.smax.i64(i64 %biased.raw, i64 1)
  %deficit = sub i64 %biased, %biased.raw
  %shift.normal = sub i64 52, %mantissa
  %shift.raw = add i64 %shift.normal, %deficit
  %shift = call i64 @llvm.smin.i64(i64 %shift.raw, i64 63)
  %significand = or i64 %fraction, 4503599627370496
  %kept = lshr i64 %significand, %shift
  %back = shl i64 %kept, %shift
  %rest = sub i64 %significand, %back
  %shift.less = sub i64 %shift, 1
  %half = shl i64 1, %shift.less
  %over = icmp ugt i64 %rest, %half
  %tie = icmp eq i64 %rest, %half
  %odd = trunc i64 %kept to i1
  %tie.up = and i1 %tie, %odd
  %up = or i1 %over, %tie.up
  %one = zext i1 %up to i64
  %rounded = add i64 %kept, %one
  %exponent.part = sub i64 %biased, 1
  %exponent.high = shl i64 %exponent.part, %mantissa
  %finite.raw = add i64 %exponent.high, %rounded
  %finite = call i64 @llvm.umin.i64(i64 %finite.raw, i64 %infinity)
  %zero = icmp eq i64 %exponent, 0
  %nonzero = select i1 %zero, i64 0, i64 %finite
  %magnitude = select i1 %special, i64 %as.special, i64 %nonzero
  %result = or i64 %magnitude, %sign.high
  %narrow = trunc i64 %result to i16
  ret i16 %narrow
}

define internal double @widen(i16 %half) {
  %bits = zext i16 %half to i64
  %sign.bit = and i64 %bits, 32768
  %sign = shl i64 %sign.bit, 48
  %exponent.bits = and i64 %bits, 31744
  %magnitude = and i64 %bits, 32767
  %high = shl i64 %magnitude, 42
  %special = icmp eq i64 %exponent.bits, 31744
  %subnormal = icmp eq i64 %exponent.bits, 0
  %offset = select i1 %special, i64 9079256848778919936, i64 4539628424389459968
  %normal = add i64 %high, %offset
  %small = uitofp i64 %magnitude to double
  %scaled = fmul double %small, 0x3E70000000000000
  %scaled.bits = bitcast double %scaled to i64
  %positive = select i1 %subnormal, i64 %scaled.bits, i64 %normal
  %all = or i64 %positive, %sign
  %double = bitcast i64 %all to double
  ret double %double
}
"""
