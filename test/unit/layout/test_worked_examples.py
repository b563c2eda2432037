"""The worked examples of the published CuTe documentation: what they say, or what the wheel gives instead."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from worked_examples import EXAMPLES, NO_OPERATION, Example, table_examples

import cutecc.layout as cl
from cutecc.layout import Layout, parse_int_tuple, parse_layout, parse_tile, show


def layouts(function: Callable[..., Any]) -> Callable[..., str]:
    return lambda *texts, **named: str(function(*map(parse_layout, texts), **named))


def tuples(function: Callable[..., Any]) -> Callable[..., str]:
    return lambda *texts: show(function(*map(parse_int_tuple, texts)))


def by_tile(function: Callable[..., Any]) -> Callable[..., str]:
    return lambda layout, text: str(function(parse_layout(layout), tiler(text)))


def tiler(text: str) -> Any:
    """A tile; a tuple of sizes divides mode by mode."""
    return parse_int_tuple(text) if text.startswith("(") and ":" not in text else parse_tile(text)


def crd2idx(coordinate: str, layout: str) -> str:
    return show(parse_layout(layout)(parse_int_tuple(coordinate)))


def fill(function: Callable[..., Layout]) -> Callable[..., str]:
    return lambda layout, other, rank: str(function(parse_layout(layout), rank, parse_layout(other)))


OPERATIONS: dict[str, Callable[..., str]] = {
    "make_layout": lambda *texts: str(cl.make_layout(*map(parse_int_tuple, texts))),
    "make_ordered_layout": lambda *texts: str(cl.make_ordered_layout(*map(parse_int_tuple, texts))),
    "make_layout_like": layouts(cl.make_layout_like),
    "crd2idx": crd2idx,
    "idx2crd": tuples(cl.idx2crd),
    "compatible": lambda coarse, fine: "yes" if cl.compatible(parse_int_tuple(coarse), parse_int_tuple(fine)) else "no",
    "concatenate": layouts(cl.join),
    "flatten": layouts(cl.flatten_layout),
    "select": lambda layout, mode: str(cl.select(parse_layout(layout), *mode)),
    "get": lambda layout, mode: str(cl.get(parse_layout(layout), *mode)),
    "group_modes": lambda layout, begin, end: str(cl.group_modes(parse_layout(layout), begin, end)),
    "append_to_rank": fill(cl.append_to_rank),
    "prepend_to_rank": fill(cl.prepend_to_rank),
    "slice": lambda layout, coordinate: str(cl.slice_layout(parse_int_tuple(coordinate), parse_layout(layout))[0]),
    "cosize": lambda layout: show(parse_layout(layout).cosize),
    "coalesce": lambda layout, profile="0": str(cl.coalesce(parse_layout(layout), parse_int_tuple(profile))),
    "composition": by_tile(cl.composition),
    "complement": lambda layout, target: str(cl.complement(parse_layout(layout), parse_int_tuple(target))),
    "shape_div": tuples(cl.shape_div),
    "tuple_add": tuples(cl.add_coordinates),
    "logical_divide": by_tile(cl.logical_divide),
    "zipped_divide": by_tile(cl.zipped_divide),
    "tiled_divide": by_tile(cl.tiled_divide),
    "flat_divide": by_tile(cl.flat_divide),
    "logical_product": by_tile(cl.logical_product),
    "zipped_product": by_tile(cl.zipped_product),
    "tiled_product": by_tile(cl.tiled_product),
    "flat_product": by_tile(cl.flat_product),
    "blocked_product": layouts(cl.blocked_product),
    "raked_product": layouts(cl.raked_product),
}

NOT_OFFERED = {"shape_mod"}
"""What the documents use to explain composition, and nothing else uses."""


def name(example: Example) -> str:
    return f"{example.operation}({', '.join(example.operands)})"


OFFERED = [example for example in EXAMPLES if example.operation not in NOT_OFFERED]


@pytest.mark.parametrize("example", OFFERED, ids=name)
def test_example(example: Example) -> None:
    operands = [text.removeprefix("shape ").removeprefix("coord ") for text in example.operands]
    differs = example.wheel not in (None, NO_OPERATION)
    expected = example.wheel if differs else example.result
    assert OPERATIONS[example.operation](*operands, **dict(example.attributes)) == expected


def test_tables() -> None:
    examples = list(table_examples())
    assert len(examples) > 150
    for example in examples:
        assert crd2idx(*example.operands) == example.result, name(example)


@pytest.mark.parametrize("example", [each for each in OFFERED if each.leaves], ids=name)
def test_values_of_dynamic_examples(example: Example) -> None:
    values = iter(example.leaves)
    bound = [bind(text, values) for text in example.operands]
    expected = bind(example.wheel or example.result, iter(example.result_leaves))
    found = OPERATIONS[example.operation](*bound)
    # With the numbers known, unit modes fold away that stand in the documented result.
    assert found == expected or function_of(found) == function_of(expected)


def function_of(text: str) -> list[int]:
    layout = parse_layout(text)
    assert isinstance(layout.size, int)
    return [layout(index) for index in range(layout.size)]


def bind(text: str, values: Iterator[int]) -> str:
    """The text with the next value in the place of each `?`."""
    return re.sub(r"\?(\{[^}]*\})?", lambda _: str(next(values)), text)
