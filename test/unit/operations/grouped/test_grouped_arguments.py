"""The arguments of grouped products, held against each other: nothing is compiled, and nothing launched."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations import Column, Conv2d, DeviceMatrix, Full, Gemm, GroupedGemm, Row, Scalar
from cutecc.operations.given import Given, given_workspace
from cutecc.operations.grouped.arguments import ends_on_host
from cutecc.operations.grouped.variant import GroupedVariant

PARTS: dict[str, Any] = {
    "a": "f32:row:1",
    "b": "f32:row:1",
    "d": "f32:row:1",
    "instruction": "simt:1x1x1:f32:f32:f32",
    "tile": "32x32x8:stages=2:warps=1x1x1",
    "target": "sm_80",
}
SIZES = [(5, 8, 6), (0, 8, 6), (7, 8, 6)]


def operands(accum: Any, bias: Any, scale: Any, other: Any, factor: Any) -> Any:
    return (accum + bias) * scale * factor + other


KINDS = {
    "bias": Row("f32", alignment=1),
    "scale": Column("f32", alignment=1),
    "other": Full("f32", alignment=1),
    "factor": Scalar("f32", in_memory=True),
}


@pytest.fixture(scope="module")
def rows() -> GroupedGemm:
    return GroupedGemm(**PARTS, packing="rows")


def zeros(*shape: int) -> Any:
    return np.zeros(shape, np.float32)


def packed(m: int = 12, n: int = 8, k: int = 6, groups: int = 3) -> dict[str, Any]:
    return {"A": zeros(m, k), "B": zeros(groups, k, n), "D": zeros(m, n), "offsets": [5, 5, 12][:groups]}


def device(*shape: int, pointer: int, dtype: str = "f32", layout: Any = "row") -> DeviceMatrix:
    return DeviceMatrix(pointer, shape, shape[-1 if layout == "row" else -2] if len(shape) > 1 else 1, dtype, layout)


def test_what_fits_is_supported(rows: GroupedGemm) -> None:
    assert rows.supports(**packed())
    assert rows.supports(**(packed() | {"offsets": np.array([0, 0, 11])}))
    assert rows.supports(**packed(), device="cpu", stream=3, sync=True)
    assert rows.workspace_bytes(3) == 0


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"A": zeros(12, 5)}, "K is 5 in A and 6 in B", "packed as rows, A is (ΣM, K), B is (groups, K, N)"),
        ({"D": zeros(12, 9)}, "D is not of 12×8 elements", "C and D are (ΣM, N)"),
        ({"B": zeros(6, 8)}, r"'B': f32\[6,8\] on cpu is not \(groups, K, N\)", ""),
        ({"D": zeros(3, 12, 8)}, r"'D': .* is not \(ΣM, N\), as of groups packed as rows", ""),
        ({"offsets": [0, 5, 5, 12]}, "B has 3 groups, and offsets 4", "without a 0 in front"),
        ({"offsets": [5, 4, 12]}, "'offsets' does not ascend", "itertools.accumulate(sizes)"),
        ({"offsets": [5, 5, 13]}, "offsets end at 13, and M of all groups is 12", ""),
        ({"offsets": [-1, 5, 12]}, "'offsets' does not ascend", ""),
        ({"offsets": ["a", 5, 12]}, "'offsets' holds no whole numbers", ""),
        ({"offsets": zeros(3)}, "'offsets' holds no whole numbers", ""),
        ({"offsets": [False, 5, 12]}, "'offsets' holds no whole numbers", ""),
        ({"offsets": np.array([False, True, True])}, "'offsets' holds no whole numbers", ""),
        ({"offsets": None}, "groups packed as rows need offsets", "where each group ends"),
        ({"offsets": 5}, "argument 'offsets' has to be an array", ""),
        ({"A": [zeros(5, 6)]}, "argument 'A' is a list, and groups are packed as rows", 'packing="list"'),
        ({"A": zeros(12, 6).astype("f8")}, "its elements are f64, not f32", ""),
        ({"D": None}, "argument 'D' has to be an array, and nothing is given", ""),
        ({"beta": 1.0}, "beta = 1.0 is given, and the operation has none", 'GroupedGemm(…, c="f16")'),
        ({"bias": zeros(8)}, "the epilogue has no operand 'bias'", "alpha, D"),
        ({"scales_a": zeros(8)}, "the epilogue has no operand 'scales_a'", ""),
    ],
)
def test_what_does_not_fit_is_refused(rows: GroupedGemm, changes: dict[str, Any], message: str, hint: str) -> None:
    status = rows.supports(**(packed() | changes))
    assert not status
    with pytest.raises(ArgumentError, match=message):
        rows.run(**(packed() | changes), device="cpu")
    assert hint in str(status)


def test_each_packing_has_its_shapes() -> None:
    columns, depth = (GroupedGemm(**PARTS, packing=packing) for packing in ("columns", "depth"))
    A, B, D = zeros(3, 5, 6), zeros(6, 12), zeros(5, 12)
    assert columns.supports(A, B, D=D, offsets=[4, 4, 12])
    assert "N of all groups is 12" in str(columns.supports(A, B, D=D, offsets=[4, 4, 13]))
    A, B, D = zeros(5, 12), zeros(12, 8), zeros(3, 5, 8)
    assert depth.supports(A, B, D=D, offsets=[4, 4, 12])
    assert "D is not of 5×8 elements a group" in str(depth.supports(A, B, D=zeros(3, 5, 9), offsets=[4, 4, 12]))
    assert "D has 2 groups, and offsets 3" in str(depth.supports(A, B, D=zeros(2, 5, 8), offsets=[4, 4, 12]))


def test_groups_end_where_vectors_begin() -> None:
    op = GroupedGemm(**(PARTS | {"a": "f32:row:4"}), packing="depth")
    A, B, D = zeros(5, 16), zeros(16, 8), zeros(2, 5, 8)
    assert op.supports(A, B, D=D, offsets=[4, 16])
    status = op.supports(A, B, D=D, offsets=[6, 16])
    assert "a group ends at 6, no multiple of the 4 elements" in str(status) and "f16:row:1 for any" in str(status)
    assert "K is 14, no multiple of the 4 elements" in str(op.supports(A[:, :14], B[:14], D=D, offsets=[4, 12]))


def test_operands_of_an_epilogue_lie_as_groups_do() -> None:
    op = GroupedGemm(**PARTS, packing="rows", epilogue=operands, operands=KINDS)
    more = {"bias": zeros(3, 8), "scale": zeros(12), "other": zeros(12, 8), "factor": zeros(3)}
    assert op.supports(**packed(), **more)
    assert op.supports(**packed(), **(more | {"bias": zeros(8)}))  # the same for all groups
    assert "holds one value a row, M = 12" in str(op.supports(**packed(), **(more | {"scale": zeros(3, 12)})))
    assert "holds a scalar" in str(op.supports(**packed(), **(more | {"factor": zeros(2)})))
    columns = GroupedGemm(**PARTS, packing="columns", epilogue=operands, operands=KINDS)
    A, B, D = zeros(3, 5, 6), zeros(6, 12), zeros(5, 12)
    more = {"bias": zeros(12), "scale": zeros(3, 5), "other": zeros(5, 12), "factor": zeros(3)}
    assert columns.supports(A, B, D=D, offsets=[4, 4, 12], **more)
    assert not columns.supports(A, B, D=D, offsets=[4, 4, 12], **(more | {"bias": zeros(3, 12)}))


def test_offsets_on_a_device_are_not_read(rows: GroupedGemm) -> None:
    nowhere = device(3, pointer=0x1000, dtype="i32")  # a read of it would be a fault
    A, B, D = device(12, 6, pointer=0x10000), device(3, 6, 8, pointer=0x20000), device(12, 8, pointer=0x30000)
    assert ends_on_host(nowhere) is None
    assert rows.supports(A, B, D=D, offsets=nowhere)
    assert "is not i32[groups]" in str(rows.supports(A, B, D=D, offsets=device(3, pointer=0x1000, dtype="i64")))
    assert ".to(torch.int32)" in str(rows.supports(A, B, D=D, offsets=device(3, pointer=0x1000, dtype="i64")))
    assert "B has 3 groups, and offsets 4" in str(rows.supports(A, B, D=D, offsets=device(4, pointer=16, dtype="i32")))
    assert rows.supports(A, B, D=D, offsets=[1, 2, 3])  # brought there
    host = GroupedGemm(**PARTS, packing="rows", schedule="host")
    status = host.supports(A, B, D=D, offsets=nowhere)
    assert "lives on a GPU, and the schedule host needs to read it" in str(status) and "device" in str(status)
    assert host.supports(A, B, D=D, offsets=[1, 2, 3])


def test_what_is_written_shares_no_memory(rows: GroupedGemm) -> None:
    given = packed()
    memory = zeros(12, 16)
    assert rows.supports(**(given | {"A": memory[:, :6], "D": memory[:, 8:]}))
    assert "D is written and shares memory with A" in str(
        rows.supports(**(given | {"A": memory[:, :6], "D": memory[:, 2:10]}))
    )
    source = GroupedGemm(**PARTS, packing="rows", c="f32:row:1")
    assert source.supports(**given, C=given["D"], beta=1.0)


def test_the_kernel_sees_a_column_major_d_as_the_transposed_products() -> None:
    op = GroupedGemm(**(PARTS | {"d": "f32:column:1"}), packing="rows", schedule="host")
    variant = op.variants[0]
    assert isinstance(variant, GroupedVariant)
    A, B, D = zeros(12, 6), zeros(3, 6, 8), np.asfortranarray(zeros(12, 8))
    given = {"A": A, "B": B, "D": D, "offsets": [5, 5, 12], "alpha": 1.0, "beta": 0.0, "C": None}
    call = Given(given)
    op._prepare(variant, call, "cpu", keep=True)  # pyright: ignore[reportPrivateUsage]
    bound = variant.bind(call.arguments, None)
    assert bound.values["problem"] == (8, 12, 6)
    assert bound.values["a"].shape == (8, 6, 3) and bound.values["b"].shape == (12, 6)
    view = bound.values["operands"][1]
    assert (view.shape, view.stride()) == ((8, 12), (12, 1))
    assert (bound.sources["a"], bound.sources["b"], bound.sources["sizes"]) == ("B", "A", "offsets")
    assert list(call.arguments["tiles before groups"]) == [0, 1, 1, 2]


@pytest.fixture(scope="module")
def lists() -> GroupedGemm:
    return GroupedGemm(**PARTS, c="f32:row:1")


def listed() -> dict[str, Any]:
    return {
        "A": [zeros(m, k) for m, _, k in SIZES],
        "B": [zeros(k, n) for _, n, k in SIZES],
        "D": [zeros(m, n) for m, n, _ in SIZES],
    }


def test_lists_that_fit_are_supported(lists: GroupedGemm) -> None:
    given = listed()
    assert lists.supports(**given, device="cpu") and lists.supports(**given, C=given["D"], beta=1.0, device="cpu")
    assert lists.supports([], [], D=[])
    op = GroupedGemm(**PARTS, epilogue=operands, operands=KINDS, schedule="host")
    more = {
        "bias": [zeros(n) for _, n, _ in SIZES],
        "scale": [zeros(m) for m, _, _ in SIZES],
        "other": given["D"],
        "factor": zeros(3),
    }
    assert "D[0] is written and shares memory with other[0]" not in str(op.supports(**given, **more))
    assert op.supports(**given, **(more | {"other": [each.copy() for each in given["D"]]}), device="cpu")
    status = op.supports(
        **given, **(more | {"other": [*map(np.copy, given["D"])], "factor": given["D"][2][0, :3]}), device="cpu"
    )
    assert "D[2] is written and shares memory with factor" in str(status)
    assert "'bias[2]'" in str(op.supports(**given, **(more | {"bias": [zeros(8), zeros(8), zeros(9)]})))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"A": zeros(3, 5, 6)}, "argument 'A' has to be a list of the matrices of all groups"),
        ({"A": [zeros(5, 6)]}, "no common number of groups: 1 in A, 3 in B, 3 in D"),
        ({"A": [zeros(5, 6), zeros(1, 6), zeros(7, 6)]}, "the shapes of group 1 do not fit"),
        ({"B": [zeros(6, 8), zeros(6, 8), zeros(5, 8)]}, "the shapes of group 2 do not fit"),
        ({"B": [zeros(6, 8), zeros(6, 8), zeros(6, 8).astype("f2")]}, "'B.2.': .*its elements are f16, not f32"),
        ({"B": [zeros(6, 8), zeros(6, 8), zeros(8, 6).T]}, "'B.2.': .*its rows are not contiguous"),
        ({"D": None}, "argument 'D' has to be a list"),
        ({"offsets": [1, 2, 3]}, "lists of matrices have no offsets"),
    ],
)
def test_lists_that_do_not_fit_are_refused(lists: GroupedGemm, changes: dict[str, Any], message: str) -> None:
    assert not lists.supports(**(listed() | changes))
    with pytest.raises(ArgumentError, match=message):
        lists.run(**(listed() | changes), device="cpu")


def test_matrices_of_lists_share_no_memory(lists: GroupedGemm) -> None:
    same = {"A": [zeros(5, 6)] * 2, "B": [zeros(6, 8)] * 2}
    whole = zeros(10, 8)
    assert lists.supports(**same, D=[whole[:5], whole[5:]], device="cpu")
    assert "D[0] is written and shares memory with D[1]" in str(lists.supports(**same, D=[whole[:5], whole[4:9]]))
    square = zeros(6, 6)
    status = lists.supports([square], [zeros(6, 6)], D=[square])
    assert "D[0] is written and shares memory with A[0]" in str(status)
    other = [zeros(5, 8), zeros(5, 8)]
    status = lists.supports([zeros(5, 6)] * 2, [zeros(6, 8)] * 2, other[::-1], other, beta=1.0)
    assert "shares memory with C" in str(status)


def test_tables_are_made_of_all_lists_together(lists: GroupedGemm) -> None:
    given = listed()
    tables = lists.matrices(**given, device="cpu")
    assert set(tables) == {"A", "B", "D"} and lists.supports(**tables, device="cpu")
    others = lists.matrices(**given, device="cpu")
    assert "'B' is not of the tables of A" in str(lists.supports(**(tables | {"B": others["B"]})))
    assert "'D' is not of the tables of A" in str(lists.supports(**(tables | {"D": given["D"]})))
    assert "'B' is not of the tables of A" in str(lists.supports(**(tables | {"B": tables["D"]})))
    another = GroupedGemm(**(PARTS | {"a": "f32:row:2"}))
    assert "made by another operation" in str(another.supports(**tables))
    with pytest.raises(UsageError, match="groups packed as rows have no lists"):
        GroupedGemm(**PARTS, packing="rows").matrices(**given)


def test_scales_along_depth_are_of_rows_and_columns() -> None:
    op = GroupedGemm("f8E4M3FN", "f8E4M3FN:column", "bf16", packing="depth", scales="blocks", target="sm_90a")
    A, B = device(64, 384, pointer=1 << 20, dtype="f8E4M3FN"), device(384, 200, pointer=2 << 20, dtype="f8E4M3FN")
    given = {
        "A": A,
        "B": replace(B, layout="column", leading=384),
        "D": device(2, 64, 200, pointer=3 << 20, dtype="bf16"),
    }
    given |= {"scales_a": device(64, 3, pointer=4 << 20), "scales_b": device(3, 200, pointer=5 << 20)}
    assert op.supports(**given, offsets=[128, 384])
    assert op.supports(**given, offsets=device(2, pointer=6 << 20, dtype="i32"))
    status = str(op.supports(**given, offsets=[136, 384]))
    assert "a group ends at 136, no multiple of the 128" in status and "one scale is of one group" in status
    wrong = given | {"scales_b": device(3, 2, pointer=5 << 20)}
    assert "is not f32[3, 200], one a block" in str(op.supports(**wrong, offsets=[128, 384]))


def test_scales_of_lists_are_one_array_a_matrix() -> None:
    op = GroupedGemm("f8E4M3FN", "f8E4M3FN:column", "bf16", scales="blocks", target="sm_90a")
    sizes = [(64, 200, 304), (0, 16, 128), (5, 8, 0)]
    places = iter(range(0x10000, 0x1000000, 0x20000))

    def made(*shape: int, dtype: str = "f32", layout: Any = "row") -> DeviceMatrix:
        return device(*shape, pointer=next(places), dtype=dtype, layout=layout)

    given = {
        "A": [made(m, k, dtype="f8E4M3FN") for m, _, k in sizes],
        "B": [made(k, n, dtype="f8E4M3FN", layout="column") for _, n, k in sizes],
        "D": [made(m, n, dtype="bf16") for m, n, _ in sizes],
        "scales_a": [made(64, 3, layout="column"), made(0, 1), made(5, 0)],
        "scales_b": [made(3, 2), made(1, 1), made(0, 1)],
    }
    assert op.supports(**given)
    variant = op.variants[0]
    call = Given(given | {"C": None, "alpha": 1.0, "beta": 0.0, "offsets": None})
    op._prepare(variant, call, "cuda", keep=False)  # pyright: ignore[reportPrivateUsage]
    bound = variant.bind(call.arguments, None)
    assert call.arguments["leading of scales_a"].data[0].tolist() == [1, 64]
    assert call.arguments["leading of scales_b"].data[0].tolist() == [1, 2]  # of the transpose
    assert bound.sources["scales[1][0]"] == "scales_b" and bound.sources["scales[1][1]"] == "leading of scales_b"
    wrong = [given["scales_b"][0], made(2, 1), given["scales_b"][2]]
    assert "'scales_b[1]': f32[2,1] on cuda:0 is not f32[1, 1], one a block" in str(
        op.supports(**(given | {"scales_b": wrong}))
    )
    assert "'scales_a' has to be a list" in str(op.supports(**(given | {"scales_a": None})))


def test_matrices_of_numpy_in_lists_are_copied_but_not_kept(lists: GroupedGemm) -> None:
    given = listed()
    assert lists.supports(**given)
    with pytest.raises(ArgumentError, match=r"'A\[0\]' is a numpy array, and tables have addresses") as caught:
        lists.matrices(**given)
    assert any('device="cpu"' in hint for hint in caught.value.hints)
    assert "has to be a list" in str(lists.supports(**(given | {"B": given["B"][0]})))
    assert "the shapes of group 1 do not fit" in str(
        lists.supports(**(given | {"A": [zeros(5, 6), *[zeros(1, 6)] * 2]}))
    )
    # Copies are aligned, whatever the arrays are.
    aligned = GroupedGemm("f32:row:4", "f32:row:4", "f32:row:4", target="sm_80", unit="simt")
    shifted = zeros(65)[1:].reshape(8, 8)
    assert aligned.supports([shifted], [zeros(8, 8)], D=[zeros(8, 8)])


def test_another_tile_is_for_the_same_sizes() -> None:
    tile = "32x32x8:stages=3:warps=1x1x1"
    grouped = GroupedGemm(**PARTS, packing="rows", problem=(64, 32, 16, 4))
    assert grouped.problem is not None and grouped.with_tile(tile).problem == grouped.problem
    gemm = Gemm(**PARTS, problem=(64, 32, 16))
    again = pickle.loads(pickle.dumps(gemm.with_tile(tile)))
    assert again._problem is not None and again._problem == gemm._problem  # pyright: ignore[reportPrivateUsage]


def test_hints_are_of_grouped_products() -> None:
    aligned = GroupedGemm("f16:row:8", "f16", packing="rows", target="sm_80", tile="64x32x32:stages=3")

    def refused(op: GroupedGemm, **changes: Any) -> str:
        half = {name: each.astype("f2") for name, each in packed(k=8).items() if name != "offsets"}
        status = str(op.supports(**(half | {"offsets": [5, 5, 12]} | changes)))
        assert "Gemm.for_arguments" not in status.replace("GroupedGemm", "")
        return status

    narrow = refused(aligned, A=np.zeros((12, 45), "f2"), B=np.zeros((3, 45, 8), "f2"))
    assert "f16:row:1 for any" in narrow and "contiguous()" not in narrow
    assert ".contiguous()" in refused(aligned, A=np.zeros((12, 9), "f2")[:, :8])
    assert "op.for_arguments(A, B, …)" in refused(aligned, A=np.zeros((8, 12), "f2").T)
    assert 'd="f32" writes such' in refused(aligned, D=zeros(12, 8))
    for offsets in (None, [5, 5, 12]):
        status = refused(aligned, A=[np.zeros((4, 8), "f2")], offsets=offsets)
        assert "'A' is a list, and groups are packed as rows" in status and 'packing="list"' in status


def test_a_workspace_is_as_large_as_a_call_needs() -> None:
    op = GroupedGemm("f16", "f16", packing="depth", target="sm_90a")
    A, B, D = (np.zeros(shape, "f2") for shape in ((64, 128), (128, 64), (3, 64, 64)))
    size = op.workspace_bytes(A, B, D=D, offsets=[8, 64, 128])
    assert size == op.workspace_bytes(3) == op.workspace_bytes(groups=3) > 0
    with pytest.raises(ArgumentError, match="need offsets"):
        op.workspace_bytes(A, B, D=D)
    assert op.workspace_bytes(problem=(64, 64, 128, 3)) == size
    parts = PARTS | {"operands": {"sums": Column("f32", alignment=1)}}
    parts |= {"epilogue": lambda accum: {"D": accum, "sums": sum(accum, axis=1)}}
    rows, lists = (GroupedGemm(**parts, packing=packing) for packing in ("rows", "list"))
    given = packed() | {"sums": zeros(12)}
    # A group may begin within a tile, and end in another one.
    assert rows.workspace_bytes(**given) == rows.workspace_bytes(problem=(12, 8, 6, 3)) == 3 * 4 * 32
    assert rows.workspace_bytes(problem=(64, 33, 6, 3)) == (3 + 2) * 2 * 4 * 32
    assert lists.workspace_bytes(problem=[(33, 8, 6), (0, 8, 6), (1, 40, 9)]) == 4 * 4 * 32
    with pytest.raises(UsageError, match="the workspace of reductions depends on the sizes"):
        rows.workspace_bytes(3)
    with pytest.raises(ArgumentError) as caught:
        given_workspace(np.zeros(8, np.uint8), size, "cpu")
    assert "op.workspace_bytes, with the arguments of the call" in str(caught.value)


def test_a_source_is_refused_that_would_not_be_read(rows: GroupedGemm) -> None:
    whole: dict[str, Any] = {name: zeros(16, 16) for name in "ABCD"}
    plain = Gemm("f32", "f32", target="sm_80")
    convolution = Conv2d("fprop", "f32", "f32", target="sm_80")
    image: dict[str, Any] = {name: zeros(1, 4, 4, 4) for name in "ACD"} | {"B": zeros(4, 1, 1, 4)}
    for op, given in ((rows, packed() | {"C": zeros(12, 8)}), (plain, whole), (convolution, image)):
        assert op.supports(**(given | {"C": None}))
        assert "C is given, and this operation has no C" in str(op.supports(**given))
        with pytest.raises(ArgumentError, match="this operation has no C"):
            op.run(**given, device="cpu")
