"""`mma.sync` and `mma.sp` against sums made from matrices laid out element by element."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cutecc.errors import EmulatorError

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[1])]

from formulas import BITS, a_place, b_place, c_place, decode, decoded, pack, packed, random_bits, round_to, unit_sum  # noqa: E402
from hand import run_instruction  # noqa: E402

WARPS = 2

DENSE = [
    *[(8, 4, "f64", "f64", "f64")],
    *[(16, k, "f64", "f64", "f64") for k in (4, 8, 16)],
    *[(16, k, "f16", "f16", d) for k in (8, 16) for d in ("f16", "f32")],
    *[(16, k, "bf16", "bf16", "f32") for k in (8, 16)],
    *[(16, k, "tf32", "tf32", "f32") for k in (4, 8)],
    *[(16, k, a, b, "f32") for k in (16, 32) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")],
    *[(16, 32, "e4m3", "e5m2", "f16")],
    *[(m, k, a, b, "s32") for m, k in ((8, 16), (16, 16), (16, 32)) for a in ("s8", "u8") for b in ("s8", "u8")],
    *[(m, k, a, b, "s32") for m, k in ((8, 32), (16, 32), (16, 64)) for a in ("s4", "u4") for b in ("s4", "u4")],
]


def words_of(matrix: Any, type_: str, place: Any, items: int) -> list[Any]:
    """Registers of a fragment, each `(warps, 32)`, of matrices `(warps, rows, columns)` of bits."""
    per = packed(type_)
    registers = []
    for register in range(items // per):
        word = np.zeros((len(matrix), 32), np.uint64 if type_ == "f64" else np.uint32)
        for warp, lane in itertools.product(range(len(matrix)), range(32)):
            places = [place(lane, register * per + each) for each in range(per)]
            word[warp, lane] = pack([int(matrix[warp][each]) for each in places], type_)
        registers.append(word)
    return registers


def matrices_of(registers: list[Any], type_: str, place: Any, shape: tuple[int, int]) -> Any:
    """The numbers of the matrices in registers."""
    per, bits = packed(type_), BITS[type_]
    found = np.full((len(registers[0]), *shape), np.nan)
    for number, register in enumerate(registers):
        for warp, lane, each in itertools.product(range(len(register)), range(32), range(per)):
            value = int(register[warp, lane]) >> (bits * each) & ((1 << bits) - 1)
            found[warp][place(lane, number * per + each)] = decode(value, type_)
    return found


def run(name: str, operands: dict[str, list[Any]], results: int, rest: str = "", **more: Any) -> list[Any]:
    """The registers of D."""
    wide = operands["a"][0].dtype == np.uint64
    inputs = {f"%{key}{number}": word for key, words in operands.items() for number, word in enumerate(words)}
    braces = {key: ", ".join(f"%{key}{number}" for number in range(len(words))) for key, words in operands.items()}
    d = ", ".join(f"%d{number}" for number in range(results))
    text = f"{name} {{{d}}}, {{{braces['a']}}}, {{{braces['b']}}}, {{{braces['c']}}}{rest};"
    types = {f"%d{number}": "b64" if wide else "b32" for number in range(results)}
    found = run_instruction(text, inputs | more, types)
    assert found["waiting"] is None
    return [found[f"%d{number}"] for number in range(results)]


def expected(left: Any, right: Any, added: Any, types: tuple[str, str, str], sparse: bool = False) -> Any:
    """`types` of D, A and B."""
    d, a, b = types
    if d in ("s32", "f64"):
        return round_to(left @ right + added, d)
    if a not in ("e4m3", "e5m2"):
        return unit_sum(left, right, added, (d, a, b, d), 25)
    # Two multiplications of f16, of every other two stored elements.
    stored = np.arange(left.shape[-1]) // (2 if sparse else 1)
    total = np.zeros_like(added)
    for half in (stored % 4 < 2, stored % 4 >= 2):
        total = unit_sum(left[..., half], right[..., half, :], total, (d, "f16", "f16", d), 25)
    return round_to(total + added, d)


@pytest.mark.parametrize(("m", "k", "a", "b", "d"), DENSE, ids=lambda each: str(each))
def test_dense(m: int, k: int, a: str, b: str, d: str) -> None:
    random = np.random.default_rng(1)
    left, right = random_bits(random, a, WARPS, m, k), random_bits(random, b, WARPS, k, 8)
    added = random_bits(random, d, WARPS, m, 8)
    place_a, place_b, place_c = (
        lambda lane, i: a_place(a, m, lane, i),
        lambda lane, i: b_place(b, lane, i),
        lambda lane, i: c_place(m, lane, i),
    )
    operands = {
        "a": words_of(left, a, place_a, m * k // 32),
        "b": words_of(right, b, place_b, k * 8 // 32),
        "c": words_of(added, d, place_c, m * 8 // 32),
    }
    registers = m * 8 // 32 // packed(d)
    name = f"mma.sync.aligned.m{m}n8k{k}.row.col.{d}.{a}.{b}.{d}"
    found = matrices_of(run(name, operands, registers), d, place_c, (m, 8))
    want = expected(decoded(left, a), decoded(right, b), decoded(added, d), (d, a, b))
    if d == "f64":
        np.testing.assert_allclose(found, want, rtol=1e-14, atol=1e-14)
    else:
        np.testing.assert_array_equal(found, want)


def test_f64_is_a_chain_of_fused_multiply_adds_in_ascending_k() -> None:
    """Each step rounds: what the first adds is lost behind the second, unless products are fused and in this order."""
    left, right, added = np.zeros((1, 8, 4)), np.zeros((1, 4, 8)), np.zeros((1, 8, 8))
    left[0, 0], right[0, :, 0] = [1 + 2.0**-52, 2.0**53, -(2.0**53), 1.0], [1 + 2.0**-52, 1, 1, 2.0**-60]
    added[0, 0, 0] = -1.0
    left[0, 1, 0], right[0, 0, 1], added[0, 1, 1] = 1 + 2.0**-30, 1 + 2.0**-30, -(1 + 2.0**-29)
    bits = {"a": left.view(np.uint64), "b": right.view(np.uint64), "c": added.view(np.uint64)}
    operands = {
        "a": words_of(bits["a"], "f64", lambda lane, i: a_place("f64", 8, lane, i), 1),
        "b": words_of(bits["b"], "f64", lambda lane, i: b_place("f64", lane, i), 1),
        "c": words_of(bits["c"], "f64", lambda lane, i: c_place(8, lane, i), 2),
    }
    found = run("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", operands, 2)
    # 2**-51 + 2**-104 is added to 2**53 and lost, then all is taken away again.
    result = matrices_of(found, "f64", lambda lane, i: c_place(8, lane, i), (8, 8))
    assert result[0, 0, 0] == 2.0**-60
    assert result[0, 1, 1] == 2.0**-60


@pytest.mark.parametrize(("m", "k"), [(8, 128), (16, 128), (16, 256)])
@pytest.mark.parametrize("combine", ["xor", "and"])
def test_bits(m: int, k: int, combine: str) -> None:
    random = np.random.default_rng(2)
    left, right = random_bits(random, "b1", WARPS, m, k), random_bits(random, "b1", WARPS, k, 8)
    added = random_bits(random, "s32", WARPS, m, 8)
    operands = {
        "a": words_of(left, "b1", lambda lane, i: a_place("b1", m, lane, i), m * k // 32),
        "b": words_of(right, "b1", lambda lane, i: b_place("b1", lane, i), k * 8 // 32),
        "c": words_of(added, "s32", lambda lane, i: c_place(m, lane, i), m * 8 // 32),
    }
    name = f"mma.sync.aligned.m{m}n8k{k}.row.col.s32.b1.b1.s32.{combine}.popc"
    found = matrices_of(run(name, operands, m * 8 // 32), "s32", lambda lane, i: c_place(m, lane, i), (m, 8))
    pairs = (left[:, :, :, None], right[:, None, :, :])
    ones = (np.bitwise_xor(*pairs) if combine == "xor" else np.bitwise_and(*pairs)).sum(axis=2, dtype=np.int64)
    np.testing.assert_array_equal(found, round_to(ones + decoded(added, "s32"), "s32"))


def test_integers_saturate_only_when_told() -> None:
    a, b = [np.full((1, 32), 0x7F7F7F7F, np.uint32)] * 2, [np.full((1, 32), 0x7F7F7F7F, np.uint32)]
    c = [np.full((1, 32), 2**31 - 1, np.uint32)] * 4
    operands = {"a": a, "b": b, "c": c}
    wrapped = run("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32", operands, 4)
    assert (wrapped[0].view(np.int32) == 2**31 - 1 + 16 * 127**2 - 2**32).all()
    saturated = run("mma.sync.aligned.m16n8k16.row.col.satfinite.s32.s8.s8.s32", operands, 4)
    assert (saturated[3] == 2**31 - 1).all()


def quad_pair_places(major_a: str, major_b: str, d: str) -> tuple[Any, Any, Any]:
    """Of `m8n8k4` with `f16`: places with the quad pair in front."""

    def pair(lane: int) -> int:
        return lane % 16 // 4

    def a(lane: int, i: int) -> tuple[int, int, int]:
        if major_a == "row":
            return pair(lane), lane % 4 + (0 if lane < 16 else 4), i
        return pair(lane), i % 4 + (0 if lane < 16 else 4), lane % 4

    def b(lane: int, i: int) -> tuple[int, int, int]:
        if major_b == "row":
            return pair(lane), lane % 4, i + (0 if lane < 16 else 4)
        return pair(lane), i, lane % 4 + (0 if lane < 16 else 4)

    def c(lane: int, i: int) -> tuple[int, int, int]:
        if d == "f16":
            return pair(lane), lane % 4 + (0 if lane < 16 else 4), i
        row = (lane & 1) + (i & 2) + (0 if lane < 16 else 4)
        return pair(lane), row, (i & 4) + (lane & 2) + (i & 1)

    return a, b, c


@pytest.mark.parametrize(("d", "added_type"), [("f16", "f16"), ("f32", "f32"), ("f32", "f16")])
@pytest.mark.parametrize("majors", list(itertools.product(("row", "col"), repeat=2)), ids=".".join)
def test_quad_pairs(majors: tuple[str, str], d: str, added_type: str) -> None:
    random = np.random.default_rng(3)
    left, right = random_bits(random, "f16", 1, 4, 8, 4), random_bits(random, "f16", 1, 4, 4, 8)
    added = random_bits(random, added_type, 1, 4, 8, 8)
    a, b, c = quad_pair_places(*majors, added_type)
    operands = {
        "a": words_of(left, "f16", a, 4),
        "b": words_of(right, "f16", b, 4),
        "c": words_of(added, added_type, c, 8),
    }
    name = f"mma.sync.aligned.m8n8k4.{majors[0]}.{majors[1]}.{d}.f16.f16.{added_type}"
    *_, place_d = quad_pair_places(*majors, d)
    found = matrices_of(run(name, operands, 8 // packed(d)), d, place_d, (4, 8, 8))
    left, right, added = decoded(left, "f16"), decoded(right, "f16"), decoded(added, added_type)
    if d == "f16":
        want = unit_sum(left, right, added, ("f16",) * 4, 25)
    else:
        want = np.zeros_like(added)
        for step in range(4):
            want = round_to(want + left[..., step, None] * right[..., step, None, :], d)
        want = round_to(want + added, d)
    np.testing.assert_array_equal(found, want)


# Sparse matrices: the number of elements of K in a chunk, those that are stored, and neighbours that go together.
CHUNKS = {64: (2, 1, 1), 32: (2, 1, 1), 16: (4, 2, 1), 8: (4, 2, 1), 4: (8, 4, 2)}
SPARSE = [
    *[(k, "f16", d, selector) for k in (16, 32) for d in ("f16", "f32") for selector in range(64 // k)],
    *[(k, "bf16", "f32", selector) for k in (16, 32) for selector in range(64 // k)],
    *[(k, "tf32", "f32", selector) for k in (8, 16) for selector in range(32 // k)],
    *[(k, "s8", "s32", selector) for k in (32, 64) for selector in range(64 // k)],
    *[(k, "u4", "s32", selector) for k in (64, 128) for selector in range(128 // k)],
    *[(64, "e4m3", "f32", 0)],
]


def compress(random: np.random.Generator, matrix: Any, bits: int) -> tuple[Any, Any, Any]:
    """Of `(rows, K)`: itself with what is not stored at zero, what is stored, and 4 bits of metadata a chunk."""
    chunk, _, alike = CHUNKS[bits]
    rows, depth = matrix.shape
    kept = np.zeros_like(matrix)
    stored = np.zeros((rows, depth // 2), matrix.dtype)
    nibbles = np.zeros((rows, depth // chunk), np.int64)
    for row, number in itertools.product(range(rows), range(depth // chunk)):
        first = number * chunk
        if chunk == 2:
            place = int(random.integers(2))
            nibbles[row, number] = (0b0100, 0b1110)[place]
            kept[row, first + place] = stored[row, number] = matrix[row, first + place]
            continue
        low, high = sorted(int(each) for each in random.choice(4, 2, replace=False))
        nibbles[row, number] = low | high << 2
        for half, place in enumerate((low, high)):
            source = slice(first + place * alike, first + (place + 1) * alike)
            target = first // 2 + half * alike
            kept[row, source] = stored[row, target : target + alike] = matrix[row, source]
    return kept, stored, nibbles


def metadata_words(nibbles: Any, bits: int, selector: int) -> Any:
    """The register of 32 threads with the metadata of 16 rows, as the figures of the ISA show it, `(32,)`."""
    words = np.random.default_rng(9).integers(0, 2**32, 32, dtype=np.uint32)
    per_row = nibbles.shape[1] * 4
    for lane in range(32):
        group, quad = lane // 4, lane % 4
        if bits >= 16:
            parts = per_row // 16
            if quad // parts != selector:
                continue
            part = slice(4 * (quad % parts), 4 * (quad % parts) + 4)
            chosen = [*nibbles[group, part], *nibbles[group + 8, part]]
        else:
            parts = per_row // 32
            if parts == 1 and quad // 2 != selector:
                continue
            part = slice(8 * (quad // 2), 8 * (quad // 2) + 8) if parts == 2 else slice(0, 8)
            chosen = nibbles[group + 8 * (quad % 2), part]
        words[lane] = sum(int(each) << (4 * number) for number, each in enumerate(chosen))
    return words


@pytest.mark.parametrize(("k", "a", "d", "selector"), SPARSE, ids=lambda each: str(each))
@pytest.mark.parametrize("sp", ["sp", "sp::ordered_metadata"])
def test_sparse(sp: str, k: int, a: str, d: str, selector: int) -> None:
    random = np.random.default_rng(4)
    full, right = random_bits(random, a, WARPS, 16, k), random_bits(random, a, WARPS, k, 8)
    added = random_bits(random, d, WARPS, 16, 8)
    parts = [compress(random, each, BITS[a]) for each in full]
    kept, stored = (np.array([part[number] for part in parts]) for number in (0, 1))
    words = np.array([metadata_words(part[2], BITS[a], selector) for part in parts])
    place_c = lambda lane, i: c_place(16, lane, i)  # noqa: E731
    operands = {
        "a": words_of(stored, a, lambda lane, i: a_place(a, 16, lane, i), 16 * k // 2 // 32),
        "b": words_of(right, a, lambda lane, i: b_place(a, lane, i), k * 8 // 32),
        "c": words_of(added, d, place_c, 4),
    }
    name = f"mma.{sp}.sync.aligned.m16n8k{k}.row.col.{d}.{a}.{a}.{d}"
    registers = run(name, operands, 4 // packed(d), f", %e, {selector}", **{"%e": words})
    found = matrices_of(registers, d, place_c, (16, 8))
    want = expected(decoded(kept, a), decoded(right, a), decoded(added, d), (d, a, a), sparse=True)
    np.testing.assert_array_equal(found, want)


def test_what_a_multiplication_makes_of_infinities_is_the_nan_of_the_hardware() -> None:
    infinity, zero = np.full((1, 32), 0x7C007C00, np.uint32), np.zeros((1, 32), np.uint32)
    operands = {"a": [infinity] * 2, "b": [zero], "c": [zero] * 4}
    found = run("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", operands, 4)
    assert all((each == 0x7FFFFFFF).all() for each in found)
    operands["c"] = [zero] * 2
    found = run("mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", operands, 2)
    assert all((each == 0x7FFF7FFF).all() for each in found)


def dot(d: str, a: list[float], b: list[float], c: float) -> float:
    """Row 0 by column 0 of `m16n8k16`, in the arithmetic of the form."""
    left, right, added = np.zeros((1, 16, 16)), np.zeros((1, 16, 8)), np.zeros((1, 16, 8))
    left[0, 0, : len(a)], right[0, : len(b), 0], added[0, 0, 0] = a, b, c
    half, type_d = (lambda values: values.astype(np.float16).view(np.uint16)), ("f32" if d == "f32" else "f16")
    added_bits = added.astype(np.float32).view(np.uint32) if d == "f32" else half(added)
    operands = {
        "a": words_of(half(left), "f16", lambda lane, i: a_place("f16", 16, lane, i), 8),
        "b": words_of(half(right), "f16", lambda lane, i: b_place("f16", lane, i), 4),
        "c": words_of(added_bits, type_d, lambda lane, i: c_place(16, lane, i), 4),
    }
    found = run(f"mma.sync.aligned.m16n8k16.row.col.{d}.f16.f16.{d}", operands, 4 // packed(d))
    return matrices_of(found, d, lambda lane, i: c_place(16, lane, i), (16, 8))[0, 0, 0]


@pytest.mark.parametrize(
    ("a", "b", "c", "result"),
    [
        # The sum is cut toward zero, of either sign; and 25 bits behind the largest term are kept of each.
        *[([1.0], [1.0], 2.0**-24, 1.0), ([-1.0, 2.0**-12], [1.0, 2.0**-12], 0.0, -1 + 2.0**-24)],
        *[([1.0, -1.0], [1.0, 1.0], 2.0**-25, 2.0**-25), ([1.0, -1.0], [1.0, 1.0], 2.0**-26, 0.0)],
        # Each term is cut on its own.
        ([2.0**-13] * 3 + [1.0, -1.0], [2.0**-13] * 3 + [1.0, 1.0], 0.0, 0.0),
        # What cuts is the sum of the exponents of the factors, not the size of the product.
        ([1.5, -1.5], [1.5, 1.5], 2.0**-25, 2.0**-25),
        # Zeros cut nothing; a subnormal factor counts as the least normal number.
        *[([0.0], [32768.0], 2.0**-100, 2.0**-100), ([2.0**-24, -(2.0**-24)], [1.0, 1.0], 2.0**-40, 0.0)],
        ([2.0**-24, -(2.0**-24)], [1.0, 1.0], 2.0**-39, 2.0**-39),
        # Subnormal results are whole multiples of the least one.
        *[([], [], 3 * 2.0**-149, 3 * 2.0**-149), ([], [], -(2.0**-140), -(2.0**-140))],
        # Nothing overflows before the end.
        ([32768.0, -32768.0], [32768.0, 32768.0], 3.0e38, float(np.float32(3.0e38))),
        *[([np.inf], [1.0], 1.0, np.inf), ([np.inf], [-1.0], 1.0, -np.inf), ([1.0], [1.0], -np.inf, -np.inf)],
    ],
)
def test_sums_of_f32(a: list[float], b: list[float], c: float, result: float) -> None:
    assert dot("f32", a, b, c) == result


def test_sums_of_f16_are_rounded_to_nearest_even_and_overflow() -> None:
    assert dot("f16", [1.0, 2.0**-6], [1.0, 2.0**-5], 0.0) == 1.0
    assert dot("f16", [1.0, 2.0**-6], [1.0, 2.0**-5], 2.0**-24) == 1 + 2.0**-10
    assert dot("f16", [256.0], [256.0], 0.0) == np.inf
    assert dot("f16", [256.0, 256.0], [256.0, -256.0], 3.0) == 3.0


def test_results_go_only_to_the_warps_that_execute() -> None:
    one, zero = np.full((2, 32), 0x3C003C00, np.uint32), np.zeros((2, 32), np.uint32)
    mask = np.array([[False], [True]])
    text = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d, %d1, %d2, %d3}, {%a, %a}, {%b}, {%c, %c, %c, %c};"
    found = run_instruction(text, {"%a": one, "%b": one, "%c": zero, "%d": one}, mask=mask)
    assert (found["%d"][0] == 0x3C003C00).all()
    assert (found["%d"][1].view(np.float32) == 8).all()


def test_a_warp_of_which_threads_are_elsewhere_waits() -> None:
    zero = np.zeros((2, 32), np.uint32)
    mask = np.ones((2, 32), np.bool_)
    mask[1, 5] = False
    text = "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%d, %d1, %d2, %d3}, {%a, %a}, {%a}, {%a, %a, %a, %a};"
    waiting = run_instruction(text, {"%a": zero, "%d": zero + 7}, mask=mask)
    assert (waiting["waiting"].mask == mask & [[False], [True]]).all()
    assert (waiting["%d"][0] == 0).all()
    assert (waiting["%d"][1] == 7).all()


@pytest.mark.parametrize(
    "name",
    [
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32",
        "mma.sync.aligned.m16n8k32.row.col.f32.e2m1.e2m1.f32",
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.f32.e4m3.e4m3.f32",
        "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32.ue8m0",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue8m0",
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.f32.e2m1.e2m1.f32.ue4m3",
        "mma.sync.aligned.m16n8k16.col.row.f32.f16.f16.f32",
    ],
)
def test_forms_that_are_not_modelled_are_named(name: str) -> None:
    with pytest.raises(EmulatorError, match=f"does not model '{name}'"):
        run_instruction(f"{name} {{%d}}, {{%a}}, {{%b}}, {{%c}};", {"%a": np.zeros((1, 32), np.uint32)})
