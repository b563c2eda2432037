"""The algebra gives what the installed wheel gives for the same expressions, static and dynamic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import wheel_oracle as wheel
from attacks import attacks
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from layout_strategies import (
    NUMBERS,
    blocks_and_shapes,
    layouts,
    layouts_and_coordinates,
    shaped,
    shapes_and_orders,
    static_layouts,
    tiles,
)

import cutecc.layout as cl
from cutecc.errors import LayoutError
from cutecc.layout import ComposedLayout, Layout, parse_int_tuple, parse_layout, parse_tile, show

pytestmark = pytest.mark.slow

EXAMPLES = attacks(50)

shapes_of_targets = st.sampled_from([1, 4, 16, 24, 64, 100]).map(lambda size: f"shape {size}")
swizzled = st.builds(
    lambda swizzle, offset, layout: f"{swizzle} o {offset} o {layout}",
    st.sampled_from(["S<3,4,3>", "S<2,3,3>", "S<1,0,2>", "S<2,1,-3>"]),
    st.sampled_from(["0", "64", "192", "?{div=64}"]),
    static_layouts(),
)

# Operations that take the same operands are asked about the same ones, because drawing takes longer than asking.
LAYOUTS = st.tuples(layouts())
LAYOUTS_AND_TILES = st.tuples(layouts(), tiles)
STATIC_LAYOUTS_AND_TILES = st.tuples(static_layouts(), tiles)
PAIRS_OF_LAYOUTS = st.tuples(static_layouts(), layouts())
SHAPES = st.tuples(shaped())
SWIZZLED = st.tuples(swizzled)
SWIZZLED_AND_TILES = st.tuples(swizzled, tiles)
SWIZZLED_AND_MODES = st.tuples(swizzled, st.lists(st.integers(0, 2), max_size=3))


@dataclass(frozen=True)
class Operation:
    """One operation: how its operands are drawn, what cutecc computes, and where it does more than the wheel."""

    name: str
    operands: st.SearchStrategy[tuple[Any, ...]]
    ours: Callable[..., Any]
    wheel_refuses: str = ""
    """Parts of the wheel's refusals that cutecc does not share: what C++ CuTe defines and the wheel does not."""
    cutecc_refuses: str = "not injective|is negative"
    """Parts of cutecc's errors where the wheel answers: with sizes below 1, or as if a size divided."""
    attributes: tuple[str, ...] = ()
    """The names of the last operands where the wheel takes them as attributes."""
    of: str = ""
    """What it is applied to, where that is not a plain layout."""

    def __str__(self) -> str:
        return f"{self.name} of {self.of}" if self.of else self.name

    def question(self, operands: tuple[Any, ...]) -> wheel.Expression:
        """The same expression for the wheel."""
        count = len(operands) - len(self.attributes)
        return wheel.expression(
            self.name, *operands[:count], **dict(zip(self.attributes, operands[count:], strict=True))
        )


def by_layouts(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *texts: function(*map(parse_layout, texts))


def by_tile(function: Callable[[Layout, Any], Any]) -> Callable[..., Any]:
    return lambda layout, tile: function(parse_layout(layout), parse_tile(tile))


def complement(layout: str, target: str) -> Layout:
    return cl.complement(parse_layout(layout), parse_int_tuple(target.removeprefix("shape ")))


def by_int_tuples(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *texts: function(*map(parse_int_tuple, texts))


def tile_to_shape(block: str, shape: str, order: str) -> Any:
    return cl.tile_to_shape(parse_layout(block), parse_int_tuple(shape), parse_int_tuple(order))


def crd2idx(coordinate: str, layout: str) -> str:
    return show(parse_layout(layout)(parse_int_tuple(coordinate)))


def slice_layout(layout: str, coordinate: str) -> Any:
    return cl.slice_layout(parse_int_tuple(coordinate), parse_layout(layout))[0]


PRODUCT_LIMITS = "to be static|expects `tiler` is LayoutType|unable to compute product"
OPERATIONS = [
    Operation(
        "coalesce",
        LAYOUTS,
        by_layouts(cl.coalesce),
    ),
    Operation(
        "filter",
        LAYOUTS,
        by_layouts(cl.filter_layout),
    ),
    Operation(
        "filter_zeros",
        LAYOUTS,
        by_layouts(cl.filter_zeros),
    ),
    Operation("composition", LAYOUTS_AND_TILES, by_tile(cl.composition)),
    Operation("complement", st.tuples(layouts(), shapes_of_targets), complement, "infers an error"),
    Operation(
        "right_inverse",
        LAYOUTS,
        by_layouts(cl.right_inverse),
        "expects an input with static shape",
    ),
    Operation(
        "left_inverse",
        LAYOUTS,
        by_layouts(cl.left_inverse),
        "unable to compute the left inverse",
    ),
    Operation("logical_divide", LAYOUTS_AND_TILES, by_tile(cl.logical_divide), "failed to perform a valid division"),
    Operation("zipped_divide", LAYOUTS_AND_TILES, by_tile(cl.zipped_divide), "failed to perform a valid division"),
    Operation("tiled_divide", LAYOUTS_AND_TILES, by_tile(cl.tiled_divide), "failed to perform a valid division"),
    Operation("flat_divide", LAYOUTS_AND_TILES, by_tile(cl.flat_divide), "failed to perform a valid division"),
    Operation("logical_product", STATIC_LAYOUTS_AND_TILES, by_tile(cl.logical_product), PRODUCT_LIMITS),
    Operation("zipped_product", STATIC_LAYOUTS_AND_TILES, by_tile(cl.zipped_product), PRODUCT_LIMITS),
    Operation("tiled_product", STATIC_LAYOUTS_AND_TILES, by_tile(cl.tiled_product), PRODUCT_LIMITS),
    Operation("flat_product", STATIC_LAYOUTS_AND_TILES, by_tile(cl.flat_product), PRODUCT_LIMITS),
    Operation("blocked_product", PAIRS_OF_LAYOUTS, by_layouts(cl.blocked_product), PRODUCT_LIMITS),
    Operation("raked_product", PAIRS_OF_LAYOUTS, by_layouts(cl.raked_product), PRODUCT_LIMITS),
    Operation(
        "make_layout_like",
        LAYOUTS,
        by_layouts(cl.make_layout_like),
    ),
    Operation(
        "make_fragment_like",
        LAYOUTS,
        by_layouts(cl.make_fragment_like),
    ),
    Operation("make_ordered_layout", shapes_and_orders(), by_int_tuples(cl.make_ordered_layout)),
    Operation("make_layout", SHAPES, by_int_tuples(cl.make_layout)),
    Operation("make_identity_layout", SHAPES, by_int_tuples(cl.make_identity_layout)),
    Operation("tile_to_shape", blocks_and_shapes(), tile_to_shape),
    Operation("crd2idx", layouts_and_coordinates().map(lambda pair: pair[::-1]), crd2idx),
    Operation("idx2crd", st.tuples(NUMBERS, shaped()), lambda *texts: show(cl.idx2crd(*map(parse_int_tuple, texts)))),
    Operation("slice", layouts_and_coordinates(whole=True), slice_layout),
    Operation(
        "recast_layout",
        st.tuples(layouts(), st.sampled_from([4, 6, 8, 16, 32, 128]), st.sampled_from([4, 8, 16, 32])),
        lambda text, new, old: cl.recast_layout(new, old, parse_layout(text)),
        cutecc_refuses="divides the other",
        attributes=("new_type_bits", "old_type_bits"),
    ),
    Operation(
        "shape_div",
        st.tuples(shaped(), shaped()),
        lambda *texts: show(cl.shape_div(*map(parse_int_tuple, texts))),
        wheel_refuses="unable to compute shape_div",
    ),
    Operation(
        "group_modes",
        st.tuples(layouts(), st.integers(0, 2), st.integers(1, 3)),
        lambda text, begin, end: cl.group_modes(parse_layout(text), begin, end),
        attributes=("begin", "end"),
    ),
    Operation(
        "select",
        st.tuples(layouts(), st.lists(st.integers(0, 2), max_size=3)),
        lambda text, mode: cl.select(parse_layout(text), *mode),
        attributes=("mode",),
    ),
    Operation(
        "size",
        LAYOUTS,
        lambda text: show(parse_layout(text).size),
    ),
    Operation(
        "cosize",
        LAYOUTS,
        lambda text: show(parse_layout(text).cosize),
    ),
]


def of_any(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layout, *others: function(cl.parse(layout), *others)


def tiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda layout, tile: function(cl.parse(layout), parse_tile(tile))


NO_DIVISION = "failed to perform a valid division"

OPERATIONS += [
    Operation("coalesce", SWIZZLED, of_any(cl.coalesce), of="swizzled"),
    Operation("filter", SWIZZLED, of_any(cl.filter_layout), of="swizzled"),
    Operation("composition", SWIZZLED_AND_TILES, tiled(cl.composition), of="swizzled"),
    Operation("logical_divide", SWIZZLED_AND_TILES, tiled(cl.logical_divide), NO_DIVISION, of="swizzled"),
    Operation("zipped_divide", SWIZZLED_AND_TILES, tiled(cl.zipped_divide), NO_DIVISION, of="swizzled"),
    Operation("logical_product", SWIZZLED_AND_TILES, tiled(cl.logical_product), PRODUCT_LIMITS, of="swizzled"),
    Operation("make_fragment_like", SWIZZLED, of_any(cl.make_fragment_like), of="swizzled"),
    Operation("make_layout_like", SWIZZLED, of_any(cl.make_layout_like), of="swizzled"),
    Operation("size", SWIZZLED, lambda text: show(cl.parse(text).size), of="swizzled"),
    Operation("cosize", SWIZZLED, lambda text: show(cl.parse(text).cosize), of="swizzled"),
    Operation(
        "get",
        SWIZZLED_AND_MODES,
        lambda text, mode: cl.get(cl.parse(text), *mode),
        attributes=("mode",),
        of="swizzled",
    ),
    Operation(
        "select",
        SWIZZLED_AND_MODES,
        lambda text, mode: cl.select(cl.parse(text), *mode),
        attributes=("mode",),
        of="swizzled",
    ),
    Operation(
        "group_modes",
        st.tuples(swizzled, st.integers(0, 2), st.integers(1, 3)),
        lambda text, begin, end: cl.group_modes(cl.parse(text), begin, end),
        attributes=("begin", "end"),
        of="swizzled",
    ),
]


def our_result(operation: Operation, operands: tuple[Any, ...]) -> str | LayoutError:
    try:
        return str(operation.ours(*operands))
    except LayoutError as error:
        return error


def with_same_operands() -> list[list[Operation]]:
    """The operations, those together that take the same operands."""
    groups: dict[int, list[Operation]] = {}
    for operation in OPERATIONS:
        groups.setdefault(id(operation.operands), []).append(operation)
    return list(groups.values())


@pytest.mark.parametrize("operations", with_same_operands(), ids=lambda group: ", ".join(map(str, group)))
def test_same_result(operations: list[Operation]) -> None:
    @settings(max_examples=EXAMPLES, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(operations[0].operands)
    def check(operands: tuple[Any, ...]) -> None:
        answers = wheel.outcomes(operation.question(operands) for operation in operations)
        for operation, theirs in zip(operations, answers, strict=True):
            compare(operation, our_result(operation, operands), theirs)

    check()


def compare(operation: Operation, ours: str | LayoutError, theirs: Any) -> None:
    if isinstance(theirs, Exception):
        if not isinstance(ours, LayoutError):
            assert one_of(operation.wheel_refuses, str(theirs)), (
                f"{operation}: the wheel refuses ({theirs}), cutecc gives {ours}"
            )
    elif isinstance(ours, LayoutError):
        assert one_of(operation.cutecc_refuses, ours.message), (
            f"{operation}: cutecc refuses ({ours.message}), the wheel: {theirs}"
        )
    else:
        assert ours == theirs[0] or refines(ours, theirs[0]), f"{operation}: {ours}, the wheel: {theirs[0]}"


def one_of(parts: str, message: str) -> bool:
    return any(part in message for part in parts.split("|") if part)


def refines(ours: str, theirs: str) -> bool:
    """Whether `ours` is `theirs` with more known: a larger divisor, or a number where the wheel only knows `?`.

    The wheel does not fold a size that is not known times a stride of 0, and forgets what divides a cosize. Widths are
    the same in any case. `test_dynamic_values` compares the values.
    """
    mine, other = cl.parse(ours), cl.parse(theirs)
    if isinstance(mine, ComposedLayout) and isinstance(other, ComposedLayout):
        same = mine.inner == other.inner and _refines(mine.offset, other.offset)
        return same and refines(str(mine.outer), str(other.outer))
    if isinstance(mine, Layout) and isinstance(other, Layout):
        return _refines(mine.shape, other.shape) and _refines(mine.stride, other.stride)
    return _refines(mine, other)


def _refines(mine: Any, other: Any) -> bool:
    if isinstance(mine, tuple) or isinstance(other, tuple):
        same = isinstance(mine, tuple) and isinstance(other, tuple) and len(mine) == len(other)
        return same and all(map(_refines, mine, other))
    if isinstance(mine, int) or isinstance(other, int):
        return mine == other or (isinstance(mine, int) and not isinstance(other, int))
    return mine.width == other.width and mine.divisibility % other.divisibility == 0
