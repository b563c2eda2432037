"""Arguments of a wrong type: whatever is given, what is public takes it or says what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import pytest
from attacks import attacks
from description_strategies import tensor_op
from hypothesis import example, given, settings
from hypothesis import strategies as st

import cutecc
from cutecc.errors import UsageError
from cutecc.operations import (
    Column,
    Full,
    Gemm,
    GemmDescription,
    MathInstruction,
    Operand,
    Row,
    Scalar,
    TileDescription,
    compile_all,
    gemm_descriptions,
    load,
    tile_descriptions,
)
from cutecc.operations.tile import TileRequest
from cutecc.target import Target

DESCRIPTION = tensor_op()
HALVES = np.zeros((64, 64), np.float16)
SMALL = {"target": "sm_80", "tile": "64x64x64"}


def some_descriptions(**given: Any) -> list[GemmDescription]:
    return list(islice(gemm_descriptions(**given), 2))


def declared(**given: Any) -> Gemm:
    def biased(accum: Any, bias: Any) -> Any:
        return accum + bias

    return Gemm("f16", "f16", epilogue=biased, operands={"bias": Row(**given)}, **SMALL)  # type: ignore[arg-type]


TILE = {"threadblock": (64, 64, 64), "stages": 3, "warps": (2, 2, 1), "cluster": (1, 1), "schedule": "multistage"}
OPEN = dict.fromkeys(("accumulator", "epilogue", "operands", "instruction", "unit", "arithmetic", "swizzle", "mode"))
RIGHT: dict[Callable[..., object], dict[str, Any]] = {
    Gemm: {"a": "f16", "b": "f16", "d": "f16", "c": "f16", "problem": None, **OPEN, **SMALL},
    Gemm.for_arguments: {"A": HALVES, "B": HALVES, "C": None, "D": HALVES, **OPEN, **SMALL},
    Gemm.of: {"description": DESCRIPTION},
    Gemm("f16", "f16", **SMALL).with_tile: {"tile": "64x64x64"},  # type: ignore[arg-type]
    Operand: {"dtype": "f16", "layout": "row", "alignment": 8},
    Operand.parse: {"text": "f16"},
    MathInstruction: {name: getattr(DESCRIPTION.instruction, name) for name in vars(DESCRIPTION.instruction)},
    MathInstruction.parse: {"text": str(DESCRIPTION.instruction)},
    TileDescription: TILE,
    TileDescription.parse: {"text": str(DESCRIPTION.tile)},
    TileRequest: TILE,
    GemmDescription: {name: getattr(DESCRIPTION, name) for name in vars(DESCRIPTION)},
    GemmDescription.from_json: {"text": DESCRIPTION.to_json()},
    Full: {"dtype": "f16", "layout": "row", "alignment": 8, "conversion": None},
    Row: {"dtype": "f16", "alignment": 8},
    Column: {"dtype": "f16", "alignment": 8},
    Scalar: {"dtype": "f16", "default": 1.0, "in_memory": False},
    declared: {"dtype": "f16", "alignment": 8},
    tile_descriptions: {
        **{"a": "f16", "b": "f16", "d": "f16", "c": None, "target": "sm_80", "mode": "gemm"},
        **dict.fromkeys(("accumulator", "instruction", "epilogue", "problem")),
    },
    some_descriptions: {"target": "sm_80", "dtype": "f16", "unit": "tensor_op", "layouts": None, "tiles": 1},
    load: {"path": "nothing.cutecc", "target": None},
    Target.parse: {"text": "sm_80"},
}
"""What is public, with arguments that it takes."""
ARGUMENTS = [(function, name) for function, arguments in RIGHT.items() for name in arguments]

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.binary(max_size=9)
OBJECTS: list[Any] = [
    *(object(), len, int, np.float16, HALVES, np.zeros(3), 1j, {"sm_80"}, lambda accum: accum),
    *(Target.parse("sm_80"), DESCRIPTION, DESCRIPTION.tile, DESCRIPTION.instruction, DESCRIPTION.a),
    *("f16:row:8", "64x64x64", "sm_80", "multistage", ("f16", "f16"), (64, 64), (64, 64, 64), (1.5, 2, 3)),
]
VALUES = st.recursive(
    SCALARS | st.sampled_from(OBJECTS),
    lambda each: st.lists(each, max_size=3) | st.lists(each, max_size=3).map(tuple) | st.dictionaries(st.text(), each),
    max_leaves=4,
)


@pytest.mark.slow
@settings(max_examples=attacks(150), deadline=None)
@given(st.sampled_from(ARGUMENTS), VALUES)
@example((Gemm, "target"), 80)
def test_a_wrong_argument_is_taken_or_refused(argument: tuple[Callable[..., object], str], value: object) -> None:
    function, name = argument
    try:
        function(**{**RIGHT[function], name: value})
    except cutecc.Error as error:
        # It can be shown.
        assert str(error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": 80}, "a target is text, not 80"),
        ({"tile": 80}, "a tile is text such as 128x128x32, or a TileDescription, not 80"),
        ({"unit": 1}, "a unit is text, not 1"),
        ({"mode": ["gemm"]}, r"a mode is text, not \['gemm'\]"),
        (
            {"instruction": 16},
            "an instruction is text such as tensor_op:16x8x16:f16:f16:f32, or a MathInstruction, not 16",
        ),
        ({"accumulator": 32}, "unknown type of an instruction '32'"),
        ({"problem": 4096}, r"a problem is \(M, N, K\), or \(M, N, K, batch\), not 4096"),
        ({"a": 16}, "an operand is text such as f16:row:8, or an Operand, not 16"),
    ],
)
def test_it_is_said_what_is_wrong(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(cutecc.UsageError, match=message):
        Gemm(**{"a": "f16", "b": "f16", **SMALL, **arguments})


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TileDescription(80, 3, (2, 2, 1)), r"a tile's threadblock is \(M, N, K\) in whole numbers, not 80"),  # type: ignore[arg-type]
        (lambda: TileRequest(cluster=(1, 1, 1)), r"a tile's cluster is \(M, N\) in whole numbers, not \(1, 1, 1\)"),  # type: ignore[arg-type]
        (lambda: Operand("f16", "row", 0.5), "an alignment in elements is a whole number, not 0.5"),  # type: ignore[arg-type]
        (lambda: Row("f16", "wide"), "an alignment in elements is a whole number, not 'wide'"),  # type: ignore[arg-type]
    ],
)
def test_parts_are_looked_at_as_they_are_made(make: Callable[[], object], message: str) -> None:
    with pytest.raises(cutecc.Error, match=message):
        make()


def test_what_is_no_operation_is_not_compiled() -> None:
    with pytest.raises(UsageError, match="an operation to compile is an Operation, not 'f16'"):
        compile_all(["f16"])  # type: ignore[list-item]


def test_at_least_one_tile_is_described() -> None:
    with pytest.raises(UsageError, match="the number of tiles is at least 1, not -1"):
        some_descriptions(target="sm_80", tiles=-1)
