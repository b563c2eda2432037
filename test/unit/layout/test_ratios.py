"""Strides of parts of a step, `1/2@0`: the algebra, and the numbers behind a `?`, are those of the installed wheel."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import wheel_oracle as wheel

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import parse_int_tuple, parse_layout, parse_tile, show
from cutecc.layout.integers import Symbolic, evaluate
from cutecc.layout.tuples import leaves

CASES = 300
SIZES = ("1", "2", "3", "4", "8", "?")
STEPS = ("1/2", "3/2", "1/3", "2/3", "5/4", "-1/2", "4/2", "0/2", "1/4", "1", "2", "3")
"""Not `2/4`, which CuTe reads and prints as such and never makes: of it, its code divides only the one number by 2."""
TILES = ("2:1", "4:2", "2:3", "(2,2):(1,4)", "[2:1]", "[2:2]", "[1:1]")
NUMBERS = ("0", "1", "2", "3", "4", "?", "?{div=2}", "?{div=6}", "?{i64 div=4}")


def layout(generator: random.Random) -> str:
    modes = range(generator.randint(1, 3))
    sizes = ",".join(generator.choice(SIZES) for _ in modes)
    strides = ",".join(f"{generator.choice(STEPS)}@{generator.randint(0, 1)}" for _ in modes)
    return f"({sizes}):({strides})"


def ours(call: Callable[[], Any]) -> str | None:
    try:
        return show(call())
    except LayoutError:
        return None


@pytest.mark.parametrize(
    ("operation", "function", "with_tile"),
    [
        ("coalesce", cl.coalesce, False),
        ("filter", cl.filter_layout, False),
        ("filter_zeros", cl.filter_zeros, False),
        ("composition", cl.composition, True),
        ("logical_divide", cl.logical_divide, True),
        ("zipped_divide", cl.zipped_divide, True),
    ],
)
def test_same_layouts(operation: str, function: Callable[..., Any], with_tile: bool) -> None:
    generator = random.Random(operation)
    drawn = [(layout(generator), generator.choice(TILES)) for _ in range(CASES)]
    cases = [(first, tile) if with_tile else (first,) for first, tile in drawn]
    answers = wheel.outcomes(wheel.expression(operation, *texts) for texts in cases)
    compared = 0
    for texts, answer in zip(cases, answers, strict=True):
        found = ours(lambda texts=texts: function(parse_layout(texts[0]), *map(parse_tile, texts[1:])))
        if isinstance(answer, tuple):
            assert (found,) == answer, texts
            compared += 1
    assert compared > CASES // 2


def test_same_coordinates() -> None:
    """With the numbers behind each `?`: the code that the wheel makes rounds a part of a step towards 0."""
    generator = random.Random(1)
    asked: list[tuple[str, str, tuple[int, ...], Any]] = []
    while len(asked) < CASES:
        text = layout(generator).replace("?", "8")
        coordinate = f"({','.join(generator.choice(NUMBERS) for _ in range(parse_layout(text).rank))})"
        parsed = parse_int_tuple(coordinate)
        try:
            found = cl.crd2idx(parsed, parse_layout(text).shape, parse_layout(text).stride)
        except LayoutError:
            found = None
        unknown = [leaf for leaf in leaves(parsed) if isinstance(leaf, Symbolic)]
        asked.append((coordinate, text, tuple(leaf.divisibility * generator.randint(-3, 4) for leaf in unknown), found))
    questions = [wheel.expression("crd2idx", coordinate, text) for coordinate, text, _, _ in asked]
    types = wheel.outcomes(questions)
    values = wheel.values(zip(questions, (each[2] for each in asked), strict=True))
    compared = 0
    for (coordinate, text, given, found), type_, value in zip(asked, types, values, strict=True):
        if not isinstance(type_, tuple):
            # Parts that add up to whole steps are no answer of the wheel's.
            assert found is None or "/" in text
            continue
        assert (show(found),) == type_, (coordinate, text)
        names = {str(number): number_given for number, number_given in enumerate(given)}
        dynamic = [leaf for leaf in leaves(found) if isinstance(leaf, Symbolic)]
        if dynamic:
            assert tuple(evaluate(leaf, names) for leaf in dynamic) == value, (coordinate, text, given)
            compared += 1
    assert compared > CASES // 3


def test_between_two_coordinates() -> None:
    layout = parse_layout("(4,8):(1/2@0,1@1)")
    assert show(layout((3, 5))) == "(3/2,5)"
    with pytest.raises(LayoutError, match=r"\(4,8\):\(1/2@0,1@1\) at \(3,5\) is \(3/2,5\), between two coordinates"):
        cl.crd2idx((3, 5), layout.shape, layout.stride)
    with pytest.raises(LayoutError, match="between two coordinates"):
        cl.slice_layout((3, None), layout)
    for function in (cl.right_inverse, cl.left_inverse, lambda layout: cl.complement(layout, (8, 8))):
        with pytest.raises(LayoutError, match="stride 1/2@0 goes a part of a step"):
            function(layout)
    with pytest.raises(LayoutError, match=r"cosize .* stride 1/2@0 goes a part of a step"):
        _ = layout.cosize
