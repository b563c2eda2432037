"""The Hopper GEMM on the CPU emulator: types, layouts, tiles, schedules, clusters and modes, at ragged sizes.

The cases cover the pairs of a type, layouts, a schedule, a cluster, a kind of D and a mode. Each kernel runs with a
single cluster on the whole GPU, so that its blocks take several tiles, and the ring of stages goes round; then with
less than a tile; then with nothing along K. Everything that can be checked is, and operands have poison around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from launching import compiled, launch
from products import Matrix, multiply

from cutecc.operations.description import SPLIT_K_MODES, GemmDescription
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.functions import relu
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.epilogue.named import named_epilogue
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.instruction_set import multiplied_type
from cutecc.operations.kernels.sm90 import sharing
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription
from cutecc.operations.validity import refusal

pytestmark = pytest.mark.slow

TOLERANCES = {"f32": 1e-4, "f16": 1e-3, "bf16": 2**-7, "f8E4M3FN": 2**-3, "f8E5M2": 2**-2, "i32": 0, "i8": 0}
"""By the type of a result, relative to its value and at least 1: of narrow types, neighbours differ by that much."""
SUMS, HALF_SUMS = 2e-2, 5e-2
"""Of tf32 and fp8, whose factors are rounded or whose sums have fewer digits, and of f16 accumulators."""


def everything(accum, C, bias, scale, alpha, shift):
    D = relu(alpha * accum + C + bias) * scale - shift
    raw = accum + bias
    row_max = max(raw, axis=1)
    column_sum = sum(C, axis=0)
    least = min(raw)
    return D, raw, row_max, column_sum, least


def of_everything(d: Operand, c: Operand, accumulator: str) -> Epilogue:
    """Every kind of operand and of result."""
    return Epilogue.trace(
        everything,
        accumulator=accumulator,
        C=Full(c.dtype, c.layout, alignment=c.alignment),
        bias=Row("f16", alignment=1),
        scale=Column("f32", alignment=1),
        alpha=Scalar("f32"),
        shift=Scalar("f32", in_memory=True),
        D=Full(d.dtype, d.layout, alignment=d.alignment),
        raw=Full("f32", alignment=1),
        row_max=Column("f32"),
        column_sum=Row("f32"),
        least=Scalar("f32"),
    )


def hopper(
    a: str,
    b: str,
    d: str,
    tile: str,
    c: str | None = None,
    *,
    epilogue: str = "linear_combination",
    accumulator: str | None = None,
    mode: Any = "gemm",
    swizzle: Any = "identity1",
) -> GemmDescription:
    """A GEMM from the texts of its parts; `tile` is `schedule:128x64:stages=2:warps=2x1x1`, without its K."""
    left, right, result = map(Operand.parse, (a, b, d))
    source = Operand.parse(c) if c else None
    accumulator = accumulator or ("i32" if left.dtype == "i8" else "f32")
    if epilogue == "everything":
        assert source is not None
        graph = of_everything(result, source, accumulator)
    else:
        graph = named_epilogue(epilogue, d=result, c=source, accumulator=accumulator)
    schedule, extents, *others = tile.split(":")
    parts = TileDescription.parse(":".join((f"{extents}x{1024 // left.bits}", f"schedule={schedule}", *others)))
    multiplied = multiplied_type("wgmma", left.dtype), multiplied_type("wgmma", right.dtype)
    arithmetic = "multiply_add_saturate" if left.dtype == "i8" else "multiply_add"
    shape = (64, parts.threadblock[1], 256 // left.bits)
    instruction = MathInstruction("wgmma", shape, *multiplied, accumulator, arithmetic)
    return GemmDescription("sm_90a", instruction, parts, left, right, result, source, graph, swizzle, mode)


def transposed(*parts: Any, **options: Any) -> GemmDescription:
    """The description whose D is column-major, that is compiled as this one."""
    return hopper(*parts, **options).transposed()


ONE = "warps=1x1x1"
TWO = "warps=2x1x1"

CASES: dict[str, GemmDescription] = {
    "f16-rc": hopper("f16:row", "f16:column", "f16:row", f"cooperative:128x64:stages=2:{TWO}", epilogue="identity"),
    "f16-cr": transposed(
        *("f16:column", "f16:row", "f16:row", f"pingpong:64x32:stages=3:{TWO}:cluster=2x1", "f16:column:1"),
        **{"epilogue": "everything", "mode": "batched", "swizzle": "batched"},
    ),
    "f16-f16": hopper(
        *("f16:row", "f16:row", "f16:row", f"cooperative:128x96:stages=2:{TWO}:cluster=2x2"),
        **{"accumulator": "f16", "swizzle": "horizontal"},
    ),
    "f16-serial": hopper(
        *("f16:column", "f16:column", "f32:row", f"cooperative:128x48:stages=4:{TWO}", "f32:row"),
        **{"mode": "split_k_serial", "swizzle": "identity2"},
    ),
    "bf16-cc": hopper(
        *("bf16:column", "bf16:column", "bf16:row:1", f"pingpong:128x40:stages=2:{TWO}:cluster=1x2"),
        **{"swizzle": "identity4"},
    ),
    "bf16-rr": hopper(
        *("bf16:row", "bf16:row", "bf16:row:4", f"cooperative:64x24:stages=8:{ONE}:cluster=2x1", "f32:column:1"),
        **{"mode": "split_k_parallel"},
    ),
    "tf32": hopper(
        *("f32:row", "f32:column", "f32:row", f"cooperative:64x24:stages=5:{ONE}:cluster=4x1", "f32:row"),
        **{"epilogue": "gelu"},
    ),
    "tf32-parallel": transposed(
        *("f32:row", "f32:column", "f32:row:1", f"pingpong:128x32:stages=3:{TWO}"), mode="split_k_parallel"
    ),
    "e4m3": hopper(
        *("f8E4M3FN:row", "f8E4M3FN:column", "bf16:row", f"cooperative:256x32:stages=2:{TWO}:cluster=1x2"),
        *("f16:column:2",),
        **{"epilogue": "relu", "mode": "batched"},
    ),
    "e5m2": hopper(
        *("f8E5M2:row", "f8E5M2:column", "f8E5M2:row", f"pingpong:64x64:stages=2:{TWO}:cluster=2x2", "f16:row"),
        **{"epilogue": "silu", "swizzle": "identity2"},
    ),
    "e4m3-e5m2": hopper(
        *("f8E4M3FN:row", "f8E5M2:column", "f8E4M3FN:row:1", f"cooperative:64x96:stages=3:{ONE}"),
        **{"mode": "split_k_serial"},
    ),
    "e5m2-e4m3": transposed(
        *("f8E5M2:row", "f8E4M3FN:column", "f16:row", f"pingpong:64x16:stages=3:{TWO}:cluster=4x1"), mode="batched"
    ),
    "i8": hopper(
        *("i8:row", "i8:column", "i32:row", f"cooperative:128x32:stages=3:{ONE}:cluster=1x2"),
        **{"epilogue": "identity", "mode": "split_k_parallel"},
    ),
    "i8-i8": hopper(
        *("i8:row", "i8:column", "i8:row", f"pingpong:128x64:stages=2:{TWO}"),
        **{"epilogue": "identity"},
    ),
    "f16-wide": hopper(
        *("f16:row", "f16:column", "f16:row:1", f"pingpong:64x192:stages=2:{TWO}:cluster=2x1", "f16:row:1"),
    ),
    "f16-few": transposed(
        *(
            "f16:row",
            "f16:column",
            "f16:column",
            f"cooperative:128x16:stages=3:{TWO}:cluster=2x1:swapped",
            "f16:column",
        ),
        **{"epilogue": "everything", "swizzle": "identity2"},
    ),
    "bf16-few": hopper(
        *("bf16:row", "bf16:column", "bf16:column:2", f"pingpong:64x8:stages=4:{TWO}:swapped"), epilogue="identity"
    ),
    "e4m3-few": transposed(
        *("f8E4M3FN:row", "f8E4M3FN:column", "bf16:column", f"cooperative:128x56:stages=2:{TWO}:swapped", "bf16:row:1"),
        mode="split_k_parallel",
    ),
    "f16-few-serial": transposed(
        *("f16:row", "f16:column", "f32:column", f"cooperative:64x24:stages=3:{ONE}:swapped"), mode="split_k_serial"
    ),
    "bf16-few-cluster": transposed(
        *("bf16:row", "bf16:column", "bf16:column", f"cooperative:128x40:stages=2:{TWO}:cluster=4x1:swapped"),
        mode="split_k_cluster",
    ),
    "f16-cluster": hopper(
        *("f16:row", "f16:column", "f16:row", f"cooperative:128x64:stages=2:{TWO}:cluster=2x1", "f16:row"),
        **{"epilogue": "everything", "mode": "split_k_cluster", "swizzle": "horizontal"},
    ),
    "tf32-cluster": hopper(
        *("f32:row", "f32:column", "f32:row", f"cooperative:64x24:stages=3:{ONE}:cluster=2x4", "f32:row"),
        mode="split_k_cluster",
    ),
    "i8-cluster": hopper(
        *("i8:row", "i8:column", "i32:row", f"cooperative:64x32:stages=3:{ONE}:cluster=4x1"),
        **{"epilogue": "identity", "mode": "split_k_cluster"},
    ),
}


def tolerance(description: GemmDescription, result: str) -> float:
    output = description.epilogue.operand(result)
    assert output is not None
    if description.instruction.accumulator == "f16":
        return HALF_SUMS
    is_exact = description.instruction.a in ("f16", "bf16", "i8")
    return max(TOLERANCES[output.dtype], 0 if is_exact else SUMS)


def wrong(description: GemmDescription, *size: int, **options: Any) -> dict[str, float]:
    """The errors, beyond what they may be, of a launch of what is compiled of a description."""
    m, n, k = size
    if description.is_compiled_transposed:
        m, n = n, m
    results = launch(description, m, n, k, **options)
    description = description.compiled()
    return {name: each.error for name, each in results.items() if not each.error <= tolerance(description, name)}


def sizes(description: GemmDescription) -> list[tuple[int, int, int]]:
    """More tiles than a cluster computes at once, with ragged edges; less than one tile, to the side; and no K.

    Four tiles for each cluster, of batches too; of clusters whose warpgroups take them together, two are enough.
    """
    tile, (along_m, along_n) = description.compiled().tile, sharing(description.compiled())
    m, n, k = tile.threadblock
    full = [each.alignment for each in description.compiled().epilogue.operands if each.kind == "full"]
    step = max(full)
    rows, columns = m * along_m + 21, n * along_n * 3 // 2 + 3
    if description.mode == "batched":
        columns -= n * along_n
    elif tile.schedule == "cooperative" and along_m * along_n > 1:
        rows -= m
    several = (rows, columns // step * step, k * (tile.stages // 2 + 1) + 9)
    return [several, (m - 7, step, k // 2 + 1), (5, step, 0)]


@pytest.mark.parametrize("name", CASES)
def test_product(name: str):
    description = CASES[name]
    assert refusal(description) is None
    along_m, along_n = description.tile.cluster
    options: dict[str, Any] = {"multiprocessors": along_m * along_n}
    if description.mode == "batched":
        options["batches"] = 2
    # Slices of one step or two, without any, and K without any.
    all_slices = (2, 3, 2) if description.mode in SPLIT_K_MODES else (None, None, None)
    for size, slices in zip(sizes(description), all_slices, strict=True):
        assert wrong(description, *size, slices=slices, **options) == {}


def test_bytes_of_d_come_from_registers_of_which_nobody_writes_the_rest():
    """Its compiler packs two columns with a half that nothing writes, takes a byte of the other and stores that."""
    description = hopper(
        *("f8E4M3FN:row", "f8E4M3FN:column", "f8E4M3FN:row:1", f"cooperative:64x24:stages=3:{ONE}"),
        **{"epilogue": "identity", "mode": "split_k_parallel"},
    )
    assert wrong(description, 33, 37, 208, slices=2, multiprocessors=1) == {}


@pytest.mark.parametrize(
    ("name", "schedule", "size", "slices"),
    [
        ("f16-f16", "adversarial", (70, 56, 136), None),
        ("bf16-cc", "random", (70, 56, 136), None),
        ("bf16-cc", "adversarial", (70, 56, 136), None),
        ("f16-serial", "random", (70, 56, 136), 2),
        ("f16-serial", "adversarial", (70, 40, 72), 2),
        ("f16-cluster", "random", (150, 72, 136), None),
        ("bf16-few-cluster", "adversarial", (30, 140, 136), None),
    ],
)
def test_any_order_of_warps_and_copies(name: str, schedule: str, size: tuple[int, int, int], slices: int | None):
    assert wrong(CASES[name], *size, slices=slices, multiprocessors=4, schedule=schedule, seed=1) == {}


def test_a_warpgroup_passes_its_turn_when_all_its_warps_have_had_it():
    # With one step and nothing that warps wait for each other for, one of them may be a whole task late.
    late = hopper("f16:row", "f16:column", "f16:row:1", f"pingpong:64x32:stages=3:{TWO}", epilogue="identity")
    assert wrong(late, 320, 32, 16, multiprocessors=1, schedule="random", seed=3) == {}


@pytest.mark.parametrize("multiprocessors", [2, 132])
def test_blocks_share_tiles_however_many_there_are(multiprocessors: int):
    assert wrong(CASES["i8-i8"], 300, 80, 140, multiprocessors=multiprocessors) == {}


@pytest.mark.parametrize("name", ["f16-rc", "i8-i8"])
def test_results_are_gathered_without_bank_conflicts(name: str):
    description = CASES[name]
    product = multiply(description, 136, 80, 64, kernel=compiled(description), check=None)
    counters = product.emulation.counters
    assert counters is not None
    assert any("st" in each.form and each.counts.shared_wavefronts for each in counters.instructions)
    assert product.conflicts == []


def test_factors_are_rounded_to_the_nearest_tf32():
    description = hopper(
        *("f32:row", "f32:column", "f32:row", f"cooperative:64x32:stages=2:{ONE}"), epilogue="identity"
    )
    values = np.random.default_rng(0).standard_normal((32, 32)).astype(np.float32)
    values[0, :3] = [1 + 2**-11, -(1 + 3 * 2**-11), 1 + 2**-11 - 2**-23]  # ties go to the even one; and just below one
    operands = description.a, description.b, description.d
    a, b, d = (Matrix(operand, 32, 32, 1, rows_contiguous=True) for operand in operands)
    a.codes[..., 0], b.codes[..., 0] = values, np.eye(32, dtype=np.float32)
    compiled(description)((32, 32, 32, 1), a, b, (d,), None, None, 132, 0, device="cpu")
    bits = values.view(np.uint32)
    rounded = ((bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000).view(np.float32)
    np.testing.assert_array_equal(d.codes[..., 0], rounded)
