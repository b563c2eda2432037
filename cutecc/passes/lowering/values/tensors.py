"""Tensors in memory as passes compute with them, and the tiles that an atom takes of them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, cast

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import CoordTensor, MemRef, SmemDescriptor, SmemDescriptorView, to_type
from cutecc.layout import (
    ComposedLayout,
    Layout,
    add_coordinates,
    coalesce,
    composition,
    join,
    logical_divide,
    symbol,
)
from cutecc.layout.basis import ArithmeticTuple
from cutecc.layout.integers import Integer
from cutecc.layout.tuples import Coordinate, IntTuple
from cutecc.layout.tuples import leaves as tuple_leaves
from cutecc.passes.lowering.values.integers import Arithmetic
from cutecc.passes.lowering.values.leaves import Leaves, dynamic, pack
from cutecc.passes.lowering.values.pointers import advance
from cutecc.passes.lowering.values.vector_accesses import Tensor


@dataclass(frozen=True)
class Coordinates:
    """A tensor of coordinates while it is lowered: what TMA takes in the place of one in global memory."""

    offset: ArithmeticTuple
    """The first coordinate, with the variables that `arithmetic` knows; of `through`, what it adds to all of its."""
    layout: Layout
    """Of steps between coordinates, or where they lead through another layout, between coordinates of that."""
    arithmetic: Arithmetic
    through: Layout | None = None
    """From an element of a convolution's matrix to the coordinates that TMA takes (`cutecc.layout.im2col`)."""
    start: ArithmeticTuple = 0
    """The first coordinate of `through`."""

    def moved(self, offset: Any, layout: Layout) -> Coordinates:
        """The tensor that begins a coordinate `offset` further, with another layout."""
        if self.through is not None:
            return replace(self, start=add_coordinates(self.start, offset), layout=layout)
        return replace(self, offset=add_coordinates(self.offset, offset), layout=layout)

    @property
    def first(self) -> list[ir.Value]:
        """The first coordinate, an `i32` for each mode."""
        found = self.offset
        if self.through is not None:
            found = add_coordinates(found, self.through(cast(Coordinate, self.start)))
        return [self.arithmetic.value(number, 32) for number in tuple_leaves(found)]


@dataclass(frozen=True)
class Matrices:
    """A tensor of matrices in shared memory while it is lowered: what tensor cores take instead of registers."""

    descriptor: ir.Value
    """Of the first matrix; an `i64`."""
    kind: SmemDescriptor
    layout: Layout
    """Of steps between matrices, in units of 16 bytes."""
    arithmetic: Arithmetic

    def moved(self, offset: Integer, layout: Layout) -> Matrices:
        """The tensor that begins `offset` units further, with another layout."""
        return replace(self, descriptor=advance(self.descriptor, self.kind, self.arithmetic, offset), layout=layout)


Operand = Tensor | Coordinates | Matrices
"""What an atom takes."""


def operand_of(value: ir.Value, leaves: Leaves) -> Operand:
    """The tensor that `value` is: in memory, of coordinates, or of matrices. Raises `Error` for another type."""
    type_view = leaves.view(value)
    carried = leaves.carried_by(value)
    match type_view:
        case CoordTensor(offset, layout):
            assert carried is not None
            arithmetic = Arithmetic(dict(zip(carried.names, leaves.of(value), strict=True)))
            match layout:
                case ComposedLayout(Layout() as through, start, outer):
                    return Coordinates(offset, outer, arithmetic, through, start)
                case Layout():
                    return Coordinates(offset, layout, arithmetic)
                case _:
                    raise Error(f"{layout} does not lead to coordinates")
        case SmemDescriptorView(kind, layout):
            assert carried is not None
            descriptor, *numbers = leaves.of(value)
            arithmetic = Arithmetic(dict(zip(carried.names[1:], numbers, strict=True)))
            return Matrices(descriptor, kind, layout, arithmetic)
        case _:
            return tensor_of(value, leaves)


def tensor_of(value: ir.Value, leaves: Leaves) -> Tensor:
    """The tensor that `value`, of type `!cute.memref`, is. Raises `Error` for another type."""
    type_view = leaves.view(value)
    if not isinstance(type_view, MemRef):
        raise Error(f"{value.type} is no tensor in memory")
    carried = leaves.carried_by(value)
    assert carried is not None
    pointer, *numbers = leaves.of(value)
    arithmetic = Arithmetic(dict(zip(carried.names[1:], numbers, strict=True)))
    alignment = type_view.alignment or 1
    return Tensor(
        pointer, type_view.element, type_view.space, type_view.layout, alignment, type_view.swizzle, arithmetic
    )


def tensor_value(tensor: Operand) -> ir.Value:
    """A tensor as a value of the type that `operand_of` took it from."""
    carried = dynamic(tensor.layout)
    first: list[ir.Value] = []
    match tensor:
        case Coordinates(offset, layout, through=through, start=start):
            composed = layout if through is None else ComposedLayout(through, cast(IntTuple, start), layout)
            type_view, carried = CoordTensor(offset, composed), dynamic((offset, composed))
        case Matrices(descriptor, kind, layout):
            type_view, first = SmemDescriptorView(kind, layout), [descriptor]
        case _:
            type_view = MemRef(tensor.element, tensor.space, tensor.layout, tensor.alignment, tensor.swizzle)
            first = [tensor.pointer]
    return pack(to_type(type_view), [*first, *(tensor.arithmetic.value(number, number.width) for number in carried)])


@dataclass(frozen=True)
class Tile:
    """What an atom takes of a tensor at each turn of a loop."""

    tensor: Operand
    inside: Layout
    """Of the elements that the atom takes at once."""
    among: Layout
    """From the number of the turn to the offset of its elements."""
    repeated: int
    """How many of the turns are along the tensor's first mode."""

    @classmethod
    def of(cls, tensor: Operand, count: int) -> Tile:
        """The tiles of `count` elements, which the tensor's first mode is made of; all other modes repeat them."""
        return cls(tensor, *_tiling(plain_layout(tensor), count))

    @classmethod
    def single(cls, tensor: Operand, count: int) -> Tile:
        """The tiles of one element, of which there are `count` along the tensor's first mode, as with predicates."""
        first, *others = modes_of(tensor)
        # Beyond the size of the mode its stride goes on, as with any coordinate.
        repeated = composition(first, Layout(count, 1))
        return cls(tensor, Layout((1,), (0,)), coalesce(join(repeated, *others)), count)

    @property
    def turns(self) -> int:
        """How many tiles there are."""
        return known_count(self.among.size)

    def at(self, turn: ir.Value | None) -> Operand:
        """The tile of a turn, built here; without one, the only tile."""
        if turn is None:
            return self.tensor.moved(0, self.inside)
        within = replace(self.tensor, arithmetic=self.tensor.arithmetic.having("turn", turn))
        return within.moved(self.among(symbol("turn")), self.inside)


@functools.lru_cache(maxsize=4096)
def _tiling(layout: Layout, count: int) -> tuple[Layout, Layout, int]:
    """What an atom of `count` elements takes at once, the turns, and how many of these are along the first mode."""
    first, *others = layout
    inside, repeated = first, Layout(1, 0)
    if first.size != count:
        divided = logical_divide(first, count)
        inside, repeated = divided[0], divided[1]
    return join(inside), coalesce(join(repeated, *others)), known_count(repeated.size)


def plain_layout(tensor: Operand) -> Layout:
    """The layout of a tensor. Raises `Error` where it is swizzled, as copies and products take none."""
    if not isinstance(tensor.layout, Layout):
        raise Error(f"the layout {tensor.layout} is swizzled")
    return tensor.layout


def modes_of(tensor: Operand) -> list[Layout]:
    """The modes of a tensor's layout; errors as `plain_layout`."""
    return [*plain_layout(tensor)]


def known_count(count: Integer) -> int:
    """A number of atoms, which the type has to say. Raises `Error`."""
    if not isinstance(count, int):
        raise Error("how many atoms it takes is known to the running kernel only")
    return count
