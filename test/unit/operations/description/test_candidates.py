"""Tiles to choose from, the default choice, and everything on offer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cutecc.errors import UsageError
from cutecc.operations.candidates import MOST_TILES, choose, gemm_descriptions, tile_descriptions
from cutecc.operations.description import SPLIT_K_MODES
from cutecc.operations.tile import TileRequest
from cutecc.operations.tile_model import Problem, cycles, slices
from cutecc.operations.validity import refusal

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
        (("f16:row", "f16:row:4", "f16:row"), "sm_90a", "tensor_op"),
        (("f16:row", "f16:row", "f16:row"), "sm_80", "tensor_op"),
        (("f32:row", "f32:column", "f32:row"), "sm_90a", "wgmma"),
        (("f32:row", "f32:row", "f32:row"), "sm_90a", "tensor_op"),
        (("i8:interleaved32", "i8:interleaved32", "i8:interleaved32"), "sm_90a", "tensor_op"),
        (("f64:row", "f64:row", "f64:column"), "sm_80", "tensor_op"),
    ],
)
def test_the_fastest_unit_that_reads_the_operands(operands: tuple[str, str, str], target: str, unit: str) -> None:
    chosen = choose(*operands, target=target)
    assert chosen.instruction.unit == unit and refusal(chosen) is None


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
    interleaved = [each for each in gemm_descriptions("sm_80", dtype="i8", tiles=1) if each.a.layout == "interleaved32"]
    assert interleaved
