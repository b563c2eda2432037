"""What kernels take: the specs of their parameters, and how their workspace is divided."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launching import simt

from cutecc.arguments.grammar import parse_spec
from cutecc.operations.epilogue.declarations import Column, Full, Row, Scalar
from cutecc.operations.epilogue.graph import Epilogue
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.kernels.signature import PARAMETERS, specs
from cutecc.operations.kernels.workspace import (
    Cut,
    epilogue_cut,
    needs_workspace,
    partial_row,
    product,
    regions,
    workspace_bytes,
)
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileDescription


def everything(accum, C, bias, scale, alpha, shift):
    D = alpha * accum * scale + C + bias + shift
    rows = sum(D, axis=1)
    columns = max(D, axis=0)
    total = sum(D)
    return D, rows, columns, total


def epilogue(**changes):
    operands = {
        "C": Full("f32", "column", alignment=2),
        "bias": Row("f16"),
        "scale": Column("f32", alignment=1),
        "alpha": Scalar("f32"),
        "shift": Scalar("f32", in_memory=True),
        "D": Full("f32", alignment=4),
        "rows": Column("f32", alignment=1),
        "columns": Row("f32", alignment=1),
        "total": Scalar("f32", in_memory=True),
    }
    return Epilogue.trace(everything, **(operands | changes))


def test_every_parameter_has_a_spec_that_parses():
    description = simt("f32:row:1", "f32:column:1", "f32:row:4", "f32:column:2", epilogue=epilogue())
    found = specs(description)
    assert tuple(found) == PARAMETERS
    for text in found.values():
        parse_spec(text)


def test_the_contiguous_mode_is_static_and_the_others_promise_the_alignment():
    found = specs(simt("f32:row:4", "f32:row:2", "f32:row:1", "f32:column:1"))
    assert found["a"] == "f32[?M, ?K{div=4}, ?L]:(?{i64 div=4}, 1, ?{i64 div=4}) align=16"
    assert found["b"] == "f32[?N{div=2}, ?K{div=4}, ?L]:(1, ?{i64 div=2}, ?{i64 div=2}) align=8"
    assert found["operands"].startswith("(f32[?M, ?N{div=2}, ?L]:(1, ?{i64}, ?{i64}) align=4, f32, f32, ")
    assert (found["workspace"], found["slices"]) == ("none", "none")


def test_vectors_and_scalars():
    found = specs(simt("f32:row:1", "f32:column:1", "f32:row:4", "f32:column:2", epilogue=epilogue()))
    words = found["operands"].removeprefix("(").removesuffix(",)").split(", f")
    assert words[1:] == [
        "16[?N{div=4}, ?L]:(1, ?{i64 div=8}) align=16",
        "32[?M, ?L]:(1, ?{i64}) align=4",
        "32",
        "32[?L]:(?{i64})",
        "32[?M, ?N{div=4}, ?L]:(?{i64 div=4}, 1, ?{i64 div=4}) align=16",
        "32[?M, ?L]:(1, ?{i64}) align=4",
        "32[?N{div=4}, ?L]:(1, ?{i64}) align=4",
        "32[?L]:(?{i64})",
    ]
    assert found["workspace"] == "u8[?] align=16"


def test_a_kernel_whose_d_is_column_major_computes_the_transposed_product():
    description = simt("f32:row:4", "f32:row:1", "f32:column:4", None)
    assert specs(description) == specs(description.transposed())
    assert specs(description)["a"] == "f32[?M, ?K{div=4}, ?L]:(1, ?{i64}, ?{i64}) align=4"


def test_arrays_of_matrices_are_addresses_and_a_leading_dimension():
    found = specs(simt(mode="array"))
    assert found["a"] == found["b"] == "(i64[?L], i64)"
    assert found["operands"] == "((i64[?L], i64), f32, f32, (i64[?L], i64),)"


def test_interleaved_matrices_keep_32_elements_together():
    along_k = "i8[?{}, 32, ?, ?L]:(32, 1, ?{{i64 div=32}}, ?{{i64 div=32}}) align=16"
    usual = replace(simt(), a=Operand.parse("i8:interleaved32", "a"), b=Operand.parse("i8:interleaved32", "b"))
    assert specs(usual)["a"] == along_k.format("M") and specs(usual)["b"] == along_k.format("N")
    across = "i8[32, ?, ?K, ?L]:(1, ?{i64 div=32}, 32, ?{i64 div=32}) align=16"
    other = replace(simt(), a=Operand("i8", "row_interleaved32"), b=Operand("i8", "column_interleaved32"))
    assert specs(other)["a"] == specs(other)["b"] == across


def test_tma_needs_no_promise_of_k():
    instruction = MathInstruction("wgmma", (64, 128, 16), "f16", "f16", "f32")
    tile = TileDescription((128, 128, 64), 4, (2, 1, 1), (2, 1), "cooperative")
    description = simt("f16:row:8", "f16:column:8", "f16:row:8", None, epilogue="linear_combination")
    found = specs(replace(description, instruction=instruction, tile=tile, target="sm_90a"))
    assert found["a"] == "f16[?M, ?K, ?L]:(?{i64 div=8}, 1, ?{i64 div=8}) align=16"


@pytest.mark.parametrize(("mode", "spec"), [("gemm", "i32"), ("split_k_parallel", "i32"), ("split_k_serial", "none")])
def test_persistent_kernels_are_told_how_many_multiprocessors_there_are(mode: str, spec: str):
    instruction = MathInstruction("wgmma", (64, 128, 16), "f16", "f16", "f32")
    tile = TileDescription((128, 128, 64), 4, (2, 1, 1), (2, 1), "cooperative")
    description = simt("f16:row:8", "f16:column:8", "f16:row:8", None, mode=mode)
    persistent = replace(description, instruction=instruction, tile=tile, target="sm_90a")
    assert specs(persistent)["multiprocessors"] == spec and specs(description)["multiprocessors"] == "none"


@pytest.mark.parametrize("mode", ["gemm", "split_k_serial", "split_k_parallel"])
def test_regions_lie_one_after_the_other(mode):
    description = simt("f32:row:1", "f32:row:1", "f32:row:4", "f32:column:2", epilogue=epilogue(), mode=mode)
    found = regions(description, 100, 72, 64, 1, 3)
    end = 0
    for each in found:
        assert each.offset == end
        assert each.bytes % 16 == 0
        end += each.bytes
    assert workspace_bytes(description, 100, 72, 64, 1, 3) == end
    assert [each.name for each in found[-3:]] == ["parts of rows", "parts of columns", "parts of total"]
    assert [each.name for each in found if each.is_zeroed] == (["turns"] if mode == "split_k_serial" else [])


def test_plain_products_need_no_workspace():
    assert not needs_workspace(simt())
    assert workspace_bytes(simt(), 100, 100, 100) == 0


@given(st.integers(1, 500), st.integers(1, 500), st.sampled_from([(32, 32), (64, 128)]), st.integers(1, 4))
def test_each_warp_with_a_part_of_d_has_a_part_of_each_reduction(m, n, tile, along_m):
    cut = Cut(tile, (along_m, 2))
    tiles_m, tiles_n = cut.tiles(m, n)
    assert (tiles_m - 1) * tile[0] < m <= tiles_m * tile[0]
    assert cut.parts("row", m, n) == tiles_m * along_m
    assert cut.parts("column", m, n) == tiles_n * 2
    assert cut.parts("scalar", m, n) == cut.parts("row", m, n) * cut.parts("column", m, n)


def test_slices_are_whole_products_in_rows_of_whole_vectors():
    description = simt("f64:row:1", "f64:row:1", "f64:row:1", None, mode="split_k_parallel")
    assert product(description).d == Operand("f64", "row", 2)
    assert product(description).epilogue.is_identity
    assert partial_row(description, 33) == 34
    assert (partial := regions(description, 5, 33, 7, 1, 4)[0]).bytes == 4 * 5 * 34 * 8
    assert partial.name == "partials"
    assert product(simt()) == simt()


def test_where_the_epilogue_runs_is_how_d_is_cut():
    assert epilogue_cut(simt(tile="64x32x8:stages=3:warps=2x1x1")) == Cut((64, 32), (2, 1))
    tile = TileDescription((128, 256, 64), 4, (2, 1, 1), (1, 1), "cooperative")
    instruction = MathInstruction("wgmma", (64, 256, 16), "f16", "f16", "f32")
    hopper = replace(simt(), instruction=instruction, tile=tile)
    assert epilogue_cut(hopper) == Cut((128, 256), (8, 1))
    assert epilogue_cut(replace(hopper, tile=replace(tile, schedule="pingpong"))) == Cut((128, 256), (4, 1))
