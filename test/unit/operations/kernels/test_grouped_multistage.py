"""Grouped products of the multistage kernels on the CPU emulator: packings, layouts, types, at ragged sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grouped_products import error, multiply
from launching import simt
from products import describe
from test_grouped_sm90 import VARYING, sizes, with_everything

from cutecc.operations.grouped.description import GroupedDescription

HALF, SATURATE = "tensor_op:16x8x16:f16:f16:f32", "tensor_op:16x8x32:i8:i8:i32:multiply_add_saturate"
TILE = "32x32x32:stages=3:warps=1x1x1"


def half(a: str, b: str, d: str, tile: str = TILE, **options: Any):
    return describe(HALF, tile, a, b, d, **options)


CASES: dict[str, GroupedDescription] = {
    "rows": GroupedDescription(half("f16:row", "f16:column", "f16:row"), "rows"),
    "rows-everything": GroupedDescription(
        with_everything(half("f16:row:1", "f16:row:4", "f16:row:2"), "f32:column:1"), "rows", "host"
    ),
    "rows-transposed": GroupedDescription(
        half("f16:column", "f16:row", "f16:row", "64x32x32:stages=3:warps=2x1x1", swizzle="identity2").transposed(),
        "rows",
    ),
    "rows-along-k": GroupedDescription(half("f16:row", "f16:row", "f32:row", "32x32x64:stages=2:warps=1x1x2"), "rows"),
    "columns": GroupedDescription(with_everything(half("f16:row", "f16:row:2", "f16:row"), "f16:row"), "columns"),
    "depth": GroupedDescription(half("f16:column", "f16:row", "f32:row"), "depth"),
    "depth-along-k": GroupedDescription(half("f16:row:2", "f16:column:4", "f32:row:1"), "depth"),
    "list": GroupedDescription(with_everything(half("f16:row", "f16:row", "f16:row"), "f16:row")),
    "list-unaligned": GroupedDescription(half("f16:row:1", "f16:column:1", "f16:row:1"), "list", "host"),
    "i8": GroupedDescription(
        describe(SATURATE, "32x32x64:stages=3:warps=1x1x1", "i8:row", "i8:column", "i32:row"), "rows"
    ),
    "f64": GroupedDescription(
        describe("tensor_op:8x8x4:f64:f64:f64", "32x32x16:stages=3:warps=1x1x1", "f64:row", "f64:row", "f64:row"),
        "rows",
    ),
    "tf32": GroupedDescription(
        describe("tensor_op:16x8x8:tf32:tf32:f32", "32x32x16:stages=3:warps=1x1x1", "f32:row", "f32:row", "f32:row"),
        "depth",
    ),
    "fast-bf16": GroupedDescription(
        describe("tensor_op:16x8x16:f32:f32:f32:multiply_add_fast_bf16", TILE, "f32:row", "f32:column", "f32:row"),
        "rows",
    ),
    "simt-rows": GroupedDescription(simt("f32:row:1", "f32:column:1", "f32:row:1", None), "rows"),
    "simt-columns": GroupedDescription(simt("f64:column:1", "f64:row:1", "f64:row:2", None), "columns"),
    "simt-depth": GroupedDescription(simt("f32:row:2", "f32:row:4", "f32:row:4", "f32:column:1"), "depth"),
    "simt-list": GroupedDescription(simt("f32:column:1", "f32:row:4", "f32:row:1", "f32:row:1"), "list"),
}
FEW_AND_MANY = ("rows", "list-unaligned")
TOLERANCES = {"f64": 1e-12, "f32": 5e-5, "tf32": 2e-2, "f16": 1e-3, "bf16": 1.6e-1, "i8": 0}


def tolerance(description: GroupedDescription) -> float:
    return TOLERANCES[description.gemm.instruction.multiplies]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in FEW_AND_MANY])
def test_groups(name: str):
    description = CASES[name]
    assert error(multiply(description, sizes(description, VARYING), multiprocessors=1)) <= tolerance(description)


@pytest.mark.parametrize("name", [FEW_AND_MANY[0], pytest.param(FEW_AND_MANY[1], marks=pytest.mark.slow)])
def test_few_and_many_groups(name: str):
    description = CASES[name]
    rows = np.random.default_rng(0).integers(1, 4, 300) * (np.random.default_rng(1).random(300) < 0.1)
    many = [(int(m), 16, 16) for m in rows]
    for found in ([(70, 40, 72)], [(0, 40, 72)], [(0, 8, 8)] * 3, [(3, 8, 0), (0, 8, 0)], many):
        assert error(multiply(description, found, multiprocessors=1)) <= tolerance(description)


def test_ends_that_do_not_ascend_read_and_write_nothing_else():
    description = CASES["rows"]
    first, second = multiply(description, [(40, 16, 16), (24, 16, 16)], ends=[70, -3], multiprocessors=1)["D"]
    assert first.error <= tolerance(description) < second.error  # all rows are of the first group


def test_groups_end_at_the_vector_before_ends_on_the_gpu():
    description = GroupedDescription(half("f16:row", "f16:row", "f32:row"), "depth")
    groups = [(33, 24, depth) for depth in (16, 40, 8)]
    assert error(multiply(description, groups, ends=[21, 59, 67], multiprocessors=1)) <= tolerance(description)
