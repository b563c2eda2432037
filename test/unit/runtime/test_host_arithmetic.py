"""Each operation against LLVM's machine code for it, on edge cases and random numbers."""

from __future__ import annotations

import ctypes
import itertools
import math
import random
import struct
from collections.abc import Callable, Iterator
from fractions import Fraction

import numpy
import pytest

from cutecc.errors import LaunchError
from cutecc.runtime.program.number_expressions import BITS, FORMATS, NAMESPACE, constant, expression, function

llvm = pytest.importorskip("llvmlite.binding")

INTEGERS = ("i1", "i8", "i16", "i32", "i64")
PREDICATES = ("eq", "ne", "ult", "ule", "ugt", "uge", "slt", "sle", "sgt", "sge")
FLOAT_PREDICATES = {"foeq": "oeq", "fune": "une", "folt": "olt", "fole": "ole", "fogt": "ogt", "foge": "oge"}
LLVM_TYPES = {"f32": "float", "f64": "double"}

Case = tuple[str, tuple[str, ...], str]
"""An operation, the types of its operands, the type of its result."""


def integer_cases() -> Iterator[tuple[Case, str]]:
    """Each case with its LLVM instruction, from %x0 and %x1 to %r."""
    for t in INTEGERS:
        for op in ("add", "sub", "mul", "udiv", "sdiv", "urem", "srem", "and", "or", "xor", "shl", "lshr", "ashr"):
            yield (op, (t, t), t), f"%r = {op} {t} %x0, %x1"
        for op in ("umin", "umax", "smin", "smax"):
            yield (op, (t, t), t), f"%r = call {t} @llvm.{op}.{t}({t} %x0, {t} %x1)"
        for op in PREDICATES:
            yield (op, (t, t), "i1"), f"%r = icmp {op} {t} %x0, %x1"
        for op in ("ctlz", "cttz", "abs"):
            yield (op, (t,), t), f"%r = call {t} @llvm.{op}.{t}({t} %x0, i1 false)"
        yield ("ctpop", (t,), t), f"%r = call {t} @llvm.ctpop.{t}({t} %x0)"
        yield ("select", ("i1", t, t), t), f"%r = select i1 %x0, {t} %x1, {t} %x2"
    for narrow, wide in itertools.combinations(INTEGERS, 2):
        yield ("zext", (narrow,), wide), f"%r = zext {narrow} %x0 to {wide}"
        yield ("sext", (narrow,), wide), f"%r = sext {narrow} %x0 to {wide}"
        yield ("trunc", (wide,), narrow), f"%r = trunc {wide} %x0 to {narrow}"


def float_cases() -> Iterator[tuple[Case, str]]:
    for t, spelled in LLVM_TYPES.items():
        for op in ("fadd", "fsub", "fmul", "fdiv"):
            yield (op, (t, t), t), f"%r = {op} {spelled} %x0, %x1"
        yield ("fneg", (t,), t), f"%r = fneg {spelled} %x0"
        for op, predicate in FLOAT_PREDICATES.items():
            yield (op, (t, t), "i1"), f"%r = fcmp {predicate} {spelled} %x0, %x1"
        for integer in INTEGERS[1:]:
            yield ("sitofp", (integer,), t), f"%r = sitofp {integer} %x0 to {spelled}"
            yield ("uitofp", (integer,), t), f"%r = uitofp {integer} %x0 to {spelled}"
        integer = f"i{BITS[t]}"
        yield ("bitcast", (t,), integer), f"%r = bitcast {spelled} %x0 to {integer}"
        yield ("bitcast", (integer,), t), f"%r = bitcast {integer} %x0 to {spelled}"
    yield ("fpext", ("f32",), "f64"), "%r = fpext float %x0 to double"
    yield ("fptrunc", ("f64",), "f32"), "%r = fptrunc double %x0 to float"


CASES = dict([*integer_cases(), *float_cases()])


def wrapper(number: int, case: Case, instruction: str) -> str:
    """A function over 64-bit integers that hold the operands' bits in their lower ends."""
    _, operands, result = case
    lines = [f"define i64 @f{number}(i64 %a0, i64 %a1, i64 %a2) {{"]
    for index, type_ in enumerate(operands):
        bits = BITS[type_]
        integer = f"%a{index}" if bits == 64 else f"%i{index}"
        if bits < 64:
            lines.append(f"  {integer} = trunc i64 %a{index} to i{bits}")
        if type_ in LLVM_TYPES:
            lines.append(f"  %x{index} = bitcast i{bits} {integer} to {LLVM_TYPES[type_]}")
        else:
            lines.append(f"  %x{index} = select i1 true, i{bits} {integer}, i{bits} 0")
    lines.append(f"  {instruction}")
    bits, value = BITS[result], "%r"
    if result in LLVM_TYPES:
        lines.append(f"  %b = bitcast {LLVM_TYPES[result]} %r to i{bits}")
        value = "%b"
    if bits < 64:
        lines.append(f"  %w = zext i{bits} {value} to i64")
        value = "%w"
    return "\n".join([*lines, f"  ret i64 {value}", "}"])


@pytest.fixture(scope="module")
def machine() -> Iterator[dict[Case, Callable[[int, int, int], int]]]:
    """Each case as machine code."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = "\n".join(wrapper(number, case, CASES[case]) for number, case in enumerate(CASES))
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    prototype = ctypes.CFUNCTYPE(ctypes.c_uint64, *[ctypes.c_uint64] * 3)
    yield {case: prototype(engine.get_function_address(f"f{number}")) for number, case in enumerate(CASES)}


def samples(type_: str, generator: random.Random, many: int) -> list[int]:
    """Bits of values of a type: its edges, and random ones."""
    bits = BITS[type_]
    top = (1 << bits) - 1
    if type_ in LLVM_TYPES:
        numbers = [0.0, -0.0, 1.0, -1.5, 1e-45, 3e38, math.inf, -math.inf, math.nan, 16777217.0, 0.1]
        numbers += [generator.uniform(-1e6, 1e6) for _ in range(many)]
        edges = [int.from_bytes(struct.pack(f"<{FORMATS[type_]}", number), "little") for number in numbers]
    else:
        edges = sorted(
            {number & top for number in (0, 1, 2, 3, bits - 1, bits, top, top - 1, top >> 1, (top >> 1) + 1)}
        )
    return edges + [generator.getrandbits(generator.randrange(1, bits + 1)) for _ in range(many)]


def bits_of(type_: str, value: int | float) -> int:
    return int.from_bytes(struct.pack(f"<{FORMATS[type_]}", value), "little")


def is_nan(type_: str, bits: int) -> bool:
    return type_ in LLVM_TYPES and math.isnan(constant(type_, bits))


def undefined(case: Case, operands: tuple[int, ...]) -> bool:
    """Whether LLVM does not define the result: those cases have tests of their own."""
    op, (type_, *_), _ = case
    if op in ("shl", "lshr", "ashr"):
        return operands[1] >= BITS[type_]
    if op in ("sdiv", "srem") and operands == (1 << (BITS[type_] - 1), (1 << BITS[type_]) - 1):
        return True
    return op in ("udiv", "sdiv", "urem", "srem") and operands[1] == 0


@pytest.mark.parametrize("op", sorted({case[0] for case in CASES}))
def test_operations_are_those_of_llvm(op: str, machine: dict[Case, Callable[[int, int, int], int]]) -> None:
    generator = random.Random(op)
    for case in (case for case in CASES if case[0] == op):
        _, types, result = case
        values = [samples(type_, generator, 12) for type_ in types]
        for operands in itertools.islice(itertools.product(*values), 600):
            if undefined(case, operands):
                continue
            expected = machine[case](*operands, *[0] * (3 - len(operands)))
            found = function(op, types, result)(*map(constant, types, operands))
            found_bits = bits_of(result, found)
            assert found_bits == expected or (is_nan(result, expected) and is_nan(result, found_bits)), (case, operands)


@pytest.mark.parametrize("type_", INTEGERS)
def test_literal_operands_give_what_variables_give(type_: str) -> None:
    """Generated code has other expressions where the second operand is a known number."""
    generator = random.Random(type_)
    for op in ("udiv", "sdiv", "urem", "srem", "shl", "lshr", "ashr"):
        for second in samples(type_, generator, 6):
            literal = eval(f"lambda a: {expression(op, ['a', str(second)], type_, type_)}", dict(NAMESPACE))
            for first in samples(type_, generator, 12):
                outcomes = []
                for evaluate, operands in ((function(op, (type_, type_), type_), (first, second)), (literal, (first,))):
                    try:
                        outcomes.append(evaluate(*operands))
                    except LaunchError as failure:
                        outcomes.append(failure.message)
                assert outcomes[0] == outcomes[1], (op, first, second)


def test_shifts_by_the_width_or_more() -> None:
    for amount in (32, 33, 0xFFFFFFFF):
        assert function("shl", ("i32", "i32"), "i32")(0xFFFFFFFF, amount) == 0
        assert function("lshr", ("i32", "i32"), "i32")(0xFFFFFFFF, amount) == 0
        assert function("ashr", ("i32", "i32"), "i32")(0x80000000, amount) == 0xFFFFFFFF
        assert function("ashr", ("i32", "i32"), "i32")(0x7FFFFFFF, amount) == 0


@pytest.mark.parametrize("op", ["udiv", "sdiv", "urem", "srem"])
def test_division_by_zero(op: str) -> None:
    with pytest.raises(LaunchError, match="divides by zero"):
        function(op, ("i32", "i32"), "i32")(7, 0)


@pytest.mark.parametrize("op", ["sdiv", "srem"])
def test_the_one_signed_division_that_overflows(op: str) -> None:
    with pytest.raises(LaunchError, match="smallest integer by -1"):
        function(op, ("i64", "i64"), "i64")(1 << 63, (1 << 64) - 1)


def test_floats_out_of_an_integers_range_give_zero() -> None:
    for number in (math.nan, math.inf, -math.inf, 2.0**31, -(2.0**31) - 1):
        assert function("fptosi", ("f64",), "i32")(number) == 0
    assert function("fptosi", ("f64",), "i32")(-1.9) == 0xFFFFFFFF
    assert function("fptosi", ("f64",), "i32")(-(2.0**31)) == 0x80000000
    assert function("fptoui", ("f64",), "i8")(255.9) == 255
    assert function("fptoui", ("f64",), "i8")(256.0) == 0
    assert function("fptoui", ("f64",), "i8")(-0.9) == 0
    assert function("fptoui", ("f64",), "i8")(-1.0) == 0


def doubles(generator: random.Random) -> list[float]:
    """Numbers of all magnitudes, and halfway cases of narrow types."""
    numbers = [0.0, -0.0, math.inf, -math.inf, 65504.0, 65519.99, 65520.0, 2.0**-25, 2.0**-24, 2.0**128, 3.4e38, 1e308]
    for _ in range(400):
        exponent = generator.choice((generator.randrange(-30, 20), generator.randrange(-155, 130)))
        numerator = generator.choice((generator.getrandbits(9), generator.getrandbits(12), generator.getrandbits(53)))
        numbers.append(math.ldexp(generator.choice((numerator, -numerator)), exponent - 8))
    return numbers


def test_rounding_to_half_and_single_is_numpys() -> None:
    with numpy.errstate(over="ignore"):
        for number in doubles(random.Random(1)):
            half, single = float(numpy.float16(number)), float(numpy.float32(number))
            assert repr(function("fptrunc", ("f64",), "f16")(number)) == repr(half)
            assert repr(function("fptrunc", ("f64",), "f32")(number)) == repr(single)


def test_rounding_to_bfloat_is_to_the_nearest() -> None:
    def neighbours(number: float) -> list[int]:
        bits = struct.unpack("<I", struct.pack("<f", min(abs(number), 3.4e38)))[0] >> 16
        return [near for near in (bits - 1, bits, bits + 1) if 0 <= near <= 0x7F80]

    def exact(bits: int) -> Fraction:
        # As if the exponent had no upper end: what is closer to the next power of two is infinite.
        return Fraction(2) ** 128 if bits == 0x7F80 else Fraction(constant("bf16", bits))

    for number in doubles(random.Random(2)):
        rounded = function("fptrunc", ("f64",), "bf16")(number)
        assert math.copysign(1, rounded) == math.copysign(1, number)
        if math.isinf(number) or abs(number) >= 2.0**128:
            assert math.isinf(rounded)
            continue
        best = min(neighbours(number), key=lambda bits: (abs(exact(bits) - Fraction(abs(number))), bits & 1))
        assert abs(rounded) == constant("bf16", best), number


def test_large_integers_are_rounded_once() -> None:
    # In between are doubles that lie halfway between two floats, which a second rounding would take the wrong way.
    number = (1 << 62) + (1 << 38) + 1
    assert function("sitofp", ("i64",), "f32")(number) == 2.0**62 + 2.0**39
    assert function("uitofp", ("i64",), "bf16")((1 << 63) + (1 << 55) + 1) == 2.0**63 + 2.0**56
    assert function("uitofp", ("i64",), "f16")(65519) == 65504.0
    assert function("uitofp", ("i64",), "f16")(65520) == math.inf


@pytest.mark.parametrize("type_", ["f16", "bf16"])
def test_bits_of_narrow_floats_survive(type_: str) -> None:
    for bits in range(1 << 16):
        value = constant(type_, bits)
        if value == value:
            assert function("bitcast", (type_,), "i16")(value) == bits
