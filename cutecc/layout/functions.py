"""The functions that layout expressions can call, with CuTe's names and what their arguments have to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from types import UnionType
from typing import Any, cast

from cutecc.errors import LayoutError
from cutecc.layout import algebra, divide, make, modes, partition, recast, tuples
from cutecc.layout.basis import ArithmeticTuple, Basis, add_coordinates
from cutecc.layout.integers import Symbolic
from cutecc.layout.layout import Layout, crd2idx, first_of, idx2crd, make_layout, whole
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
    VIEW = "a layout or composed layout, which may have an offset"
    INNER_VIEW = "a layout, composed layout or swizzle"
    TILE = "a layout, a shape or a tile"
    SHAPE = "a shape"
    STRIDE = "a stride"
    COORDINATE = "a coordinate"
    INDEX = "an integer"
    INTEGER = "a known integer"
    MODES = "the number of a mode"
    ANYTHING = "a layout or an int tuple"

    def accepts(self, value: Any) -> bool:
        """Whether `value` can be passed, after `convert`."""
        if self is Kind.ANYTHING:
            return not isinstance(value, Swizzle)
        if self in (Kind.INDEX, Kind.INTEGER):
            return isinstance(value, _LEAVES[self])
        return isinstance(value, _WHOLES.get(self, ())) or _is_tree_of(_LEAVES.get(self, int | Symbolic), value)

    def convert(self, value: Any) -> Any:
        """`value` as the functions take it: a shape for a layout is the compact layout of it."""
        return make_layout(value) if self in _WHOLES and is_integers(value) else value


_WHOLES: dict[Kind, UnionType | type] = {
    Kind.LAYOUT: Layout,
    Kind.ANY_LAYOUT: Layout | ComposedLayout,
    Kind.VIEW: Layout | ComposedLayout | View,
    Kind.INNER_VIEW: Layout | ComposedLayout | View | Swizzle,
}
"""What an argument can be besides a shape, for which a compact layout then stands."""
_LEAVES: dict[Kind, UnionType | type] = {
    Kind.TILE: int | Symbolic | Layout | None,
    Kind.STRIDE: int | Symbolic | Basis,
    Kind.COORDINATE: int | Symbolic | None,
    Kind.INDEX: int | Symbolic,
    Kind.INTEGER: int,
    Kind.MODES: int,
}
"""What an argument, or each leaf of it, is, where that is not a size."""


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    name: str
    kind: Kind
    optional: bool = False
    python_name: str = ""
    """What CuTe's own Python calls it, where that is something else."""
    named: bool = False
    """Whether it is given by name only."""


@dataclass(frozen=True)
class Function:
    """A function of layout expressions."""

    name: str
    call: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    repeats: bool = False
    """Whether the last parameter can be given several times."""

    def __str__(self) -> str:
        names = [f"{each.name}=" if each.named else each.name for each in self.parameters]
        names = [f"[{name}]" if each.optional else name for name, each in zip(names, self.parameters, strict=True)]
        return f"{self.name}({', '.join(names)}{', ...' if self.repeats else ''})"


def is_integers(value: Any) -> bool:
    """Whether `value` is an int tuple, shape, stride or coordinate: integers, `_` and `1@0`, and tuples of them."""
    return _is_tree_of(int | Symbolic | Basis | None, value)


def _is_tree_of(types: UnionType | type, value: Any) -> bool:
    """Whether `value` is of one of these types, or a tuple of such trees."""
    return all(isinstance(leaf, types) for leaf in leaves(value))


def is_tile(value: Any) -> bool:
    """Whether `value` can be a tile: layouts, sizes and `_`, and tuples of them."""
    return Kind.TILE.accepts(value)


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


def _on_layout(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which rearranges modes, of a layout or of a view, which begins where it did."""

    def on_either(view: AnyLayout | View, *arguments: Any) -> Any:
        if isinstance(view, View):
            return View(function(view.layout, *arguments), view.offset)
        return function(view, *arguments)

    return on_either


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
    coordinate = first_of(coordinate)
    index = layout(coordinate) if isinstance(layout, Layout | ComposedLayout) else crd2idx(coordinate, layout)
    return whole(add_coordinates(offset, index), f"{layout} at {show(coordinate)}")


def _idx2crd(index: Any, shape: Any) -> Any:
    return idx2crd(index, _tuple_of(shape))


def _shape(value: Any, *path: Any) -> Any:
    return _get(_tuple_of(value), *path)


def _stride(layout: Layout, *path: Any) -> Any:
    return _get(layout.stride, *path)


def _cosize(layout: AnyLayout, *path: Any) -> Any:
    return _get(layout, *path).cosize if path else layout.cosize


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


def _complement(layout: Layout, cotarget: Any) -> Layout:
    return algebra.complement(layout, _tuple_of(cotarget))


def _dice(layout: AnyLayout, coordinate: Any) -> AnyLayout:
    return modes.dice(coordinate, layout)


def _flatten(value: Any) -> Any:
    value = value.layout if isinstance(value, TiledLayout) else value
    if isinstance(value, Layout | ComposedLayout | View):
        return _on_layout(modes.flatten_layout)(value)
    return tuples.flatten(value)


def _size(value: Any, *path: Any) -> Any:
    return tuples.product(_shape(value, *path))


def _rank(value: Any, *path: Any) -> int:
    return tuples.rank(_shape(value, *path))


def _depth(value: Any, *path: Any) -> int:
    return tuples.depth(_shape(value, *path))


def _make_layout_tv(threads: Layout, values: Layout) -> TiledLayout:
    return TiledLayout(*make.make_layout_tv(threads, values))


# Each function with its parameters, `name:kind`, or `name/python_name:kind`; `?` follows an optional one, `*` one that
# can be repeated, and `=` stands before one that is given by name.
_TABLE: list[tuple[str, Callable[..., Any], str]] = [
    ("make_layout", make_layout, "shape:shape stride:stride?"),
    ("make_ordered_layout", make.make_ordered_layout, "shape:shape order:shape"),
    ("make_layout_like", make.make_layout_like, "layout/input:any_layout"),
    ("make_fragment_like", make.make_fragment_like, "layout/src:any_layout"),
    ("make_layout_tv", _make_layout_tv, "threads/thr_layout:layout values/val_layout:layout"),
    ("make_identity_layout", make.make_identity_layout, "shape:shape"),
    ("make_identity_tensor", _identity_tensor, "shape:shape"),
    ("tile_to_shape", make.tile_to_shape, "block/atom:any_layout shape/trg_shape:shape order:shape?"),
    ("composition", _on_layout(algebra.composition), "left/lhs:inner_view right/rhs:tile"),
    ("coalesce", algebra.coalesce, "layout/input:any_layout profile/target_profile:shape?"),
    ("filter", _on_layout(algebra.filter_layout), "layout/input:view"),
    ("filter_zeros", _on_layout(algebra.filter_zeros), "layout/input:view"),
    ("complement", _complement, "layout/input:layout cotarget:layout"),
    ("left_inverse", algebra.left_inverse, "layout/input:layout"),
    ("right_inverse", algebra.right_inverse, "layout/input:layout"),
    ("logical_divide", _on_layout(divide.logical_divide), "layout/target:view tiler:tile"),
    ("zipped_divide", _on_layout(divide.zipped_divide), "layout/target:view tiler:tile"),
    ("tiled_divide", _on_layout(divide.tiled_divide), "layout/target:view tiler:tile"),
    ("flat_divide", _on_layout(divide.flat_divide), "layout/target:view tiler:tile"),
    ("logical_product", logical_product, "block:any_layout tiler:tile"),
    ("zipped_product", zipped_product, "block:any_layout tiler:tile"),
    ("tiled_product", tiled_product, "block:any_layout tiler:tile"),
    ("flat_product", flat_product, "block:any_layout tiler:tile"),
    ("blocked_product", blocked_product, "block:any_layout tiler:layout"),
    ("raked_product", raked_product, "block:any_layout tiler:layout"),
    ("local_tile", _local_tile, "layout/input:view tiler:tile coord:coordinate projection/proj:coordinate?"),
    (
        "local_partition",
        _local_partition,
        "layout/target:view threads/tiler:layout index:index projection/proj:coordinate?",
    ),
    ("slice", _slice, "layout/src:view coord:coordinate"),
    ("slice_", _slice, "layout/src:view coord:coordinate"),
    ("dice", _dice, "layout/src:any_layout coord/dicer:coordinate"),
    ("layout", _layout, "view:view"),
    (
        "recast_layout",
        recast.recast_layout,
        "new_bits/new_type_bits:integer old_bits/old_type_bits:integer layout/src_layout:any_layout",
    ),
    ("crd2idx", _crd2idx, "coord:coordinate layout:anything stride:stride?"),
    ("idx2crd", _idx2crd, "index/idx:shape shape:anything"),
    ("get", _get, "value/obj:anything mode:modes*"),
    ("select", _select, "layout/obj:any_layout mode:modes*"),
    ("group_modes", _on_layout(modes.group_modes), "layout/input:view begin:integer end:integer"),
    ("append", modes.append, "layout/input:any_layout other/elem:layout"),
    ("prepend", modes.prepend, "layout/input:any_layout other/elem:layout"),
    ("append_to_rank", modes.append_to_rank, "layout:any_layout rank:integer"),
    ("prepend_to_rank", modes.prepend_to_rank, "layout:any_layout rank:integer"),
    ("flatten", _flatten, "value/a:anything"),
    ("shape", _shape, "layout/input:anything =mode:modes?"),
    ("stride", _stride, "layout/input:layout =mode:modes?"),
    ("size", _size, "value/obj:anything =mode:modes?"),
    ("cosize", _cosize, "layout/obj:any_layout =mode:modes?"),
    ("rank", _rank, "value/obj:anything =mode:modes?"),
    ("depth", _depth, "value/obj:anything =mode:modes?"),
    ("ceil_div", divide.count_tiles, "left/input:shape right/tiler:tile"),
    ("shape_div", tuples.shape_div, "left/lhs:shape right/rhs:shape"),
]


def _function(name: str, call: Callable[..., Any], parameters: str) -> Function:
    found: list[Parameter] = []
    for word in parameters.split():
        names, _, kind = word.partition(":")
        parameter, _, python_name = names.partition("/")
        kind_of = Kind[kind.rstrip("?*").upper()]
        found.append(Parameter(parameter.lstrip("="), kind_of, kind.endswith("?"), python_name, parameter[0] == "="))
    return Function(name, call, tuple(found), parameters.endswith("*"))


FUNCTIONS: dict[str, Function] = {name: _function(name, cast(Any, call), spec) for name, call, spec in _TABLE}
"""Every function of layout expressions by its name."""
