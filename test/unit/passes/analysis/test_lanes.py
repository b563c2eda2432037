"""Operations on the values of all threads: each thread's is what Python's integers say, whatever form operands have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecc.passes.analysis import lanes

DTYPES = {8: np.int8, 32: np.int32, 64: np.int64}


def expected(name: str, a: int, b: int, width: int) -> int | None:
    """Of two signed numbers; `None` where LLVM leaves it open."""
    ua, ub = a % 2**width, b % 2**width
    if name in ("divsi", "remsi", "divui", "remui") and b == 0:
        return None
    if name.startswith("sh") and ub >= width:
        return None
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1) if b else 0
    values: dict[str, Any] = {
        **{"addi": a + b, "subi": a - b, "muli": a * b, "andi": a & b, "ori": a | b, "xori": a ^ b},
        **{"divsi": quotient, "remsi": a - quotient * b, "divui": ua // ub if ub else 0, "remui": ua % ub if ub else 0},
        **{"maxsi": max(a, b), "minsi": min(a, b), "maxui": max(ua, ub), "minui": min(ua, ub)},
    }
    if name.startswith("sh"):
        values |= {"shli": a << ub, "shrsi": a >> ub, "shrui": ua >> ub}
    return lanes.normalised(values[name], width)


@st.composite
def operands(draw: st.DrawFn) -> tuple[int, int, int]:
    width = draw(st.sampled_from(list(DTYPES)))
    limits = st.integers(-(2 ** (width - 1)), 2 ** (width - 1) - 1)
    small = st.integers(0, 40)
    return width, draw(limits | small), draw(limits | small)


@pytest.mark.parametrize("name", lanes.BINARY)
@given(given=operands())
def test_binary_operations(name: str, given: tuple[int, int, int]) -> None:
    width, a, b = given
    if name in ("divsi", "remsi") and a == -(2 ** (width - 1)) and b == -1:
        return
    function, result = lanes.binary(name, width), expected(name, a, b, width)
    assert function is not None
    assert function(a, b) == result
    if result is None:
        return
    rows = np.full((2, 32), a, DTYPES[width]), np.full((2, 32), b, DTYPES[width])
    with np.errstate(all="ignore"):
        for found in (function(rows[0], b), function(a, rows[1]), function(*rows)):
            assert isinstance(found, np.ndarray) and found.dtype == DTYPES[width]
            assert (found == result).all()


@given(given=operands(), signed=st.booleans(), target=st.sampled_from([1, 8, 32, 64]))
def test_resizing(given: tuple[int, int, int], signed: bool, target: int) -> None:
    width, a, _ = given
    result = lanes.normalised(a if signed else a % 2**width, target)
    assert lanes.resized(a, target, signed=signed, source=width) == result
    found = lanes.resized(np.full((1, 32), a, DTYPES[width]), target, signed=signed, source=width)
    assert isinstance(found, np.ndarray) and (found == result).all()


@given(given=operands(), predicate=st.integers(0, 9))
def test_comparing(given: tuple[int, int, int], predicate: int) -> None:
    width, a, b = given
    x, y = (a, b) if predicate < 6 else (a % 2**width, b % 2**width)
    result = [x == y, x != y, x < y, x <= y, x > y, x >= y, x < y, x <= y, x > y, x >= y][predicate]
    assert lanes.compared(predicate, a, b, width) == result
    found = lanes.compared(predicate, np.full((1, 32), a, DTYPES[width]), b, width)
    assert isinstance(found, np.ndarray) and (found == result).all()


@given(a=st.integers(-(2**31), 2**31 - 1), b=st.integers(-(2**31), 2**31 - 1), signed=st.booleans())
def test_products_of_two_words(a: int, b: int, signed: bool) -> None:
    product = a * b if signed else a % 2**32 * (b % 2**32)
    result = lanes.normalised(product, 32), lanes.normalised(product >> 32, 32)
    assert lanes.extended_product(a, b, 32, signed=signed) == result
    low, high = lanes.extended_product(np.full((1, 32), a, np.int32), b, 32, signed=signed)
    assert isinstance(low, np.ndarray) and isinstance(high, np.ndarray)
    assert (low == result[0]).all() and (high == result[1]).all()


@pytest.mark.parametrize(
    ("kind", "offset", "clamp", "expected"),
    [
        ("idx", 5, 31, [5] * 32),
        ("idx", 1, 0x181F, [lane // 8 * 8 + 1 for lane in range(32)]),
        ("bfly", 16, 31, [lane ^ 16 for lane in range(32)]),
        ("up", 1, 0, [max(0, lane - 1) for lane in range(32)]),
        ("down", 4, 31, [lane + 4 if lane < 28 else lane for lane in range(32)]),
    ],
)
def test_shuffles(kind: str, offset: int, clamp: int, expected: list[int]) -> None:
    rows = np.tile(np.arange(32, dtype=np.int32), (2, 1))
    found = lanes.shuffled(rows, kind, offset, clamp)
    assert isinstance(found, np.ndarray) and found.tolist() == [expected, expected]
    assert lanes.shuffled(7, kind, offset, clamp) == 7
    assert lanes.shuffled(rows, kind, None, clamp) is None
