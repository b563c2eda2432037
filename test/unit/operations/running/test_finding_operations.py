"""Which operations there are for arguments: found by metadata, supported or not with a reason."""

from __future__ import annotations

import numpy as np
import pytest
from small_products import biased

from cutecc.errors import ArgumentError, UsageError
from cutecc.operations.convolution.geometry import ConvolutionProblem
from cutecc.operations.convolution.operation import Conv2d
from cutecc.operations.discovery import find, supports
from cutecc.operations.epilogue.declarations import Column, Row
from cutecc.operations.facts import facts_of
from cutecc.operations.gemm import Gemm
from cutecc.operations.grouped.operation import GroupedGemm
from cutecc.operations.operand import Operand
from cutecc.operations.validity import check
from cutecc.operations.views import DeviceMatrix


def test_kernels_for_types_are_all_valid_and_the_best_come_first() -> None:
    found = find("f16", "sm_90a")
    assert len({each.name for each in found}) == len(found) > 50
    assert all(check(each.description) for each in found[::10])
    assert found[0].facts["unit"] == "wgmma" and {each.facts["unit"] for each in found} == {"wgmma", "tensor_op"}
    assert found[0].operation.description == found[0].description


def test_metadata_has_the_same_keys_for_every_kernel() -> None:
    kernels = [
        find(types, target, limit=1)[0] for types, target in (("f64", "sm_80"), ("i8", "sm_80"), ("f16", "sm_90a"))
    ]
    assert len({tuple(each.facts) for each in kernels}) == 1
    facts = kernels[1].facts
    assert (facts["a.dtype"], facts["out.dtype"], facts["accumulator"], facts["c.dtype"]) == ("i8", "i32", "i32", None)


def test_filters_are_held_against_metadata() -> None:
    chosen = find("f16", "sm_90a", where="tile.m=128,stages>=4,unit=tensor_op")
    assert chosen and all(
        (each.facts["tile.m"], each.facts["unit"]) == (128, "tensor_op") and each.description.tile.stages >= 4
        for each in chosen
    )
    assert find("f16", "sm_80", where="tile.m=128,tile.n=7") == []
    with pytest.raises(UsageError, match=r"no metadata is called 'tile\.x'"):
        find("f16", "sm_80", where="tile.x=3")


def test_kernels_for_f32_keep_its_digits_unless_tf32_is_named() -> None:
    assert {each.facts["unit"] for each in find("f32", "sm_90a")} == {"simt"}
    rounded = find("tf32", "sm_90a")
    assert {each.facts["unit"] for each in rounded} == {"wgmma", "tensor_op"}
    first = rounded[0].operation.description
    assert str(first.a) == str(first.b) == str(first.d) == "f32:row:4" and first.instruction.a == "tf32"
    assert Gemm("tf32:row", "tf32:row", target="sm_90a").description.d == first.d


@pytest.mark.parametrize("arithmetic", ["multiply_add_fast_f16", "multiply_add_fast_bf16", "multiply_add_fast_f32"])
def test_other_arithmetics_of_f32_are_found_where_they_are_asked_for(arithmetic: str) -> None:
    found = find("f32", "sm_90a", where=f"arithmetic={arithmetic},stages=3")
    assert found and {(each.facts["unit"], each.facts["arithmetic"]) for each in found} == {("tensor_op", arithmetic)}
    assert arithmetic in found[0].name
    assert find("f16", "sm_90a", where=f"arithmetic={arithmetic}") == []
    both = find("f32", "sm_80", where=f"arithmetic=multiply_add|{arithmetic}")
    assert {each.facts["arithmetic"] for each in both} == {"multiply_add", arithmetic}


@pytest.mark.slow
def test_everything_on_offer() -> None:
    types = {str(facts_of(each.description)["a.dtype"]) for each in find(None, "sm_80", where="stages=3")}
    assert {"f16", "f32", "i8"} <= types


def test_arrays_say_types_layouts_alignments_and_sizes() -> None:
    A, B, D = np.zeros((64, 36), np.float16), np.zeros((48, 36), np.float16).T, np.zeros((64, 48), np.float16)
    (found,) = find((A, B, D), "sm_80", limit=1)
    assert [str(each) for each in (found.description.a, found.description.b)] == ["f16:row:4", "f16:column:4"]
    assert found.description.tile.threadblock[0] <= 128 and not find((A, B, D), "sm_80", limit=0)
    C = np.zeros((64, 48), np.float16)
    (batched,) = find({"A": A[None], "B": B[None], "C": C[None], "D": D[None]}, "sm_80", limit=1, epilogue="relu")
    assert batched.description.mode == "batched" and batched.description.c == Operand("f16", "row", 8)


def test_functions_are_asked_about_with_their_operands() -> None:
    operands = {"bias": Row("f16"), "sums": Column("f32")}
    (found,) = find("f16", "sm_80", epilogue=biased, operands=operands, limit=1)
    assert found.operation.epilogue.operand("bias") == Gemm(
        "f16", "f16", epilogue=biased, operands=operands, target="sm_80"
    ).epilogue.operand("bias")
    assert supports("f16", "sm_80", epilogue=biased, operands=operands)
    assert "bias" in supports("f16", "sm_80", epilogue=biased).reason
    assert "would not be read" in supports("f16", "sm_80", epilogue="relu", operands=operands).reason
    # Of arrays the shapes say what they are.
    A, B, D = (np.zeros(shape, np.float16) for shape in ((64, 32), (32, 48), (64, 48)))
    arrays = {"bias": np.zeros((1, 48), np.float16), "sums": np.zeros((64, 1), np.float32)}
    (found,) = find((A, B, D), "sm_80", epilogue=biased, operands=arrays, limit=1)
    kinds = {each.name: each.kind for each in found.operation.epilogue.operands}
    assert kinds == {"bias": "row", "D": "full", "sums": "column"}


def test_whether_there_is_a_kernel_is_said_with_a_reason() -> None:
    assert supports("f16", "sm_80") and str(supports("f16", "sm_80")) == "yes"
    mixed = supports("f16,f32,f16", "sm_80")
    assert not mixed and "does not multiply f16 by f32" in mixed.reason and mixed.hints
    A = DeviceMatrix(0x1000, (8, 8), 8, "f16")
    other = DeviceMatrix(0x2000, (9, 8), 8, "f16")
    assert "the shapes do not fit" in supports((A, other, A), "sm_80").reason
    assert "names 2 types" in supports("f16,f16", "sm_80").reason
    assert "(A, B, D) or (A, B, C, D), not of 2 arrays" in supports((A, A), "sm_80").reason
    assert "arrays, not of an int" in supports(3, "sm_80").reason  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"\(M, N, K, batch\), not \('1', 2, 3\)"):
        find("f16", "sm_80", problem=("1", 2, 3))  # type: ignore[arg-type]


def test_kernels_with_the_results_of_a_layer() -> None:
    sizes = ConvolutionProblem(8, (28, 28), 64, 64, 3, padding=1)
    op = Conv2d("wgrad", "f16", target="sm_80", problem=sizes)
    found = find(op, where="mode=split_k_serial,stages=3", limit=5)
    assert len(found) == 5 and {each.facts["class"] for each in found} == {"Conv2d"}
    keys = ("kind", "iterator", "stride", "groups", "filter_mode", "mode", "stages")
    expected = ("wgrad", "optimized", "unity", "single", "cross_correlation", "split_k_serial", 3)
    assert all(tuple(each.facts[key] for key in keys) == expected for each in found)
    assert type(found[0].operation) is Conv2d and found[0].operation.description == found[0].description
    with pytest.raises(UsageError, match="no metadata is called 'packing'"):
        find(op, where="packing=rows")


def test_sizes_that_a_layer_cannot_take() -> None:
    op = Conv2d("fprop", "f16", target="sm_80", stride="unity")
    with pytest.raises(ArgumentError, match="the stride is 2x2, and the convolution is for strides of 1"):
        find(op, problem=ConvolutionProblem(8, (28, 28), 64, 64, 3, padding=1, stride=2))


def test_kernels_with_the_results_of_grouped_and_single_products() -> None:
    op = GroupedGemm("bf16", "bf16", packing="rows", target="sm_90a")
    found = find(op, where="unit=wgmma,cluster=1x1")
    assert found[0].facts["class"] == "GroupedGemm" and {each.facts["packing"] for each in found} == {"rows"}
    assert {each.description.gemm.tile for each in found} <= {*op.tile_descriptions()}
    assert type(found[0].operation) is GroupedGemm
    product = Gemm("tf32", "tf32:column", d="f32:column", target="sm_90a")
    alike = find(product, problem=(512, 512, 512), limit=20)
    assert {each.description.d.layout for each in alike} == {"column"}
    assert {each.description.instruction.a for each in alike} == {"tf32"}
    with pytest.raises(UsageError, match="target, epilogue and operands are those of the operation"):
        find(product, "sm_80")  # type: ignore[call-overload]
