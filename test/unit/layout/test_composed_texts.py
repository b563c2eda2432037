"""Texts of composed layouts: what the parser takes, the wheel takes, and both read the same."""

from __future__ import annotations

import random

import pytest
import wheel_oracle as wheel

from cutecc.errors import LayoutError
from cutecc.layout.text import parse_any_layout
from cutecc.layout.tuples import map_leaves, show

CASES = 1500


def shape(generator: random.Random, depth: int = 0) -> object:
    if depth < 2 and generator.random() < 0.4:
        return tuple(shape(generator, depth + 1) for _ in range(generator.randint(1, 2)))
    return generator.choice(["1", "2", "4", "8", "?"])


def layout(generator: random.Random, *, coordinates: bool) -> str:
    sizes = shape(generator)

    def stride(_: object) -> str:
        value = generator.choice(["0", "1", "2", "8", "-1", "?", "?{div=4}"])
        modes = [f"@{generator.randint(0, 2)}" for _ in range(generator.randint(0, 2))] if coordinates else []
        return value + "".join(modes)

    alone = generator.random() < 0.1
    return show(sizes) if alone else f"{show(sizes)}:{show(map_leaves(stride, sizes))}"


def composed(generator: random.Random) -> str:
    inner = generator.choice(["S<3,4,3>", "S<0,4,3>", "S<2,3,3>", "S<2,0,-2>"])
    if generator.random() < 0.5:
        inner = layout(generator, coordinates=generator.random() < 0.2)
    offset = generator.choice(
        ["0", "8", "?{div=64}", "(0,0)", "(1)", "(0,2)", "(?,1)", "((1,0),2)", "(0,_)", "(1@0,2)"]
    )
    outer = layout(generator, coordinates=generator.random() < 0.4)
    if generator.random() < 0.1:
        outer = f"{layout(generator, coordinates=False)} o 0 o {outer}"
    return f"{inner} o {offset} o {outer}"


def test_the_wheel_takes_what_is_taken() -> None:
    generator = random.Random(0)
    taken = 0
    for text in (composed(generator) for _ in range(CASES)):
        try:
            ours = str(parse_any_layout(text))
        except LayoutError:
            ours = None
        try:
            theirs = wheel.canonical(f"composed_layout {text}")
        except wheel.Refused:
            theirs = None
        assert theirs == (None if ours is None else f'!cute.composed_layout<"{ours}">'), text
        taken += ours is not None
    assert CASES // 5 < taken < CASES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("S<2,3,3> o 0 o 4:1@0", "S<2,3,3> takes offsets, and 4:1@0 leads to coordinates"),
        ("S<2,3,3> o (0) o 4:1", "S<2,3,3> takes an offset, not the coordinate (0)"),
        ("4:1 o (1) o 4:1", "4:1 takes no coordinate such as (1), where 4:1 begins"),
        ("(4,4):(1,4) o 0 o 4:1@0", "(4,4):(1,4) takes no coordinate such as (0), where 4:1@0 begins"),
        ("(4):(1) o 8 o 4:1@0", "the offset 8 cannot be added to the coordinates of 4:1@0"),
        ("S<2,3,3> o 0 o 8:1 o 0 o 4:2", "expected the end"),
    ],
)
def test_what_goes_together(text: str, message: str) -> None:
    with pytest.raises(LayoutError) as raised:
        parse_any_layout(text)
    assert raised.value.message == message
