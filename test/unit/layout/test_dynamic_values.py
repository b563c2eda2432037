"""The expressions behind each `?` compute what the wheel computes once it has lowered the same operation."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import pytest
import wheel_oracle as wheel
from attacks import attacks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_strategies import NUMBERS, layouts, layouts_and_coordinates, shaped, tiles

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import Layout, Symbolic, evaluate, parse, parse_int_tuple, parse_tile, show
from cutecc.layout.tuples import leaves

pytestmark = pytest.mark.slow

CASES = attacks(150)
"""For each operation; lowered in bulk, because lowering is what takes time."""

# Operations that take the same operands are asked about the same ones.
LAYOUTS = st.tuples(layouts())
LAYOUTS_AND_TILES = st.tuples(layouts(), tiles)

OPERATIONS: dict[str, tuple[st.SearchStrategy[tuple[str, ...]], Any]] = {
    "composition": (LAYOUTS_AND_TILES, cl.composition),
    "logical_divide": (LAYOUTS_AND_TILES, cl.logical_divide),
    "zipped_divide": (LAYOUTS_AND_TILES, cl.zipped_divide),
    "coalesce": (LAYOUTS, cl.coalesce),
    "complement": (st.tuples(layouts(), st.just("shape 64")), cl.complement),
    "make_layout_like": (LAYOUTS, cl.make_layout_like),
    "size": (LAYOUTS, lambda layout: layout.size),
    "cosize": (LAYOUTS, lambda layout: layout.cosize),
    "crd2idx": (
        layouts_and_coordinates().map(lambda pair: pair[::-1]),
        lambda coordinate, layout: layout(coordinate),
    ),
    "idx2crd": (st.tuples(NUMBERS, shaped()), cl.idx2crd),
    "shape_div": (st.tuples(shaped(), shaped()), cl.shape_div),
    "slice": (
        layouts_and_coordinates(whole=True),
        lambda layout, coordinate: cl.slice_layout(coordinate, layout)[0],
    ),
}


def operand(operation: str, text: str) -> Any:
    if text.startswith("shape "):
        return parse_int_tuple(text.removeprefix("shape "))
    return parse_tile(text) if "divide" in operation or operation == "composition" else parse(text)


def symbols_in(value: Any) -> list[Symbolic]:
    """The symbols of a result in the order of its text."""
    parts = [value.shape, value.stride] if isinstance(value, Layout) else [value]
    return [leaf for part in parts for leaf in leaves(part) if isinstance(leaf, Symbolic)]


def every_leaf(value: Any) -> list[Any]:
    if isinstance(value, Layout):
        return [*leaves(value.shape), *leaves(value.stride)]
    return [inner for part in value for inner in every_leaf(part)] if isinstance(value, tuple) else [value]


@functools.cache
def drawn_for(operation: str) -> list[tuple[str, ...]]:
    """The operands of an operation, as texts."""
    drawn: list[tuple[str, ...]] = []

    @settings(max_examples=CASES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(OPERATIONS[operation][0])
    def draw(texts: tuple[str, ...]) -> None:
        drawn.append(texts)

    draw()
    return drawn


@pytest.mark.parametrize("operation", OPERATIONS)
def test_same_values(operation: str) -> None:
    generator = random.Random(operation)
    asked: list[tuple[tuple[str, ...], list[int], Any]] = []
    for texts in drawn_for(next(name for name in OPERATIONS if OPERATIONS[name][0] is OPERATIONS[operation][0])):
        if not any("?" in text for text in texts):
            continue
        names = map(str, itertools.count())
        operands = [cl.rename_symbols(operand(operation, text), names) for text in texts]
        symbols = [leaf for each in operands for leaf in every_leaf(each) if isinstance(leaf, Symbolic)]
        try:
            result = OPERATIONS[operation][1](*operands)
        except LayoutError:
            continue
        asked.append((texts, [value_of(symbol, generator, operation) for symbol in symbols], result))
    answers = wheel.values((wheel.expression(operation, *texts), values) for texts, values, _ in asked)
    types = wheel.outcomes(wheel.expression(operation, *texts) for texts, _, _ in asked)
    compared = 0
    for (texts, values, result), theirs, (type_text, *_) in zip(asked, answers, map(tuple_of, types), strict=True):
        text = str(result) if isinstance(result, Layout) else show(result)
        # Of some indices that it cannot fold the wheel lowers nothing at all.
        if isinstance(theirs, Exception) or text != type_text or theirs == ():
            continue
        bound = {str(number): value for number, value in enumerate(values)}
        try:
            ours = tuple(evaluate(symbol, bound) for symbol in symbols_in(result))
        except LayoutError:  # divided by 0
            continue
        assert ours == theirs, f"{operation}({', '.join(texts)}) with {values}"
        compared += 1
    assert compared > CASES // 25


def value_of(symbol: Symbolic, generator: random.Random, operation: str) -> int:
    """A value that fits what is known of the symbol; an index may be negative, and division then truncates."""
    value = symbol.divisibility * generator.randint(1, 5)
    return -value if operation in ("crd2idx", "idx2crd") and generator.random() < 0.2 else value


def tuple_of(outcome: Any) -> tuple[str, ...]:
    return ("",) if isinstance(outcome, Exception) else outcome
