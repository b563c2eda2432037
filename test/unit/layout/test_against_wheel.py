"""The algebra gives what the installed wheel gives for the same expressions, static and dynamic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import wheel
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_strategies import layouts, static_layouts, tiles

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import Layout, parse_int_tuple, parse_layout, parse_tile, show

EXAMPLES = 1100

shapes_of_targets = st.sampled_from([1, 4, 16, 24, 64, 100]).map(lambda size: f"shape {size}")


@dataclass(frozen=True)
class Operation:
    """One operation: how its operands are drawn, what cutecc computes, and where it does more than the wheel."""

    name: str
    operands: tuple[st.SearchStrategy[str], ...]
    ours: Callable[..., Any]
    does_more: str = ""
    """Part of the wheel's refusals that cutecc does not share: what C++ CuTe defines and the wheel does not."""
    attributes: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name


def by_layouts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *texts: function(*map(parse_layout, texts))


def by_tile(function: Callable[[Layout, Any], Any]) -> Callable[..., Any]:
    return lambda layout, tile: function(parse_layout(layout), parse_tile(tile))


def complement(layout: str, target: str) -> Layout:
    return cl.complement(parse_layout(layout), parse_int_tuple(target.removeprefix("shape ")))


PRODUCT_LIMITS = "to be static|expects `tiler` is LayoutType|unable to compute product"
OPERATIONS = [
    Operation("coalesce", (layouts(),), by_layouts(cl.coalesce)),
    Operation("filter", (layouts(),), by_layouts(cl.filter_layout)),
    Operation("filter_zeros", (layouts(),), by_layouts(cl.filter_zeros)),
    Operation("composition", (layouts(), tiles), by_tile(cl.composition)),
    Operation("complement", (layouts(), shapes_of_targets), complement, "infers an error"),
    Operation("right_inverse", (layouts(),), by_layouts(cl.right_inverse), "expects an input with static shape"),
    Operation("left_inverse", (layouts(),), by_layouts(cl.left_inverse), "unable to compute the left inverse"),
    Operation("logical_divide", (layouts(), tiles), by_tile(cl.logical_divide), "failed to perform a valid division"),
    Operation("zipped_divide", (layouts(), tiles), by_tile(cl.zipped_divide), "failed to perform a valid division"),
    Operation("tiled_divide", (layouts(), tiles), by_tile(cl.tiled_divide), "failed to perform a valid division"),
    Operation("flat_divide", (layouts(), tiles), by_tile(cl.flat_divide), "failed to perform a valid division"),
    Operation("logical_product", (static_layouts(), tiles), by_tile(cl.logical_product), PRODUCT_LIMITS),
    Operation("zipped_product", (static_layouts(), tiles), by_tile(cl.zipped_product), PRODUCT_LIMITS),
    Operation("tiled_product", (static_layouts(), tiles), by_tile(cl.tiled_product), PRODUCT_LIMITS),
    Operation("flat_product", (static_layouts(), tiles), by_tile(cl.flat_product), PRODUCT_LIMITS),
    Operation("blocked_product", (static_layouts(), layouts()), by_layouts(cl.blocked_product), PRODUCT_LIMITS),
    Operation("raked_product", (static_layouts(), layouts()), by_layouts(cl.raked_product), PRODUCT_LIMITS),
    Operation("make_layout_like", (layouts(),), by_layouts(cl.make_layout_like)),
    Operation("size", (layouts(),), lambda text: show(parse_layout(text).size)),
    Operation("cosize", (layouts(),), lambda text: show(parse_layout(text).cosize)),
]


def our_result(operation: Operation, operands: tuple[str, ...]) -> str | LayoutError:
    try:
        return str(operation.ours(*operands))
    except LayoutError as error:
        return error


@pytest.mark.parametrize("operation", OPERATIONS, ids=str)
def test_same_result(operation: Operation) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(st.tuples(*operation.operands))
    def check(operands: tuple[str, ...]) -> None:
        ours = our_result(operation, operands)
        (theirs,) = wheel.outcomes([wheel.expression(operation.name, *operands, **operation.attributes)])
        if isinstance(theirs, Exception):
            if not isinstance(ours, LayoutError):
                allowed = any(part in str(theirs) for part in operation.does_more.split("|") if part)
                assert allowed, f"the wheel refuses ({theirs}), cutecc gives {ours}"
        elif isinstance(ours, LayoutError):
            # The wheel goes on with sizes of 0 where C++ CuTe stops at compile time, as cutecc does.
            assert "not injective" in ours.message, f"cutecc refuses ({ours.message}), the wheel: {theirs}"
        else:
            assert ours == theirs[0] or refines(ours, theirs[0])

    check()


def refines(ours: str, theirs: str) -> bool:
    """Whether `ours` is `theirs` with more known: a number or a larger divisor where the wheel only knows `?`.

    The wheel does not fold a size that is not known times a stride of 0.
    """
    mine, other = cl.parse(ours), cl.parse(theirs)
    if isinstance(mine, Layout) and isinstance(other, Layout):
        return _refines(mine.shape, other.shape) and _refines(mine.stride, other.stride)
    return _refines(mine, other)


def _refines(mine: Any, other: Any) -> bool:
    if isinstance(mine, tuple) or isinstance(other, tuple):
        same = isinstance(mine, tuple) and isinstance(other, tuple) and len(mine) == len(other)
        return same and all(map(_refines, mine, other))
    if isinstance(other, int):
        return mine == other
    return isinstance(mine, int) or mine.divisibility % other.divisibility == 0
