"""Random layouts, tiles and int tuples, as CuTe prints them. Few draws for each, because there are many thousands."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from cutecc.layout import parse_int_tuple
from cutecc.layout.tuples import leaves, nested_as, prefix_products, show

SIZES = st.sampled_from([1, 2, 3, 4, 6, 8, 16])
STRIDES = st.sampled_from([0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 64, -1, -2, -8])
SYMBOLS = ["?", "?{div=2}", "?{div=4}", "?{div=8}"]
WIDE_SYMBOLS = [*SYMBOLS, "?{i64}", "?{i64 div=4}", "?{i64 div=8}"]

# How tuples nest, simplest first, so that shrinking finds those.
PROFILES = [
    parse_int_tuple(text)
    for text in (
        *("0", "(0)", "(0,0)", "(0,0,0)", "((0,0))", "((0,0),0)", "(0,(0,0))", "((0),0)", "((0,0),(0,0))"),
        *("(0,(0,0),0)", "((0,0,0),0)", "(0,((0,0),0))", "((0),(0,0),0)", "((0,0),(0,(0,0)))", "((0,0),(0,0),(0,0))"),
    )
]


@st.composite
def shapes(draw: st.DrawFn) -> Any:
    """Static shapes of up to six sizes."""
    profile = draw(st.sampled_from(PROFILES))
    count = len(list(leaves(profile)))
    return nested_as(profile, draw(st.lists(SIZES, min_size=count, max_size=count)))


@st.composite
def strides_of(draw: st.DrawFn, shape: Any, *, injective: bool = False) -> Any:
    """Strides for `shape`: compact, permuted with gaps, or, unless they have to be injective, any."""
    kind = draw(st.integers(0, 1 if injective else 2))
    if kind == 0:
        return prefix_products(shape)
    sizes = list(leaves(shape))
    if kind == 2:
        return nested_as(shape, draw(st.lists(STRIDES, min_size=len(sizes), max_size=len(sizes))))
    keys = draw(st.lists(st.integers(0, 11), min_size=len(sizes), max_size=len(sizes)))
    strides = [0] * len(sizes)
    current = 1
    for position in sorted(range(len(sizes)), key=lambda i: keys[i] // 2):
        strides[position] = current
        # An odd key leaves a gap.
        current *= sizes[position] * (1 + keys[position] % 2)
    return nested_as(shape, strides)


@st.composite
def static_layouts(draw: st.DrawFn, *, injective: bool = False) -> str:
    """Layouts of which everything is known."""
    shape = draw(shapes())
    return f"{show(shape)}:{show(draw(strides_of(shape, injective=injective)))}"


@st.composite
def layouts(draw: st.DrawFn) -> str:
    """Layouts; of half of them, some sizes and strides are only known to the kernel."""
    shape = draw(shapes())
    stride = draw(strides_of(shape))
    if draw(st.booleans()):
        count = len(list(leaves(shape)))
        # Two bits for each leaf; two of four values leave its size alone, and its stride.
        choices = draw(st.lists(st.integers(0, 255), min_size=count, max_size=count))
        shape = nested_as(shape, _blurred(shape, [choice % 16 for choice in choices], SYMBOLS))
        stride = nested_as(stride, _blurred(stride, [choice // 16 for choice in choices], WIDE_SYMBOLS))
    return f"{show(shape)}:{show(stride)}"


def _blurred(value: Any, choices: list[int], symbols: list[str]) -> list[Any]:
    pairs = zip(leaves(value), choices, strict=True)
    return [symbols[choice - 8] if 8 <= choice < 8 + len(symbols) else leaf for leaf, choice in pairs]


simple_modes = st.sampled_from([f"{size}:{stride}" for size in (1, 2, 3, 4, 8) for stride in (1, 1, 2, 4)])

tiles = st.one_of(
    simple_modes,
    layouts(),
    st.lists(st.one_of(simple_modes, simple_modes, layouts(), st.just("_")), min_size=1, max_size=3).map(
        lambda modes: f"[{';'.join(modes)}]"
    ),
)


@st.composite
def shaped(draw: st.DrawFn) -> str:
    """Shapes; of half of them, some sizes are only known to the kernel."""
    shape = draw(shapes())
    if draw(st.booleans()):
        count = len(list(leaves(shape)))
        shape = nested_as(
            shape, _blurred(shape, draw(st.lists(st.integers(0, 15), min_size=count, max_size=count)), SYMBOLS)
        )
    return show(shape)


NUMBERS = st.sampled_from(["0", "1", "2", "3", "5", "11", "?", "?{div=2}", "?{div=8}"])


@st.composite
def coordinates_in(draw: st.DrawFn, shape: Any, *, whole: bool = False) -> str:
    """Coordinates that nest as `shape` does or less, with `_` for whole modes when asked."""
    if isinstance(shape, tuple) and draw(st.integers(0, 3)):
        return f"({','.join(draw(coordinates_in(mode, whole=whole)) for mode in shape)})"
    return draw(st.one_of(st.just("_"), NUMBERS)) if whole else draw(NUMBERS)


@st.composite
def layouts_and_coordinates(draw: st.DrawFn, *, whole: bool = False) -> tuple[str, str]:
    """A layout and a coordinate in it."""
    text = draw(layouts())
    shape = parse_int_tuple(text.partition(":")[0])
    return text, draw(coordinates_in(shape, whole=whole))


@st.composite
def shapes_and_orders(draw: st.DrawFn) -> tuple[str, str]:
    """A shape and an order of its modes, which nests as the shape does or less."""
    shape = draw(shapes())

    def order(part: Any) -> Any:
        if isinstance(part, tuple) and draw(st.integers(0, 2)):
            return tuple(map(order, part))
        return draw(st.integers(0, 3))

    return show(shape), show(order(shape))


@st.composite
def blocks_and_shapes(draw: st.DrawFn) -> tuple[str, str, str]:
    """A block of up to as many modes as the flat shape that it is to fill, and an order of these modes."""
    block = draw(static_layouts())
    rank = len(parse_int_tuple(block.partition(":")[0])) if block.startswith("(") else 1
    sizes = draw(st.lists(st.sampled_from(["4", "8", "20", "64", "?", "?{div=8}"]), min_size=rank, max_size=rank + 1))
    order = draw(st.permutations(range(len(sizes))))
    return block, f"({','.join(sizes)})", show(tuple(order))
