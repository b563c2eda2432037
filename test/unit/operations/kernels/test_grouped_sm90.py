"""Hopper's grouped products on the CPU emulator: packings, layouts, schedules, clusters and types, at ragged sizes.

Each kernel runs on few multiprocessors, so that blocks take several tiles of several groups, with groups of nothing at
both ends and between. Everything that can be checked is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from grouped_products import Size, error, multiply
from test_sm90_products import ONE, SUMS, TOLERANCES, TWO, hopper

from cutecc.operations.description import GemmDescription
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import max, relu, sum
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.grouped.description import GroupedDescription
from cutecc.operations.kernels.grouped.signature import ends_divisor
from cutecc.operations.operand import Operand


def everything(accum, C, bias, scale, alpha, shift):
    D = relu(alpha * accum + C + bias) * scale - shift
    raw = accum + bias
    return {"D": D, "raw": raw, "rows": sum(raw, axis=0), "tops": max(raw, axis=1), "all": sum(D)}


def with_everything(description: GemmDescription, c: str) -> GemmDescription:
    """The product with every kind of operand."""
    from dataclasses import replace

    d, source = description.d, Operand.parse(c)
    graph = Epilogue.trace(
        everything,
        accumulator=description.instruction.accumulator,
        C=Full(source.dtype, source.layout, alignment=source.alignment),
        bias=Row("f16"),
        scale=Column("f32", alignment=1),
        alpha=Scalar("f32"),
        shift=Scalar("f32", in_memory=True),
        D=Full(d.dtype, d.layout, alignment=d.alignment),
        raw=Full("f32", alignment=1),
        rows=Row("f32", alignment=1),
        tops=Column("f32", alignment=1),
        all=Scalar("f32"),
    )
    return replace(description, c=source, epilogue=graph)


def plain(*parts: str, **options: Any) -> GemmDescription:
    return hopper(*parts, **{"epilogue": "identity", **options})


CASES: dict[str, GroupedDescription] = {
    "rows": GroupedDescription(
        plain("bf16:row", "bf16:column", "bf16:row", f"cooperative:128x64:stages=3:{TWO}"), "rows"
    ),
    "rows-pingpong": GroupedDescription(
        plain("f16:row", "f16:row", "f16:row", f"pingpong:64x64:stages=3:{TWO}:cluster=1x2"), "rows", "host"
    ),
    "rows-everything": GroupedDescription(
        with_everything(plain("f16:row", "f16:row", "f16:row", f"cooperative:64x32:stages=2:{ONE}"), "f16:column:1"),
        "rows",
    ),
    "rows-transposed": GroupedDescription(
        plain("f16:column", "f16:row", "f16:row", f"pingpong:64x32:stages=2:{TWO}:cluster=2x1").transposed(), "rows"
    ),
    "rows-fp8": GroupedDescription(
        plain("f8E4M3FN:row", "f8E4M3FN:column", "bf16:row", f"cooperative:64x64:stages=2:{ONE}"), "rows"
    ),
    "columns-everything": GroupedDescription(
        with_everything(plain("f16:row", "f16:column", "f16:row", f"cooperative:64x64:stages=2:{ONE}"), "f32:row"),
        "columns",
    ),
    "depth": GroupedDescription(
        plain("bf16:column", "bf16:row", "f32:row", f"cooperative:128x64:stages=3:{TWO}:cluster=2x1"), "depth"
    ),
    "depth-pingpong": GroupedDescription(
        with_everything(plain("f16:column", "f16:row", "f16:row", f"pingpong:64x32:stages=3:{TWO}"), "f16:row"),
        "depth",
    ),
    "list-pingpong": GroupedDescription(
        plain("f16:row", "f16:column", "f16:row", f"pingpong:64x64:stages=3:{TWO}:cluster=1x2")
    ),
    "list-everything": GroupedDescription(
        with_everything(plain("bf16:column", "bf16:row", "f16:row", f"cooperative:64x32:stages=2:{ONE}"), "f16:row"),
        "list",
        "host",
    ),
    "list-tf32": GroupedDescription(plain("f32:row", "f32:column", "f32:row:1", f"cooperative:64x32:stages=2:{ONE}")),
    "list-i8": GroupedDescription(plain("i8:row", "i8:column", "i32:row", f"cooperative:64x32:stages=2:{ONE}")),
}
VARYING = [0, 37, 0, 129, 64, 1, 0]


def sizes(description: GroupedDescription, varying: list[int]) -> list[Size]:
    """Groups whose extent that varies is this, or of a list M; as the user sees them."""
    seen, step = description, ends_divisor(description)
    varying = [-(-each // step) * step for each in varying]
    match seen.packing:
        case "rows":
            return [(each, 72, 144) for each in varying]
        case "columns":
            return [(72, each, 136) for each in varying]
        case "depth":
            return [(72, 40, each) for each in varying]
        case _:
            depths = [40, 136, 72, 0, 200, 8, 16, 24]
            return [(each, 8 * (1 + i % 5), depths[i % len(depths)] * 2) for i, each in enumerate(varying)]


def tolerance(description: GroupedDescription) -> float:
    is_rounded = description.gemm.instruction.a in ("tf32", "f8E4M3FN")
    return max(TOLERANCES[description.gemm.d.dtype], SUMS if is_rounded else 0)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_groups(name: str):
    description = CASES[name]
    found = multiply(description, sizes(description, VARYING))
    assert error(found) <= tolerance(description)


SCALED = {
    "parts-along-m": (f"cooperative:128x64:stages=3:{ONE}:cluster=2x1", 136),
    "parts-along-n": (f"pingpong:64x256:stages=2:{TWO}", 264),
}
"""Tiles, and an N that ends in the second block, or the third."""


@pytest.mark.slow
@pytest.mark.parametrize("name", SCALED)
def test_scales_of_blocks(name: str):
    tile, n = SCALED[name]
    gemm = plain("f8E4M3FN:row", "f8E4M3FN:column", "bf16:row", tile)
    description = GroupedDescription(gemm, "rows", scales="blocks")
    groups = [(each, n, 144) for each in (0, 37, 0, 129, 1, 0)]
    assert error(multiply(description, groups)) <= SUMS
    assert error(multiply(description, [(9, 16, 0), (3, 16, 0)])) == 0


@pytest.mark.slow
@pytest.mark.parametrize("tile", [f"cooperative:64x128:stages=2:{ONE}", f"pingpong:64x16:stages=3:{TWO}:cluster=2x1"])
def test_scales_along_depth_are_of_rows_and_columns(tile: str):
    gemm = plain("f8E4M3FN:row", "f8E4M3FN:column", "f32:row", tile)
    groups = [(72, 152, 128 * blocks) for blocks in (1, 0, 3, 2)]
    description = GroupedDescription(gemm, "depth", scales="blocks")
    assert error(multiply(description, groups)) <= SUMS
    assert error(multiply(description, groups, ends=[130, 128, 600, 768])) <= SUMS  # moved to where blocks begin


@pytest.mark.slow
def test_scales_of_blocks_of_lists():
    gemm = plain("f8E4M3FN:row", "f8E4M3FN:column", "bf16:row", f"pingpong:64x64:stages=2:{TWO}")
    groups = [(37, 200, 304), (0, 16, 128), (129, 8, 16), (5, 136, 0), (1, 24, 144)]
    assert error(multiply(GroupedDescription(gemm, scales="blocks"), groups)) <= SUMS


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows-everything", "list-everything", "depth", "rows-pingpong"])
@pytest.mark.parametrize("varying", [[70], [0], [0, 0, 0], [0, 0, 5], [3, 0, 0]], ids=str)
def test_few_groups(name: str, varying: list[int]):
    description = CASES[name]
    assert error(multiply(description, sizes(description, varying))) <= tolerance(description)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows-transposed", "depth-pingpong"])
def test_any_order_of_warps(name: str):
    description, step = CASES[name], ends_divisor(CASES[name])
    groups = sizes(description, [0, step, 40, 72, 0])
    for seed in range(2):
        found = multiply(description, groups, multiprocessors=1, order="random", seed=seed)
        assert error(found) <= tolerance(description)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows-pingpong", "list-everything"])
def test_many_groups(name: str):
    description = CASES[name]
    generator = np.random.default_rng(0)
    rows = generator.integers(1, 4, 300) * (generator.random(300) < 0.1)
    found = [(int(m), 16, 16) for m in rows]
    assert error(multiply(description, found, multiprocessors=4)) <= tolerance(description)


def test_groups_end_at_the_vector_before_ends_on_the_gpu():
    parts = ("f16:row", "f16:column", "f32:row", f"cooperative:64x32:stages=2:{ONE}")
    description = GroupedDescription(plain(*parts), "depth")
    groups = [(33, 24, depth) for depth in (16, 16, 96)]
    assert error(multiply(description, groups, ends=[21, 34, 128])) <= tolerance(description)
