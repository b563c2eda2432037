"""The functions that layout expressions can call, with CuTe's names and what their arguments have to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout import algebra, divide, make, modes, partition, recast, tuples
from cutecc.layout.basis import ArithmeticTuple, Basis, add_coordinates
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout, crd2idx, idx2crd, make_layout
from cutecc.layout.product import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tiled_product,
    zipped_product,
)
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.tuples import is_tuple, leaves, show


@dataclass(frozen=True, slots=True)
class View:
    """A layout and where it begins: what slicing and local tiles give, and tensors of coordinates."""

    layout: AnyLayout
    offset: ArithmeticTuple = 0

    def __str__(self) -> str:
        return f"{show(self.offset)} o {self.layout}"


@dataclass(frozen=True, slots=True)
class TiledLayout:
    """A thread-value layout and the tile that it covers."""

    tile: Any
    layout: Layout

    def __str__(self) -> str:
        return str(self.layout)


class Kind(Enum):
    """What an argument has to be; the value says it in an error."""

    LAYOUT = "a layout"
    ANY_LAYOUT = "a layout or composed layout"
    INNER = "a layout, composed layout or swizzle"
    VIEW = "a layout or composed layout, which may have an offset"
    TILE = "a layout, a shape or a tile"
    SHAPE = "a shape or stride"
    COORDINATE = "a coordinate"
    INTEGER = "a known integer"
    MODES = "the number of a mode"
    ANYTHING = "a layout or an int tuple"

    def accepts(self, value: Any) -> bool:
        """Whether `value` can be passed, after `convert`."""
        integers = is_integers(value)
        shape = integers and all(leaf is not None and not isinstance(leaf, Basis) for leaf in leaves(value))
        match self:
            case Kind.LAYOUT:
                return isinstance(value, Layout) or shape
            case Kind.ANY_LAYOUT:
                return isinstance(value, Layout | ComposedLayout) or shape
            case Kind.INNER:
                return isinstance(value, Layout | ComposedLayout | Swizzle) or shape
            case Kind.VIEW:
                return isinstance(value, Layout | ComposedLayout | View) or shape
            case Kind.TILE:
                return isinstance(value, Layout) or is_tile(value)
            case Kind.SHAPE:
                return integers and None not in leaves(value)
            case Kind.COORDINATE:
                return integers
            case Kind.INTEGER:
                return isinstance(value, int)
            case Kind.MODES:
                return integers and all(isinstance(leaf, int) for leaf in leaves(value))
            case Kind.ANYTHING:
                return not isinstance(value, Swizzle)

    def convert(self, value: Any) -> Any:
        """`value` as the functions take it: a shape for a layout is the compact layout of it."""
        if self in (Kind.LAYOUT, Kind.ANY_LAYOUT, Kind.INNER, Kind.VIEW) and is_integers(value):
            return make_layout(value)
        return value


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: Kind
    optional: bool = False


@dataclass(frozen=True)
class Function:
    """A function of layout expressions."""

    name: str
    call: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    repeats: bool = False
    """Whether the last parameter can be given several times."""

    @property
    def required(self) -> int:
        """How many arguments there have to be."""
        return sum(not each.optional for each in self.parameters)

    def __str__(self) -> str:
        names = [f"[{each.name}]" if each.optional else each.name for each in self.parameters]
        return f"{self.name}({', '.join(names)}{', ...' if self.repeats else ''})"


def is_integers(value: Any) -> bool:
    """Whether `value` is an int tuple, shape, stride or coordinate: integers, `_` and `1@0`, and tuples of them."""
    return all(leaf is None or isinstance(leaf, int | Symbolic | Basis) for leaf in leaves(value))


def is_tile(value: Any) -> bool:
    """Whether `value` can be a tile: layouts, sizes and `_`, and tuples of them."""
    return all(leaf is None or isinstance(leaf, int | Symbolic | Layout) for leaf in leaves(value))


def describe(value: Any) -> str:
    """What `value` is, for an error: `the swizzle S<3,4,3>`."""
    if is_tuple(value) and not is_integers(value):
        return f"the tile {algebra.show_tile(value)}" if is_tile(value) else "a tuple with something else in it"
    names: dict[type, str] = {
        Layout: "the layout",
        ComposedLayout: "the composed layout",
        Swizzle: "the swizzle",
        View: "the layout with an offset",
        TiledLayout: "the thread-value layout",
        tuple: "the tuple",
    }
    return f"{names.get(cast(type, type(value)), '')} {show(value)}".strip() if value is not None else "'_'"


def _tuple_of(value: Any) -> Any:
    """The shape of a layout; an int tuple as it is."""
    value = value.layout if isinstance(value, View | TiledLayout) else value
    return value.shape if isinstance(value, Layout | ComposedLayout) else value


def _layout_of(value: AnyLayout | View) -> tuple[AnyLayout, ArithmeticTuple]:
    return (value.layout, value.offset) if isinstance(value, View) else (value, 0)


def _moved(view: AnyLayout | View, find: Callable[[AnyLayout], tuple[AnyLayout, ArithmeticTuple]]) -> View:
    """A part of a view: `find` gives the part's layout and its offset in the view's layout."""
    layout, offset = _layout_of(view)
    part, further = find(layout)
    return View(part, add_coordinates(offset, further))


def _slice(view: AnyLayout | View, coordinate: Any) -> View:
    return _moved(view, lambda layout: modes.slice_layout(coordinate, layout))


def _local_tile(view: AnyLayout | View, tiler: Any, coordinate: Any, projection: Any = None) -> View:
    return _moved(view, lambda layout: partition.local_tile(layout, tiler, coordinate, projection))


def _local_partition(view: AnyLayout | View, threads: Layout, index: Any, projection: Any = None) -> View:
    return _moved(view, lambda layout: partition.local_partition(layout, threads, index, projection))


def _identity_tensor(shape: Any) -> View:
    tensor = partition.make_identity_tensor(shape)
    return View(tensor.layout, tensor.offset)


def _layout(view: Any) -> AnyLayout:
    return _layout_of(view)[0]


def _crd2idx(coordinate: Any, layout: Any, stride: Any = None) -> Any:
    if stride is not None:
        return crd2idx(coordinate, _tuple_of(layout), stride)
    layout, offset = _layout_of(layout.layout if isinstance(layout, TiledLayout) else layout)
    index = layout(coordinate) if isinstance(layout, Layout | ComposedLayout) else crd2idx(coordinate, layout)
    return add_coordinates(offset, index)


def _idx2crd(index: Any, shape: Any) -> Any:
    return idx2crd(index, _tuple_of(shape))


def _stride(layout: Layout) -> Any:
    return layout.stride


def _cosize(layout: AnyLayout) -> Any:
    return layout.cosize


def _get(value: Any, *path: Any) -> Any:
    value = value.layout if isinstance(value, View | TiledLayout) else value
    if isinstance(value, Layout | ComposedLayout):
        return modes.get(value, *leaves(path))
    for mode in leaves(path):
        if not 0 <= mode < tuples.rank(value):
            raise LayoutError(f"get: there is no mode {mode} in {show(value)}")
        value = tuples.modes(value)[mode]
    return value


def _select(layout: AnyLayout, *chosen: Any) -> AnyLayout:
    return modes.select(layout, *leaves(chosen))


def _dice(layout: AnyLayout, coordinate: Any) -> AnyLayout:
    return modes.dice(coordinate, layout)


def _flatten(value: Any) -> Any:
    value = value.layout if isinstance(value, View | TiledLayout) else value
    return modes.flatten_layout(value) if isinstance(value, Layout | ComposedLayout) else tuples.flatten(value)


def _size(value: Any) -> Any:
    return tuples.product(_tuple_of(value))


def _rank(value: Any) -> int:
    return tuples.rank(_tuple_of(value))


def _depth(value: Any) -> int:
    return tuples.depth(_tuple_of(value))


def _make_layout_tv(threads: Layout, values: Layout) -> TiledLayout:
    return TiledLayout(*make.make_layout_tv(threads, values))


_KINDS = {
    "layout": Kind.LAYOUT,
    "any": Kind.ANY_LAYOUT,
    "inner": Kind.INNER,
    "view": Kind.VIEW,
    "tile": Kind.TILE,
    "shape": Kind.SHAPE,
    "coord": Kind.COORDINATE,
    "int": Kind.INTEGER,
    "modes": Kind.MODES,
    "anything": Kind.ANYTHING,
}

# Each function with its parameters, `name:kind`; `?` follows an optional one, `*` one that can be repeated.
_TABLE: list[tuple[str, Callable[..., Any], str]] = [
    ("make_layout", make_layout, "shape:shape stride:shape?"),
    ("make_ordered_layout", make.make_ordered_layout, "shape:shape order:shape"),
    ("make_layout_like", make.make_layout_like, "layout:any"),
    ("make_fragment_like", make.make_fragment_like, "layout:any"),
    ("make_layout_tv", _make_layout_tv, "threads:layout values:layout"),
    ("make_identity_layout", make.make_identity_layout, "shape:shape"),
    ("make_identity_tensor", _identity_tensor, "shape:shape"),
    ("tile_to_shape", make.tile_to_shape, "block:any shape:shape order:shape?"),
    ("composition", algebra.composition, "left:inner right:tile"),
    ("coalesce", algebra.coalesce, "layout:any profile:shape?"),
    ("filter", algebra.filter_layout, "layout:any"),
    ("filter_zeros", algebra.filter_zeros, "layout:any"),
    ("complement", algebra.complement, "layout:layout cotarget:shape"),
    ("left_inverse", algebra.left_inverse, "layout:layout"),
    ("right_inverse", algebra.right_inverse, "layout:layout"),
    ("logical_divide", divide.logical_divide, "layout:any tiler:tile"),
    ("zipped_divide", divide.zipped_divide, "layout:any tiler:tile"),
    ("tiled_divide", divide.tiled_divide, "layout:any tiler:tile"),
    ("flat_divide", divide.flat_divide, "layout:any tiler:tile"),
    ("logical_product", logical_product, "block:any tiler:tile"),
    ("zipped_product", zipped_product, "block:any tiler:tile"),
    ("tiled_product", tiled_product, "block:any tiler:tile"),
    ("flat_product", flat_product, "block:any tiler:tile"),
    ("blocked_product", blocked_product, "block:any tiler:layout"),
    ("raked_product", raked_product, "block:any tiler:layout"),
    ("local_tile", _local_tile, "layout:view tiler:tile coord:coord projection:coord?"),
    ("local_partition", _local_partition, "layout:view threads:layout index:coord projection:coord?"),
    ("slice", _slice, "layout:view coord:coord"),
    ("dice", _dice, "layout:any coord:coord"),
    ("layout", _layout, "view:view"),
    ("recast_layout", recast.recast_layout, "new_bits:int old_bits:int layout:any"),
    ("crd2idx", _crd2idx, "coord:coord layout:anything stride:shape?"),
    ("idx2crd", _idx2crd, "index:coord shape:anything"),
    ("get", _get, "value:anything mode:modes*"),
    ("select", _select, "layout:any mode:modes*"),
    ("group_modes", modes.group_modes, "layout:any begin:int end:int"),
    ("append", modes.append, "layout:any other:layout"),
    ("prepend", modes.prepend, "layout:any other:layout"),
    ("append_to_rank", modes.append_to_rank, "layout:any rank:int"),
    ("prepend_to_rank", modes.prepend_to_rank, "layout:any rank:int"),
    ("flatten", _flatten, "value:anything"),
    ("shape", _tuple_of, "layout:anything"),
    ("stride", _stride, "layout:layout"),
    ("size", _size, "value:anything"),
    ("cosize", _cosize, "layout:any"),
    ("rank", _rank, "value:anything"),
    ("depth", _depth, "value:anything"),
    ("ceil_div", tuples.ceil_div, "left:shape right:shape"),
    ("shape_div", tuples.shape_div, "left:shape right:shape"),
]


def _function(name: str, call: Callable[..., Any], parameters: str) -> Function:
    found: list[Parameter] = []
    for word in parameters.split():
        parameter, _, kind = word.partition(":")
        found.append(Parameter(parameter, _KINDS[kind.rstrip("?*")], kind.endswith("?")))
    return Function(name, call, tuple(found), parameters.endswith("*"))


FUNCTIONS: dict[str, Function] = {name: _function(name, cast(Any, call), spec) for name, call, spec in _TABLE}
"""Every function of layout expressions by its name."""
