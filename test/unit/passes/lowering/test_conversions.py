"""Conversions from and to narrow formats, bit for bit: on Ampere by integers, on later chips by their instructions.

The emulator executes what LLVM makes of lowered modules; the expected bits come from the definitions of the formats.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launched import addresses_of, allocations_of, launch_of, run_text

from cutecc.emulator.options import EmulatorOptions
from cutecc.ir.modules import fresh_context, parse
from cutecc.passes.lowering.atoms.conversions import POWERS, ROWS, conversion_row
from cutecc.passes.lowering.atoms.narrow_formats import FORMATS
from cutecc.passes.manager import run
from cutecc.passes.open_pipeline import open_pipeline
from cutecc.passes.pipeline import Pipeline
from cutecc.target import Target, known_targets

Codes = np.ndarray[Any, Any]

# Exponent bits, mantissa bits, bias, and what the highest codes are; of what is too large, the largest number, infinity
# or a NaN becomes.
DEFINITIONS = {
    "f8E4M3FN": (4, 3, 7, "nan", "largest"),
    "f8E5M2": (5, 2, 15, "ieee", "largest"),
    "f8E4M3": (4, 3, 7, "ieee", "infinity"),
    "f8E4M3B11FNUZ": (4, 3, 11, "unsigned zero", "nan"),
    "f6E3M2FN": (3, 2, 3, "none", "largest"),
    "f6E2M3FN": (2, 3, 1, "none", "largest"),
    "f4E2M1FN": (2, 1, 1, "none", "largest"),
}
NARROW = (*DEFINITIONS, POWERS)
CHIPS = ("sm_80", "sm_90a", "sm_100a")
BITS = {"f32": 32, "f16": 16, "bf16": 16, POWERS: 8} | {name: 1 + e + m for name, (e, m, *_) in DEFINITIONS.items()}
NAN = 0x7FFFFFFF
THREADS = 128


def decoded(code: int, name: str) -> float:
    """The number that a code means."""
    if name == POWERS:
        return math.nan if code == 0xFF else 2.0 ** (code - 127)
    exponent_bits, mantissa_bits, bias, special, _ = DEFINITIONS[name]
    sign = code >> (exponent_bits + mantissa_bits)
    magnitude = code & ((1 << (exponent_bits + mantissa_bits)) - 1)
    exponent, mantissa = magnitude >> mantissa_bits, magnitude & ((1 << mantissa_bits) - 1)
    highest = exponent == (1 << exponent_bits) - 1
    # The magnitude of the one NaN.
    nan_at = {"nan": (1 << (exponent_bits + mantissa_bits)) - 1, "unsigned zero": 0 if sign else None}.get(special)
    if special == "ieee" and highest:
        value = math.nan if mantissa else math.inf
    elif magnitude == nan_at:
        value = math.nan
    elif exponent:
        value = (1 + mantissa / (1 << mantissa_bits)) * 2.0 ** (exponent - bias)
    else:
        value = mantissa / (1 << mantissa_bits) * 2.0 ** (1 - bias)
    return -value if sign else value


@functools.cache
def numbers(name: str) -> Codes:
    """The finite numbers of a format from zero on; their codes are 0, 1, …"""
    values = [decoded(code, name) for code in range(1 << (BITS[name] - 1))]
    return np.array([value for value in values if math.isfinite(value)])


def encoded(values: Codes, name: str) -> Codes:
    """The codes of `f32`s, to nearest and of two as near the even code; powers of two upward."""
    with np.errstate(invalid="ignore"):
        wide = values.astype(np.float64)
    size = np.abs(wide)
    if name == POWERS:
        # Of zero the least power; of what has none the NaN.
        powers = 2.0 ** (np.arange(255) - 127)
        codes = np.searchsorted(powers, size)
        return np.where(np.isnan(size), 0xFF, codes).astype(np.uint8)
    *_, special, beyond = DEFINITIONS[name]
    table, sign_bit = numbers(name), 1 << (BITS[name] - 1)
    # Where the format went on, the next number would be here.
    following = table[-1] + (table[-1] - table[-2])
    steps = np.append(table, following)
    above = np.minimum(np.searchsorted(steps, size), len(table))
    below = np.maximum(above - 1, 0)
    up, down = steps[above] - np.minimum(size, following), np.minimum(size, following) - steps[below]
    codes = np.where((up < down) | ((up == down) & (above % 2 == 0)), above, below)
    nan = sign_bit if special == "unsigned zero" else sign_bit - 1
    too_large = codes >= len(table)
    codes = np.where(too_large, {"largest": len(table) - 1, "infinity": len(table), "nan": nan}[beyond], codes)
    signed = codes | np.where(np.signbit(wide), sign_bit, 0)
    if special == "unsigned zero":
        signed = np.where((codes == 0) | too_large, codes, signed)
    return np.where(np.isnan(wide), nan, signed).astype(np.uint8)


def edges() -> Codes:
    """The bits of `f32`s at which something changes: every number, every middle, and their neighbours; what is none."""
    middles = [np.concatenate([numbers(name), (numbers(name)[1:] + numbers(name)[:-1]) / 2]) for name in NARROW]
    bits = np.concatenate(middles).astype(np.float32).view(np.uint32)
    largest = [np.float32(2 * numbers(name)[-1] - numbers(name)[-2]) for name in DEFINITIONS]
    special = [0, 1, 0x7FFFFF, 0x800000, 0x3FFFFF, 0x400000, 0x400001, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000]
    bits = np.concatenate([bits, np.array(largest, np.float32).view(np.uint32), np.array(special, np.uint32), [NAN]])
    bits = np.unique(np.concatenate([bits, bits + 1, bits - 1]).astype(np.uint32))
    return np.concatenate([bits, bits | np.uint32(1 << 31)])


@functools.cache
def ptx_of(chip: str, source: str, results: tuple[str, ...], count: int) -> str:
    """PTX that converts vectors of `count` numbers, each thread one, to vectors of every result.

    A number is in a whole byte, or two, or four, in its lower bits.
    """
    size = {name: max(8, BITS[name]) for name in (source, *results)}
    lines = [
        "%thread = nvvm.read.ptx.sreg.tid.x : i32",
        "%block = nvvm.read.ptx.sreg.ctaid.x : i32",
        f"%threads = arith.constant {THREADS} : i32",
        "%first = arith.muli %block, %threads : i32",
        "%number = arith.addi %first, %thread : i32",
        f"%count = arith.constant {count} : i32",
        "%index = arith.muli %number, %count : i32",
        f"%at = llvm.getelementptr %x[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i{size[source]}",
        f"%held = llvm.load %at {_aligned(size[source])} : !llvm.ptr<1> -> vector<{count}xi{size[source]}>",
        _integers("%codes", "arith.trunci", "%held", size[source], BITS[source], count),
        f"%given = arith.bitcast %codes : vector<{count}xi{BITS[source]}> to vector<{count}x{source}>",
    ]
    for number, name in enumerate(results):
        operation = "arith.extf" if BITS[source] < BITS[name] else "arith.truncf"
        held = f"vector<{count}xi{size[name]}>"
        lines += [
            f"%r{number} = {operation} %given : vector<{count}x{source}> to vector<{count}x{name}>",
            f"%c{number} = arith.bitcast %r{number} : vector<{count}x{name}> to vector<{count}xi{BITS[name]}>",
            _integers(f"%h{number}", "arith.extui", f"%c{number}", BITS[name], size[name], count),
            f"%to{number} = llvm.getelementptr %y{number}[%index] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, i{size[name]}",
            f"llvm.store %h{number}, %to{number} {_aligned(size[name])} : {held}, !llvm.ptr<1>",
        ]
    arguments = ", ".join(f"{name}: !llvm.ptr<1>" for name in ("%x", *(f"%y{n}" for n in range(len(results)))))
    body = "\n".join([*lines, "return"])
    attributes = f"gpu.kernel, nvvm.reqntid = array<i32: {THREADS}, 1, 1>"
    text = f"""module attributes {{gpu.container_module}} {{ gpu.module @kernels {{
      cuda.kernel @kernel({arguments}) attributes {{{attributes}}} {{ {body} }}
    }} }}"""
    return compiled(text, chip)


def _aligned(bits: int) -> str:
    return f"{{alignment = {bits // 8} : i64}}"


def _integers(result: str, operation: str, value: str, bits: int, to: int, count: int) -> str:
    if bits == to:
        return f"{result} = arith.bitcast {value} : vector<{count}xi{bits}> to vector<{count}xi{to}>"
    return f"{result} = {operation} {value} : vector<{count}xi{bits}> to vector<{count}xi{to}>"


def compiled(text: str, chip: str) -> str:
    whole = open_pipeline(chip)
    names = [pass_.name for pass_ in whole]
    begin, end = names.index("bound-thread-ids"), names.index("llvm-to-binary")
    made: list[str] = []
    with fresh_context():
        module = parse(text.encode())
        run(Pipeline(whole.passes[begin:end]), module)
        whole.passes[end].generate(module, keep=lambda number, ptx, cubin: made.append(ptx))  # type: ignore[attr-defined]
    # The emulator executes Blackwell's conversions, though not its targets.
    return made[0].replace(".target sm_100a", ".target sm_90a")


def converted(chip: str, source: str, results: tuple[str, ...], codes: Codes, count: int) -> dict[str, Codes]:
    """The codes that a kernel makes of `codes`."""
    piece = THREADS * count
    given = np.concatenate([codes, np.zeros(-len(codes) % piece, codes.dtype)])
    kinds = {8: np.uint8, 16: np.uint16, 32: np.uint32}
    made = [np.zeros(len(given), kinds[max(8, BITS[name])]) for name in results]
    launch = launch_of(addresses_of(given, *made), len(given) // piece, THREADS)
    run_text(ptx_of(chip, source, results, count), launch, allocations_of(given, *made), EmulatorOptions())
    return {name: each[: len(codes)] for name, each in zip(results, made, strict=True)}


def check_narrow(chip: str, bits: Codes) -> None:
    for name, codes in converted(chip, "f32", NARROW, bits, 4).items():
        expected = encoded(bits.view(np.float32), name)
        wrong = np.flatnonzero(codes != expected)[:4]
        assert not wrong.size, [(name, hex(bits[i]), hex(codes[i]), hex(expected[i])) for i in wrong]


@pytest.mark.parametrize("chip", CHIPS)
def test_every_edge_is_narrowed_as_the_formats_have_it(chip):
    check_narrow(chip, edges())


@pytest.mark.parametrize("chip", CHIPS)
@settings(max_examples=20, deadline=None)
@given(bits=st.lists(st.integers(0, 2**32 - 1), min_size=64, max_size=512))
def test_any_float_is_narrowed_as_the_formats_have_it(chip, bits):
    check_narrow(chip, np.array(bits, np.uint32))


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", NARROW)
def test_every_code_is_widened_exactly(chip, name):
    codes = np.arange(1 << BITS[name], dtype=np.uint8)
    made = converted(chip, name, ("f32", "bf16"), codes, 2)
    expected = np.array([decoded(code, name) for code in range(len(codes))], np.float32)
    for wide in (made["f32"].view(np.float32), (made["bf16"].astype(np.uint32) << 16).view(np.float32)):
        assert np.array_equal(wide, expected, equal_nan=True)
        numbers = ~np.isnan(expected)
        assert np.array_equal(np.signbit(wide[numbers]), np.signbit(expected[numbers]))


@pytest.mark.parametrize("chip", ("sm_80", "sm_90a"))
@pytest.mark.parametrize("source", ("f16", "bf16"))
def test_every_half_is_narrowed_as_its_f32(chip, source):
    codes = np.arange(1 << 16, dtype=np.uint16)
    values = codes.view(np.float16).astype(np.float32) if source == "f16" else (codes.astype("<u4") << 16).view("<f4")
    for name, made in converted(chip, source, ("f8E4M3FN", "f8E5M2", "f6E2M3FN"), codes, 2).items():
        assert np.array_equal(made, encoded(values, name)), name


def test_an_odd_number_of_elements_is_converted_too():
    bits = edges()[:999]
    for count in (1, 3):
        made = converted("sm_90a", "f32", ("f8E4M3FN",), bits, count)["f8E4M3FN"]
        assert np.array_equal(made, encoded(bits.view(np.float32), "f8E4M3FN"))


def test_eight_numbers_of_4_bits_are_converted_at_once():
    bits = edges()
    made = converted("sm_100a", "f32", ("f4E2M1FN",), bits, 16)["f4E2M1FN"]
    assert np.array_equal(made, encoded(bits.view(np.float32), "f4E2M1FN"))
    assert "mov.b32 %r" in ptx_of("sm_100a", "f32", ("f4E2M1FN",), 16)


def test_chips_use_the_instructions_that_they_have():
    def instructions(chip: str, source: str, result: str) -> set[str]:
        words = ptx_of(chip, source, (result,), 2).split()
        return {word for word in words if word.startswith("cvt.") and "x2" in word}

    assert instructions("sm_80", "f32", "f8E4M3FN") == set()
    assert instructions("sm_90a", "f32", "f8E4M3FN") == {"cvt.rn.satfinite.e4m3x2.f32"}
    assert instructions("sm_90a", "f16", "f8E5M2") == {"cvt.rn.satfinite.e5m2x2.f16x2"}
    assert instructions("sm_90a", "f6E3M2FN", "f32") == set()
    assert instructions("sm_100a", "f6E3M2FN", "f32") == {"cvt.rn.f16x2.e3m2x2"}
    assert instructions("sm_100a", "bf16", POWERS) == {"cvt.rp.ue8m0x2.bf16x2"}


def test_every_chip_has_a_row_for_every_narrow_format():
    assert {row.source for row in ROWS if row.result == "f32"} == {*FORMATS, POWERS} == set(NARROW)
    for target in known_targets():
        for name in NARROW:
            assert conversion_row("f32", name, target)
            assert conversion_row(name, "f32", target)
    # Instructions of a family are not in the plain chip.
    plain, family = (conversion_row("f32", "f6E3M2FN", Target.parse(name)) for name in ("sm_100", "sm_100f"))
    assert plain is not family
