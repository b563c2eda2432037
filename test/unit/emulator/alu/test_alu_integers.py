"""Integer arithmetic, logic and shifts against Python's integers."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterable

import numpy as np
import pytest
from hand import run_instruction
from hypothesis import given, settings
from hypothesis import strategies as st

TYPES = ["u16", "s16", "u32", "s32", "u64", "s64"]


def width(type_: str) -> int:
    return int(type_[1:])


def samples(type_: str) -> list[int]:
    """Values of the type: its limits, small ones, and random ones of all sizes."""
    bits, chosen = width(type_), random.Random(0)
    found = [0, 1, 2, 3, -1, -2, -3, 1 << (bits - 1), (1 << (bits - 1)) - 1, 10, 255, 256]
    found += [chosen.getrandbits(chosen.randrange(1, bits + 1)) for _ in range(8)]
    return [wrap(each, type_) for each in found]


def wrap(number: int, type_: str) -> int:
    """The number that these low bits are in the type."""
    bits = width(type_)
    number &= (1 << bits) - 1
    return number - (1 << bits) if type_[0] == "s" and number >> (bits - 1) else number


def run(text: str, result: str, columns: Iterable[list[int]], types: Iterable[str]) -> list[int]:
    """The results of an instruction for each element, as numbers of the type."""
    arrays = {}
    count = 0
    for index, (column, type_) in enumerate(zip(columns, types, strict=True)):
        count = len(column)
        values = np.array([each & ((1 << width(type_)) - 1) for each in column], f"u{width(type_) // 8}")
        arrays[f"%a{index}"] = np.resize(values, -(-count // 32) * 32)
    found = run_instruction(f"{text} %d, {', '.join(arrays)};", arrays, {"%d": f"b{width(result)}"})["%d"]
    return [wrap(int(each), result) for each in found.reshape(-1)[:count]]


def check(
    text: str, result: str, types: list[str], function: Callable[..., int], rows: Iterable[tuple[int, ...]]
) -> None:
    rows = list(rows)
    found = run(text, result, [list(each) for each in zip(*rows, strict=True)], types)
    for row, got in zip(rows, found, strict=True):
        assert got == wrap(function(*row), result), (text, row)


def quotient(a: int, b: int) -> int:
    return -1 if b == 0 else (abs(a) // abs(b)) * (-1 if (a < 0) != (b < 0) else 1)


def remainder(a: int, b: int) -> int:
    return -1 if b == 0 else a - b * quotient(a, b)


@pytest.mark.parametrize("type_", TYPES)
def test_two_operands(type_: str) -> None:
    bits = width(type_)
    functions: dict[str, Callable[[int, int], int]] = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul.lo": lambda a, b: a * b,
        "mul.hi": lambda a, b: (a * b) >> bits,
        # By 0 hardware gives all ones.
        "div": quotient,
        "rem": remainder,
        "min": min,
        "max": max,
    }
    pairs = list(itertools.product(samples(type_), repeat=2))
    for opcode, function in functions.items():
        check(f"{opcode}.{type_}", type_, [type_, type_], function, pairs)


@pytest.mark.parametrize("type_", TYPES)
def test_three_operands(type_: str) -> None:
    bits, chosen = width(type_), random.Random(1)
    rows = [tuple(chosen.choice(samples(type_)) for _ in range(3)) for _ in range(300)]
    check(f"mad.lo.{type_}", type_, [type_] * 3, lambda a, b, c: a * b + c, rows)
    check(f"mad.hi.{type_}", type_, [type_] * 3, lambda a, b, c: ((a * b) >> bits) + c, rows)
    check(f"sad.{type_}", type_, [type_] * 3, lambda a, b, c: abs(a - b) + c, rows)
    if bits < 64:
        wide = f"{type_[0]}{2 * bits}"
        check(f"mul.wide.{type_}", wide, [type_] * 2, lambda a, b: a * b, [row[:2] for row in rows])
        check(f"mad.wide.{type_}", wide, [type_, type_, wide], lambda a, b, c: a * b + c, rows)


def clamp(number: int) -> int:
    return max(-(2**31), min(2**31 - 1, number))


def test_saturating() -> None:
    pairs = list(itertools.product(samples("s32"), repeat=2))
    check("add.sat.s32", "s32", ["s32"] * 2, lambda a, b: clamp(a + b), pairs)
    check("sub.sat.s32", "s32", ["s32"] * 2, lambda a, b: clamp(a - b), pairs)
    check("min.relu.s32", "s32", ["s32"] * 2, lambda a, b: max(0, min(a, b)), pairs)
    triples = [(*pair, pair[0] ^ 12345) for pair in pairs]
    check("mad.hi.sat.s32", "s32", ["s32"] * 3, lambda a, b, c: clamp((a * b >> 32) + c), triples)


def low24(number: int, signed: bool) -> int:
    number &= 0xFFFFFF
    return number - 0x1000000 if signed and number >> 23 else number


@pytest.mark.parametrize("type_", ["u32", "s32"])
def test_products_of_24_bits(type_: str) -> None:
    pairs = list(itertools.product(samples(type_), repeat=2))
    product = lambda a, b: low24(a, type_ == "s32") * low24(b, type_ == "s32")  # noqa: E731
    check(f"mul24.lo.{type_}", type_, [type_] * 2, product, pairs)
    check(f"mul24.hi.{type_}", type_, [type_] * 2, lambda a, b: product(a, b) >> 16, pairs)
    triples = [(*pair, 77) for pair in pairs]
    check(f"mad24.lo.{type_}", type_, [type_] * 3, lambda a, b, c: product(a, b) + c, triples)


@pytest.mark.parametrize("type_", ["s16", "s32", "s64"])
def test_signs(type_: str) -> None:
    rows = [(each,) for each in samples(type_)]
    check(f"neg.{type_}", type_, [type_], lambda a: -a, rows)
    check(f"abs.{type_}", type_, [type_], abs, rows)


@pytest.mark.parametrize("bits", [32, 64])
def test_counting_bits(bits: int) -> None:
    type_ = f"u{bits}"
    rows = [(each,) for each in samples(type_)]
    check(f"popc.b{bits}", "u32", [type_], int.bit_count, rows)
    check(f"clz.b{bits}", "u32", [type_], lambda a: bits - a.bit_length(), rows)
    check(f"brev.b{bits}", type_, [type_], lambda a: int(f"{a:0{bits}b}"[::-1], 2), rows)
    check(f"bfind.u{bits}", "u32", [type_], lambda a: a.bit_length() - 1, rows)
    check(f"bfind.shiftamt.u{bits}", "u32", [type_], lambda a: bits - a.bit_length() if a else -1, rows)
    signed = [(each,) for each in samples(f"s{bits}")]
    check(f"bfind.s{bits}", "u32", [f"s{bits}"], lambda a: (a if a >= 0 else ~a).bit_length() - 1, signed)


SHIFTS = [0, 1, 2, 5, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 255, 256, 2**31, 2**32 - 1]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_shifts_beyond_the_width(bits: int) -> None:
    """An amount of the width or more leaves nothing, or the sign."""
    rows = list(itertools.product(samples(f"u{bits}"), SHIFTS))
    check(f"shl.b{bits}", f"u{bits}", [f"u{bits}", "u32"], lambda a, n: a << min(n, 64), rows)
    check(f"shr.u{bits}", f"u{bits}", [f"u{bits}", "u32"], lambda a, n: a >> n if n < 99 else 0, rows)
    check(f"shr.b{bits}", f"u{bits}", [f"u{bits}", "u32"], lambda a, n: a >> n if n < 99 else 0, rows)
    rows = list(itertools.product(samples(f"s{bits}"), SHIFTS))
    check(f"shr.s{bits}", f"s{bits}", [f"s{bits}", "u32"], lambda a, n: a >> min(n, 64), rows)


def test_funnel_shifts() -> None:
    chosen = random.Random(2)
    rows = [(chosen.getrandbits(32), chosen.getrandbits(32), shift) for shift in SHIFTS for _ in range(4)]
    for mode, amount in (("wrap", lambda n: n & 31), ("clamp", lambda n: min(n, 32))):
        check(f"shf.l.{mode}.b32", "u32", ["u32"] * 3, lambda a, b, n, s=amount: (b << 32 | a) << s(n) >> 32, rows)
        check(f"shf.r.{mode}.b32", "u32", ["u32"] * 3, lambda a, b, n, s=amount: (b << 32 | a) >> s(n), rows)


@pytest.mark.parametrize("type_", ["u32", "s32", "u64", "s64"])
def test_bit_fields(type_: str) -> None:
    bits = width(type_)

    def low(number: int) -> int:
        return number & 255 if bits == 32 else number

    def extract(a: int, position: int, length: int) -> int:
        """As the manual has it, bit by bit; but of 64 bits position and length are not cut to a byte."""
        position, length = low(position), min(low(length), bits)
        bit = lambda index: a >> index & 1  # noqa: E731
        sign = 0 if type_[0] == "u" or length == 0 else bit(min(position + length - 1, bits - 1))
        inside = lambda index: index < length and position + index < bits  # noqa: E731
        return sum((bit(position + index) if inside(index) else sign) << index for index in range(bits))

    def insert(a: int, b: int, position: int, length: int) -> int:
        for index in range(min(low(length), bits)):
            at = low(position) + index
            if at < bits:
                b = b & ~(1 << at) | (a >> index & 1) << at
        return b

    some = samples(type_)[4::2]
    fields = list(itertools.product(some, SHIFTS, SHIFTS))
    check(f"bfe.{type_}", type_, [type_, "u32", "u32"], extract, fields)
    inserted = [(a, ~a // 3, position, length) for a, position, length in fields]
    check(f"bfi.b{bits}", type_, [type_, type_, "u32", "u32"], insert, inserted)


def test_masks_and_extension() -> None:
    rows = list(itertools.product(SHIFTS, repeat=2))

    def mask(a: int, b: int, clamps: bool) -> int:
        if not clamps:
            return (1 << (b & 31)) - 1 << (a & 31)
        return (1 << min(b, 32)) - 1 << min(a, 32)

    check("bmsk.clamp.b32", "u32", ["u32"] * 2, lambda a, b: mask(a, b, True), rows)
    check("bmsk.wrap.b32", "u32", ["u32"] * 2, lambda a, b: mask(a, b, False), rows)

    def extend(a: int, b: int, signed: bool, clamps: bool) -> int:
        if clamps and b >= 32:
            return a
        size = b & 31
        kept = a & ((1 << size) - 1)
        return kept - (1 << size) if signed and size and kept >> (size - 1) else kept

    rows = list(itertools.product(samples("u32"), SHIFTS))
    for type_, mode in itertools.product(("u32", "s32"), ("clamp", "wrap")):
        expected = lambda a, b, t=type_, m=mode: extend(a, b, t == "s32", m == "clamp")  # noqa: E731
        check(f"szext.{mode}.{type_}", "u32", ["u32"] * 2, expected, rows)


def test_finding_the_nth_bit() -> None:
    def find(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else -1
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        return next(itertools.islice((each for each in places if mask >> each & 1), abs(offset) - 1, None), -1)

    rows = [
        (mask, base, offset)
        for mask in (0, 1, 0x80000001, 0xFFFFFFFF, 0x12345678)
        for base in (0, 3, 31)
        for offset in (0, 1, 2, 7, 32, -1, -2, -9, -32)
    ]
    check("fns.b32", "s32", ["u32", "u32", "s32"], find, rows)


def parts(number: int, bits: int, signed: bool) -> list[int]:
    return [wrap(number >> (bits * index), f"{'s' if signed else 'u'}{bits}") for index in range(32 // bits)]


@pytest.mark.parametrize(("first", "second"), list(itertools.product(["u32", "s32"], repeat=2)))
def test_dot_products(first: str, second: str) -> None:
    chosen = random.Random(3)
    rows = [(chosen.getrandbits(32), chosen.getrandbits(32), chosen.getrandbits(32)) for _ in range(64)]

    def dot4(a: int, b: int, c: int) -> int:
        return c + sum(x * y for x, y in zip(parts(a, 8, first == "s32"), parts(b, 8, second == "s32"), strict=True))

    check(f"dp4a.{first}.{second}", "u32", ["u32"] * 3, dot4, rows)
    for which, start in (("lo", 0), ("hi", 2)):

        def dot2(a: int, b: int, c: int, start: int = start) -> int:
            halves, bytes_ = parts(a, 16, first == "s32"), parts(b, 8, second == "s32")
            return c + halves[0] * bytes_[start] + halves[1] * bytes_[start + 1]

        check(f"dp2a.{which}.{first}.{second}", "u32", ["u32"] * 3, dot2, rows)


def each_part(function: Callable[..., int], type_: str) -> Callable[..., int]:
    """On the parts of registers: `s8` are four."""
    bits, mask = width(type_), (1 << width(type_)) - 1

    def packed(*operands: int) -> int:
        columns = zip(*(parts(each, bits, type_[0] == "s") for each in operands), strict=True)
        return sum((function(*column) & mask) << (bits * index) for index, column in enumerate(columns))

    return packed


def within(type_: str) -> Callable[[int], int]:
    """The number of the type that is nearest."""
    signed, bits = type_[0] == "s", width(type_)
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return lambda number: max(least, min(most, number))


def test_quarters() -> None:
    """Of sm_120."""
    chosen = random.Random(5)
    rows = [(chosen.getrandbits(32), chosen.getrandbits(32)) for _ in range(64)] + [(0x80FF7F00, 0x80017F01)]
    for type_ in ("u8", "s8"):
        bound = within(type_)
        functions: dict[str, Callable[[int, int], int]] = {
            "add": lambda a, b: a + b,
            "sub": lambda a, b: a - b,
            "add.sat": lambda a, b, bound=bound: bound(a + b),
            "sub.sat": lambda a, b, bound=bound: bound(a - b),
            "min": min,
            "max": max,
        }
        for name, function in functions.items():
            check(f"{name}.{type_}x4", "u32", ["u32"] * 2, each_part(function, type_), rows)
    check("max.relu.s8x4", "u32", ["u32"] * 2, each_part(lambda a, b: max(a, b, 0), "s8"), rows)
    check("neg.s8x4", "u32", ["u32"], each_part(lambda a: -a, "s8"), [(a,) for a, _ in rows])
    for type_ in ("u16", "s16"):
        check(f"add.sat.{type_}x2", "u32", ["u32"] * 2, each_part(lambda a, b, f=within(type_): f(a + b), type_), rows)
    check("add.sat.u32", "u32", ["u32"] * 2, lambda a, b: within("u32")(a + b), rows)


def test_products_without_carries() -> None:
    def product(a: int, b: int) -> int:
        found = 0
        for bit in range(64):
            found ^= (a << bit) if b >> bit & 1 else 0
        return found

    chosen, all_ones = random.Random(6), (1 << 64) - 1
    rows = [tuple(chosen.getrandbits(64) for _ in range(3)) for _ in range(29)]
    rows += [(all_ones, all_ones, 0), (1 << 63, 1 << 63, 5), (1, all_ones, all_ones)]
    check("clmad.lo.u64", "u64", ["u64"] * 3, lambda a, b, c: product(a, b) & all_ones ^ c, rows)
    check("clmad.hi.u64", "u64", ["u64"] * 3, lambda a, b, c: product(a, b) >> 64 ^ c, rows)


def test_halves() -> None:
    def both(function: Callable[[int, int], int], signed: bool) -> Callable[[int, int], int]:
        return each_part(function, "s16" if signed else "u16")

    chosen = random.Random(4)
    rows = [(chosen.getrandbits(32), chosen.getrandbits(32)) for _ in range(64)]
    check("add.s16x2", "u32", ["u32"] * 2, both(lambda a, b: a + b, True), rows)
    check("min.s16x2", "u32", ["u32"] * 2, both(min, True), rows)
    check("max.u16x2", "u32", ["u32"] * 2, both(max, False), rows)
    check("max.relu.s16x2", "u32", ["u32"] * 2, both(lambda a, b: max(a, b, 0), True), rows)


# Logic.


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_bitwise(bits: int) -> None:
    type_ = f"u{bits}"
    pairs = list(itertools.product(samples(type_), repeat=2))
    check(f"and.b{bits}", type_, [type_] * 2, lambda a, b: a & b, pairs)
    check(f"or.b{bits}", type_, [type_] * 2, lambda a, b: a | b, pairs)
    check(f"xor.b{bits}", type_, [type_] * 2, lambda a, b: a ^ b, pairs)
    rows = [(each,) for each in samples(type_)]
    check(f"not.b{bits}", type_, [type_], lambda a: ~a, rows)
    check(f"cnot.b{bits}", type_, [type_], lambda a: int(a == 0), rows)


@given(st.integers(0, 255), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
@settings(max_examples=12, deadline=None)
def test_any_function_of_three_bits(table: int, a: int, b: int, c: int) -> None:
    inputs = {"%a": np.full(32, a, np.uint32), "%b": np.full(32, b, np.uint32), "%c": np.full(32, c, np.uint32)}
    found = int(run_instruction(f"lop3.b32 %d, %a, %b, %c, {table};", inputs)["%d"][0, 0])
    bit = lambda at: table >> ((a >> at & 1) * 4 + (b >> at & 1) * 2 + (c >> at & 1)) & 1  # noqa: E731
    assert found == sum(bit(at) << at for at in range(32))


def test_lop3_with_a_predicate() -> None:
    a = np.array([0, 1] * 16, np.uint32)
    p = np.array([False, False, True, True] * 8)
    inputs = {"%a": a, "%b": a, "%q": p}
    found = run_instruction("lop3.or.b32 %d|%p, %a, %b, %a, 0x80, %q;", inputs, {"%p": "pred"})
    assert found["%p"][0, :4].tolist() == [False, True, True, True]
    assert found["%d"][0, :2].tolist() == [0, 1]


def test_permuting_bytes() -> None:
    a, b = 0x33221100, 0x77665544
    source = [each >> (8 * index) & 255 for each in (a, b) for index in range(4)]
    for selector in (0x3210, 0x7654, 0x0123, 0x1507, 0x5555):
        got = run("prmt.b32", "u32", [[a], [b], [selector]], ["u32"] * 3)[0]
        assert got == sum(source[selector >> (4 * index) & 7] << (8 * index) for index in range(4))
    # Bit 3 spreads the sign of the byte.
    assert run("prmt.b32", "u32", [[0x80FF7F00], [0], [0xBA98]], ["u32"] * 3) == [0xFFFF0000]
    modes = {
        "f4e": ["33221100", "44332211", "55443322", "66554433"],
        "b4e": ["55667700", "66770011", "77001122", "00112233"],
        "rc8": ["00000000", "11111111", "22222222", "33333333"],
        "ecl": ["33221100", "33221111", "33222222", "33333333"],
        "ecr": ["00000000", "11111100", "22221100", "33221100"],
        "rc16": ["11001100", "33223322", "11001100", "33223322"],
    }
    for mode, expected in modes.items():
        got = run(f"prmt.b32.{mode}", "u32", [[a] * 4, [b] * 4, [0, 1, 2, 7]], ["u32"] * 3)
        assert [f"{each:08x}" for each in got] == expected, mode


# The carry flag.


@given(st.lists(st.tuples(*[st.integers(0, 2**96 - 1)] * 2), min_size=32, max_size=32))
@settings(max_examples=10, deadline=None)
def test_long_sums(pairs: list[tuple[int, int]]) -> None:
    def words(numbers: list[int], name: str) -> dict[str, np.ndarray]:
        return {
            f"%{name}{k}": np.array([each >> (32 * k) & 0xFFFFFFFF for each in numbers], np.uint32) for k in range(3)
        }

    inputs = words([a for a, _ in pairs], "a") | words([b for _, b in pairs], "b")
    for opcode, function in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b)):
        found = run_instruction(
            [
                f"{opcode}.cc.u32 %d0, %a0, %b0;",
                f"{opcode}c.cc.u32 %d1, %a1, %b1;",
                f"{opcode}c.u32 %d2, %a2, %b2;",
            ],
            inputs,
        )
        for lane, (a, b) in enumerate(pairs):
            got = sum(int(found[f"%d{k}"][0, lane]) << (32 * k) for k in range(3))
            assert got == function(a, b) % 2**96


@pytest.mark.parametrize("type_", ["u32", "u64", "s64"])
def test_long_products(type_: str) -> None:
    """The low and the high half of `a * b`, added to a number of twice the width."""
    bits, chosen = width(type_), random.Random(5)
    dtype = f"u{bits // 8}"
    numbers = {name: [chosen.getrandbits(bits) for _ in range(32)] for name in ("a", "b", "c", "e")}
    inputs = {f"%{name}": np.array(each, dtype) for name, each in numbers.items()}
    texts = [f"mad.lo.cc.{type_} %d0, %a, %b, %c;", f"madc.hi.{type_} %d1, %a, %b, %e;"]
    found = run_instruction(texts, inputs, {"%d0": f"b{bits}", "%d1": f"b{bits}"})
    for lane in range(32):
        a, b, c, e = (numbers[name][lane] for name in ("a", "b", "c", "e"))
        exact = wrap(a, type_) * wrap(b, type_) + (e << bits | c)
        assert int(found["%d1"][0, lane]) << bits | int(found["%d0"][0, lane]) == exact % (1 << (2 * bits))


def test_the_carry_of_other_threads_stays() -> None:
    """An instruction that only some threads execute sets the flag of these."""
    ones = np.full(32, 2**32 - 1, np.uint32)
    inputs = {"%a": ones, "%b": ones, "%z": np.zeros(32, np.uint32)}
    mask = np.arange(32)[None] < 16
    found = run_instruction(["add.cc.u32 %d, %a, %b;", "addc.u32 %e, %z, %z;"], inputs, mask=mask)
    assert found["%e"][0].tolist() == [1] * 16 + [0] * 16
    assert found["%d"][0, 16:].tolist() == [0] * 16
