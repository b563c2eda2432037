"""The multistage tensor-core GEMM on the CPU emulator: types, layouts, alignments and modes, at ragged sizes.

The cases cover the pairs of a type with a layout of A, of B, an alignment; errors are in units of the sum of absolute
products. Rows of operands have poison between them, D is poison before, and everything that can be checked is.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from products import Matrix, compile_kernel, describe, multiply

from cutecc.operations.kernels import sm80

pytestmark = pytest.mark.slow

F16 = "tensor_op:16x8x16:f16:f16:f32"
F16_SHORT = "tensor_op:16x8x8:f16:f16:f16"
BF16 = "tensor_op:16x8x16:bf16:bf16:f32"
BF16_SHORT = "tensor_op:16x8x8:bf16:bf16:f32"
TF32 = "tensor_op:16x8x8:tf32:tf32:f32"
FAST_F32 = f"{TF32}:multiply_add_fast_f32"
FAST_F16 = "tensor_op:16x8x16:f32:f32:f32:multiply_add_fast_f16"
FAST_F16_SHORT = "tensor_op:16x8x8:f32:f32:f32:multiply_add_fast_f16"
FAST_BF16 = "tensor_op:16x8x16:f32:f32:f32:multiply_add_fast_bf16"
F64 = "tensor_op:8x8x4:f64:f64:f64"
I8 = "tensor_op:16x8x32:i8:i8:i32:multiply_add_saturate"
E4M3 = "tensor_op:16x8x32:f8E4M3FN:f8E4M3FN:f32"
E5M2 = "tensor_op:16x8x32:f8E5M2:f8E5M2:f32"

EXACT, DOUBLE, SUM, SPLIT, TF32_FACTORS, HALF, BRAIN = 0, 1e-15, 5e-7, 2e-6, 1e-3, 2e-3, 5e-3

# instruction, tile, A, B, D, (M, N, K), error, and what differs from a single product on sm_80
CASES: list[tuple[Any, ...]] = [
    (F16, "64x64x32:stages=3:warps=2x2x1", "f16:row:8", "f16:column:8", "f32:row:4", (72, 48, 40), SUM, {}),
    (F16, "64x64x32:stages=4:warps=1x4x1", "f16:column:8", "f16:row:8", "f16:row:8", (72, 48, 37), HALF, {}),
    (
        *(F16_SHORT, "32x32x32:stages=2:warps=2x1x1", "f16:column:1", "f16:row:2", "f16:row:2", (35, 46, 37), HALF),
        {"mode": "batched", "swizzle": "batched", "batches": 2},
    ),
    (BF16, "32x64x64:stages=2:warps=1x2x2", "bf16:row:1", "bf16:row:8", "bf16:row:8", (38, 72, 77), BRAIN, {}),
    (
        *(BF16_SHORT, "32x32x32:stages=3:warps=1x2x1", "bf16:column:4", "bf16:column:1", "f32:row:1"),
        *((36, 45, 37), SUM, {"mode": "array", "batches": 2}),
    ),
    (
        *(TF32, "32x32x32:stages=3:warps=2x2x1", "f32:row:4", "f32:row:2", "f32:row:2", (35, 46, 104), TF32_FACTORS),
        {"mode": "split_k_serial", "slices": 3, "launches": 2},
    ),
    (
        *(TF32, "32x32x16:stages=2:warps=2x2x1", "f32:column:1", "f32:column:4", "f32:row:1", (70, 45, 36)),
        *(TF32_FACTORS, {"swizzle": "identity2"}),
    ),
    (
        *(FAST_F32, "32x16x16:stages=4:warps=2x1x1", "f32:row:1", "f32:column:2", "f32:row:1", (35, 29, 74), SPLIT),
        {"mode": "split_k_parallel", "slices": 2},
    ),
    (FAST_F32, "32x32x32:stages=2:warps=1x1x2", "f32:column:4", "f32:row:1", "f32:row:1", (36, 37, 37), SPLIT, {}),
    (
        FAST_F16,
        "32x32x64:stages=3:warps=2x1x2",
        "f32:row:2",
        "f32:column:1",
        "f32:row:1",
        (35, 29, 74),
        TF32_FACTORS,
        {},
    ),
    (
        *(FAST_F16, "64x32x32:stages=2:warps=2x2x1", "f32:column:2", "f32:row:4", "f16:row:8", (70, 48, 37), HALF),
        {"mode": "split_k_serial", "slices": 2, "launches": 2},
    ),
    (
        *(FAST_F16_SHORT, "32x32x16:stages=3:warps=1x2x1", "f32:row:1", "f32:row:1", "f32:row:1", (35, 45, 37)),
        *(TF32_FACTORS, {"mode": "batched", "batches": 2}),
    ),
    (
        *(FAST_BF16, "32x64x32:stages=4:warps=2x2x1", "f32:column:1", "f32:column:4", "f32:row:1", (38, 45, 76)),
        *(8e-3, {"mode": "array", "batches": 2}),
    ),
    (F64, "64x32x16:stages=3:warps=2x2x1", "f64:row:2", "f64:column:1", "f64:row:1", (70, 45, 38), DOUBLE, {}),
    (
        *(F64, "64x32x16:stages=4:warps=4x1x1", "f64:column:2", "f64:row:2", "f64:row:2", (70, 46, 45), DOUBLE),
        {"swizzle": "horizontal"},
    ),
    (
        *(F64, "32x32x32:stages=2:warps=2x2x2", "f64:row:1", "f64:row:2", "f64:row:1", (38, 46, 45), DOUBLE),
        {"target": "sm_90a"},
    ),
    (
        *(F64, "32x32x16:stages=3:warps=1x2x1", "f64:column:1", "f64:column:2", "f64:row:1", (35, 45, 38), DOUBLE),
        {"target": "sm_90a", "mode": "split_k_serial", "slices": 2},
    ),
    (I8, "32x64x64:stages=3:warps=1x2x1", "i8:column:16", "i8:row:4", "i32:row:4", (48, 72, 37), EXACT, {}),
    (I8, "32x32x128:stages=2:warps=2x1x2", "i8:row:1", "i8:column:16", "i8:row:1", (38, 45, 144), EXACT, {}),
    (
        *(I8, "64x64x64:stages=3:warps=2x2x1", "i8:interleaved32:16", "i8:interleaved32:16", "i32:row:1"),
        *((70, 45, 96), EXACT, {}),
    ),
    (
        *(I8, "32x64x64:stages=3:warps=1x2x1", "i8:row_interleaved32", "i8:row_interleaved32", "i8:interleaved32"),
        *((96, 64, 160), EXACT, {"mode": "batched", "batches": 2}),
    ),
    (
        *(I8, "64x32x64:stages=2:warps=2x1x1", "i8:column_interleaved32", "i8:column_interleaved32", "i32:row:1"),
        *((35, 96, 64), EXACT, {"mode": "split_k_serial", "slices": 2, "launches": 2}),
    ),
    (
        *(I8, "32x32x64:stages=3:warps=1x1x1", "i8:row_interleaved32", "i8:column_interleaved32", "i8:interleaved32"),
        *((64, 96, 77), EXACT, {}),
    ),
    (
        *(I8, "64x64x128:stages=2:warps=2x2x1", "i8:row_interleaved32", "i8:row:1", "i32:row:1"),
        *((96, 45, 37), EXACT, {"mode": "array", "batches": 2}),
    ),
    (
        *(E4M3, "64x32x64:stages=3:warps=2x2x1", "f8E4M3FN:column:16", "f8E4M3FN:column:1", "f32:row:1"),
        *((48, 45, 77), SUM, {"target": "sm_89"}),
    ),
    (
        *(E5M2, "32x64x64:stages=2:warps=1x2x1", "f8E5M2:row:2", "f8E5M2:row:16", "f16:row:8"),
        *((38, 80, 90), HALF, {"target": "sm_89"}),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join((case[0].split(":")[2], *case[2:4])))
def test_product(case: tuple[Any, ...]):
    *parts, size, error, options = case
    launch = {key: options[key] for key in ("batches", "slices", "launches") if key in options}
    description = describe(*parts, **{key: value for key, value in options.items() if key not in launch})
    assert sm80.accepts(description) is None

    product = multiply(description, *size, **launch)

    assert product.emulation.findings == []
    assert product.error <= error
    assert product.conflicts == []


@cache
def _kernel():
    parts = ("32x32x32:stages=3:warps=1x2x1", "f16:row:1", "f16:row:1", "f32:row:1")
    description = describe(F16, *parts, swizzle="identity2")
    return description, compile_kernel(description, cache=False)


@settings(max_examples=6, deadline=None)
@given(m=st.integers(1, 70), n=st.integers(1, 70), k=st.integers(0, 130))
def test_any_size(m: int, n: int, k: int):
    description, kernel = _kernel()
    product = multiply(description, m, n, k, kernel=kernel)
    assert product.emulation.findings == []
    assert product.error <= SUM


def _times_identity(instruction: str, values: Any) -> Any:
    """`values` (M, 32) f32 as they come out of a product with the identity."""
    parts = ("32x32x32:stages=2:warps=1x1x1", "f32:row:4", "f32:row:4", "f32:row:4")
    description = describe(instruction, *parts)
    operands = description.a, description.b, description.d
    a, b, d = (Matrix(operand, 32, 32, 1, rows_contiguous=True) for operand in operands)
    a.codes[..., 0], b.codes[..., 0] = values, np.eye(32, dtype=np.float32)
    kernel = compile_kernel(description)
    # B is K×N with contiguous rows: (N, K) with contiguous N, which the identity does not tell apart.
    b.codes = b.codes.transpose(1, 0, 2)
    kernel((32, 32, 32, 1), a, b, (d,), None, None, 0, device="cpu")
    return d.codes[..., 0]


@pytest.fixture(scope="module")
def numbers() -> Any:
    values = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    values[0, :4] = [1 + 2**-11, -(1 + 2**-11), 1 + 2**-11 - 2**-23, 1 + 3 * 2**-11]  # ties, and just below one
    return values


def test_tf32_factors_are_rounded_to_nearest_ties_away_from_zero(numbers: Any):
    rounded = ((numbers.view(np.uint32) + 0x1000) & 0xFFFFE000).view(np.float32)
    np.testing.assert_array_equal(_times_identity(TF32, numbers), rounded)


def _nearest(dtype: str, values: Any) -> Any:
    """f32 rounded to another type, ties to even, by numpy."""
    if dtype == "f16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float32)
    codes = values.view(np.uint32).astype(np.uint64)
    rounded = ((codes + 0x7FFF + ((codes >> 16) & 1)) & 0xFFFF0000).astype(np.uint32).view(np.float32)
    return np.where(np.isnan(values), values, rounded)


NARROWED = [(FAST_F16, "f16"), (FAST_F16_SHORT, "f16"), (FAST_BF16, "bf16")]


@pytest.mark.parametrize(("instruction", "dtype"), NARROWED)
def test_factors_are_rounded_to_16_bits_nearest_ties_to_even(instruction: str, dtype: str):
    values = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    values[0, :8] = [1 + tie * 2**-11 + off for tie in (1, -1, 3, 5) for off in (0, 2**-20)]
    values[1, :8] = [1 + tie * 2**-8 + off for tie in (1, -1, 3, 5) for off in (0, 2**-20)]
    values[2, :6] = [2**-24, 2**-25, 3 * 2**-26, 65519, 1e-45, -0.0]  # subnormal numbers of f16, none, and its largest
    np.testing.assert_array_equal(_times_identity(instruction, values), _nearest(dtype, values))


@pytest.mark.parametrize(("instruction", "dtype"), NARROWED)
def test_what_is_not_finite_stays_so_and_what_is_too_large_is_infinite(instruction: str, dtype: str):
    special = np.array([np.inf, -np.inf, np.nan, 65520, -1e5, 65519, 3.4e38, np.finfo(np.float32).max], np.float32)
    values = np.zeros((32, 32), np.float32)
    np.fill_diagonal(values, np.resize(special, 32))
    found = np.diagonal(_times_identity(instruction, values))
    np.testing.assert_array_equal(found, _nearest(dtype, np.resize(special, 32)))
    assert np.isinf(found[3]) == (dtype == "f16") and np.isinf(found[7])


@pytest.mark.parametrize(("instruction", "dtype"), NARROWED[::2])
@pytest.mark.parametrize("layouts", [(a, b) for a in ("row", "column") for b in ("row", "column")])
def test_products_are_those_of_rounded_operands_bit_for_bit(instruction: str, dtype: str, layouts: tuple[str, str]):
    parts = ("32x32x32:stages=3:warps=1x2x1", f"f32:{layouts[0]}:1", f"f32:{layouts[1]}:1", "f32:row:1")
    description = describe(instruction, *parts)
    generator = np.random.default_rng(1)
    (m, n, k), ulp = (35, 29, 45), 2.0 ** (-10 if dtype == "f16" else -7)
    a, b = (
        Matrix(operand, rows, k, 1, rows_contiguous=contiguous)
        for operand, rows, contiguous in (
            (description.a, m, layouts[0] == "row"),
            (description.b, n, layouts[1] == "column"),
        )
    )
    for each in (a, b):
        # Few digits, so that sums are exact, and what rounding takes away: up to half a unit, ties too.
        digits = generator.integers(9, 16, each.codes.shape) * generator.choice([-1, 1], each.codes.shape) / 8
        away = generator.integers(-4, 5, each.codes.shape) / 8 * ulp
        each.codes[...] = digits + away
    d = Matrix(description.d, m, n, 1, rows_contiguous=True)
    compile_kernel(description)((m, n, k, 1), a, b, (d,), None, None, 0, device="cpu")
    left, right = (_nearest(dtype, each.codes[..., 0].astype(np.float32)).astype(np.float64) for each in (a, b))
    np.testing.assert_array_equal(d.codes[..., 0], left @ right.T)
    assert (left != a.codes[..., 0]).mean() > 0.5


def test_two_tf32_of_each_factor_hold_22_bits(numbers: Any):
    found = _times_identity(FAST_F32, numbers)
    assert (abs(found - numbers) <= abs(numbers) * 2.0**-22).all()
