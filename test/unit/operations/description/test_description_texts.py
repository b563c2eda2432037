"""The text forms of operands, instructions, tiles and swizzles, and what is said of wrong ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest
from description_strategies import instructions, operands, tiles
from hypothesis import given

from cutecc.errors import UsageError
from cutecc.operations.epilogue import Full
from cutecc.operations.gemm import Gemm
from cutecc.operations.instruction import MathInstruction
from cutecc.operations.operand import Operand, Role, as_operand
from cutecc.operations.swizzle import parse_swizzle
from cutecc.operations.tile import TileDescription, TileRequest


@given(operands(), instructions(), tiles())
def test_texts_are_read_as_they_are_written(
    operand: Operand, instruction: MathInstruction, tile: TileDescription
) -> None:
    assert Operand.parse(str(operand)) == operand
    assert MathInstruction.parse(str(instruction)) == instruction
    assert TileDescription.parse(str(tile)) == tile


@pytest.mark.parametrize(
    ("text", "operand"),
    [
        ("f16:row:8", Operand("f16", "row", 8)),
        ("half:column:2", Operand("f16", "column", 2)),
        ("f16", Operand("f16", "row", 8)),
        ("f64:n", Operand("f64", "column", 2)),
        ("e4m3:t", Operand("f8E4M3FN", "row", 16)),
        ("i8:row_interleaved32", Operand("i8", "row_interleaved32", 16)),
        ("i8:column_major_interleaved32:8", Operand("i8", "column_interleaved32", 8)),
    ],
)
def test_operands(text: str, operand: Operand) -> None:
    assert Operand.parse(text) == operand
    assert operand.transposed().transposed() == operand != operand.transposed()


def test_interleaved32_is_the_usual_one_of_each_matrix() -> None:
    found = {role: as_operand("i8:interleaved32", role).layout for role in get_args(Role)}
    usual = "column_interleaved32"
    assert found == {"a": usual, "b": "row_interleaved32", "c": usual, "d": usual}
    op = Gemm("i8:interleaved32", "i8:interleaved32", "i8:interleaved32", target="sm_80")
    assert [each.layout for each in (op.description.a, op.description.b, op.description.d)] == [
        *("column_interleaved32", "row_interleaved32", "column_interleaved32")
    ]
    assert Full("i8", "interleaved32").layout == usual  # type: ignore[arg-type]  # a word for it
    with pytest.raises(UsageError, match="interleaved32 does not say of what 32 are kept together") as error:
        Operand("i8", "interleaved32")  # type: ignore[arg-type]
    assert error.value.hints == [
        "row_interleaved32: rows, as B usually has it; column_interleaved32: columns, as A, C and D"
    ]


def test_a_tile_request_leaves_open_what_is_not_said() -> None:
    request = TileRequest.parse("128x128x32:pingpong")
    assert request == TileRequest(threadblock=(128, 128, 32), schedule="pingpong")
    tile = TileDescription((128, 128, 32), 3, (2, 1, 1), (1, 1), "pingpong")
    assert request.allows(tile)
    assert not request.allows(TileDescription((128, 128, 32), 3, (2, 2, 1)))
    assert TileRequest().allows(tile)


@pytest.mark.parametrize(
    ("parse", "text", "message", "hint"),
    [
        (Operand.parse, "bf61:row", "unknown operand type 'bf61'", "did you mean bf16?"),
        (Operand.parse, "f16:colum", "unknown layout 'colum'", "did you mean column?"),
        (Operand.parse, "f16:row:0", "an alignment in elements is a whole number of at least 1, not '0'", None),
        (Operand.parse, "f16:row:8:1", "operand 'f16:row:8:1' is not type:layout:alignment, such as f16:row:8", None),
        (MathInstruction.parse, "tensor_ob:16x8x16:f16:f16:f32", "unknown unit 'tensor_ob'", "did you mean tensor_op?"),
        (
            MathInstruction.parse,
            "simt:1x1x1:f32:f32:f32:multiply_ad",
            "unknown arithmetic 'multiply_ad'",
            "did you mean multiply_add?",
        ),
        (MathInstruction.parse, "simt:1x1:f32:f32:f32", "an instruction's shape is MxNxK", None),
        (MathInstruction.parse, "16x8x16", "instruction '16x8x16' is not unit:shape:a:b:accumulator", None),
        (
            TileRequest.parse,
            "128x128",
            "a threadblock is MxNxK in whole numbers, such as 128x64x32, not '128x128'",
            None,
        ),
        (TileRequest.parse, "stage=3", "unknown part of a tile 'stage'", "did you mean stages?"),
        (TileRequest.parse, "pingpon", "unknown part of a tile 'pingpon'", "did you mean pingpong?"),
        (TileRequest.parse, "stages=3:stages=4", "tile 'stages=3:stages=4' gives its stages twice", None),
        (TileDescription.parse, "128x128x32", "tile '128x128x32' leaves threadblock, stages or warps open", None),
        (parse_swizzle, "identity", "unknown swizzle 'identity'", "did you mean identity8?"),
        (parse_swizzle, "horizontl", "unknown swizzle 'horizontl'", "did you mean horizontal?"),
    ],
)
def test_errors_name_the_close_word(parse: Callable[[str], object], text: str, message: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as raised:
        parse(text)
    assert raised.value.message.startswith(message)
    assert hint is None or hint in raised.value.hints
