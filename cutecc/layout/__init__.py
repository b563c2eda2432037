"""CuTe's layout algebra in plain Python: the one source of what a layout means for lowering, analyses and pictures.

    >>> from cutecc.layout import Layout, make_layout_tv, zipped_divide
    >>> str(zipped_divide(Layout.parse("(8,8):(8,1)"), (2, 4)))
    '((2,4),(4,2)):((8,1),(16,4))'

Sizes and strides are `int`s, or `Symbolic` where only the running kernel knows them. Results are what the installed
nvidia-cutlass-dsl computes for the same expression. What CuTe does not define raises `cutecc.errors.LayoutError`.
"""

from cutecc.layout.algebra import (
    Tile,
    coalesce,
    complement,
    composition,
    filter_layout,
    filter_zeros,
    left_inverse,
    right_inverse,
    show_tile,
)
from cutecc.layout.basis import ArithmeticTuple, Basis, Ratio, add_coordinates
from cutecc.layout.divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from cutecc.layout.integers import Integer, Symbolic, divisibility, evaluate, symbol, variables
from cutecc.layout.layout import Layout, crd2idx, idx2crd, join, make_layout, parse_layout
from cutecc.layout.make import (
    make_fragment_like,
    make_identity_layout,
    make_layout_like,
    make_layout_tv,
    make_ordered_layout,
    tile_to_shape,
)
from cutecc.layout.modes import (
    append,
    append_to_rank,
    dice,
    flatten_layout,
    get,
    group_modes,
    prepend,
    prepend_to_rank,
    select,
    slice_layout,
)
from cutecc.layout.naming import rename_symbols
from cutecc.layout.partition import (
    CoordinateTensor,
    flat_coordinate,
    local_partition,
    local_tile,
    make_identity_tensor,
)
from cutecc.layout.product import (
    blocked_product,
    flat_product,
    logical_product,
    raked_product,
    tiled_product,
    zipped_product,
)
from cutecc.layout.recast import recast_layout
from cutecc.layout.shape_text import parse_int_tuple
from cutecc.layout.swizzle import AnyLayout, ComposedLayout, Swizzle
from cutecc.layout.text import parse, parse_tile
from cutecc.layout.tuples import Coordinate, IntTuple, Stride, ceil_div, compatible, leaves, product, shape_div, show

__all__ = [
    "AnyLayout",
    "ArithmeticTuple",
    "Basis",
    "ComposedLayout",
    "Coordinate",
    "CoordinateTensor",
    "IntTuple",
    "Integer",
    "Layout",
    "Ratio",
    "Stride",
    "Swizzle",
    "Symbolic",
    "Tile",
    "add_coordinates",
    "append",
    "append_to_rank",
    "blocked_product",
    "ceil_div",
    "coalesce",
    "compatible",
    "complement",
    "composition",
    "crd2idx",
    "dice",
    "divisibility",
    "evaluate",
    "filter_layout",
    "filter_zeros",
    "flat_coordinate",
    "flat_divide",
    "flat_product",
    "flatten_layout",
    "get",
    "group_modes",
    "idx2crd",
    "join",
    "leaves",
    "left_inverse",
    "local_partition",
    "local_tile",
    "logical_divide",
    "logical_product",
    "make_fragment_like",
    "make_identity_layout",
    "make_identity_tensor",
    "make_layout",
    "make_layout_like",
    "make_layout_tv",
    "make_ordered_layout",
    "parse",
    "parse_int_tuple",
    "parse_layout",
    "parse_tile",
    "prepend",
    "prepend_to_rank",
    "product",
    "raked_product",
    "recast_layout",
    "rename_symbols",
    "right_inverse",
    "select",
    "shape_div",
    "show",
    "show_tile",
    "slice_layout",
    "symbol",
    "tile_to_shape",
    "tiled_divide",
    "tiled_product",
    "variables",
    "zipped_divide",
    "zipped_product",
]
