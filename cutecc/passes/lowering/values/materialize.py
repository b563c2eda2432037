"""Materializing the layout algebra: what its operations give, as numbers.

Each operation has its *semantics*, a function on values of `cutecc.layout`, in which a variable stands for each number
that only the running kernel knows. It is evaluated once for equal types; then the numbers behind the `?` of the
result's type are written out as arithmetic on the leaves of the operands.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cutecc.errors import Error
from cutecc.ir.mlir import ir
from cutecc.ir.types import (
    CoordTensor,
    MemRef,
    Pointer,
    Scalar,
    SmemDescriptor,
    SmemDescriptorView,
    TypeView,
    view,
)
from cutecc.ir.types.values import (
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordValue,
    Element,
    IntTupleValue,
    LayoutValue,
    ShapeValue,
    StrideValue,
    SwizzleValue,
    TileValue,
)
from cutecc.layout import ComposedLayout, Layout, Swizzle, Symbolic, parse, parse_int_tuple, show
from cutecc.layout.basis import Basis
from cutecc.layout.functions import View
from cutecc.layout.integers import Integer, divides, masked, subtract
from cutecc.layout.tuples import congruent, is_static, is_tuple, map_leaves
from cutecc.passes.leaf_conversion import Converted, LeafPattern, convert_leaves, converts_leaves
from cutecc.passes.lowering.values.integers import Arithmetic, constant_of_type, zero
from cutecc.passes.lowering.values.leaves import Carried, Leaves, Number, carried_by, is_lowered, numbers
from cutecc.passes.lowering.values.pointers import advance

Semantics = Callable[..., Any]
"""From the values of the operands, in order, and the operation's attributes by name, to the value of the result; of an
operation with several results, to their values in order.

A tensor in memory is its layout; a part of it, or a tensor of coordinates, a `View`, which has an offset too. An atom
or tiling is the view of its type.
"""


_MAKING_TUPLES = ("cute.make_coord", "cute.make_shape", "cute.make_stride", "cute.make_int_tuple", "cute.make_tile")
"""Operations with an operand for each `?` of their result. One whose type says its number carries nothing."""


@dataclass(frozen=True)
class Materialized:
    """What one operation gives, for its operands' types."""

    numbers: tuple[tuple[Number, ...], ...]
    """For each result the numbers that it carries, as expressions over the operands' leaves."""
    offsets: tuple[Integer, ...]
    """Of a tensor in memory: how far its first element is from that of the operand, in elements; else 0."""


@dataclass
class _Kind:
    """Operations of one name, types and attributes: what these alone say, found out once."""

    wanted: bool
    is_static: bool
    """Whether the types of its results say all there is to say of them."""
    results: list[Carried | None]
    widths: list[list[int]]
    """For each result, the bits of the leaves that are numbers; a pointer comes before them."""
    elements: list[Element | SmemDescriptor | None]
    """Of each result that is a pointer or a tensor in memory; a descriptor is the element of a tensor of them."""
    moved: list[int]
    """For each such result in their order the operand whose pointer it moves."""
    variables: list[tuple[str, ...]]
    """For each operand what its leaves are called in `materialized`."""
    materialized: Materialized | None = None


class Materialization:
    """Materializes the results of operations that a table has semantics for."""

    def __init__(self, semantics: Mapping[str, Semantics], repacking: Sequence[str] = ()) -> None:
        self._semantics = semantics
        self._repacking = repacking
        """Operations whose result carries what the operands do."""
        self._kinds: dict[Any, _Kind] = {}

    def run(self, module: ir.Module, wanted: Callable[[ir.Operation], bool] = lambda _: True) -> None:
        """Materialize those operations whose types are `wanted`. Raises `PassError` where it cannot be done."""
        convert_leaves(module, [self.pattern(wanted)])

    def pattern(self, wanted: Callable[[ir.Operation], bool]) -> LeafPattern:
        """The same as a pattern."""

        @converts_leaves(*self._semantics, *self._repacking)
        def materialize(operation: ir.Operation, leaves: Leaves) -> Converted | None:
            operands = list(operation.operands)
            # The hash of an attribute is its address, too: no two have the same.
            attributes = [(name, hash(operation.attributes[name])) for name in operation.attributes]
            types = map(leaves.type_key, (*operands, *operation.results))
            key = (operation.name, *types, *attributes)
            kind = self._kinds.get(key)
            if kind is None:
                kind = self._kinds[key] = _kind(operation, operands, wanted)
            return self._materialized(operation, operands, kind, leaves) if kind.wanted else None

        return materialize

    def _materialized(
        self, operation: ir.Operation, operands: Sequence[ir.Value], kind: _Kind, leaves: Leaves
    ) -> Converted:
        if kind.is_static:
            return [[] for _ in kind.results]
        if operation.name in self._repacking:
            return [_repacked(operation, operands, kind, leaves)]
        if kind.materialized is None:
            kind.materialized = evaluate(operation, self._semantics[operation.name])
        variables: dict[str, ir.Value] = {}
        for operand, names in zip(operands, kind.variables, strict=True):
            if names:
                variables.update(zip(names, leaves.of(operand), strict=True))
        arithmetic = Arithmetic(variables)
        found: list[list[ir.Value]] = []
        numbers, offsets, moved = kind.materialized.numbers, kind.materialized.offsets, iter(kind.moved)
        for wanted, offset, widths, element in zip(numbers, offsets, kind.widths, kind.elements, strict=True):
            carried: list[ir.Value] = []
            if element is not None:
                pointer = leaves.of(operands[next(moved)])[0]
                carried.append(advance(pointer, element, arithmetic, offset))
            carried += [arithmetic.value(number, width) for number, width in zip(wanted, widths, strict=True)]
            found.append(carried)
        return found


def _repacked(operation: ir.Operation, operands: Sequence[ir.Value], kind: _Kind, leaves: Leaves) -> list[ir.Value]:
    """The leaves of the result of an operation that only puts those of its operands together."""
    found = [leaf for each in operands for leaf in leaves.of(each)]
    (carried,) = kind.results
    if carried is not None and operation.name in _MAKING_TUPLES and len(found) != len(carried.types):
        found = [_number(each, type, leaves) for each, type in zip(operands, carried.types, strict=True)]
    if operation.name == "cute.make_atom" and carried is not None and not found:
        # Nobody has set its state yet.
        found = [zero(type) for type in carried.types]
    return found


def _number(operand: ir.Value, type: ir.Type, leaves: Leaves) -> ir.Value:
    """The number that an operand is, or that its type says, of the type of the leaf that it becomes."""
    if found := leaves.of(operand):
        return found[0]
    (known,) = numbers(plain(view(operand.type)))
    assert isinstance(known, int)
    return constant_of_type(known, type)


def _kind(operation: ir.Operation, operands: Sequence[ir.Value], wanted: Callable[[ir.Operation], bool]) -> _Kind:
    # Of a value that the open lowering does not know, `lower-cute-types` says so.
    known = all(is_lowered(value.type) for values in (operands, operation.results) for value in values)
    views = [view(result.type) for result in operation.results]
    results = [carried_by(result.type) for result in operation.results]
    elements = [_element(each) for each in views]
    moved = [at for at, each in enumerate(operands) if _element(view(each.type)) is not None]
    widths: list[list[int]] = []
    for result, carried, element in zip(operation.results, results, elements, strict=True):
        types = carried.types if carried else (result.type,)
        widths.append(_widths(types[0 if element is None else 1 :]))
    is_static = all(carried is not None and not carried.types for carried in results)
    return _Kind(known and wanted(operation), is_static, results, widths, elements, moved, _variables(operands))


def _variables(operands: Sequence[ir.Value]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for index, operand in enumerate(operands):
        carried = carried_by(operand.type)
        found.append(tuple(f"{index}.{name}" for name in (carried.names if carried else ("0",))))
    return found


def _widths(types: Sequence[ir.Type]) -> list[int]:
    return [ir.IntegerType(type).width for type in types if isinstance(type, ir.IntegerType)]


def _element(type_view: TypeView) -> Element | SmemDescriptor | None:
    """What a pointer, or a tensor's, steps over; `None` for all that has none."""
    match type_view:
        case MemRef() | Pointer():
            return type_view.element
        case SmemDescriptorView(descriptor):
            return descriptor
        case SmemDescriptor():
            return type_view
        case _:
            return None


def evaluate(operation: ir.Operation, semantics: Semantics) -> Materialized:
    """What `operation` gives. Raises `Error` when its semantics does not fit its types."""
    values = [algebraic(view(operand.type), index) for index, operand in enumerate(operation.operands)]
    given = semantics(*values, **plain_attributes(operation))
    each: list[Any] = given if isinstance(given, list) else [given]  # pyright: ignore[reportUnknownVariableType]
    found: list[tuple[Number, ...]] = []
    offsets: list[Integer] = []
    for result, value in zip(operation.results, each, strict=True):
        type_view = view(result.type)
        offset: Any = 0
        if isinstance(type_view, MemRef):
            value, offset = (value.layout, value.offset) if isinstance(value, View) else (value, 0)
            value, offset = as_typed(type_view.layout, value, offset)
        elif isinstance(type_view, Pointer | SmemDescriptor):
            value, offset = (), value
        elif isinstance(type_view, SmemDescriptorView) and isinstance(value, View):
            value, offset = value.layout, value.offset
        elif isinstance(value, View):
            # A layout has no place for an offset, nor for what CuTe takes out of a swizzled one: who wants it asks
            # `crd2idx`.
            if isinstance(type_view, CoordTensor):
                value = (value.offset, value.layout)
            else:
                value, _ = as_typed(plain(type_view), value.layout, 0)
        found.append(tuple(_behind(type_view, value)))
        offsets.append(offset)
    return Materialized(tuple(found), tuple(offsets))


def as_typed(expected: Any, layout: Any, offset: Any) -> tuple[Any, Any]:
    """A layout and its offset as the layout that the type says has them, where the algebra gave a swizzled one.

    CuTe takes a swizzle apart into strides where no two of a thread's elements share the bits that it flips. An offset
    that a swizzle does not touch moves the pointer, and so do the lowest bits of one.
    """
    if not isinstance(layout, ComposedLayout):
        return layout, offset
    if isinstance(expected, Layout):
        from cutecc.layout.swizzled_strides import swizzled_strides

        found, offset = swizzled_strides(layout, expected.shape)
        known = zip(numbers(_settled(found, expected)), numbers(expected), strict=True)
        if any(_contradicts(number, said) for number, said in known):
            # Where sizes are no powers of two, CuTe's are wrong.
            raise Error(f"the swizzle of {layout} cannot be taken apart into the strides of {expected}")
        return found, offset
    if not isinstance(layout.inner, Swizzle):
        return layout, offset
    swizzled, said = cast(Integer, layout.offset), cast(Integer, expected.offset)
    moved: Integer = 0
    if isinstance(said, int):
        moved = subtract(swizzled, said)
    elif not divides(said.divisibility, swizzled):
        moved = masked(swizzled, min(1 << layout.inner.base, said.divisibility & -said.divisibility) - 1)
    return ComposedLayout(layout.inner, subtract(swizzled, moved), layout.outer), moved


def _settled(value: Any, expected: Any) -> Any:
    """`value` with the strides of modes of size 1, along which there is no step, as the type says them."""
    match value, expected:
        case Layout(shape, stride), Layout(said_shape, said) if congruent(shape, said_shape):
            return Layout(shape, map_leaves(_settled_stride, shape, stride, said))
        case ComposedLayout(inner, offset, outer), ComposedLayout():
            return ComposedLayout(_settled(inner, expected.inner), offset, _settled(outer, expected.outer))
        case (offset, Layout() as layout), (_, Layout() as said_layout):
            return (offset, _settled(layout, said_layout))
        case _:
            return value


def _settled_stride(size: Any, stride: Any, said: Any) -> Any:
    return said if size == 1 and is_static(said) else stride


def _behind(type_view: TypeView, value: Any) -> list[Number]:
    """Of the numbers of `value`, those that the type has `?` for."""
    said = () if isinstance(type_view, Pointer | SmemDescriptor) else plain(type_view)
    expected, given = numbers(said), numbers(_settled(value, said))
    if len(expected) != len(given) or any(map(_contradicts, given, expected)):
        raise Error(f"cutecc computed {show(tuple(given))}, which is not what {type_view} says; this is a bug")
    return [number for number, other in zip(given, expected, strict=True) if isinstance(other, Symbolic)]


def _contradicts(number: Number, said: Number) -> bool:
    return isinstance(number, int) and isinstance(said, int) and number != said


def plain(type_view: TypeView) -> Any:
    """The value of the layout algebra that a type describes, offset first where there is one."""
    match type_view:
        case (
            LayoutValue(layout)
            | ComposedLayoutValue(layout)
            | MemRef(layout=layout)
            | SmemDescriptorView(layout=layout)
        ):
            return layout
        case CoordTensor(offset, layout):
            return (offset, layout)
        case ShapeValue(value) | StrideValue(value) | IntTupleValue(value) | CoordValue(value) | CoordIterator(value):
            return value
        case TileValue(tile):
            return tile
        case SwizzleValue(swizzle):
            return swizzle
        case ConstrainedInteger(width, divisibility):
            return Symbolic(name="0", width=width, divisibility=divisibility)
        case Scalar(name) if name.startswith("i") and name[1:].isdecimal():
            return Symbolic(name="0", width=int(name[1:]))
        case _:
            return type_view


def algebraic(type_view: TypeView, operand: int | str) -> Any:
    """The same for an operand, by whose number or name the variables are called; a `View` for a coordinate tensor."""
    value = _renamed(plain(type_view), f"{operand}.")
    return View(value[1], value[0]) if isinstance(type_view, CoordTensor) else value


def _renamed(value: Any, prefix: str) -> Any:
    if is_tuple(value):
        return tuple(_renamed(part, prefix) for part in value)
    match value:
        case Symbolic(operation=None):
            return dataclasses.replace(value, name=prefix + value.name)
        case Basis(number, path):
            return Basis(_renamed(number, prefix), path)
        case Layout(shape, stride):
            return Layout(_renamed(shape, prefix), _renamed(stride, prefix))
        case ComposedLayout(inner, offset, outer):
            return ComposedLayout(_renamed(inner, prefix), _renamed(offset, prefix), _renamed(outer, prefix))
        case _:
            return value


def plain_attributes(operation: ir.Operation) -> dict[str, Any]:
    """The attributes of an operation that its semantics takes: numbers, lists of numbers, swizzles."""
    found: dict[str, Any] = {}
    for name in operation.attributes:
        attribute = operation.attributes[name]
        if name == "operandSegmentSizes":
            continue
        if isinstance(attribute, ir.IntegerAttr):
            found[name] = attribute.value
        elif isinstance(attribute, ir.DenseI32ArrayAttr):
            found[name] = tuple(attribute)
        elif isinstance(attribute, ir.UnitAttr):
            found[name] = True
        elif (text := str(attribute)).startswith("#cute.coord<"):
            found[name] = parse_int_tuple(text.split('"')[1])
        elif text.startswith("#cute.swizzle<"):
            found[name] = parse(text.split('"')[1])
    return found
