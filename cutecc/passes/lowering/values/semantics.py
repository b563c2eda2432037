"""What the operations of the `cute` dialect that only compute with layouts mean, as functions of the layout algebra.

Each pass that unfolds some of them takes its own from here. A semantics takes the values of the operands and the
operation's attributes by their names in MLIR; most are a function of `cutecc.layout`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cutecc.ir.types import CopyAtom, Pointer, SmemDescriptor, TiledCopy, TiledMma
from cutecc.layout import AnyLayout, ComposedLayout, Layout, Swizzle, tiled
from cutecc.layout.functions import FUNCTIONS, Kind, View
from cutecc.layout.integers import Integer, add, divide, minimum, multiply, remainder, sign, subtract
from cutecc.layout.layout import idx2crd, make_layout
from cutecc.layout.make import make_identity_layout
from cutecc.layout.modes import append_to_rank, dice, dice_tuple, get, prepend_to_rank, slice_tuple
from cutecc.layout.partition import flat_coordinate, hierarchical_coordinate
from cutecc.layout.tma import tma_partition
from cutecc.layout.tuples import is_tuple, leaves, modes, nested_as, product
from cutecc.passes.lowering.values.leaves import dynamic, numbers


def _call(name: str) -> Callable[..., Any]:
    """A function of layout expressions; where it knows nothing of offsets, that of a tensor stays."""
    function = FUNCTIONS[name].call
    if FUNCTIONS[name].parameters[0].kind is Kind.VIEW:
        return lambda *values, **_: function(*values)

    def semantics(*values: Any, **_: Any) -> Any:
        first, *others = values
        return on_layout(first, lambda layout: function(layout, *others))

    return semantics


def on_layout(value: Any, change: Callable[[Any], Any]) -> Any:
    """What `change` makes of a layout, or of a tensor's, which keeps its offset."""
    if isinstance(value, View):
        return View(change(value.layout), value.offset)
    return change(value)


def shape_of(value: Any) -> Any:
    """The shape of a tensor, layout or tile; a tuple is its own."""
    value = value.layout if isinstance(value, View) else value
    if is_tuple(value):
        return tuple(map(shape_of, value))
    return value.shape if isinstance(value, Layout | ComposedLayout) else value


def part_of(value: Any, mode: tuple[int, ...]) -> Any:
    """The mode of a tuple or layout that a path of numbers leads to."""
    value = value.layout if isinstance(value, View) else value
    if isinstance(value, Layout | ComposedLayout):
        return get(value, *mode)
    for each in mode:
        value = modes(value)[each]
    return value


def _size(value: Any, mode: tuple[int, ...] = ()) -> Integer:
    return product(part_of(shape_of(value), mode))


def _cosize(value: Any, mode: tuple[int, ...] = ()) -> Integer:
    return part_of(value, mode).cosize


def _get(value: Any, mode: tuple[int, ...] = ()) -> Any:
    return part_of(value, mode)


def _leaves(value: Any, **_: Any) -> list[Any]:
    return list(leaves(value))


def _layout(value: Any, **_: Any) -> Any:
    return value.layout if isinstance(value, View) else value


def _shape(value: Any, mode: tuple[int, ...] = (), **_: Any) -> Any:
    return part_of(shape_of(value), mode)


def _stride(value: Any, mode: tuple[int, ...] = (), **_: Any) -> Any:
    return part_of(_layout(value), mode).stride


def _make_layout(shape: Any, stride: Any = None, **_: Any) -> Layout:
    return make_layout(shape, stride)


def _local(name: str) -> Callable[..., Any]:
    function = FUNCTIONS[name].call

    def semantics(value: Any, tiler: Any, coordinate: Any, proj: Any = None, **_: Any) -> Any:
        return function(value, tiler, coordinate, proj)

    return semantics


def _group_modes(value: Any, begin: int, end: int) -> Any:
    return on_layout(value, lambda layout: FUNCTIONS["group_modes"].call(layout, begin, end))


def _is_layout(value: Any) -> bool:
    """Whether `value` is a layout or a tensor, and not an int tuple."""
    return isinstance(value, Layout | ComposedLayout | View)


def _append_to_rank(value: Any, fill: Any, rank: int) -> Any:
    if _is_layout(value):
        return on_layout(value, lambda layout: append_to_rank(layout, rank, fill))
    missing = rank - len(modes(value))
    return (*modes(value), *(fill,) * missing) if missing > 0 else value


def _prepend_to_rank(value: Any, fill: Any, rank: int) -> Any:
    if _is_layout(value):
        return on_layout(value, lambda layout: prepend_to_rank(layout, rank, fill))
    missing = rank - len(modes(value))
    return (*(fill,) * missing, *modes(value)) if missing > 0 else value


def _select(value: Any, mode: tuple[int, ...]) -> Any:
    if _is_layout(value):
        return on_layout(value, lambda layout: FUNCTIONS["select"].call(layout, *mode))
    return tuple(modes(value)[each] for each in mode)


def _recast_layout(value: Any, new_type_bits: int, old_type_bits: int) -> Any:
    return on_layout(value, lambda layout: FUNCTIONS["recast_layout"].call(new_type_bits, old_type_bits, layout))


def _slice(value: Any, coordinate: Any, **_: Any) -> Any:
    if _is_layout(value):
        return FUNCTIONS["slice"].call(value, coordinate)
    return slice_tuple(coordinate, value)


def _dice(value: Any, coord: Any) -> Any:
    if _is_layout(value):
        return on_layout(value, lambda layout: dice(coord, layout))
    return dice_tuple(coord, value)


def _elementwise(function: Callable[[Integer, Integer], Integer]) -> Callable[..., Any]:
    """`function` mode by mode. A mode that the other side lacks, or has 0 for a tuple, is taken over as it is."""

    def semantics(left: Any, right: Any, **_: Any) -> Any:
        if is_tuple(left) and is_tuple(right):
            both = min(len(left), len(right))
            return (*map(semantics, left, right), *left[both:], *right[both:])
        if is_tuple(left) or is_tuple(right):
            return left if is_tuple(left) else right
        return function(left, right)

    return semantics


def _crd2idx(coordinate: Any, layout: Any, **_: Any) -> Any:
    # Of the slice that a coordinate with `_` names, where it begins.
    return FUNCTIONS["crd2idx"].call(coordinate, layout)


def _increment_coord(coordinate: Any, shape: Any, **_: Any) -> Any:
    """The next coordinate in a shape: a number that comes to its size is 0 and raises the next; the last has no end."""
    carry: Integer = 1
    found: list[Integer] = []
    *before, (last, _) = zip(leaves(coordinate), leaves(shape), strict=True)
    for number, size in before:
        raised = add(number, carry)
        # 1 at the size and beyond, else 0.
        carry = minimum(add(sign(subtract(raised, size)), 1), 1)
        found.append(multiply(raised, subtract(1, carry)))
    return nested_as(coordinate, [*found, add(last, carry)])


def _product_each(value: Any, **_: Any) -> Any:
    return tuple(map(product, value)) if is_tuple(value) else value


def _product(value: Any, **_: Any) -> Any:
    return product(value)


def _tile_layouts(tile: Any, **_: Any) -> list[Any]:
    return [layout for layout in leaves(tile) if layout is not None]


def _partition(source: bool) -> Callable[..., Any]:
    def semantics(copy: TiledCopy, tensor: Any, thread: Any, **_: Any) -> View:
        tile_tv = copy.source_tv if source else copy.destination_tv
        assert tile_tv is not None
        layout, offset = _layout_and_offset(tensor)
        part, further = tiled.copy_partition(layout, copy.tiler, tile_tv, _only(thread))
        return View(part, _sum(offset, further))

    return semantics


def _sum(left: Any, right: Any) -> Any:
    from cutecc.layout import add_coordinates

    return add_coordinates(left, right)


def _layout_and_offset(tensor: Any) -> tuple[Any, Any]:
    return (tensor.layout, tensor.offset) if isinstance(tensor, View) else (tensor, 0)


def _only(thread: Any) -> Any:
    """The number of a thread, which may stand in a tuple of one."""
    while is_tuple(thread):
        (thread,) = thread
    return thread


OPERANDS = ((0, 2), (1, 2), (0, 1))
"""For A, B and C the two of M, N and K that are their modes."""


def product_part(mma: TiledMma, operand: int, layout: AnyLayout, thread: Integer) -> tuple[AnyLayout, Any]:
    """What `thread` has of operand A (0), B (1) or C (2) of a tiled matrix product, and its offset."""
    assert mma.thread_layout_vmnk is not None
    which = OPERANDS[operand]
    atom_tv = (mma.atom.a_tv, mma.atom.b_tv, mma.atom.c_tv)[operand]
    assert atom_tv is not None
    permutation = mma.permutation_mnk if is_tuple(mma.permutation_mnk) else (None, None, None)
    in_atom, *atom = flat_coordinate(mma.thread_layout_vmnk, thread)
    sizes: Any = modes(mma.thread_layout_vmnk.shape)
    return tiled.product_partition(
        layout,
        (permutation[which[0]], permutation[which[1]]),
        (mma.atom.shape_mnk[which[0]], mma.atom.shape_mnk[which[1]]),
        atom_tv,
        (sizes[which[0] + 1], sizes[which[1] + 1]),
        (in_atom, (atom[which[0]], atom[which[1]])),
    )


def _mma_partition(mma: TiledMma, tensor: Any, thread: Any, operand_id: int) -> View:
    layout, offset = _layout_and_offset(tensor)
    part, further = product_part(mma, operand_id, layout, _only(thread))
    return View(part, _sum(offset, further))


def _mma_partition_shape(mma: TiledMma, shape: Any, operand_id: int) -> Any:
    # Of a layout whose modes that follow each other are one, whatever the sizes.
    part, _ = product_part(mma, operand_id, make_identity_layout(shape), 0)
    return part.shape


def _tma_partition(atom: CopyAtom, block: Any, blocks: Layout, *tensors: Any, **_: Any) -> list[View]:
    assert atom.source_tv is not None
    given = [_layout_and_offset(tensor) for tensor in tensors]
    parts = tma_partition([layout for layout, _ in given], tiled.values_of(atom.source_tv), block, blocks)
    return [View(part.layout, _sum(offset, part.offset)) for part, (_, offset) in zip(parts, given, strict=True)]


def _same(value: Any, **_: Any) -> Any:
    return value


def _scalars(value: Any, only_dynamic: bool = False, **_: Any) -> list[Any]:
    return dynamic(value) if only_dynamic else numbers(value, paths=True)


def _iterator(value: Any, **_: Any) -> Any:
    """Of a tensor of coordinates the first coordinate; of one in memory how far its pointer is moved."""
    return value.offset if isinstance(value, View) else 0


def _add_offset(iterator: Any, offset: Any, **_: Any) -> Any:
    return offset if isinstance(iterator, Pointer | SmemDescriptor) else _sum(iterator, offset)


def _identity_tensor(shape: Any, **_: Any) -> View:
    return FUNCTIONS["make_identity_tensor"].call(shape)


_NO_SWIZZLE = Swizzle(0, 4, 3)
"""As CuTe writes the one that flips nothing."""


def _composed(inner: Any, offset: Any, outer: Any = None, **_: Any) -> Any:
    is_plain = isinstance(inner, Swizzle) and inner.bits == 0 and offset == 0
    return outer if is_plain else ComposedLayout(inner, offset, outer)


def _composed_inner(value: AnyLayout, **_: Any) -> Any:
    return value.inner if isinstance(value, ComposedLayout) else _NO_SWIZZLE


def _composed_offset(value: AnyLayout, **_: Any) -> Any:
    return value.offset if isinstance(value, ComposedLayout) else 0


def _composed_outer(value: AnyLayout, **_: Any) -> Any:
    return value.outer if isinstance(value, ComposedLayout) else value


def _flat_coord(index: Any, layout: Any, **_: Any) -> Any:
    return flat_coordinate(layout, index)


def _hier_coord(index: Any, layout: Any, **_: Any) -> Any:
    return hierarchical_coordinate(layout, index)


def _idx2crd(index: Any, shape: Any, **_: Any) -> Any:
    return idx2crd(index, shape_of(shape))


SEMANTICS: dict[str, Callable[..., Any]] = {
    **{
        f"cute.{name}": _call(name)
        for name in (
            *("composition", "coalesce", "filter", "filter_zeros", "left_inverse", "right_inverse"),
            *("logical_divide", "zipped_divide", "tiled_divide", "flat_divide"),
            *("logical_product", "zipped_product", "tiled_product", "flat_product", "blocked_product", "raked_product"),
            *("make_ordered_layout", "make_layout_like", "make_fragment_like", "make_identity_layout", "tile_to_shape"),
            *("complement", "ceil_div", "shape_div"),
        )
    },
    "cute.local_tile": _local("local_tile"),
    "cute.local_partition": _local("local_partition"),
    "cute.slice": _slice,
    "cute.dice": _dice,
    "cute.group_modes": _group_modes,
    "cute.append_to_rank": _append_to_rank,
    "cute.prepend_to_rank": _prepend_to_rank,
    "cute.select": _select,
    "cute.recast_layout": _recast_layout,
    "cute.make_layout": _make_layout,
    "cute.make_identity_tensor": _identity_tensor,
    "cute.make_composed_layout": _composed,
    "cute.composed_get_inner": _composed_inner,
    "cute.composed_get_offset": _composed_offset,
    "cute.composed_get_outer": _composed_outer,
    "cute.get": _get,
    "cute.get_layout": _layout,
    "cute.get_shape": _shape,
    "cute.get_stride": _stride,
    "cute.get_leaves": _leaves,
    "cute.get_layouts_from_tile": _tile_layouts,
    "cute.size": _size,
    "cute.cosize": _cosize,
    "cute.crd2idx": _crd2idx,
    "cute.idx2crd": _idx2crd,
    "cute.increment_coord": _increment_coord,
    "cute.get_flat_coord": _flat_coord,
    "cute.get_hier_coord": _hier_coord,
    "cute.tuple_add": _elementwise(add),
    "cute.tuple_sub": _elementwise(subtract),
    "cute.tuple_mul": _elementwise(multiply),
    "cute.tuple_div": _elementwise(divide),
    "cute.tuple_mod": _elementwise(remainder),
    "cute.tuple.product": _product,
    "cute.tuple.product_each": _product_each,
    "cute.to_int_tuple": _same,
    "cute.derefine": _same,
    "cute.get_scalars": _scalars,
    "cute.get_iter": _iterator,
    "cute.add_offset": _add_offset,
    "cute.tiled.copy.partition_S": _partition(True),
    "cute.tiled.copy.partition_D": _partition(False),
    "cute.tiled.mma.partition": _mma_partition,
    "cute.tiled.mma.partition_shape": _mma_partition_shape,
    "cute_nvgpu.atom.tma_partition": _tma_partition,
}
"""By operation; those whose results only repack what operands carry are in `repacking`."""

PARTITIONING = (
    "cute.tiled.copy.partition_S",
    "cute.tiled.copy.partition_D",
    "cute.tiled.mma.partition",
    "cute.tiled.mma.partition_shape",
    "cute_nvgpu.atom.tma_partition",
)
"""Operations that ask a tiled copy or matrix product what a thread has."""

ALGEBRA = {name: semantics for name, semantics in SEMANTICS.items() if name not in PARTITIONING}
"""The semantics of all others."""

REPACKING = (
    *("cute.make_coord", "cute.make_shape", "cute.make_stride", "cute.make_int_tuple", "cute.make_tile"),
    *("cute.make_tuple", "cute.unpack_tuple", "cute.make_view", "cute.make_arith_tuple_iter"),
    *("cute.deref_arith_tuple_iter", "cute.assume", "cute.make_atom", "cute.make_tiled_copy", "cute.make_tiled_mma"),
)
"""Operations whose result carries what the operands do, in the same order."""

RETILING = ("cute.tiled.copy.retile",)
"""Looking at a register tensor as another tiled copy does: another type for the same registers."""
