"""What values of CuTe's types carry at run time: their leaves.

A type says all that is known of its values; a value carries the rest. `!cute.layout<"(4,?):(?{i64},1)">` is two
numbers, an `i32` and an `i64`; `!cute.layout<"4:1">` is nothing; a tensor in memory is a pointer and the leaves of its
layout. Between an operation that computes leaves and one that still expects a value of the CuTe type stands a cast:

    %layout = builtin.unrealized_conversion_cast %size, %stride : i32, i64 to !cute.layout<"(4,?):(?{i64},1)">

which reads: the layout whose two `?` are `%size` and `%stride`. The cast the other way takes the leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from cutecc.ir import editing, llvm_types
from cutecc.ir.building import after
from cutecc.ir.mlir import ir
from cutecc.ir.pass_context import memo_of
from cutecc.ir.types import (
    AddressSpace,
    ComposedLayoutValue,
    ConstrainedInteger,
    CoordIterator,
    CoordTensor,
    CoordValue,
    FastDivisor,
    IntTupleValue,
    LayoutValue,
    MemRef,
    Pointer,
    ShapeValue,
    SmemDescriptor,
    SmemDescriptorView,
    StrideValue,
    SwizzleValue,
    TiledCopy,
    TiledMma,
    TileValue,
    TmaDescriptor,
    TypeView,
    view,
)
from cutecc.ir.types.atoms import CopyAtom, MmaAtom
from cutecc.layout import ComposedLayout, Layout, Swizzle, Symbolic
from cutecc.layout.basis import Basis, Ratio
from cutecc.layout.tuples import is_tuple
from cutecc.passes.diagnostics import error
from cutecc.passes.lowering.atoms.registry import state_of

CAST = "builtin.unrealized_conversion_cast"
DESCRIPTOR = "!llvm.struct<(array<16 x i64>)>"
"""LLVM's type of a descriptor of TMA's."""

_ADDRESS_SPACES = {
    AddressSpace.GENERIC: 0,
    AddressSpace.GMEM: 1,
    AddressSpace.SMEM: 3,
    AddressSpace.CMEM: 4,
    AddressSpace.RMEM: 0,
    AddressSpace.DSMEM: 7,
}
"""The number that LLVM's NVPTX target gives each space. Registers are a thread's stack until they are registers."""

Number = int | Symbolic


@dataclass(frozen=True)
class Carried:
    """What the values of one type carry."""

    types: tuple[ir.Type, ...]
    """Of the leaves: pointers of LLVM's and signless integers."""
    storage: ir.Type
    """All leaves in one LLVM type, as parameters of kernels and values carried by loops have them: a struct that nests
    as CuTe's type does, or for a number alone the number's type."""
    paths: tuple[tuple[int, ...], ...]
    """Where in `storage` each leaf is; empty where the storage is the leaf."""
    names: tuple[str, ...]
    """The variable of each leaf in the view of the type; empty for a pointer and what else has none."""


def carried_by(type: ir.Type) -> Carried | None:
    """What values of `type` carry; `None` for types that are not CuTe's, whose values are themselves.

    The storage is that of the wheel's `convert-cute-to-core`, so that kernels of both pipelines take the same
    parameters.
    """
    known = memo_of(type.context, Carried)
    # The hash of a type is its address (`cutecc.ir.types.reading`).
    key = hash(type)
    try:
        return known[key]
    except KeyError:
        found = known[key] = _carried_by(type)
        return found


def type_of_leaf(value: ir.Value) -> ir.Type:
    """The type of the first leaf of `value`; of a value whose type is not CuTe's, its own."""
    carried = carried_by(value.type)
    return carried.types[0] if carried else value.type


def is_lowered(type: ir.Type) -> bool:
    """Whether values of `type` are no longer CuTe's, or will be their leaves."""
    return carried_by(type) is not None or not str(type).startswith("!cute")


def _carried_by(type: ir.Type) -> Carried | None:
    shape = _storage_of(view(type))
    if shape is None:
        return None
    leaves = list(_flat(shape, ()))
    return Carried(
        tuple(_leaf_type(leaf) for leaf, _ in leaves),
        _storage_type(shape),
        tuple(path for _, path in leaves),
        tuple(leaf.name if isinstance(leaf, Symbolic) else "" for leaf, _ in leaves),
    )


# What a type carries, as a tree: variables and types of LLVM's, and lists of these.
_Tree = Any


def _storage_of(type_view: TypeView) -> _Tree:
    match type_view:
        case LayoutValue(layout) | ComposedLayoutValue(layout):
            return _layout_tree(layout)
        case ShapeValue(value) | StrideValue(value) | IntTupleValue(value) | CoordValue(value) | CoordIterator(value):
            return _tuple_tree(value)
        case TileValue(tile):
            return _tile_tree(tile)
        case Pointer():
            return pointer_type(type_view)
        case MemRef(layout=layout):
            return [pointer_type(type_view.pointer), _layout_tree(layout)]
        case CoordTensor(offset, layout):
            return [_tuple_tree(offset), _layout_tree(layout)]
        case SmemDescriptor():
            return ir.IntegerType.get_signless(64)
        case SmemDescriptorView(descriptor, layout):
            return [_storage_of(descriptor), _layout_tree(layout)]
        case ConstrainedInteger(width=width):
            return Symbolic(name="0", width=width)
        case FastDivisor(width=width):
            return [ir.IntegerType.get_signless(bits) for bits in (width, width, 8, 8)]
        case (CopyAtom() as atom) | TiledCopy(atom=atom) | (MmaAtom() as atom) | TiledMma(atom=atom):
            return _atom_tree(atom)
        case TmaDescriptor():
            return ir.Type.parse(DESCRIPTOR)
        case SwizzleValue():
            return []
        case _:
            return None


def _atom_tree(atom: CopyAtom | MmaAtom) -> _Tree:
    state = state_of(atom)
    if state is None:
        return None
    # The strides of a TMA atom are in its type; the wheel stores them too, as a struct without members.
    strides: list[_Tree] = [[]] if "g_stride" in atom.parameters else []
    return [*(ir.Type.parse(type) for _, type in state), *strides]


def _tuple_tree(value: Any) -> _Tree:
    found = dynamic(value)
    return found[0] if len(found) == 1 else found


def _layout_tree(layout: Any) -> _Tree:
    if isinstance(layout, ComposedLayout):
        inner = layout.inner
        return [
            _layout_tree(layout.outer),
            _tuple_tree(layout.offset),
            _layout_tree(inner) if isinstance(inner, Layout | ComposedLayout) else [],
        ]
    return [_tuple_tree(layout.shape), _tuple_tree(layout.stride)]


def _tile_tree(tile: Any) -> _Tree:
    if is_tuple(tile):
        return [_tile_tree(mode) for mode in tile if mode is not None]
    return _layout_tree(tile) if isinstance(tile, Layout) else _tuple_tree(tile)


def _flat(tree: _Tree, path: tuple[int, ...]) -> Iterator[tuple[Any, tuple[int, ...]]]:
    if isinstance(tree, list):
        for index, part in enumerate(cast("list[_Tree]", tree)):
            yield from _flat(part, (*path, index))
    else:
        yield tree, path


def _leaf_type(leaf: Any) -> ir.Type:
    return ir.IntegerType.get_signless(leaf.width) if isinstance(leaf, Symbolic) else leaf


def _storage_type(tree: _Tree) -> ir.Type:
    if isinstance(tree, list):
        return llvm_types.struct([_storage_type(part) for part in cast("list[_Tree]", tree)])
    return _leaf_type(tree)


def pointer_type(pointer: Pointer) -> ir.Type:
    """LLVM's type for a pointer: by its address space alone. An address of tensor memory is an `i32`."""
    if pointer.space is AddressSpace.TMEM:
        return ir.IntegerType.get_signless(32)
    return llvm_types.pointer(_ADDRESS_SPACES[pointer.space])


def numbers(value: Any, *, paths: bool = False) -> list[Number]:
    """All integers of a value of the layout algebra, known ones too, in the order of leaves.

    With `paths`, also those of strides that lead to coordinates: of a part of a step, numerator and denominator, and
    behind the step the modes that it leads along.
    """
    found: list[Number] = []
    _collect(value, found, paths)
    return found


def _collect(value: Any, found: list[Number], paths: bool) -> None:
    if is_tuple(value):
        for part in value:
            _collect(part, found, paths)
    elif isinstance(value, Layout):
        _collect((value.shape, value.stride), found, paths)
    elif isinstance(value, ComposedLayout):
        _collect((value.outer, value.offset, value.inner), found, paths)
    elif isinstance(value, Basis):
        _collect((value.value, *(value.path if paths else ())), found, paths)
    elif isinstance(value, Ratio) and paths:
        found += (value.numerator, value.denominator)
    elif isinstance(value, Swizzle):
        found += (value.bits, value.base, value.shift)
    elif isinstance(value, int | Symbolic):
        found.append(value)


def dynamic(value: Any) -> list[Symbolic]:
    """The numbers that only the running kernel knows."""
    return [number for number in numbers(value) if isinstance(number, Symbolic)]


_Conversion = tuple[ir.Operation, Sequence[tuple[ir.Value, Carried | None]], Sequence[Sequence[ir.Value]]]
"""An operation, its results and what they carry, and the leaves that it gave for each."""


class Leaves:
    """The leaves of the values of a module, while a pass rewrites it."""

    def __init__(self) -> None:
        self._taken: dict[ir.Value, list[ir.Value]] = {}
        self._types: dict[ir.Value, int] = {}
        self._seen: dict[int, tuple[TypeView, Carried | None]] = {}
        self._converted: list[_Conversion] = []

    def type_key(self, value: ir.Value) -> int:
        """What tells the type of `value` from others. The bindings take 2 µs to make a type of CuTe's."""
        try:
            return self._types[value]
        except KeyError:
            type = value.type
            # A type's hash is its address (`cutecc.ir.types.reading`).
            key = self._types[value] = hash(type)
            if key not in self._seen:
                self._seen[key] = (view(type), carried_by(type))
            return key

    def view(self, value: ir.Value) -> TypeView:
        """The view of the type of `value`."""
        return self._seen[self.type_key(value)][0]

    def carried_by(self, value: ir.Value) -> Carried | None:
        """What `value` carries."""
        return self._seen[self.type_key(value)][1]

    def of(self, value: ir.Value) -> list[ir.Value]:
        """The leaves of `value`; of a value whose type is not CuTe's, itself.

        Where nobody has computed them, a cast right behind the value takes them out.
        """
        carried = self.carried_by(value)
        if carried is None:
            return [value]
        if not carried.types:
            return []
        known = self._taken.get(value)
        if known is None:
            known = self._taken[value] = self._cast_from(value, carried) or _taken_out(value, carried.types)
        return known

    def _cast_from(self, value: ir.Value, carried: Carried) -> list[ir.Value] | None:
        """The leaves that `value` was cast from, or those of another type of CuTe's that carries the same."""
        cast = definition(value)
        if cast is None or cast.name != CAST or len(cast.results) != 1:
            return None
        operands = list(cast.operands)
        if tuple(operand.type for operand in operands) == carried.types:
            return operands
        if len(operands) != 1:
            return None
        (source,) = operands
        other = carried_by(source.type)
        return self.of(source) if other is not None and other.types == carried.types else None

    def convert(self, operation: ir.Operation, leaves: Sequence[Sequence[ir.Value]]) -> None:
        """Have `leaves`, for each result, be what the results of `operation` carry; `settle` takes it away.

        Raises `PassError` when these are not the leaves that the results carry, or are those of `operation` itself.
        """
        results = [(result, self.carried_by(result)) for result in operation.results]
        _check(operation, [carried.types if carried else (result.type,) for result, carried in results], leaves)
        for (result, carried), each in zip(results, leaves, strict=True):
            if carried is None:
                _check_other(operation, result, each[0])
                result.replace_all_uses_with(each[0])
            elif each:
                self._taken[result] = list(each)
        self._converted.append((operation, results, leaves))

    def settle(self) -> None:
        """Erase what was converted. A user that takes leaves out gets them; others that are left get a cast.

        From the last one on: most users are gone by then.
        """
        while self._converted:
            operation, results, leaves = self._converted.pop()
            if editing.is_erased(operation):
                continue
            for (result, carried), each in zip(results, leaves, strict=True):
                if carried is not None:
                    _hand_over(operation, result, carried, each)
            editing.erase_unused(operation)


def _hand_over(operation: ir.Operation, result: ir.Value, carried: Carried, leaves: Sequence[ir.Value]) -> None:
    """Have the users of a result, which carries `carried`, use its leaves."""
    others = False
    for user in [use.owner.operation for use in result.uses]:
        if takes_leaves(user, carried):
            for taken, leaf in zip(user.results, leaves, strict=True):
                _check_other(operation, taken, leaf)
                taken.replace_all_uses_with(leaf)
            editing.erase_unused(user)
        else:
            others = True
    if others:
        with ir.InsertionPoint(operation), operation.location:
            result.replace_all_uses_with(pack(result.type, leaves))


def _check(operation: ir.Operation, types: Sequence[Sequence[ir.Type]], leaves: Sequence[Sequence[ir.Value]]) -> None:
    """Raise `PassError` unless `leaves` have the `types` that the results of `operation` carry."""
    given = [tuple(leaf.type for leaf in each) for each in leaves]
    if given != types:
        carried, found = ("; ".join(f"({', '.join(map(str, each))})" for each in part) for part in (types, given))
        raise error(
            operation,
            f"{operation.name} has results that carry {carried or 'nothing'}, replaced by {found or 'nothing'}",
        )


def _check_other(operation: ir.Operation, value: ir.Value, leaf: ir.Value) -> None:
    """Raise `PassError` where a value is to be replaced by itself, with which MLIR would not end."""
    if value == leaf:
        raise error(operation, f"{operation.name} is replaced by its own result")


def pack(type: ir.Type, leaves: Sequence[ir.Value]) -> ir.Value:
    """The value of a CuTe type that has `leaves`."""
    # What stands for a value that is all in its type has no operands.
    return ir.Operation.create(CAST if leaves else "cute.static", [type], list(leaves)).result


def takes_leaves(operation: ir.Operation, carried: Carried) -> bool:
    """Whether `operation` is the cast that takes the leaves out of a value, which carries `carried`."""
    return (
        operation.name == CAST
        and len(operation.operands) == 1
        and tuple(result.type for result in operation.results) == carried.types
    )


def definition(value: ir.Value) -> ir.Operation | None:
    """The operation that `value` is a result of; `None` for a block argument."""
    owner = value.owner
    return None if isinstance(owner, ir.Block) else owner.operation


def _taken_out(value: ir.Value, types: Sequence[ir.Type]) -> list[ir.Value]:
    with after(value):
        return list(ir.Operation.create(CAST, list(types), [value]).results)
