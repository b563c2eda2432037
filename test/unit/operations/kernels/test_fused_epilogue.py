"""Epilogues inside of kernels on the CPU emulator: every kind of operand, every step, conversions and reductions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from launching import launch, simt

from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import (
    erf,
    gelu,
    maximum,
    minimum,
    normal_cdf,
    rsqrt,
    sigmoid,
    tanh,
    to,
    where,
)
from cutecc.operations.epilogue.functions import exp as exp_of
from cutecc.operations.epilogue.functions import log as log_of
from cutecc.operations.epilogue.functions import sqrt as sqrt_of
from cutecc.operations.epilogue.graph import Epilogue

pytestmark = pytest.mark.slow

SIZE = (19, 76, 9)


def with_epilogue(epilogue: Epilogue, **changes):
    """A product with an epilogue, D and C as it has them; a thread has two rows of 8 columns."""
    d, c = (epilogue.operand(name) for name in "DC")
    texts = [f"{each.dtype}:{each.layout}:{each.alignment}" if each else None for each in (d, c)]
    return simt(d=texts[0], c=texts[1], epilogue=epilogue, **({"tile": "16x32x8:stages=2:warps=1x1x1"} | changes))


def operands_of_every_kind(accum, C, bias, scale, alpha, shift, mask):
    raw = accum
    # Values of one kind have one value a row, a column, or in all.
    level = 2 * scale + alpha
    offset = bias - shift
    D = where(mask > 0, level * accum + offset, C)
    return D, raw


def test_operands_of_every_kind():
    epilogue = Epilogue.trace(
        operands_of_every_kind,
        C=Full("f16", "column", alignment=1),
        bias=Row("f16", alignment=2),
        scale=Column("f32", alignment=1),
        alpha=Scalar("f32"),
        shift=Scalar("f32", in_memory=True),
        mask=Full("f16", alignment=2),
        D=Full("f32", alignment=4),
        raw=Full("f32", alignment=1),
    )
    # A thread has 32 columns, more than are taken at a time.
    description = with_epilogue(epilogue, mode="batched", tile="8x128x8:stages=2:warps=1x1x1")
    found = launch(description, 9, 132, 9, batches=2)
    assert {name: each.error for name, each in found.items() if not each.error < 1e-5} == {}


def arithmetic(accum, x, y):
    a = maximum(x, y) - minimum(x, accum)
    b = where((x < y) & (accum > 0) | (x == 1.0), abs(x), -y)
    c = where(~(x <= y) & (accum != 0), x / (2 + abs(y)), x * y)
    d = tanh(x) + sigmoid(y) + erf(x) + gelu(y)
    e = exp_of(x / 8) + log_of(abs(y) + 1)
    f = sqrt_of(abs(x)) + rsqrt(abs(y) + 1)
    g = to(x, "f16") + to(y, "i8")
    D = maximum(a, -float("inf"))
    return D, b, c, d, e, f, g


def test_every_step():
    outputs = {name: Full("f32", alignment=1) for name in "Dbcdefg"}
    epilogue = Epilogue.trace(arithmetic, x=Full("f32", alignment=4), y=Full("f32", alignment=4), **outputs)
    m, n, _ = SIZE
    x, y = np.linspace(-9, 9, m * n).reshape(m, n, 1), np.sin(np.arange(m * n)).reshape(m, n, 1) * 5
    x[0, :6, 0], y[0, :6, 0] = (np.nan, 1, np.inf, -np.inf, 1, 0.0), (1, np.nan, 2, 3, 4, -0.0)
    found = launch(with_epilogue(epilogue), *SIZE, operands={"x": x, "y": y})
    assert {name: each.error for name, each in found.items() if not each.error < 2e-6} == {}


def approximated(accum, x):
    D, share, both = gelu(x), normal_cdf(x), normal_cdf(x) * 2 + x
    return D, share, both


def test_approximations_keep_what_is_no_number():
    outputs = {name: Full("f16", alignment=1) for name in ("D", "share", "both")}
    epilogue = Epilogue.trace(approximated, x=Full("f32", alignment=4), **outputs)
    x = np.resize([np.nan, -9, -1, 0, 0.5, 3, 9, np.inf], (1, 8, 1))
    found = launch(with_epilogue(epilogue), 1, 8, 2, operands={"x": x})
    assert {name: each.error for name, each in found.items() if not each.error < 1e-3} == {}
    assert all(np.isnan(each.found[0, 0, 0]) for each in found.values())


def test_steps_of_f64_are_accurate():
    epilogue = Epilogue.trace(
        lambda accum, C: gelu(tanh(accum) + C),
        accumulator="f64",
        C=Full("f64", alignment=1),
        D=Full("f64", alignment=1),
    )
    operands = ("f64:row:1", "f64:row:1", "f64:row:1", "f64:row:1")
    description = simt(*operands, epilogue=epilogue, tile="8x16x8:stages=2:warps=1x1x1")
    assert launch(description, 9, 13, 5)["D"].error < 1e-14


def stored_in_bytes(accum, C):
    D, fast, unsigned, unsigned_fast = C, C, C, C
    return D, fast, unsigned, unsigned_fast


def test_8_bit_integers_round_to_even_and_saturate():
    epilogue = Epilogue.trace(
        stored_in_bytes,
        C=Full("f32", alignment=4),
        D=Full("i8", alignment=4),
        fast=Full("i8", alignment=4, conversion="fast_clamp"),
        unsigned=Full("u8", alignment=4),
        unsigned_fast=Full("u8", alignment=1, conversion="fast_clamp"),
    )
    values = [0.5, 1.5, -0.5, -1.5, 2.5, 126.5, 127.5, 128, -128.5, -129, 254.5, 255.5, 1e30, -1e30, np.nan, 7]
    found = launch(with_epilogue(epilogue), 3, 76, 2, operands={"C": np.resize(values, (1, 76, 1))})
    assert {name: each.error for name, each in found.items()} == dict.fromkeys(found, 0)


def stored_in_wider_types(accum, C):
    D, clamped, rounded, brain = C, C, C, C
    return D, clamped, rounded, brain


def test_wider_types_saturate_or_become_infinite():
    epilogue = Epilogue.trace(
        stored_in_wider_types,
        C=Full("f32", alignment=4),
        D=Full("i32", alignment=1),
        clamped=Full("f16", alignment=1, conversion="clamp"),
        rounded=Full("f16", alignment=1),
        brain=Full("bf16", alignment=1),
    )
    large, infinite = 2.0**31, np.inf
    values = [0.5, -1.5, large, -large, large - 128, 3e9, -3e9, 7e4, -7e4, np.nan, infinite, -infinite]
    found = launch(with_epilogue(epilogue), 3, 36, 2, operands={"C": np.resize(values, (1, 36, 1))})
    assert {name: each.error for name, each in found.items()} == dict.fromkeys(found, 0)


def test_interleaved_results():
    words = "i8:column_interleaved32:16"
    description = simt(d=words, c=words, epilogue="linear_combination_clamp")
    found = launch(description, 33, 96, 5, numbers={"alpha": 3.0, "beta": 0.5})
    assert found["D"].error == 0


def reductions(accum, bias):
    D = accum + bias
    in_rows = sum(D, axis=1)
    in_columns = sum(D, axis=0)
    largest = max(D, axis=1)
    smallest = min(D, axis=0)
    total = sum(D)
    peak = max(D)
    return D, in_rows, in_columns, largest, smallest, total, peak


def one_reduction_of_each_kind(accum, bias):
    D = accum + bias
    largest = max(D, axis=1)
    smallest = min(D, axis=0)
    total = sum(D)
    return D, largest, smallest, total


@pytest.mark.parametrize("mode", ["array", "split_k_serial", "split_k_parallel"])
def test_reductions(mode):
    operands = {
        "in_rows": Column("f32", alignment=1),
        "in_columns": Row("f32", alignment=1),
        "largest": Column("f16", alignment=1),
        "smallest": Row("f32", alignment=1),
        "total": Scalar("f32", in_memory=True),
        "peak": Scalar("f32", in_memory=True),
    }
    function = reductions
    if mode != "array":
        function = one_reduction_of_each_kind
        operands = {name: operands[name] for name in ("largest", "smallest", "total")}
    epilogue = Epilogue.trace(function, bias=Row("f32", alignment=1), D=Full("f32", alignment=1), **operands)
    description = with_epilogue(epilogue, mode=mode, tile="32x32x8:stages=2:warps=2x2x1")
    batches, slices = (2, None) if mode == "array" else (1, 3)
    found = launch(description, 70, 67, 17, batches=batches, slices=slices if "split" in mode else None)
    assert {name: each.error for name, each in found.items() if not each.error < 1e-5} == {}


def largest_of_source(accum, C):
    D, largest = C, max(C, axis=1)
    return D, largest


def test_a_reduction_propagates_what_is_no_number():
    epilogue = Epilogue.trace(
        largest_of_source,
        C=Full("f32", alignment=1),
        D=Full("f32", alignment=1),
        largest=Column("f32", alignment=1),
    )
    values = np.zeros((5, 40, 1))
    values[3, 38] = np.nan
    found = launch(with_epilogue(epilogue), 5, 40, 2, operands={"C": values})
    assert np.isnan(found["largest"].found[0]).tolist() == [False, False, False, True, False]


def test_the_transposed_product_has_rows_for_columns():
    epilogue = Epilogue.trace(
        reductions_of_one_axis,
        bias=Row("f32", alignment=1),
        D=Full("f32", "column", alignment=1),
        in_rows=Column("f32", alignment=1),
    )
    description = replace(with_epilogue(epilogue), c=None)
    found = launch(description, 35, 44, 9)
    assert found["in_rows"].found.shape == (1, 35)
    assert max(each.error for each in found.values()) < 1e-5


def reductions_of_one_axis(accum, bias):
    D = accum + bias
    in_rows = sum(D, axis=1)
    return D, in_rows
