"""How the operands of each operation of the layout algebra are drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drawn_operands import INDICES, Drawing, shape_in
from drawn_partitions import PARTITIONS
from wheel_oracle import Expression, expression

from cutecc.layout.tuples import is_tuple, map_leaves, prefix_products, rank, show

_DIVISIONS = ("composition", "logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
_PRODUCTS = tuple(f"{name}_product" for name in ("logical", "zipped", "tiled", "flat", "blocked", "raked"))


def _unary(operation: str, kind: str = "any_view") -> Callable[[Drawing], Expression]:
    return lambda draw: expression(operation, getattr(draw, kind)())


def _by_tile(operation: str, kind: str = "any_view") -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        layout = getattr(draw, kind)()
        return expression(operation, layout, draw.tile(max(1, rank(shape_in(layout)))))

    return draw_one


def _product(operation: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        shape = draw.shape()
        compact = f"{show(shape)}:{show(prefix_products(shape))}"
        return expression(operation, draw.random.choice((compact, draw.any_layout(shape))), draw.offsets())

    return draw_one


def _of_mode(operation: str, *kinds: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        kind = draw.random.choice(("view", *kinds))
        if kind == "tile":
            return expression(operation, draw.tile(3, 1), mode=draw.mode(draw.shape()))
        operand = draw.any_view() if kind == "view" else draw.of_kind(kind)
        return expression(operation, operand, mode=draw.mode(shape_in(operand)))

    return draw_one


def _select(draw: Drawing) -> Expression:
    operand = draw.any_view() if draw.random.random() < 0.6 else draw.of_kind("shape", "stride", "int_tuple", "coord")
    return expression("select", operand, mode=[draw.random.randrange(3) for _ in range(draw.random.randint(1, 3))])


def _group_modes(draw: Drawing) -> Expression:
    operand = draw.any_view() if draw.random.random() < 0.6 else draw.of_kind("shape", "stride", "int_tuple", "coord")
    return expression("group_modes", operand, begin=draw.random.randrange(2), end=draw.random.randint(1, 3))


def _to_rank(operation: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        length = draw.random.randint(1, 4)
        if draw.random.random() < 0.5:
            return expression(operation, draw.any_view(), draw.layout(), rank=length)
        kind = draw.random.choice(("shape", "stride", "int_tuple", "coord"))
        return expression(operation, draw.of_kind(kind), draw.of_kind(kind), rank=length)

    return draw_one


def _complement(draw: Drawing) -> Expression:
    cotarget = draw.layout() if draw.random.random() < 0.3 else f"shape {show(draw.shape())}"
    return expression("complement", draw.any_layout(), cotarget)


def _ceil_div(draw: Drawing) -> Expression:
    return expression("ceil_div", draw.of_kind("shape", "int_tuple"), draw.tile(3))


def _two(operation: str, *kinds: str) -> Callable[[Drawing], Expression]:
    return lambda draw: expression(operation, draw.of_kind(*kinds), draw.of_kind(*kinds))


def _tuple_arithmetic(operation: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        pair = [draw.int_tuple() if draw.random.random() < 0.85 else "0" for _ in range(2)]
        return expression(operation, *pair)

    return draw_one


def _elem_less(draw: Drawing) -> Expression:
    shape = draw.shape()
    coordinate = show(map_leaves(lambda _: draw.random.choice(INDICES), shape))
    return expression("elem_less", f"coord {coordinate}", f"{draw.random.choice(('coord', 'shape'))} {show(shape)}")


def _equal(draw: Drawing) -> Expression:
    kind = draw.random.choice(("layout", "coord", "shape", "stride", "int_tuple"))
    left, right = (draw.layout() if kind == "layout" else draw.of_kind(kind) for _ in range(2))
    return expression("equal", left, draw.random.choice((left, left, right)))


def _crd2idx(draw: Drawing) -> Expression:
    operand = draw.any_layout() if draw.random.random() < 0.8 else draw.tensor()
    return expression("crd2idx", draw.coordinate(shape_in(operand), 0.05), operand)


def _idx2crd(draw: Drawing) -> Expression:
    shape = draw.shape()
    return expression("idx2crd", draw.coordinate(shape), show(shape))


def _from_index(operation: str) -> Callable[[Drawing], Expression]:
    return lambda draw: expression(operation, f"i32 {draw.random.choice(INDICES)}", draw.layout())


def _slice(draw: Drawing) -> Expression:
    # Parts of tensors with a swizzled layout are in test_swizzled_parts.py.
    operand = draw.any_layout() if draw.random.random() < 0.6 else draw.tensor(swizzled_layout=False)
    return expression("slice", operand, draw.coordinate(shape_in(operand), 0.5))


def _dice(draw: Drawing) -> Expression:
    kinds = ("shape", "stride", "int_tuple", "coord")
    operand = draw.of_kind(*kinds) if draw.random.random() < 0.5 else draw.any_layout()
    return expression("dice", operand, coord=f'#cute.coord<"{draw.coordinate(shape_in(operand), 0.5)}">')


def _local_tile(draw: Drawing) -> Expression:
    # Of a swizzled layout, the wheel moves the pointer by what it keeps in the offset too, or by nothing.
    operand = draw.tensor(draw.sizes(draw.random.randint(1, 3)), swizzled_layout=False)
    modes_of_it = shape_in(operand)
    tile = draw.tile(len(modes_of_it))
    return expression("local_tile", operand, tile, draw.coordinate(modes_of_it, 0.3))


def _projected_tile(draw: Drawing) -> Expression:
    operand = draw.tensor(draw.sizes(2), swizzled_layout=False)
    projection = draw.random.choice(("(1,_,1)", "(_,1,1)", "(1,1,_)"))
    tile = f"[{';'.join(f'{size}:1' for size in draw.sizes(3))}]"
    coordinate = draw.coordinate(draw.sizes(3), 0.3)
    return expression("local_tile", operand, tile, coordinate, proj=f'#cute.coord<"{projection}">')


def _local_partition(draw: Drawing) -> Expression:
    shape = draw.sizes(draw.random.randint(1, 3))
    threads = draw.sizes(len(shape))
    index = f"i32 {draw.random.choice(INDICES)}"
    return expression(
        "local_partition",
        draw.tensor(shape, swizzled_layout=False),
        f"{show(threads)}:{show(draw.strides(threads))}",
        index,
    )


def _make_layout(draw: Drawing) -> Expression:
    shape = draw.shape()
    if draw.random.random() < 0.3:
        return expression("make_layout", show(shape))
    stride = draw.to_coordinates(shape) if draw.random.random() < 0.3 else show(draw.strides(shape))
    return expression("make_layout", show(shape), stride)


def _make_ordered_layout(draw: Drawing) -> Expression:
    shape = draw.shape()

    def order(part: Any) -> Any:
        if is_tuple(part) and draw.random.random() < 0.7:
            return tuple(map(order, part))
        return draw.random.randrange(4)

    return expression("make_ordered_layout", show(shape), show(order(shape)))


def _tile_to_shape(draw: Drawing) -> Expression:
    target = draw.shape()
    order = tuple(draw.random.sample(range(rank(target)), rank(target)))
    return expression("tile_to_shape", draw.any_layout(), show(target), show(order))


def _make_composed_layout(draw: Drawing) -> Expression:
    inner, offset, outer = draw.composed().split(" o ")
    return expression("make_composed_layout", inner, offset, outer)


def _recast_layout(draw: Drawing) -> Expression:
    bits = [draw.random.choice((4, 8, 16, 32, 64)) for _ in range(2)]
    return expression("recast_layout", draw.any_view(), new_type_bits=bits[0], old_type_bits=bits[1])


def _get_scalars(draw: Drawing) -> Expression:
    operand = draw.random.choice((draw.any_view, draw.swizzle, lambda: draw.of_kind("shape", "stride", "int_tuple")))()
    settings = {"only_dynamic": True} if draw.random.random() < 0.5 else {}
    return expression("get_scalars", operand, **settings)


def _with_profile(operation: str) -> Callable[[Drawing], Expression]:
    def draw_one(draw: Drawing) -> Expression:
        operand = draw.any_layout()
        if draw.random.random() < 0.5:
            return expression(operation, operand)
        return expression(operation, operand, f"coord {draw.coordinate(shape_in(operand), 0.2)}")

    return draw_one


def _add_offset(draw: Drawing) -> Expression:
    if draw.random.random() < 0.5:
        return expression("add_offset", "!cute.ptr<f16, smem, align<16>>", str(draw.random.choice(INDICES)))
    return expression("add_offset", draw.int_tuple(), draw.int_tuple())


CASES: dict[str, Callable[[Drawing], Expression]] = {
    **{name: _with_profile(name) for name in ("coalesce", "filter_zeros")},
    **{name: _unary(name) for name in ("filter", "make_layout_like", "make_fragment_like")},
    **{name: _unary(name, "layout") for name in ("right_inverse", "left_inverse")},
    **{name: _by_tile(name) for name in _DIVISIONS},
    **{name: _product(name) for name in _PRODUCTS},
    "size": _of_mode("size", "shape", "int_tuple", "tile", "coord"),
    "cosize": _of_mode("cosize"),
    "get": _of_mode("get", "shape", "stride", "int_tuple", "coord", "tile"),
    "get_shape": _unary("get_shape"),
    "get_stride": _unary("get_stride"),
    "get_layout": _unary("get_layout", "tensor"),
    "get_iter": _unary("get_iter", "tensor"),
    "get_leaves": lambda draw: expression("get_leaves", draw.of_kind("shape", "stride", "int_tuple", "coord")),
    "get_scalars": _get_scalars,
    "get_layouts_from_tile": lambda draw: expression(
        "get_layouts_from_tile", draw.tile(3, 1) if draw.random.random() < 0.8 else f"tile {draw.layout()}"
    ),
    "select": _select,
    "group_modes": _group_modes,
    **{name: _to_rank(name) for name in ("append_to_rank", "prepend_to_rank")},
    "complement": _complement,
    "ceil_div": _ceil_div,
    "shape_div": _two("shape_div", "shape"),
    **{f"tuple_{name}": _tuple_arithmetic(f"tuple_{name}") for name in ("add", "sub", "mul", "div", "mod")},
    **{
        name: (lambda draw, name=name: expression(name, draw.of_kind("int_tuple", "shape")))
        for name in ("tuple_product", "tuple_product_each", "to_int_tuple")
    },
    "elem_less": _elem_less,
    "equal": _equal,
    "crd2idx": _crd2idx,
    "idx2crd": _idx2crd,
    **{name: _from_index(name) for name in ("get_flat_coord", "get_hier_coord")},
    "slice": _slice,
    "dice": _dice,
    "local_tile": _local_tile,
    "local_tile projected": _projected_tile,
    "local_partition": _local_partition,
    "make_layout": _make_layout,
    "make_ordered_layout": _make_ordered_layout,
    "make_identity_layout": lambda draw: expression("make_identity_layout", show(draw.shape())),
    "make_identity_tensor": lambda draw: expression("make_identity_tensor", show(draw.shape())),
    "tile_to_shape": _tile_to_shape,
    "make_composed_layout": _make_composed_layout,
    **{
        name: _unary(name, "any_layout") for name in ("composed_get_inner", "composed_get_offset", "composed_get_outer")
    },
    "recast_layout": _recast_layout,
    "add_offset": _add_offset,
    **PARTITIONS,
}
"""How the operands of each operation are drawn."""
