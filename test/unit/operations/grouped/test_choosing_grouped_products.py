"""Grouped products: what there is, what is nearest to what there is not, and which is chosen for some sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cutecc.errors import ArgumentError, EpilogueError, UsageError
from cutecc.operations import DeviceMatrix, Full, GroupedDescription, GroupedGemm
from cutecc.operations.grouped.estimate import cycles
from cutecc.operations.grouped.problem import GroupedProblem
from cutecc.operations.grouped.validity import check, refusal

HOPPER: dict[str, Any] = {"a": "bf16", "b": "bf16", "packing": "rows", "target": "sm_90a"}


def test_what_is_chosen_is_valid_and_suits_the_sizes() -> None:
    few = GroupedGemm(**HOPPER, problem=(64, 4096, 4096, 64))
    many = GroupedGemm(**HOPPER, problem=(65536, 4096, 4096, 8))
    for each in (few, many):
        assert refusal(each.description) is None and each.description.gemm.family == "sm90"
    # A group of one row has a tile of few.
    assert few.description.gemm.tile.threadblock[0] == 64 < many.description.gemm.tile.threadblock[0]
    for best in (few.tile_descriptions(), many.tile_descriptions()):
        assert len(best) == len(set(best)) > 10
    assert str(few.with_tile("128x64x64").description.gemm.tile).startswith("128x64x64:")


def test_sizes_are_given_in_all_or_of_each_group() -> None:
    even = GroupedProblem.of((10, 8, 16, 3), "rows")
    assert even.sizes == ((3, 8, 16), (3, 8, 16), (4, 8, 16))
    assert GroupedProblem.of((10, 8, 16, 2), "depth").sizes == ((10, 8, 8),) * 2
    assert GroupedProblem.of((10, 8, 16, 2), "list").sizes == ((10, 8, 16),) * 2
    listed = GroupedProblem.of([(1, 2, 3), (0, 2, 3)], "rows")
    assert listed.sizes == ((1, 2, 3), (0, 2, 3)) and listed.transposed().sizes == ((2, 1, 3), (2, 0, 3))
    assert GroupedProblem.of(np.array([10, 8, 16, 0]), "rows").groups == 0
    for wrong in ((1, 2, 3), "abcd", [(1, 2)], (1, 2, 3, -4), (1, -2, 3, 4), 5, [(1, 2, 3), 4], (1.5, 2, 3, 4)):
        with pytest.raises(UsageError, match=r"sizes of groups are \(M, N, K, groups\)"):
            GroupedProblem.of(wrong, "rows")
    differing = [(1, 2, 3), (0, 2, 4)]
    assert GroupedProblem.of(differing, "list").groups == 2
    with pytest.raises(UsageError, match=r"groups packed as rows have one K, not 3 and 4\nhint: packing=\"list\""):
        GroupedProblem.of(differing, "rows")


def test_estimates_count_the_tiles_of_all_groups() -> None:
    description = GroupedGemm(**HOPPER, tile="128x128x64:cluster=1x1").description
    whole, halves = (GroupedProblem(((size, 4096, 4096),) * count) for size, count in ((2048, 8), (1024, 16)))
    assert cycles(description, whole) == pytest.approx(cycles(description, halves), rel=0.1)
    ragged = GroupedProblem(((897, 4096, 4096),) * 16)  # as many tiles
    assert cycles(description, ragged) == pytest.approx(cycles(description, halves), rel=0.02)
    with_empty = GroupedProblem((*halves.sizes, *((0, 4096, 4096),) * 50))
    assert cycles(description, with_empty) == cycles(description, halves)
    assert cycles(description, GroupedProblem(())) == 0
    skewed = GroupedProblem(tuple((size, 4096, 4096) for size in range(1, 200)))
    assert cycles(description, skewed) > 1.2 * cycles(description, halves)


SCALED = {"a": "f8E4M3FN", "b": "f8E4M3FN:column", "scales": "blocks"}


@pytest.mark.parametrize(
    ("parts", "message", "hint"),
    [
        ({"tile": "128x128x64:stages=9:warps=2x1x1:cluster=1x1:schedule=cooperative"}, "bytes of shared", "stages 6"),
        ({"a": "bf16:row:2", "unit": "wgmma"}, "TMA reads A aligned to 16 bytes, not to 4", "tensor_op"),
        ({"a": "tf32:column", "b": "tf32", "d": "f32", "unit": "wgmma"}, "reads A along K", "tensor_op"),
        ({"a": "i8:interleaved32", "b": "i8"}, "matrices of groups are not interleaved, and A is", "a.layout"),
        ({"scales": "blocks"}, "scales are of 8-bit floats, not of bf16 and bf16", "f8E4M3FN"),
        (SCALED | {"tile": "128x96x128"}, "a tile of 96 columns is neither part of a block", "tile 128x128x128"),
        (SCALED | {"tile": "256x256x128:warps=2x1x1"}, "a thread has 256 sums beside those of a block", "128x256x128"),
        (SCALED | {"tile": "128x128x128:stages=6:warps=2x1x1:schedule=cooperative"}, "bytes of shared", "stages 5"),
        ({"packing": "row"}, "unknown packing 'row'", "did you mean rows"),
        ({"schedule": "hosts"}, "unknown schedule 'hosts'", "did you mean host"),
    ],
)
def test_what_there_is_not_is_refused_with_what_is_near(parts: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        GroupedGemm(**(HOPPER | parts))
    assert hint in "\n".join(caught.value.hints)


def test_blocks_are_added_up_beside_another_warpgroup_that_multiplies() -> None:
    op = GroupedGemm(**(HOPPER | SCALED), d="bf16", problem=(32768, 7168, 2048, 8))
    tiles = [op.description.gemm.tile, *op.tile_descriptions()[:3]]
    assert {(each.threadblock, each.stages, each.schedule) for each in tiles} == {((128, 256, 128), 4, "cooperative")}


def test_epilogues_without_a_place_are_refused() -> None:
    with pytest.raises(UsageError, match="offsets is an argument of grouped products"):
        GroupedGemm(**HOPPER, epilogue=lambda accum, offsets: accum + offsets, operands={"offsets": Full("f32")})


def test_a_description_is_checked_as_it_is_compiled() -> None:
    description = GroupedGemm(**HOPPER, d="bf16:column").description
    assert description.packing == "rows" and description.compiled().packing == "columns"
    wrong = replace(description, gemm=replace(description.gemm, mode="batched"))
    verdict = check(wrong)
    assert not verdict and "a column-major D is computed as Dᵀ = Bᵀ Aᵀ" in verdict.reason
    assert verdict.nearest == description and verdict.changes == ("mode gemm, not batched",)
    with pytest.raises(UsageError, match="the product of a group is of mode gemm, not batched"):
        GroupedGemm.of(wrong)
    assert GroupedGemm.of(description).description == description
    scaled = replace(description, scales="blocks")
    assert not check(scaled) and check(scaled).nearest is None
    reasons: list[tuple[dict[str, Any], str]] = [
        ({"packing": "columns"}, "scales are of lists and of groups packed as rows or depth, not of columns"),
        ({"packing": "list", "d": "bf16:column"}, "products with scales have contiguous rows of D, not columns"),
    ]
    for parts, reason in reasons:
        with pytest.raises(UsageError, match=reason):
            GroupedGemm(**(HOPPER | SCALED | parts))


def test_descriptions_are_kept_as_text() -> None:
    op = GroupedGemm(**HOPPER, schedule="host")
    assert GroupedDescription.from_json(op.description.to_json()) == op.description
    assert repr(op).startswith("<GroupedGemm grouped_rows_host_sm90a_bf16_")


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float16)


def test_an_operation_for_arguments() -> None:
    def described(*arrays: Any, target: str = "sm_90a", **parts: Any) -> Any:
        A, B, D = arrays
        return GroupedGemm.for_arguments(A, B, D=D, target=target, **parts).description

    rows = described(zeros(70, 72), zeros(3, 72, 40), zeros(70, 40), offsets=[1, 2, 70])
    assert (rows.packing, rows.gemm.family, rows.gemm.a.alignment) == ("rows", "sm90", 8)
    # TMA knows where odd extents end; other copies do not.
    for target, alignment in (("sm_90a", 8), ("sm_80", 1)):
        odd = described(zeros(8, 80)[:, :71], zeros(2, 71, 40), zeros(8, 40), offsets=[1, 8], target=target)
        assert odd.gemm.a.alignment == alignment
    weights = described(zeros(72, 80).T, zeros(72, 40), zeros(3, 80, 40), offsets=[3, 16, 72])
    assert (weights.packing, weights.gemm.a.layout, weights.gemm.family) == ("depth", "column", "sm90")
    # What is contiguous along the groups is as aligned as they end, and nobody knows where those on a GPU do.
    on_gpu = DeviceMatrix(0x1000, (3,), 1, "i32")
    for offsets, alignment in (([8, 16, 72], 8), ([2, 16, 72], 2), (on_gpu, 1)):
        assert described(zeros(80, 72), zeros(72, 40), zeros(3, 80, 40), offsets=offsets).gemm.a.alignment == alignment
    lists = described([zeros(8, 8), zeros(9, 3)], [zeros(8, 16), zeros(3, 8)], [zeros(8, 16), zeros(9, 8)])
    assert (lists.packing, lists.gemm.a.alignment) == ("list", 1)
    rounded = GroupedGemm.for_arguments(
        *(zeros(*shape).astype("f4") for shape in ((8, 8), (1, 8, 8))),
        D=zeros(8, 8).astype("f4"),
        offsets=[8],
        tf32=True,
        target="sm_80",
    )
    assert rounded.description.gemm.instruction.a == "tf32"
    with pytest.raises(ArgumentError, match="groups packed as rows need offsets"):
        described(zeros(8, 8), zeros(1, 8, 8), zeros(8, 8))
    with pytest.raises(ArgumentError, match="lists of matrices have no offsets"):
        described([zeros(8, 8)], [zeros(8, 8)], [zeros(8, 8)], offsets=[8])
    with pytest.raises(ArgumentError, match="these are no matrices of groups"):
        described(zeros(2, 8, 8), zeros(2, 8, 8), zeros(2, 8, 8))
    with pytest.raises(ArgumentError, match="an operation for arguments needs D"):
        described(zeros(8, 8), zeros(1, 8, 8), None, offsets=[8])


def biased(accum: Any, bias: Any) -> Any:
    return accum + bias


@pytest.mark.parametrize(
    ("matrices", "offsets", "bias", "kind", "alignment"),
    [
        (((16, 8), (4, 8, 24), (16, 24)), [1, 2, 3, 9], (4, 24), "row", 8),
        (((16, 8), (4, 8, 24), (16, 24)), [1, 2, 3, 9], (24,), "row", 8),
        (((16, 8), (4, 8, 24), (16, 24)), [1, 2, 3, 9], (16,), "column", 1),
        (((16, 8), (4, 8, 24), (16, 24)), [1, 2, 3, 9], (16, 24), "full", 8),
        (((16, 8), (4, 8, 24), (16, 24)), [1, 2, 3, 9], (4,), "scalar", None),
        (((4, 16, 8), (8, 24), (16, 24)), [8, 8, 8, 24], (24,), "row", 1),
        (((4, 16, 8), (8, 24), (16, 24)), [8, 8, 8, 24], (4, 16), "column", 8),
        (((16, 8), (8, 24), (3, 16, 24)), [0, 0, 8], (3, 16, 24), "full", 8),
    ],
)
def test_arrays_say_what_operands_are(
    matrices: Any, offsets: list[int], bias: tuple[int, ...], kind: str, alignment: int | None
) -> None:
    A, B, D = (zeros(*shape) for shape in matrices)
    parts: dict[str, Any] = {"epilogue": biased, "operands": {"bias": zeros(*bias)}, "target": "sm_80"}
    op = GroupedGemm.for_arguments(A, B, D=D, offsets=offsets, **parts)
    operand = op.epilogue.operand("bias")
    assert operand is not None and operand.kind == kind and alignment in (None, operand.alignment)
    assert op.supports(A, B, D=D, offsets=offsets, bias=zeros(*bias))


def test_lists_say_what_operands_are() -> None:
    shapes = ((4, 8, 16), (3, 8, 24))
    A, B = [zeros(m, k) for m, k, _ in shapes], [zeros(k, n) for _, k, n in shapes]
    D, sizes = [zeros(m, n) for m, _, n in shapes], [(m, n, k) for m, k, n in shapes]
    parts: dict[str, Any] = {"epilogue": biased, "target": "sm_80"}
    for bias, kind in (([zeros(16), zeros(24)], "row"), ([zeros(4), zeros(3)], "column"), (D, "full")):
        for op in (
            GroupedGemm.for_arguments(A, B, D=D, operands={"bias": bias}, **parts),
            GroupedGemm("f16", "f16", problem=sizes, operands={"bias": bias}, **parts),
        ):
            operand = op.epilogue.operand("bias")
            assert operand is not None and operand.kind == kind


def test_arrays_that_say_not_what_operands_are_are_refused() -> None:
    parts: dict[str, Any] = {"packing": "rows", "epilogue": biased, "target": "sm_80"}
    with pytest.raises(EpilogueError, match="only the sizes of groups tell") as caught:
        GroupedGemm("f16", "f16", operands={"bias": zeros(4, 24)}, **parts)
    assert "problem=(M, N, K, groups)" in str(caught.value)
    problem = (24, 24, 8, 4)
    assert GroupedGemm("f16", "f16", operands={"bias": zeros(4, 24)}, problem=problem, **parts)
    with pytest.raises(EpilogueError, match="can be row or column"):
        GroupedGemm("f16", "f16", operands={"bias": zeros(24)}, problem=problem, **parts)
    for wrong in (zeros(5, 24), [zeros(24)] * 4):
        with pytest.raises(EpilogueError, match="is none in a product of these groups"):
            GroupedGemm("f16", "f16", operands={"bias": wrong}, problem=problem, **parts)


def test_an_alignment_without_a_layout_is_refused() -> None:
    with pytest.raises(UsageError, match="an alignment is behind a layout: f32:row:1"):
        GroupedGemm("f16", "f16", d="f32:1", target="sm_80")
