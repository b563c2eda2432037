"""Every rule: what it accepts, what it refuses in which words, and the nearest description to that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from description_strategies import simt, tensor_op, wgmma

from cutecc.errors import UsageError
from cutecc.operations.description import GemmDescription
from cutecc.operations.validity import check, refusal

Make = Callable[..., GemmDescription]

I8: dict[str, Any] = {
    "a": "i8:row",
    "b": "i8:column",
    "d": "i8:row",
    "types": ("i8", "i8"),
    "accumulator": "i32",
    "arithmetic": "multiply_add_saturate",
    "shape": (16, 8, 32),
    "threadblock": (128, 128, 64),
}
INTERLEAVED: dict[str, Any] = {
    "a": "i8:interleaved32",
    "b": "i8:interleaved32",
    "d": "i8:interleaved32",
    "types": ("i8", "i8"),
    "accumulator": "i32",
    "arithmetic": "multiply_add_saturate",
    "shape": (16, 8, 32),
    "threadblock": (128, 128, 64),
}
WGMMA_I8: dict[str, Any] = {
    "a": "i8:row",
    "b": "i8:column",
    "d": "i32:row",
    "types": ("i8", "i8"),
    "accumulator": "i32",
    "arithmetic": "multiply_add_saturate",
    "shape": (64, 128, 32),
    "threadblock": (128, 128, 128),
}
FP8: dict[str, Any] = {
    "a": "e4m3:row",
    "b": "e4m3:column",
    "types": ("f8E4M3FN", "f8E4M3FN"),
    "shape": (16, 8, 32),
    "threadblock": (128, 128, 64),
}
TF32: dict[str, Any] = {
    "a": "f32:row",
    "b": "f32:column",
    "d": "f32:row",
    "types": ("tf32", "tf32"),
    "shape": (16, 8, 8),
    "threadblock": (128, 128, 32),
}
FAST_BF16: dict[str, Any] = {
    **TF32,
    "types": ("f32", "f32"),
    "shape": (16, 8, 16),
    "arithmetic": "multiply_add_fast_bf16",
}
WGMMA_TF32: dict[str, Any] = {
    "a": "f32:row",
    "b": "f32:column",
    "d": "f32:row",
    "types": ("tf32", "tf32"),
    "shape": (64, 128, 8),
    "threadblock": (128, 128, 32),
}
RULES: list[tuple[Make, dict[str, Any], dict[str, Any], str, tuple[str, ...]]] = [
    (
        tensor_op,
        TF32,
        {**TF32, "types": ("f16", "f16")},
        "tensor_op multiplies A of type f32 as tf32, not as f16",
        ("an instruction on tf32 by tf32, not f16 by f16",),
    ),
    (
        tensor_op,
        {},
        {"b": "bf16:column", "types": ("f16", "bf16")},
        "tensor_op does not multiply f16 by bf16",
        ("a.dtype bf16, not f16",),
    ),
    (
        wgmma,
        {},
        {"target": "sm_80"},
        "wgmma exists on sm_90a only, not on sm_80",
        (
            "instruction tensor_op 16x8x16, not wgmma 64x128x16",
            "warps 2x2x1, not 2x1x1",
            "schedule multistage, not cooperative",
        ),
    ),
    (
        tensor_op,
        {**FP8, "target": "sm_89"},
        {**FP8, "target": "sm_80"},
        "tensor_op multiplies f8E4M3FN on sm_89 and newer, not on sm_80",
        ("target sm_89, not sm_80",),
    ),
    (
        tensor_op,
        I8,
        {**I8, "arithmetic": "multiply_add"},
        "tensor_op on i8 is multiply_add_saturate, not multiply_add",
        ("arithmetic multiply_add_saturate, not multiply_add",),
    ),
    (
        tensor_op,
        {**TF32, "arithmetic": "multiply_add_fast_f32"},
        {"arithmetic": "multiply_add_fast_f32"},
        "tensor_op on f16 is multiply_add, not multiply_add_fast_f32",
        ("arithmetic multiply_add, not multiply_add_fast_f32",),
    ),
    (
        tensor_op,
        FAST_BF16,
        {"arithmetic": "multiply_add_fast_bf16"},
        "tensor_op on f16 is multiply_add, not multiply_add_fast_bf16",
        ("arithmetic multiply_add, not multiply_add_fast_bf16",),
    ),
    (
        tensor_op,
        FAST_BF16,
        {**FAST_BF16, "types": ("tf32", "tf32"), "shape": (16, 8, 8)},
        "tensor_op multiplies A of type f32 as f32 with multiply_add_fast_bf16, not as tf32",
        ("an instruction on f32 by f32, not tf32 by tf32",),
    ),
    (
        tensor_op,
        TF32,
        {**TF32, "types": ("f32", "f32")},
        "tensor_op multiplies A of type f32 as tf32 with multiply_add, not as f32",
        ("an instruction on tf32 by tf32, not f32 by f32",),
    ),
    (
        simt,
        {},
        {"arithmetic": "multiply_add_fast_f16"},
        "simt on f32 is multiply_add, not multiply_add_fast_f16",
        ("instruction tensor_op 16x8x8, not simt 1x1x1", "tile 64x64x16, not 64x64x8"),
    ),
    (
        wgmma,
        {},
        {**WGMMA_TF32, "arithmetic": "multiply_add_fast_f16"},
        "multiply_add_fast_f16 rounds f32 to f16 in registers, and wgmma reads A and B from shared memory as they are",
        (
            "instruction tensor_op 16x8x16, not wgmma 64x128x8",
            "warps 2x2x1, not 2x1x1",
            "schedule multistage, not cooperative",
        ),
    ),
    (
        tensor_op,
        {"accumulator": "f16"},
        {"accumulator": "f64", "d": "f64:row"},
        "tensor_op on f16 accumulates in f32 or f16, not in f64",
        ("accumulator f32, not f64", "d.dtype f32, not f64", "d.alignment 4, not 2"),
    ),
    (
        tensor_op,
        {"shape": (16, 8, 8)},
        {"shape": (16, 8, 4)},
        "tensor_op on f16 is 16x8x16 or 16x8x8, not 16x8x4",
        ("instruction tensor_op 16x8x8, not tensor_op 16x8x4",),
    ),
    (
        wgmma,
        {},
        {"shape": (64, 128, 8)},
        "wgmma on f16 is 64xNx16, N a multiple of 8 up to 256, not 64x128x8",
        ("instruction wgmma 64x128x16, not wgmma 64x128x8",),
    ),
    (
        wgmma,
        {},
        {"shape": (64, 64, 16)},
        "the N of wgmma is the threadblock's 128, not 64",
        ("instruction wgmma 64x128x16, not wgmma 64x64x16",),
    ),
    (
        tensor_op,
        INTERLEAVED,
        {"a": "f16:interleaved32"},
        "column_interleaved32 is a layout of i8, and A is f16",
        ("a.layout row, not column_interleaved32",),
    ),
    (
        wgmma,
        WGMMA_I8,
        {**WGMMA_I8, "a": "i8:interleaved32"},
        "wgmma does not read or write column_interleaved32, which A is",
        (
            "instruction tensor_op 16x8x32, not wgmma 64x128x32",
            "warps 2x2x1, not 2x1x1",
            "schedule multistage, not cooperative",
        ),
    ),
    (
        tensor_op,
        {**INTERLEAVED, "c": "i8:interleaved32"},
        {**INTERLEAVED, "c": "i8:row"},
        "C and D are interleaved alike or not at all, and C is row-major, D column-interleaved",
        ("d.layout row, not column_interleaved32",),
    ),
    (
        tensor_op,
        {},
        {**I8, "d": "i8:column", "c": "i8:interleaved32"},
        "a column-major D is computed as Dᵀ = Bᵀ Aᵀ, and of that, "
        "C and D are interleaved alike or not at all, and C is row-interleaved, D row-major",
        ("c.layout column, not column_interleaved32",),
    ),
    (
        tensor_op,
        {**INTERLEAVED, "d": "i8:row_interleaved32", "c": "i8:row_interleaved32"},
        {**INTERLEAVED, "d": "i8:row_interleaved32", "c": "i8:column_interleaved32"},
        "a row-interleaved D is computed as Dᵀ = Bᵀ Aᵀ, and of that, "
        "C and D are interleaved alike or not at all, and C is row-interleaved, D column-interleaved",
        ("c.layout row_interleaved32, not column_interleaved32",),
    ),
    (
        tensor_op,
        {**INTERLEAVED, "a": "i8:row_interleaved32"},
        {**INTERLEAVED, "a": "i8:row_interleaved32", "threadblock": (144, 128, 64), "warps": (1, 2, 1)},
        "a threadblock's M of 144 is no multiple of the 32 that A interleaves",
        ("tile 64x128x64, not 144x128x64",),
    ),
    (
        tensor_op,
        {"a": "f16:row:4"},
        {"a": "f16:row:3"},
        "an alignment is a power of two from 1 to 8 elements of f16, and that of A is 3",
        ("a.alignment 2, not 3",),
    ),
    (
        tensor_op,
        {},
        {"b": "f16:column:16"},
        "an alignment is a power of two from 1 to 8 elements of f16, and that of B is 16",
        ("b.alignment 8, not 16",),
    ),
    (
        tensor_op,
        INTERLEAVED,
        {**INTERLEAVED, "a": "i8:interleaved32:8"},
        "an interleaved A is aligned to 16 elements, not to 8",
        ("a.layout row, not column_interleaved32",),
    ),
    (
        tensor_op,
        {"d": "bf16:row"},
        {"d": "f64:row"},
        "with accumulators of f32, D is f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, not f64",
        ("d.dtype f32, not f64", "d.alignment 4, not 2"),
    ),
    (
        tensor_op,
        {"c": "f32:row"},
        {"c": "f64:row"},
        "with accumulators of f32, C is f32, f16, bf16, f8E4M3FN, f8E5M2 or i8, not f64",
        ("c.dtype f32, not f64", "c.alignment 4, not 2"),
    ),
    (
        tensor_op,
        {"d": "e5m2:row", "target": "sm_89"},
        {"d": "e5m2:row"},
        "f8E5M2 is converted on sm_89 and newer, not on sm_80",
        ("d.dtype f16, not f8E5M2", "d.alignment 8, not 16"),
    ),
    (
        wgmma,
        {},
        {"mode": "array"},
        "wgmma reads with TMA, whose descriptors hold one address, not those of an array",
        (
            "instruction tensor_op 16x8x16, not wgmma 64x128x16",
            "warps 2x2x1, not 2x1x1",
            "schedule multistage, not cooperative",
        ),
    ),
    (
        tensor_op,
        {"mode": "batched", "swizzle": "batched"},
        {"swizzle": "batched"},
        "the swizzle batched needs a batch, and the mode is gemm",
        ("swizzle identity1, not batched",),
    ),
    (
        tensor_op,
        {"mode": "split_k_serial"},
        {"mode": "split_k_parallel", "accumulator": "f16"},
        "split_k_parallel adds up partial sums, for which f16 is too narrow",
        ("accumulator f32, not f16",),
    ),
    (
        wgmma,
        {"schedule": "cooperative"},
        {"schedule": "multistage"},
        "the schedule of wgmma is cooperative or pingpong, not multistage",
        ("schedule cooperative, not multistage",),
    ),
    (
        tensor_op,
        {},
        {"schedule": "pingpong"},
        "the schedule of tensor_op is multistage, not pingpong",
        ("schedule multistage, not pingpong",),
    ),
    (
        tensor_op,
        {},
        {"cluster": (2, 1)},
        "tensor_op has no clusters, and this is one of 2x1",
        ("cluster 1x1, not 2x1",),
    ),
    (
        wgmma,
        {"cluster": (2, 4)},
        {"cluster": (4, 4)},
        "a cluster is 1, 2 or 4 threadblocks each way and 8 at most, not 4x4",
        ("cluster 2x4, not 4x4",),
    ),
    (tensor_op, {"stages": 2}, {"stages": 1}, "a kernel has 2 stages or more, not 1", ("stages 2, not 1",)),
    (
        tensor_op,
        {},
        {"warps": (2, 0, 1)},
        "there is at least one warp each way, not 2x0x1",
        ("warps 2x2x1, not 2x0x1",),
    ),
    (
        tensor_op,
        {"warps": (4, 4, 1)},
        {"warps": (8, 8, 1)},
        "8x8x1 warps are 2048 threads, and a threadblock has 1024 at most",
        ("warps 4x8x1, not 8x8x1",),
    ),
    (
        wgmma,
        {"schedule": "pingpong"},
        {"schedule": "pingpong", "warps": (1, 1, 1)},
        "pingpong is between 2x1x1 warpgroups, not 1x1x1",
        ("schedule cooperative, not pingpong",),
    ),
    (
        wgmma,
        {"warps": (1, 1, 1)},
        {"warps": (4, 1, 1)},
        "1x1x1 or 2x1x1 warpgroups compute a tile, not 4x1x1",
        ("warps 2x1x1, not 4x1x1",),
    ),
    (
        tensor_op,
        {"threadblock": (96, 128, 32)},
        {"threadblock": (100, 128, 32)},
        "a threadblock's M of 100 is not 2 warps times a multiple of the 16 of an instruction",
        ("tile 96x128x32, not 100x128x32",),
    ),
    (
        simt,
        {},
        {"threadblock": (64, 60, 8)},
        "a threadblock's N of 60 is not 2 warps times a multiple of the 4 of the threads of a warp",
        ("tile 64x64x8, not 64x60x8",),
    ),
    (
        tensor_op,
        {},
        {"threadblock": (128, 128, 40)},
        "a threadblock's K of 40 is not 1 warps times a multiple of the 16 of an instruction",
        ("instruction tensor_op 16x8x8, not tensor_op 16x8x16",),
    ),
    (
        wgmma,
        {"threadblock": (256, 128, 64)},
        {"threadblock": (192, 128, 64)},
        "with cooperative, 2 warpgroups compute 128 or 256 rows, not 192",
        ("tile 256x128x64, not 192x128x64",),
    ),
    (
        wgmma,
        {"threadblock": (128, 136, 64), "shape": (64, 136, 16)},
        {"threadblock": (128, 260, 64), "shape": (64, 128, 16)},
        "the N of wgmma is the threadblock's 260, not 128",
        ("instruction wgmma 64x256x16, not wgmma 64x128x16", "tile 128x256x64, not 128x260x64"),
    ),
    (
        wgmma,
        {},
        {"threadblock": (128, 128, 32)},
        "a tile that wgmma reads has 128 bytes of K, 64 elements of f16, not 32",
        ("tile 128x128x64, not 128x128x32",),
    ),
    (
        simt,
        {},
        {"threadblock": (64, 64, 6)},
        "a threadblock's K of 6 is 24 bytes of A, no multiple of 16",
        ("tile 64x64x8, not 64x64x6",),
    ),
    (
        tensor_op,
        INTERLEAVED,
        {**INTERLEAVED, "threadblock": (128, 128, 48)},
        "a threadblock's K of 48 is not 1 warps times a multiple of the 32 of an instruction",
        ("tile 128x128x64, not 128x128x48",),
    ),
    (
        tensor_op,
        {},
        {"threadblock": (256, 256, 32)},
        "accumulators take 512 registers a thread, of which 128 are for them",
        ("tile 64x256x32, not 256x256x32",),
    ),
    (
        wgmma,
        {"threadblock": (256, 192, 64), "shape": (64, 192, 16), "stages": 3},
        {"threadblock": (256, 256, 64), "shape": (64, 256, 16), "stages": 2},
        "accumulators take 256 registers a thread, of which 200 are for them",
        ("tile 256x200x64, not 256x256x64",),
    ),
    (
        wgmma,
        {"threadblock": (64, 256, 64), "shape": (64, 256, 16), "schedule": "pingpong"},
        {"threadblock": (128, 256, 64), "shape": (64, 256, 16), "schedule": "pingpong", "stages": 2},
        "accumulators take 256 registers a thread, of which 128 are for them",
        ("schedule cooperative, not pingpong",),
    ),
    (
        tensor_op,
        {"stages": 5},
        {"stages": 12},
        "the tile takes 196608 bytes of shared memory, and a threadblock of sm_80 has 166912",
        ("stages 10, not 12",),
    ),
    (
        tensor_op,
        {"target": "sm_80", "stages": 8},
        {"target": "sm_86", "stages": 8},
        "the tile takes 131072 bytes of shared memory, and a threadblock of sm_86 has 101376",
        ("stages 6, not 8",),
    ),
    (
        wgmma,
        {"cluster": (2, 1), "mode": "split_k_cluster", "stages": 3},
        {"cluster": (1, 1), "mode": "split_k_cluster", "stages": 3},
        "a cluster of one block has no slices of K to share",
        ("cluster 1x2, not 1x1",),
    ),
    (
        tensor_op,
        {"mode": "split_k_serial"},
        {"mode": "split_k_cluster"},
        "slices of K are of clusters of wgmma, and tensor_op has none",
        ("mode split_k_serial, not split_k_cluster",),
    ),
    (simt, {}, {"warps": (2, 1, 2)}, "2 warps along K; a thread adds up all of K itself", ("warps 2x1x1, not 2x1x2",)),
    (
        tensor_op,
        {"d": "f16:column"},
        {"d": "f16:column", "threadblock": (128, 100, 32)},
        "a column-major D is computed as Dᵀ = Bᵀ Aᵀ, and of that, "
        "a threadblock's M of 100 is not 2 warps times a multiple of the 16 of an instruction",
        ("tile 128x96x32, not 128x100x32",),
    ),
]
"""What makes a description, parts that are accepted, parts that are refused, the reason, the changes to the nearest."""


@pytest.mark.parametrize(("make", "good", "bad", "reason", "changes"), RULES)
def test_each_rule(
    make: Make, good: dict[str, Any], bad: dict[str, Any], reason: str, changes: tuple[str, ...]
) -> None:
    assert refusal(make(**good)) is None
    verdict = check(make(**bad))
    assert not verdict
    assert (verdict.reason, verdict.changes) == (reason, changes)
    assert verdict.nearest is not None and refusal(verdict.nearest) is None


def test_a_refusal_is_an_error_with_a_hint() -> None:
    with pytest.raises(UsageError) as raised:
        check(tensor_op(stages=1)).require()
    assert raised.value.message == "a kernel has 2 stages or more, not 1"
    assert raised.value.hints == ["the nearest that there is has stages 2, not 1"]
    check(tensor_op()).require()


def test_an_epilogue_that_does_not_fit_is_refused() -> None:
    other = tensor_op(d="f32:row").epilogue
    verdict = check(tensor_op(epilogue=other))
    assert verdict.reason == "D of the epilogue is f32:row:4, and D of the description f16:row:8"
    assert verdict.nearest == tensor_op() and verdict.changes == ("an epilogue that fits",)


def test_source_and_epilogue_go_together() -> None:
    reads = tensor_op(c="f16:row")
    verdict = check(tensor_op(epilogue=reads.epilogue))
    assert verdict.reason == "the epilogue reads C, which the description does not have"
    assert verdict.nearest == reads
    verdict = check(tensor_op(c="f16:row", epilogue=tensor_op().epilogue))
    assert verdict.reason == "the description has a C that the epilogue does not read"
    assert verdict.nearest == tensor_op()


def test_an_array_of_pointers_is_for_what_does_not_read_with_tma() -> None:
    assert refusal(tensor_op(mode="array")) is None
    assert refusal(simt(mode="array")) is None
    assert refusal(wgmma(mode="batched")) is None
