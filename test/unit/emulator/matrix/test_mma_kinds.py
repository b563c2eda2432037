"""`mma.sync` with a `.kind`: floats of 4 to 8 bits, mixed, and with scales, against products of plain numbers.

Numbers and scales are such that every sum is exact in `f32`, in whatever order it is made.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.emulator.numbers.matrix_elements import numbers
from cutecc.errors import EmulatorError

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from formulas import a_place, b_place, c_place, decoded  # noqa: E402
from hand import run_instruction  # noqa: E402
from test_mma import compress, matrices_of, metadata_words, run, words_of  # noqa: E402

HALF = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
CODES: dict[str, dict[int, float]] = {
    "e2m1": {code | sign << 3: value * (1 - 2 * sign) for sign in (0, 1) for code, value in enumerate(HALF)},
    # 6 bits: 0.125 is the step up to 2, 0.0625 that up to 0.5.
    "e2m3": {0x00: 0.0, 0x01: 0.125, 0x08: 1.0, 0x0F: 1.875, 0x10: 2.0, 0x1F: 7.5, 0x21: -0.125, 0x39: -4.5},
    "e3m2": {0x00: 0.0, 0x01: 0.0625, 0x04: 0.25, 0x0C: 1.0, 0x0D: 1.25, 0x1F: 28.0, 0x2F: -1.75, 0x22: -0.125},
    "e4m3": {0x00: 0.0, 0x38: 1.0, 0x3F: 1.875, 0xB9: -1.125, 0x28: 0.25, 0x50: 8.0, 0xD7: -15.0, 0x20: 0.125},
    "e5m2": {0x00: 0.0, 0x3C: 1.0, 0x3F: 1.75, 0xBD: -1.25, 0x34: 0.25, 0x48: 8.0, 0xCF: -28.0, 0x30: 0.125},
}
SCALES = {
    "ue8m0": {127: 1.0, 128: 2.0, 126: 0.5, 130: 8.0, 124: 0.125},
    "ue4m3": {0x38: 1.0, 0x39: 1.125, 0x40: 2.0, 0x2F: 0.46875, 0x20: 0.125},
}
PLAIN = [
    *[("e3m2", "e2m3", "f32"), ("e2m1", "e4m3", "f32"), ("e5m2", "e2m1", "f32"), ("e2m3", "e2m1", "f16")],
]
# Kind, scale_vec or nothing, its number, type of the scales, types of A and B.
SCALED = [
    *[("mxf8f6f4", ".scale_vec::1X", 1, "ue8m0", "e4m3", "e5m2"), ("mxf8f6f4", "", 1, "ue8m0", "e3m2", "e2m1")],
    *[("mxf4", "", 2, "ue8m0", "e2m1", "e2m1"), ("mxf4", ".scale_vec::2X", 2, "ue8m0", "e2m1", "e2m1")],
    *[("mxf4nvf4", ".scale_vec::2X", 2, "ue8m0", "e2m1", "e2m1")],
    *[("mxf4nvf4", ".scale_vec::4X", 4, each, "e2m1", "e2m1") for each in ("ue8m0", "ue4m3")],
]


def chosen(random: np.random.Generator, table: dict[int, float], *shape: int) -> tuple[Any, Any]:
    """Codes of a table, and the numbers they are."""
    codes, values = np.array([*table]), np.array([*table.values()])
    picked = random.integers(len(codes), size=shape)
    return codes[picked], values[picked]


def layout(kind: str) -> str:
    """A type whose elements lie as those of a kind do."""
    return "s4" if kind.startswith("mxf4") else "e4m3"


def contained(codes: Any, type_: str, kind: str) -> Any:
    """As they lie: of 4 bits in a byte those in the middle."""
    return codes << 2 if type_ == "e2m1" and layout(kind) == "e4m3" else codes


def multiply(name: str, kind: str, d: str, a: Any, b: Any, c: Any, rest: str = "", **registers: Any) -> Any:
    """D of one warp, of matrices of codes as they lie."""
    type_ = layout(kind)
    place_c = lambda lane, i: c_place(16, lane, i)  # noqa: E731
    operands = {
        "a": words_of(a[None], type_, lambda lane, i: a_place(type_, 16, lane, i), a.size // 32),
        "b": words_of(b[None], type_, lambda lane, i: b_place(type_, lane, i), b.size // 32),
        "c": words_of(c[None], d, place_c, 4),
    }
    return matrices_of(run(name, operands, 4 if d == "f32" else 2, rest, **registers), d, place_c, (16, 8))[0]


def addend(random: np.random.Generator, d: str) -> tuple[Any, Any]:
    values = random.integers(-64, 64, (16, 8)) / 8
    return values.astype(d.replace("f", "float")).view("u4" if d == "f32" else "u2"), values


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("a", "b", "d"), PLAIN)
def test_floats_of_4_to_8_bits_are_mixed(a: str, b: str, d: str, sparse: bool) -> None:
    random = np.random.default_rng(1)
    depth = 64 if sparse else 32
    codes_a, _ = chosen(random, CODES[a], 16, depth)
    codes_b, right = chosen(random, CODES[b], depth, 8)
    codes_c, added = addend(random, d)
    kept, stored, words = codes_a, codes_a, {}
    if sparse:
        kept, stored, nibbles = compress(random, codes_a, 8)
        words = {"%e": metadata_words(nibbles, 8, 0)[None]}
    left = np.vectorize(CODES[a].get)(kept).astype(float)
    name = f"mma{'.sp::ordered_metadata' * sparse}.sync.aligned.m16n8k{depth}.row.col.kind::f8f6f4.{d}.{a}.{b}.{d}"
    operands = contained(stored, a, "f8f6f4"), contained(codes_b, b, "f8f6f4"), codes_c
    found = multiply(name, "f8f6f4", d, *operands, ", %e, 0" if sparse else "", **words)
    np.testing.assert_array_equal(found, (left @ right + added).astype(d.replace("f", "float")))


def scale_words(random: np.random.Generator, codes: Any, byte: int, lanes: list[int]) -> Any:
    """A register of 32 threads with the scales of rows, `(rows, count)`, in these threads, and others around them."""
    words = random.integers(0, 2**32, 32, dtype=np.uint32).view(np.uint8).reshape(32, 4)
    for lane, each in zip(lanes, codes, strict=True):
        words[lane, byte : byte + len(each)] = each
    return words.view(np.uint32).reshape(1, 32)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize(("kind", "vector", "count", "scale", "a", "b"), SCALED)
def test_rows_and_columns_have_scales(
    kind: str, vector: str, count: int, scale: str, a: str, b: str, sparse: bool
) -> None:
    random = np.random.default_rng(2)
    depth = (64 if kind.startswith("mxf4") else 32) * (2 if sparse else 1)
    codes_a, _ = chosen(random, CODES[a], 16, depth)
    codes_b, right = chosen(random, CODES[b], depth, 8)
    codes_c, added = addend(random, "f32")
    scales_a, rows = chosen(random, SCALES[scale], 16, count)
    scales_b, columns = chosen(random, SCALES[scale], 8, count)
    kept, stored, rest, words = codes_a, codes_a, "", {}
    if sparse:
        kept, stored, nibbles = compress(random, codes_a, 4 if kind.startswith("mxf4") else 8)
        rest, words = ", %e, 0", {"%e": metadata_words(nibbles, 8, 0)[None]}
    left = np.vectorize(CODES[a].get)(kept).astype(float)
    chunk = depth // count
    want = (left * np.repeat(rows, chunk, 1)) @ (right * np.repeat(columns, chunk, 1).T) + added
    name = (
        f"mma{'.sp::ordered_metadata' * sparse}.sync.aligned.m16n8k{depth}.row.col.kind::{kind}.block_scale{vector}"
        f".f32.{a}.{b}.f32.{scale}"
    )
    operands = contained(stored, a, kind), contained(codes_b, b, kind), codes_c
    for thread in range(4):
        byte_a, byte_b, pair = thread // count * count, (3 - thread) // count * count, thread % 2
        # Row r: thread r / 8 of the pair; column n: one thread of quad n.
        words["%sa"] = scale_words(random, scales_a, byte_a, [r % 8 * 4 + 2 * pair + r // 8 for r in range(16)])
        words["%sb"] = scale_words(random, scales_b, byte_b, [n * 4 + thread for n in range(8)])
        chosen_by = f", %sa, {{{byte_a}, {pair}}}, {{%sb}}, {{{byte_b}, {thread}}}"
        found = multiply(name, kind, "f32", *operands, rest + chosen_by, **words)
        np.testing.assert_array_equal(found, want)


TEXT = (
    "mma.sync.aligned.kind::mxf4nvf4.block_scale.scale_vec::4X.m16n8k64.row.col.f32.e2m1.e2m1.f32.ue4m3 "
    "{%d0, %d1, %d2, %d3}, {%a, %a, %a, %a}, {%a, %a}, {%z, %z, %z, %z}, {%s}, {%h0, %h1}, {%t}, {%h0, %h2};"
)


def test_a_scale_that_is_no_number_spoils_its_row_alone() -> None:
    """The form as CUTLASS writes it: the kind in front, and the selectors in registers."""
    scales = np.full((1, 32), 0x38383838, np.uint32)
    spoilt = scales.copy()
    spoilt[0, 3 * 4 + 2 + 1] = 0x38387F38  # row 11, of the upper pair
    inputs: dict[str, Any] = {"%a": np.full((1, 32), 0x22222222, np.uint32), "%z": np.zeros((1, 32), np.uint32)}
    inputs |= {"%s": spoilt, "%t": scales, "%h0": np.uint16(0), "%h1": np.uint16(1), "%h2": np.uint16(3)}
    found = run_instruction(TEXT, inputs)
    low, high = (found[name].view(np.float32) for name in ("%d0", "%d2"))
    assert (low == 64).all() and (np.isnan(high) == (np.arange(32) // 4 == 3)).all()
    assert (found["%d2"][0, 12:16] == 0x7FFFFFFF).all()


@pytest.mark.parametrize(("byte", "thread"), [(1, 0), (0, 2)])
def test_selectors_that_there_are_not_are_told(byte: int, thread: int) -> None:
    zero = np.zeros((1, 32), np.uint32)
    inputs: dict[str, Any] = {"%a": zero, "%z": zero, "%s": zero, "%t": zero}
    inputs |= {"%h0": np.uint16(byte), "%h1": np.uint16(thread), "%h2": np.uint16(0)}
    with pytest.raises(EmulatorError, match="with 4 of them along K byte-id is one of 0, and thread-id is less than 2"):
        run_instruction(TEXT, inputs)


def test_selectors_of_warps_that_take_no_part_are_any() -> None:
    """Of a gang whose other warps have taken another branch."""
    zero = np.zeros((2, 32), np.uint32)
    inputs: dict[str, Any] = {"%a": zero, "%z": zero, "%s": zero, "%t": zero}
    selectors = np.repeat(np.array([[0], [0x7FFF]], np.uint16), 32, axis=1)
    inputs |= {"%h0": selectors, "%h1": selectors, "%h2": selectors}
    found = run_instruction(TEXT, inputs, mask=np.array([[True], [False]]))
    assert not found["%d0"][0].any()


@pytest.mark.parametrize(("rounding", "result"), [("rn", 1.0), ("rp", 1 + 2.0**-52), ("rz", 1.0), ("rm", 1.0)])
def test_f64_rounds_as_the_form_says(rounding: str, result: float) -> None:
    registers = ["%d", "%e", "%f", "%g"]
    inputs = {name: np.full((1, 32), value) for name, value in (("%a", 1.0), ("%b", 2.0**-60), ("%c", 1.0))}
    form = f"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64.{rounding}"
    text = f"{form} {{{', '.join(registers)}}}, {{%a, %a}}, {{%b}}, {{%c, %c, %c, %c}};"
    found = run_instruction(text, inputs, dict.fromkeys(registers, "b64"))
    # Four additions, each of which rounds.
    assert found["%d"].view(np.float64)[0, 0] == (1 + 4 * 2.0**-52 if rounding == "rp" else result)


@pytest.mark.parametrize("type_", ["e4m3", "e5m2"])
def test_codes_are_those_of_the_formats(type_: str) -> None:
    """The tables above are right where they can be compared."""
    np.testing.assert_array_equal(decoded(np.array([*CODES[type_]]), type_), [*CODES[type_].values()])


@pytest.mark.parametrize(
    ("type_", "code", "value"),
    [
        *[("ue8m0", 0, 2.0**-127), ("ue8m0", 254, 2.0**127), ("ue8m0", 255, np.nan)],
        *[("ue4m3", 1, 2.0**-9), ("ue4m3", 0x7E, 448.0), ("ue4m3", 0x7F, np.nan), ("ue4m3", 0, 0.0)],
        *[("e5m2", 0x7C, np.inf), ("e5m2", 0xFD, np.nan), ("e4m3", 0xFF, np.nan)],
    ],
)
def test_numbers_at_the_ends_of_formats(type_: str, code: int, value: float) -> None:
    np.testing.assert_array_equal(numbers(np.full(1, code, np.uint32)[..., None], type_)[0, 0], value)
