"""Tiles to choose from, the default choice, and everything on offer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from cutecc.errors import UsageError
from cutecc.operations.candidates import MOST_TILES, choose, described, gemm_descriptions, tile_descriptions
from cutecc.operations.description import SPLIT_K_MODES, GemmDescription, Mode
from cutecc.operations.fitting_instructions import fitting_instructions
from cutecc.operations.instruction import NARROWED, MathInstruction
from cutecc.operations.operand import Operand
from cutecc.operations.tile import TileRequest
from cutecc.operations.tile_model import Problem, cycles, cycles_of, slices
from cutecc.operations.tile_rules import accumulator_registers
from cutecc.operations.validity import refusal
from cutecc.operations.wgmma_tiles import wgmma_tiles

TYPES = [
    ("f16", "f16", "sm_90a"),
    ("bf16", "f32", "sm_80"),
    ("f32", "f32", "sm_90a"),
    ("f64", "f64", "sm_80"),
    ("i8", "i32", "sm_86"),
    ("f8E4M3FN", "f16", "sm_89"),
    ("f8E5M2", "f16", "sm_90a"),
]


@pytest.mark.parametrize(("dtype", "result", "target"), TYPES)
@pytest.mark.parametrize("alignment", [None, 1])
def test_every_tile_is_accepted(dtype: str, result: str, target: str, alignment: int | None) -> None:
    suffix = f":{alignment}" if alignment else ""
    operands = f"{dtype}:row{suffix}", f"{dtype}:column{suffix}", f"{result}:row{suffix}"
    found = tile_descriptions(*operands, target=target)
    assert 8 <= len(found) <= MOST_TILES and len(set(found)) == len(found)
    chosen = choose(*operands, target=target)
    assert chosen.tile == found[0]
    for tile in found:
        instruction = chosen.instruction
        if instruction.unit == "wgmma":
            instruction = replace(instruction, shape=(64, tile.threadblock[1], instruction.shape[2]))
        assert refusal(replace(chosen, tile=tile, instruction=instruction)) is None, str(tile)


@pytest.mark.parametrize(
    ("operands", "target", "unit"),
    [
        (("f16:row", "f16:row", "f16:row"), "sm_90a", "wgmma"),
        (("f16:row", "f16:row:4", "f16:row"), "sm_90a", "wgmma"),
        (("f16:row", "f16:row", "f16:row"), "sm_80", "tensor_op"),
        (("tf32:row", "tf32:column", "f32:row"), "sm_90a", "wgmma"),
        (("tf32:row", "f32:row", "f32:row"), "sm_90a", "wgmma"),
        (("tf32:row", "tf32:row", "f32:row"), "sm_80", "tensor_op"),
        (("f32:row", "f32:column", "f32:row"), "sm_90a", "simt"),
        (("i8:interleaved32", "i8:interleaved32", "i8:interleaved32"), "sm_90a", "tensor_op"),
        (("f64:row", "f64:row", "f64:column"), "sm_80", "tensor_op"),
    ],
)
def test_the_fastest_unit_that_reads_the_operands(operands: tuple[str, str, str], target: str, unit: str) -> None:
    chosen = choose(*operands, target=target)
    assert chosen.instruction.unit == unit and refusal(chosen) is None


def test_f32_is_rounded_to_tf32_only_where_that_is_asked_for() -> None:
    plain = "f32:row", "f32:column", "f32:row"
    asked = choose("tf32:row", "tf32:column", "f32:row", target="sm_90a")
    assert (asked.a, asked.b, asked.d) == tuple(map(Operand.parse, plain))  # as it is in memory
    assert asked.instruction.a == "tf32" and GemmDescription.from_json(asked.to_json()) == asked
    assert choose(*plain, target="sm_90a", unit="wgmma") == asked
    assert choose(*plain, target="sm_90a", instruction=asked.instruction) == asked
    thrice = choose(*plain, target="sm_90a", arithmetic="multiply_add_fast_f32").instruction
    assert (thrice.unit, thrice.a, thrice.arithmetic) == ("tensor_op", "tf32", "multiply_add_fast_f32")
    for word, bits in NARROWED.items():
        once = choose(*plain, target="sm_90a", arithmetic=word).instruction
        assert (once.unit, once.shape, once.a, once.multiplies) == ("tensor_op", (16, 8, 16), "f32", bits)
        assert MathInstruction.parse(str(once)) == once
        with pytest.raises(UsageError, match="with multiply_add_fast") as refused:
            choose(*plain, target="sm_90a", arithmetic=word, unit="wgmma")
        assert refused.value.hints[0].startswith(f"{word} rounds f32 to {bits} in registers, and wgmma reads")
        assert refused.value.hints[1] == "tensor_op of sm_90a does"
    kept = fitting_instructions(*map(Operand.parse, plain[:2]), target="sm_90a")
    assert [(each.unit, each.a) for each in kept] == [("simt", "f32")]
    with pytest.raises(UsageError, match="simt of sm_80 does not multiply tf32 by tf32"):
        choose("tf32:row", "tf32:row", "f32:row", target="sm_80", unit="simt")


def test_given_parts_stay() -> None:
    operands = "f16:row", "f16:column", "f16:row"
    chosen = choose(*operands, target="sm_90a", unit="tensor_op", tile="64x64x32:stages=4", swizzle="horizontal")
    assert chosen.tile.threadblock == (64, 64, 32) and chosen.tile.stages == 4 and chosen.swizzle == "horizontal"
    turned = choose(*operands[:2], "f16:column", target="sm_80", tile=TileRequest(threadblock=(64, 128, 32)))
    assert turned.tile.threadblock == (64, 128, 32) and turned.is_compiled_transposed


def test_what_is_asked_for_and_not_there_is_refused_with_what_is() -> None:
    with pytest.raises(UsageError) as raised:
        choose("f16:row", "bf16:column", "f16:row", target="sm_80")
    assert raised.value.message == "sm_80 does not multiply f16 by bf16 into f32"
    assert any("f16 into f32 or f16" in hint for hint in raised.value.hints)
    with pytest.raises(UsageError) as raised:
        choose("f16:row", "f16:column", "f16:row", target="sm_80", tile="100x128x32:stages=3:warps=2x2x1")
    assert "100 is not 2 warps times a multiple of the 16" in raised.value.message
    assert raised.value.hints == ["the nearest that there is has tile 96x128x32, not 100x128x32"]


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_k_is_split_where_it_is_deep_and_tiles_are_few(target: str) -> None:
    def chosen(m: int, n: int, k: int, batches: int = 1) -> tuple[str, int]:
        problem = Problem(m, n, k, batches)
        description = choose("f16:row", "f16:column", "f16:row", target=target, problem=problem)
        assert refusal(description) is None
        return description.mode, slices(description, problem)

    mode, count = chosen(256, 256, 60000)
    assert mode in SPLIT_K_MODES and count > 1
    assert chosen(8000, 8000, 4000) == ("gemm", 1)
    assert chosen(300, 300, 500, 40) == ("batched", 1)


def test_a_small_product_gets_smaller_tiles() -> None:
    operands = "f16:row", "f16:column", "f16:row"
    small, large = Problem(100, 700, 700), Problem(9000, 9000, 9000)
    few, many = (choose(*operands, target="sm_80", problem=each, mode="gemm") for each in (small, large))
    assert few.tile.threadblock[0] * few.tile.threadblock[1] < many.tile.threadblock[0] * many.tile.threadblock[1]
    assert cycles(few, small) < cycles(many, small) and cycles(many, large) < cycles(few, large)


def test_everything_on_offer_is_accepted_and_told_apart_by_name() -> None:
    found = list(gemm_descriptions("sm_90a", dtype="f16", tiles=2))
    assert {each.instruction.unit for each in found} == {"tensor_op", "wgmma"}
    assert {(each.a.layout, each.b.layout, each.d.layout) for each in found} >= {("column", "row", "column")}
    assert all(refusal(each) is None for each in found)
    assert len({each.name for each in found}) == len({each.key for each in found}) == len(found)
    interleaved = [each for each in gemm_descriptions("sm_80", dtype="i8", tiles=1) if each.a.is_interleaved]
    assert len({(each.a.layout, each.b.layout, each.d.layout) for each in interleaved}) == 8
    assert all(each.b.is_interleaved and each.d.is_interleaved for each in interleaved)


def test_tiles_of_wgmma_leave_registers_for_the_epilogue_unless_asked_for() -> None:
    operands = "f16:row", "f16:column", "f16:row"
    for tile in tile_descriptions(*operands, target="sm_90a"):
        assert accumulator_registers(tile, "f32") <= 128, str(tile)
    assert choose(*operands, target="sm_90a", tile="256x192x64").tile.threadblock == (256, 192, 64)


@pytest.mark.parametrize("n", [80, 160])
def test_columns_that_fit_a_narrow_product(n: int) -> None:
    problem = Problem(8192, n, 4096)
    chosen = choose("f16:row", "f16:column", "f16:row", target="sm_90a", problem=problem, mode="gemm")
    columns = chosen.tile.threadblock[1] * chosen.tile.cluster[1]
    assert -(-n // columns) * columns == n


def test_estimates_of_warp_specialised_tiles() -> None:
    def estimated(problem: Problem, **changes: object) -> float:
        return cycles(replace(chosen, **changes), problem)  # type: ignore[arg-type]

    chosen = choose("f16:row", "f16:column", "f16:row", target="sm_90a", tile="64x128x64:cluster=2x1:pingpong")
    square = Problem(8192, 8192, 8192)
    # Rows of A and B that do not begin with lines of the L2 cache are slow to fetch, those at 16 bytes most of all.
    whole, half, least = (estimated(Problem(8192, 8192, 8192 - by)) for by in (0, 16, 8))
    assert whole < half < least
    # Narrow strips of a large D fetch the same rows again and again.
    assert estimated(square, swizzle="identity8") < estimated(square, swizzle="identity1")
    # An operand that is copied first takes a launch more.
    assert estimated(square, a=Operand("f16", "row", 1)) > whole
    # Operands of 8 bits have as many steps as bytes: half of those of 16 bits.
    assert 1.5 < whole / cycles(choose("i8:row", "i8:column", "i32:row", target="sm_90a"), square) < 2.5


@pytest.mark.parametrize("result", ["row", "column"])
def test_few_rows_are_columns_of_wgmma(result: str) -> None:
    operands = "bf16:row", "bf16:column", f"bf16:{result}"
    sizes = (16, 8192, 4096) if result == "row" else (8192, 16, 4096)
    chosen = choose(*operands, target="sm_90a", problem=Problem(*sizes))
    assert chosen.tile.swapped and refusal(chosen) is None
    assert chosen.compiled().instruction.shape[:2] == (64, 16)
    assert chosen.tile.threadblock[0 if result == "row" else 1] == 16
    assert not choose(*operands, target="sm_90a", problem=Problem(4096, 4096, 4096)).tile.swapped


def test_a_tile_is_swapped_where_that_is_asked_for_or_rows_are_too_few() -> None:
    operands = "bf16:row", "bf16:column", "bf16:row"
    few = Problem(16, 8192, 4096)
    for asked, is_swapped in (("128x128x64", False), ("128x128x64:swapped", True), ("24x64x64", True)):
        chosen = choose(*operands, target="sm_90a", tile=asked, problem=few)
        assert chosen.tile.swapped == is_swapped and refusal(chosen) is None
        assert choose(*operands, target="sm_90a", tile=str(chosen.tile), mode=chosen.mode).tile == chosen.tile
    with pytest.raises(UsageError, match="a swapped tile is of wgmma, not of tensor_op"):
        choose(*operands, target="sm_90a", unit="tensor_op", tile="64x64x32:swapped")


@pytest.mark.parametrize("mode", ["gemm", "split_k_serial", "split_k_parallel", "split_k_cluster"])
@pytest.mark.parametrize("sizes", [(16, 4096, 8192), (3000, 500, 1000), (128, 128, 128)])
def test_estimates_of_all_tiles_are_those_of_each(mode: Mode, sizes: tuple[int, int, int]) -> None:
    problem = Problem(*sizes)
    operands = Operand("f16", "row"), Operand("f16", "column"), Operand("f16", "row")
    instruction = fitting_instructions(*operands[:2], target="sm_90a")[0]
    compiled = described("sm_90a", instruction, operands, None, None, mode)
    offered = wgmma_tiles(compiled, TileRequest())
    together = cycles_of(compiled, offered.cuts, problem)
    for index in range(0, len(offered.tiles), 97):
        one = cycles(compiled.with_tile(offered.tile(index)), problem)
        assert together[index] == pytest.approx(one)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("sizes", [(0, 64, 64), (64, 64, 0), (1, 1, 1), (64, 64, 64, 0)])
def test_there_is_a_choice_for_the_smallest_products(target: str, sizes: tuple[int, ...]) -> None:
    problem = Problem(*sizes)
    for mode in ("gemm", "split_k_parallel"):
        chosen = choose("f16:row", "f16:column", "f16:row", target=target, problem=problem, mode=mode)  # type: ignore[arg-type]
        assert refusal(chosen) is None and slices(chosen, problem) == 1


def test_a_valid_tile_that_is_not_on_offer_is_taken_where_it_is_asked_for() -> None:
    operands = "f16:row", "f16:column", "f16:row"
    asked = "128x64x64:stages=4:warps=1x1x1:cluster=1x1:schedule=cooperative"
    assert asked not in map(str, tile_descriptions(*operands, target="sm_90a"))
    assert str(choose(*operands, target="sm_90a", tile=asked).tile) == asked


@pytest.mark.slow
@pytest.mark.parametrize("result", ["f16:row", "f16:column"])
def test_a_refused_tile_of_wgmma_is_refused_for_what_was_asked(result: str) -> None:
    tile = "128x256x64:stages=6" if result == "f16:row" else "256x128x64:stages=6"
    with pytest.raises(UsageError, match=r"the tile takes \d+ bytes of shared memory"):
        choose("f16:row", "f16:column", result, target="sm_90a", tile=tile)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"unit": "tensorcore"}, "unknown unit 'tensorcore'"),
        ({"arithmetic": "fast"}, "unknown arithmetic 'fast'"),
        ({"tile": "foo"}, "unknown part of a tile 'foo'"),
    ],
)
def test_unknown_words_are_not_taken_for_impossible_ones(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        choose("f16:row", "f16:column", "f16:row", target="sm_90a", **parts)
    assert "known: " in caught.value.hints[-1]
