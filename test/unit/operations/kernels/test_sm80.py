"""What the multistage tensor-core family says of itself, without the DSL: plans of operands, memory, refusals."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from typing import Any

import pytest
from products import compile_kernel, describe, multiply

from cutecc.operations.kernels import sm80
from cutecc.operations.operand import Operand

F16 = "tensor_op:16x8x16:f16:f16:f32"
F64 = "tensor_op:8x8x4:f64:f64:f64"
I8 = "tensor_op:16x8x32:i8:i8:i32:multiply_add_saturate"


def _plan(
    operand: str, *, k_major: bool, tile: tuple[int, int], threads: int = 128, warps: int = 2
) -> sm80.OperandPlan:
    return sm80.OperandPlan(Operand.parse(operand), k_major, tile, threads, warps)


def _address(plan: sm80.OperandPlan, row: int, k: int) -> int:
    """The byte in a stage where the first line of the pattern has an element."""
    length, _ = plan.line
    along, across = (k, row) if plan.is_k_major else (row, k)
    assert along < length
    address = (across * length + along) * plan.bytes
    bits, base, shift = plan.swizzle
    return address ^ (address >> shift & ((1 << bits) - 1) << base)


@pytest.mark.parametrize(
    ("operand", "k_major", "tile"),
    [
        *(("f16:row", True, (64, depth)) for depth in (16, 32, 64)),
        *(("f16:column", False, (rows, 32)) for rows in (16, 32, 64)),
        *(("f32:row", True, (64, depth)) for depth in (16, 32)),
        *(("i8:row", True, (64, depth)) for depth in (32, 64, 128)),
    ],
)
def test_ldmatrix_reads_eight_lines_from_different_banks(operand: str, k_major: bool, tile: tuple[int, int]):
    plan = _plan(operand, k_major=k_major, tile=tile)
    vector = 16 // plan.bytes
    for start in range(0, plan.line[0], vector):
        places = [(line, start) if k_major else (start, line) for line in range(8)]
        assert len({_address(plan, *place) % 128 // 16 for place in places}) == 8


@pytest.mark.parametrize(
    ("operand", "k_major", "tile", "lanes"),
    [
        # Lanes of one pass over the banks, and the (row, K) of the first element that each reads.
        *(("f64:row", True, (64, depth), [(g, t) for g in range(4) for t in range(4)]) for depth in (8, 16, 32)),
        *(("f64:column", False, (rows, 16), [(2 * g, t) for g in range(2) for t in range(4)]) for rows in (32, 128)),
        *(("f32:column", False, (rows, 16), [(4 * g, t) for g in range(2) for t in range(4)]) for rows in (32, 128)),
        *(("i8:column", False, (rows, 64), [(4 * g, 4 * t) for g in range(8) for t in range(4)]) for rows in (32, 128)),
    ],
)
def test_a_pass_over_the_banks_serves_all_lanes(operand: str, k_major: bool, tile: Any, lanes: list[tuple[int, int]]):
    plan = _plan(operand, k_major=k_major, tile=tile, warps=1)
    width = 128 // len(lanes)
    banks = {_address(plan, *place) % 128 // width for place in lanes if max(place) < 128}
    assert len(banks) == len(lanes)


@pytest.mark.parametrize(
    ("operand", "vector", "is_asynchronous"),
    [
        *(("f16:row:8", 8, True), ("f16:row:2", 2, True), ("f16:row:1", 1, False)),
        *(("i8:row:2", 2, False), ("f64:row:1", 1, True)),
    ],
)
def test_vectors_are_as_wide_as_alignment_allows(operand: str, vector: int, is_asynchronous: bool):
    plan = _plan(operand, k_major=True, tile=(64, 32))
    assert (plan.vector, plan.is_asynchronous) == (vector, is_asynchronous)


@pytest.mark.parametrize("tile", [(64, 32), (48, 32), (96, 64), (16, 16)])
@pytest.mark.parametrize("k_major", [True, False])
@pytest.mark.parametrize("threads", [32, 96, 128, 512])
def test_copying_threads_share_a_tile_evenly(tile: tuple[int, int], k_major: bool, threads: int):
    plan = _plan("f16:row:8", k_major=k_major, tile=tile, threads=threads)
    along, across = plan.copying
    assert along * across <= threads
    assert plan.extents[0] % (along * plan.vector) == plan.extents[1] % across == 0


@pytest.mark.parametrize(
    ("parts", "shared_bytes", "threads"),
    [
        ((F16, "64x32x32:stages=3:warps=2x1x1", "f16:row", "f16:column", "f32:row"), 3 * (64 + 32) * 32 * 2, 64),
        ((F64, "24x32x8:stages=3:warps=1x1x1", "f64:row", "f64:column", "f64:row"), 5120 + 3 * 32 * 8 * 8, 32),
    ],
)
def test_shared_memory_and_threads_are_those_of_the_launch(parts: tuple[str, ...], shared_bytes: int, threads: int):
    description = describe(*parts)
    (launch,) = multiply(description, 8, 8, 8, check=None).emulation.launches
    assert launch.dynamic_shared_bytes == sm80.shared_memory_bytes(description) == shared_bytes
    assert launch.block[0] == sm80.block_threads(description) == threads


_F16 = ("f16:row", "f16:column", "f32:row")


@pytest.mark.parametrize(
    ("parts", "reason", "named"),
    [
        ((F16, "64x64x16:stages=3:warps=2x2x1", *_F16), "two or more steps of 16", "tile.k"),
        ((F16, "64x64x32:stages=3:warps=2x2x2", *_F16), "two or more steps of 32", "tile.k"),
        ((F16, "128x256x64:stages=2:warps=2x2x2", *_F16), "2 stages have room for", "tile.stages"),
        (
            (I8, "32x64x64:stages=3:warps=2x2x1", "i8:column", "i8:column", "i32:row"),
            "32 rows of an 8-bit A",
            "a.layout",
        ),
        ((I8, "64x48x64:stages=3:warps=2x1x1", "i8:row", "i8:row", "i32:row"), "32 rows of an 8-bit B", "b.layout"),
        ((F16, "128x128x32:stages=3:warps=2x2x1", "f16:row:1", *_F16[1:]), "too wide for", "a.alignment"),
    ],
)
def test_what_is_refused_and_why(parts: tuple[str, ...], reason: str, named: str):
    refusal = sm80.accepts(describe(*parts))
    assert refusal is not None
    assert reason in refusal.reason
    assert named in refusal.parts


@pytest.mark.parametrize(
    "parts",
    [
        (F16, "128x128x64:stages=2:warps=2x1x2", *_F16),
        (F16, "128x128x32:stages=3:warps=4x2x1", "f16:row:1", "f16:column:1", "f16:row"),
        (I8, "32x96x64:stages=3:warps=1x3x1", "i8:column", "i8:row", "i32:row"),
    ],
)
def test_what_is_accepted(parts: tuple[str, ...]):
    assert sm80.accepts(describe(*parts)) is None


def test_wide_f64_is_of_sm_90_and_whole_pairs_of_instructions():
    description = describe(F64, "64x32x16:stages=3:warps=2x1x1", "f64:row", "f64:column", "f64:row", target="sm_90a")
    assert sm80.has_wide_f64(description)
    assert not sm80.has_wide_f64(replace(description, target="sm_80"))
    assert not sm80.has_wide_f64(replace(description, tile=replace(description.tile, threadblock=(48, 32, 16))))


@pytest.mark.parametrize(("depth", "shape"), [(16, "m16n8k8"), (8, "m16n8k4")])
def test_wide_f64_takes_two_steps_along_k_where_fragments_of_two_more_are_held(depth: int, shape: str):
    text = f"64x32x{depth}:stages=3:warps=2x1x1"
    description = describe(F64, text, "f64:row", "f64:column", "f64:row", target="sm_90a")
    assert sm80.steps_at_once(description) == (2 if depth == 16 else 1)
    assert f"mma.sync.aligned.{shape}.row.col.f64" in compile_kernel(description).ptx


def test_rows_of_16_bit_results_are_stored_16_bytes_at_a_time():
    description = describe(F16, "32x32x32:stages=2:warps=1x1x1", "f16:row", "f16:column", "f16:row")
    assert "st.global.v4" in compile_kernel(description).ptx


def test_the_interface_needs_no_dsl():
    code = "import sys; from cutecc.operations.kernels import sm80; assert 'cutlass' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
